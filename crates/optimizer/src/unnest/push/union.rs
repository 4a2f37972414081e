//! Pushes the domain through set operations: the columns of the left side become part of the rows.

use super::puts_out;
use crate::expr::ColumnSet;
use crate::unnest::Unnesting;
use crate::unnest::domain::{Domain, Mapping, Pushed, Source};
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Plan};

impl Unnesting<'_> {
    pub(super) fn push_set_operation(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Plan::SetOperation { operation, all, inputs, mut columns } = plan else {
            return Err(Error::internal("not a set operation"));
        };
        let mut pushed = self.push_inputs(&inputs, need, domain)?;
        let held = |it: &Pushed| it.map.keys().copied().collect::<ColumnSet>();
        if pushed.windows(2).any(|it| held(&it[0]) != held(&it[1])) {
            pushed = self.push_inputs(&inputs, &domain.ids(), domain)?;
        }
        let map = self.held_by_output(&pushed, &mut columns);
        let mut outputs = Vec::with_capacity(pushed.len());
        for (Pushed { plan, map: own }, (_, feeds)) in pushed.into_iter().zip(inputs) {
            let mut feeds: Vec<ColumnId> =
                feeds.into_iter().map(|it| feed(it, &plan, &own)).collect();
            for id in map.keys() {
                let source = own.get(id).ok_or_else(|| Error::internal("inputs disagree"))?;
                feeds.push(source.column.id);
            }
            outputs.push((plan, feeds));
        }
        let plan = Plan::SetOperation { operation, all, inputs: outputs, columns };
        Ok(Pushed { plan, map })
    }

    fn push_inputs(
        &mut self,
        inputs: &[(Plan, Vec<ColumnId>)],
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Vec<Pushed>> {
        let push =
            |(plan, _): &(Plan, _)| Ok(self.push(Plan::clone(plan), need, domain)?.without_nulls());
        inputs.iter().map(push).collect()
    }

    /// New output columns for what the inputs hold.
    fn held_by_output(&self, inputs: &[Pushed], columns: &mut Vec<Column>) -> Mapping {
        let mut map = Mapping::new();
        let Some(first) = inputs.first() else { return map };
        for (id, source) in &first.map {
            let Column { name, data_type, .. } = source.column.clone();
            let column = self.ctx.column_ids.column(name, data_type);
            columns.push(column.clone());
            map.insert(*id, Source { column, null_free: false });
        }
        map
    }
}

/// An input may return a column of the left side as its own.
pub(super) fn feed(id: ColumnId, plan: &Plan, map: &Mapping) -> ColumnId {
    match map.get(&id) {
        Some(source) if !puts_out(plan, id) => source.column.id,
        _ => id,
    }
}

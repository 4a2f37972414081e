//! Pushes the domain through the row repetition of grouping sets.

use super::taken_by_exprs;
use crate::columns::{fresh_copy, pass};
use crate::expr::{ColumnSet, bigint, substitute};
use crate::unnest::Unnesting;
use crate::unnest::domain::{Domain, Pushed, replacements};
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Expr, Plan, SetOperation};
use volley_types::{Type, Value};

impl Unnesting<'_> {
    pub(super) fn push_group_id(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        if matches!(&plan, Plan::GroupId { present: Some(_), .. }) {
            return self.push(self.with_extra_rows(plan)?, need, domain);
        }
        let mut needed = need.clone();
        needed.extend(taken_by_exprs(plan.exprs(), domain));
        let Plan::GroupId { input, mut keys, sets, id, present } = plan else {
            return Err(Error::internal("not grouping sets"));
        };
        let Pushed { plan, map } = self.push(*input, &needed, domain)?;
        let by = replacements(&map);
        keys.iter_mut().for_each(|it| substitute(&mut it.1, &by));
        Ok(Pushed { plan: Plan::GroupId { input: Box::new(plan), keys, sets, id, present }, map })
    }

    /// The rows of sets without keys that are always there as a union with what is repeated: so
    /// they are there for every row of the domain.
    fn with_extra_rows(&self, plan: Plan) -> Result<Plan> {
        let columns = plan.columns();
        let ids = self.ctx.column_ids;
        let (mut repeated, renamed) = fresh_copy(&plan, ids);
        let Plan::GroupId { sets, id, present, .. } = &mut repeated else {
            return Err(Error::internal("not grouping sets"));
        };
        let (id, present) = (id.id, present.take().ok_or_else(|| Error::internal("no rows"))?);
        let mut extra = Vec::new();
        for set in sets.iter().filter(|it| it.keys.is_empty()) {
            extra.push(set.id);
        }
        let new_id = |it: &Column| renamed.get(&it.id).copied().unwrap_or(it.id);
        let feeds: Vec<ColumnId> = columns.iter().map(new_id).collect();
        let mut exprs: Vec<(Column, Expr)> = repeated.columns().iter().map(pass).collect();
        exprs.push((present, Expr::boolean(true)));
        let first = Plan::Project { input: Box::new(repeated), exprs };
        let value = |column: ColumnId, data_type: &Type, set: i64| match column == id {
            true => bigint(set),
            false => Expr::constant(Value::Null, data_type.clone()),
        };
        let row = |set: &i64| {
            let columns = columns.iter().zip(&feeds);
            columns.map(|(column, feed)| value(*feed, &column.data_type, *set)).collect()
        };
        let own: Vec<Column> =
            columns.iter().map(|it| ids.column(it.name.clone(), it.data_type.clone())).collect();
        let own_feeds = own.iter().map(|it| it.id).collect();
        let second = Plan::Values { columns: own, rows: extra.iter().map(row).collect() };
        Ok(Plan::SetOperation {
            operation: SetOperation::Union,
            all: true,
            inputs: vec![(first, feeds), (second, own_feeds)],
            columns,
        })
    }
}

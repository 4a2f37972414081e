//! Pushes the domain down: turns a plan that runs per row of the left side into one that runs once,
//! for all rows.

mod join;
mod group;
mod grouping_sets;
mod union;
mod recursive;

use super::Unnesting;
use super::dependent::join_pushed;
use super::domain::{Domain, Mapping, Pushed, Source, replacements};
use crate::columns::{free_columns, output_set, pass};
use crate::expr::{
    ColumnSet, as_column, binary_call, collect_used, substitute, substitute_in_plan, used_columns,
};
use crate::stack::deep;
use std::collections::BTreeMap;
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Expr, Plan, SampleMethod};

impl Unnesting<'_> {
    /// Makes `plan` independent of the left side. The result holds at least the columns `need` of
    /// the left side, among them all that `plan` uses. For each row of the domain it has the rows
    /// that `plan` has for it; it may have rows for combinations that are not in the domain.
    pub(super) fn push(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        deep(|| {
            if taken_by(&plan, domain).is_empty() {
                return Ok(self.push_closed(plan, need, domain));
            }
            match plan {
                Plan::Filter { input, conjuncts } => {
                    self.push_filter(*input, conjuncts, need, domain)
                }
                Plan::Project { input, exprs } => self.push_project(*input, exprs, need, domain),
                Plan::Sort { input, .. } => self.push(*input, need, domain),
                Plan::UniqueId { input, column } => {
                    let Pushed { plan, map } = self.push(*input, need, domain)?;
                    Ok(Pushed { plan: Plan::UniqueId { input: Box::new(plan), column }, map })
                }
                Plan::Unnest { input, generators, ordinality, outer } => {
                    let Pushed { plan, map } = self.push(*input, need, domain)?;
                    let by = replacements(&map);
                    let input = Box::new(plan);
                    let mut plan = Plan::Unnest { input, generators, ordinality, outer };
                    plan.exprs_mut().into_iter().for_each(|it| substitute(it, &by));
                    Ok(Pushed { plan, map })
                }
                Plan::Join { .. } => self.push_join(plan, need, domain),
                Plan::Aggregate { input, keys, aggregates } if keys.is_empty() => {
                    self.push_one_group(*input, aggregates, domain)
                }
                Plan::Aggregate { input, keys, aggregates } => {
                    self.push_groups(*input, keys, aggregates, need, domain)
                }
                Plan::GroupId { .. } => self.push_group_id(plan, need, domain),
                Plan::Window { .. } => self.push_window(plan, need, domain),
                Plan::Limit { .. } | Plan::GroupLimit { .. } => self.push_limit(plan, need, domain),
                Plan::Sample { method: SampleMethod::Count(_), .. } => {
                    Err(Error::unsupported("a sample of rows that depend on an outer query"))
                }
                Plan::Sample { input, method, seed } => {
                    let Pushed { plan, map } = self.push(*input, need, domain)?;
                    Ok(Pushed { plan: Plan::Sample { input: Box::new(plan), method, seed }, map })
                }
                Plan::SingleRow { input, span } => self.push_single(*input, span, domain),
                Plan::SetOperation { .. } => self.push_set_operation(plan, need, domain),
                Plan::Recursive { .. } => self.push_recursive(plan, domain),
                Plan::AsofJoin { .. } => self.push_asof(plan, need, domain),
                Plan::Scan { .. }
                | Plan::Values { .. }
                | Plan::CteRef { .. }
                | Plan::WorkingTable { .. } => Err(Error::unsupported("a correlated table")),
            }
        })
    }

    /// What takes nothing from the left side: next to every row of the domain, if it is needed.
    fn push_closed(&mut self, plan: Plan, need: &ColumnSet, domain: &mut Domain) -> Pushed {
        if need.is_empty() {
            return Pushed { plan, map: Mapping::new() };
        }
        let all = domain.plan(self);
        if matches!(&plan, Plan::Values { columns, rows } if columns.is_empty() && rows.len() == 1)
        {
            return all;
        }
        join_pushed(all, Pushed { plan, map: Mapping::new() }, Vec::new())
    }

    /// `σ[outer = inner]`: what the filter equates with a column of the left side represents it.
    pub(super) fn push_filter(
        &mut self,
        input: Plan,
        conjuncts: Vec<Expr>,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let outer = domain.ids();
        let taken = taken_by(&input, domain);
        let mut equated: BTreeMap<ColumnId, usize> = BTreeMap::new();
        for (index, conjunct) in conjuncts.iter().enumerate() {
            if let Some((id, _, _)) = as_equated(conjunct, &outer)
                && need.contains(&id)
                && !taken.contains(&id)
            {
                equated.entry(id).or_insert(index);
            }
        }
        let below = need.iter().copied().filter(|it| !equated.contains_key(it)).collect();
        let mut pushed = self.push(input, &below, domain)?;
        equated.retain(|id, _| !pushed.map.contains_key(id));
        let mut rest = Vec::new();
        for (index, conjunct) in conjuncts.into_iter().enumerate() {
            match as_equated(&conjunct, &outer) {
                Some((id, inner, null_free)) if equated.get(&id) == Some(&index) => {
                    let column = pushed.column_of(inner, self);
                    pushed.map.insert(id, Source { column, null_free });
                }
                _ => rest.push(conjunct),
            }
        }
        let by = replacements(&pushed.map);
        rest.iter_mut().for_each(|it| substitute(it, &by));
        if !rest.is_empty() {
            pushed.plan = Plan::Filter { input: Box::new(pushed.plan), conjuncts: rest };
        }
        Ok(pushed)
    }

    fn push_project(
        &mut self,
        input: Plan,
        exprs: Vec<(Column, Expr)>,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Pushed { plan, map } = self.push(input, need, domain)?;
        let mut exprs = own_columns(exprs, &map);
        let by = replacements(&map);
        exprs.iter_mut().for_each(|it| substitute(&mut it.1, &by));
        for source in map.values() {
            if exprs.iter().all(|it| it.0.id != source.column.id) {
                exprs.push(pass(&source.column));
            }
        }
        Ok(Pushed { plan: Plan::Project { input: Box::new(plan), exprs }, map })
    }
}

impl Pushed {
    /// A column with the value of `expr`, computed if it is not one already.
    fn column_of(&mut self, expr: &Expr, unnesting: &Unnesting<'_>) -> Column {
        if let Some(id) = as_column(expr)
            && let Some(column) = self.plan.columns().into_iter().find(|it| it.id == id)
        {
            return column;
        }
        let column = unnesting.ctx.column_ids.column("key", expr.data_type.clone());
        let input = std::mem::take(&mut self.plan);
        let mut exprs: Vec<_> = input.columns().iter().map(pass).collect();
        exprs.push((column.clone(), expr.clone()));
        self.plan = Plan::Project { input: Box::new(input), exprs };
        column
    }
}

/// The columns of the domain that a plan uses.
pub(super) fn taken_by(plan: &Plan, domain: &Domain) -> ColumnSet {
    let mut taken = free_columns(plan);
    taken.retain(|it| domain.ids().contains(it));
    taken
}

/// The columns of the domain that expressions use.
pub(super) fn taken_by_exprs<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
    domain: &Domain,
) -> ColumnSet {
    let mut taken = ColumnSet::new();
    exprs.into_iter().for_each(|it| collect_used(it, &mut taken));
    taken.retain(|it| domain.ids().contains(it));
    taken
}

/// `outer = inner`: the column of the left side, the expression on own columns, and whether null
/// equals nothing.
fn as_equated<'a>(conjunct: &'a Expr, outer: &ColumnSet) -> Option<(ColumnId, &'a Expr, bool)> {
    let equal = binary_call(conjunct, "eq").map(|it| (it, true));
    let ((a, b), null_free) =
        equal.or_else(|| Some((binary_call(conjunct, "is_not_distinct_from")?, false)))?;
    let pair = |side: &'a Expr, other: &'a Expr| {
        let id = as_column(side).filter(|it| outer.contains(it))?;
        let used = used_columns(other);
        (!used.is_empty() && used.is_disjoint(outer)).then_some((id, other, null_free))
    };
    pair(a, b).or_else(|| pair(b, a))
}

/// Without the columns of the left side that are passed on: the mapping says where they are.
fn own_columns(exprs: Vec<(Column, Expr)>, map: &Mapping) -> Vec<(Column, Expr)> {
    let passes = |(column, expr): &(Column, Expr)| {
        map.contains_key(&column.id) && as_column(expr) == Some(column.id)
    };
    exprs.into_iter().filter(|it| !passes(it)).collect()
}

/// Replaces the left side's columns in a plan that stays lateral to one that holds them.
fn substituted_plan(mut plan: Plan, map: &Mapping) -> Plan {
    substitute_in_plan(&mut plan, &replacements(map));
    plan
}

/// Whether a plan returns a column.
fn puts_out(plan: &Plan, id: ColumnId) -> bool {
    output_set(plan).contains(&id)
}

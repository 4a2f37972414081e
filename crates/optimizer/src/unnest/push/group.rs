//! Pushes the domain through aggregations, limits and single rows.

use super::{own_columns, taken_by, taken_by_exprs};
use crate::columns::pass;
use crate::expr::{ColumnSet, substitute};
use crate::unnest::Unnesting;
use crate::unnest::domain::{Domain, Mapping, Pushed, equalities, replacements};
use crate::unnest::scalar::{at_most_one, has_one_row_at_most, zero_if_null};
use volley_error::{Error, Result, Span};
use volley_logical::{AggregateCall, Column, ColumnId, Expr, JoinKind, Plan, SortKey};

impl Unnesting<'_> {
    /// Groups by what is held of the left side, too.
    pub(in crate::unnest) fn push_groups(
        &mut self,
        input: Plan,
        keys: Vec<(Column, Expr)>,
        mut aggregates: Vec<(Column, AggregateCall)>,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Pushed { plan, map } = self.push(input, need, domain)?;
        let by = replacements(&map);
        let mut keys = own_columns(keys, &map);
        keys.iter_mut().for_each(|it| substitute(&mut it.1, &by));
        let calls = aggregates.iter_mut().flat_map(|it| it.1.exprs_mut());
        calls.for_each(|it| substitute(it, &by));
        for source in map.values() {
            if keys.iter().all(|it| it.0.id != source.column.id) {
                keys.push(pass(&source.column));
            }
        }
        Ok(Pushed { plan: Plan::Aggregate { input: Box::new(plan), keys, aggregates }, map })
    }

    /// One group, present also where there is no row: joined to the domain from outside.
    pub(super) fn push_one_group(
        &mut self,
        input: Plan,
        mut aggregates: Vec<(Column, AggregateCall)>,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let counts = self.zeroed(&aggregates);
        let results: Vec<Column> = aggregates.iter().map(|it| it.0.clone()).collect();
        for (column, _) in &mut aggregates {
            if let Some(new) = counts.get(&column.id) {
                *column = new.clone();
            }
        }
        let mut need = taken_by(&input, domain);
        need.extend(taken_by_exprs(aggregates.iter().flat_map(|it| it.1.exprs()), domain));
        let groups = self.push_groups(input, Vec::new(), aggregates, &need, domain)?;
        let joined = self.beside_domain(groups, domain);
        let results = results.into_iter().map(|column| match counts.get(&column.id) {
            Some(inner) => (column, zero_if_null(inner)),
            None => pass(&column),
        });
        let held = joined.map.values().map(|it| pass(&it.column));
        let exprs = held.chain(results).collect();
        let plan = Plan::Project { input: Box::new(joined.plan), exprs };
        Ok(Pushed { plan, map: joined.map })
    }

    /// Every row of the domain, with the rows of `pushed` that belong to it, or nulls.
    fn beside_domain(&mut self, pushed: Pushed, domain: &mut Domain) -> Pushed {
        let all = domain.plan(self);
        let plan = Plan::Join {
            conditions: equalities(&all.map, &pushed.map),
            left: Box::new(all.plan),
            right: Box::new(pushed.plan),
            kind: JoinKind::Left,
            null_aware: false,
            mark: None,
            lateral: false,
        };
        Pushed { plan, map: all.map }
    }

    /// Partitions hold per row of the domain.
    pub(super) fn push_window(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let mut needed = need.clone();
        needed.extend(taken_by_exprs(plan.exprs(), domain));
        let Plan::Window { input, partition_by, order_by, calls, limit } = plan else {
            return Err(Error::internal("not a window"));
        };
        // All that the input takes from the left side divides partitions, needed above or not.
        needed.extend(taken_by(&input, domain));
        let Pushed { plan, map } = self.push(*input, &needed, domain)?;
        let held = map.values().map(|it| Expr::column(it.column.id, it.column.data_type.clone()));
        let held: Vec<Expr> = held.collect();
        let mut plan = Plan::Window { input: Box::new(plan), partition_by, order_by, calls, limit };
        let by = replacements(&map);
        plan.exprs_mut().into_iter().for_each(|it| substitute(it, &by));
        if let Plan::Window { partition_by, .. } = &mut plan {
            partition_by.extend(held);
        }
        Ok(Pushed { plan, map })
    }

    /// A limit holds per row of the domain.
    pub(super) fn push_limit(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let PerGroup { input, keys, order, offset, limit, projection } = take_apart(plan)?;
        let mut needed = need.clone();
        needed.extend(taken_by_exprs(order.iter().map(|it| &it.expr), domain));
        if let Some(exprs) = &projection {
            needed.extend(taken_by_exprs(exprs.iter().map(|it| &it.1), domain));
        }
        let Pushed { plan, map } = self.push(input, &needed, domain)?;
        let by = replacements(&map);
        let order = order.into_iter().map(|mut key| {
            substitute(&mut key.expr, &by);
            key
        });
        let held = map.values().map(|it| it.column.id);
        let own = keys.into_iter().filter(|it| !map.contains_key(it));
        let limited = Plan::GroupLimit {
            keys: held.chain(own).collect(),
            order: order.collect(),
            offset,
            limit,
            input: Box::new(plan),
        };
        Ok(match projection {
            Some(exprs) => project_held(limited, exprs, map),
            None => Pushed { plan: limited, map },
        })
    }

    /// One row per row of the domain: its row, or nulls; an error when there are two.
    pub(super) fn push_single(
        &mut self,
        input: Plan,
        span: Option<Span>,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let need = taken_by(&input, domain);
        let columns = input.columns();
        let is_single = has_one_row_at_most(&input);
        let pushed = self.push(input, &need, domain)?;
        if is_single {
            return Ok(self.beside_domain(pushed, domain));
        }
        let (plan, count) = self.counted_groups(pushed.plan, &columns, &pushed.map);
        let Pushed { plan, map } = self.beside_domain(Pushed { plan, ..pushed }, domain);
        let conjuncts = vec![at_most_one(&count, span)];
        Ok(Pushed { plan: Plan::Filter { input: Box::new(plan), conjuncts }, map })
    }
}

/// A limit with the order below it.
struct PerGroup {
    input: Plan,
    keys: Vec<ColumnId>,
    order: Vec<SortKey>,
    offset: u64,
    limit: Option<u64>,
    /// A projection between the limit and the order; it goes above both.
    projection: Option<Vec<(Column, Expr)>>,
}

fn take_apart(plan: Plan) -> Result<PerGroup> {
    let (input, offset, limit) = match plan {
        Plan::Limit { input, offset, limit } => (*input, offset, limit),
        Plan::GroupLimit { input, keys, order, offset, limit } => {
            let input = *input;
            return Ok(PerGroup { input, keys, order, offset, limit, projection: None });
        }
        _ => return Err(Error::internal("not a limit")),
    };
    let (input, projection) = match input {
        Plan::Project { input, exprs } if matches!(*input, Plan::Sort { .. }) => {
            (*input, Some(exprs))
        }
        other => (other, None),
    };
    let (input, order) = match input {
        Plan::Sort { input, keys } => (*input, keys),
        other => (other, Vec::new()),
    };
    Ok(PerGroup { input, keys: Vec::new(), order, offset, limit, projection })
}

/// A projection that passes on what is held of the left side.
fn project_held(input: Plan, exprs: Vec<(Column, Expr)>, map: Mapping) -> Pushed {
    let by = replacements(&map);
    let mut exprs = own_columns(exprs, &map);
    exprs.iter_mut().for_each(|it| substitute(&mut it.1, &by));
    for source in map.values() {
        if exprs.iter().all(|it| it.0.id != source.column.id) {
            exprs.push(pass(&source.column));
        }
    }
    Pushed { plan: Plan::Project { input: Box::new(input), exprs }, map }
}

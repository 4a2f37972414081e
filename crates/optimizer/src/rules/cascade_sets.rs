//! Computes coarser grouping sets from finer ones.
//!
//! ```text
//! Aggregate f(x)             becomes   Union all
//!   GroupId (a, b), (a), ()              finished CteRef s0
//!     R                                  finished CteRef s1
//!                                        Aggregate () final f(CteRef s1)
//!
//! s0 = Aggregate (a, b) merged f(Aggregate (a, b) partial f(R))
//! s1 = Aggregate (a) merged f(CteRef s0)
//! ```
//!
//! Each set is grouped from the intermediate results of the set with the fewest groups that has all
//! of its keys. So a row of the input is grouped once, and each group as often as it has coarser
//! sets below it, instead of once per set. One set must have the keys of all others. Results are
//! finished by one more grouping of the groups, where they are not the intermediate results.

use crate::columns::{for_each_node, pass, rewrite_up};
use crate::expr::{as_column, bigint, used_columns};
use crate::{Estimator, OptimizerContext};
use std::collections::HashMap;
use std::sync::Arc;
use volley_error::Result;
use volley_function::AggregateKind;
use volley_logical::{
    AggregateCall, CallStep, Column, ColumnId, Cte, Expr, GroupingSet, Plan, SetOperation,
};
use volley_types::{Type, Value};

/// Fewer repeated groups of the finest set are cheaper than buffers between the sets.
const REPEATED_GROUPS_MIN: f64 = 100_000.0;

/// Rewrites all grouping sets where it pays.
pub(super) fn cascade_sets(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let (mut next_cte, mut has_sets, mut is_recursive) = (0, false, false);
    for_each_node(&plan, &mut |node| match node {
        Plan::CteRef { cte, .. } => next_cte = next_cte.max(cte.id.saturating_add(1)),
        Plan::GroupId { .. } => has_sets = true,
        // A common table expression is computed once, not in each iteration.
        Plan::Recursive { .. } => is_recursive = true,
        _ => {}
    });
    if !has_sets || is_recursive {
        return Ok(plan);
    }
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |node| {
            let levels = Levels::of(&node, ctx, &mut estimator);
            Ok(levels.map(|it| it.plan(&mut next_cte, ctx)).unwrap_or(node))
        })
    })
}

/// A call with the types of its arguments and of its intermediate results.
struct Call {
    column: Column,
    call: AggregateCall,
    arg_types: Vec<Type>,
    state: Type,
}

/// A grouping set, and the one that it is computed from, an earlier one of the list.
struct Level<'a> {
    set: &'a GroupingSet,
    parent: Option<usize>,
}

/// An aggregation over grouping sets that may be computed from each other.
struct Levels<'a> {
    base: &'a Plan,
    set_keys: &'a [(Column, Expr)],
    /// The output columns that are keys, and which; `None`: the identity of the set.
    keys: Vec<(Column, Option<usize>)>,
    calls: Vec<Call>,
    /// The finest first.
    levels: Vec<Level<'a>>,
    columns: Vec<Column>,
}

/// The intermediate results of a level: keys by position among those of all sets, then states.
struct Grouped {
    cte: Arc<Cte>,
    keys: Vec<usize>,
}

impl<'a> Levels<'a> {
    fn of(
        plan: &'a Plan,
        ctx: &OptimizerContext<'_>,
        estimator: &mut Estimator,
    ) -> Option<Levels<'a>> {
        let Plan::Aggregate { input, keys, aggregates } = plan else { return None };
        let Plan::GroupId { input: base, keys: set_keys, sets, id, present } = &**input else {
            return None;
        };
        let key = |(column, expr): &(Column, Expr)| {
            let own = as_column(expr)?;
            let at = set_keys.iter().position(|it| it.0.id == own);
            (at.is_some() || own == id.id).then(|| (column.clone(), at))
        };
        let keys: Vec<_> = keys.iter().map(key).collect::<Option<_>>()?;
        // Groups of a set differ in the columns of the set only if all its keys are there.
        let has = |at: &usize| keys.iter().any(|it| it.1 == Some(*at));
        if !sets.iter().flat_map(|it| &it.keys).all(has) || !keys.iter().any(|it| it.1.is_none()) {
            return None;
        }
        let tested = present.as_ref().map(|it| it.id);
        let calls = aggregates.iter().map(|it| Call::of(it, tested, ctx)).collect::<Option<_>>()?;
        let levels = levels_of(base, set_keys, sets, ctx, estimator)?;
        let columns = plan.columns();
        Some(Levels { base, set_keys, keys, calls, levels, columns })
    }

    fn plan(self, next_cte: &mut u32, ctx: &OptimizerContext<'_>) -> Plan {
        let mut grouped: Vec<Option<Grouped>> = Vec::new();
        let mut inputs = Vec::new();
        for (at, level) in self.levels.iter().enumerate() {
            let has_coarser = self.levels.iter().any(|it| it.parent == Some(at));
            let parent = level.parent.and_then(|it| grouped.get(it)?.as_ref());
            let own = match has_coarser || parent.is_none() {
                true => Some(self.grouped(level.set, parent, next_cte, ctx)),
                false => None,
            };
            let finished = match (&own, parent) {
                (Some(own), _) if self.calls.iter().all(Call::is_finished) => self.read(own, ctx).0,
                (Some(own), _) => self.finished(level.set, own, ctx),
                (None, Some(parent)) => self.finished(level.set, parent, ctx),
                (None, None) => Plan::default(),
            };
            inputs.push(self.padded(level.set, finished, ctx));
            grouped.push(own);
        }
        let columns = self.columns;
        Plan::SetOperation { operation: SetOperation::Union, all: true, inputs, columns }
    }

    /// The intermediate results of a set, from those of a finer one or from the base.
    fn grouped(
        &self,
        set: &GroupingSet,
        parent: Option<&Grouped>,
        next_cte: &mut u32,
        ctx: &OptimizerContext<'_>,
    ) -> Grouped {
        let plan = match parent {
            Some(parent) => {
                let (input, keys, states) = self.read_all(parent, ctx);
                self.aggregated(input, (set, &keys, &states), Step::Merge, ctx)
            }
            None => {
                let first = self.first(set, ctx);
                // A group may come several times, unless the base has intermediate results.
                match self.calls.iter().any(|it| it.call.step == CallStep::Complete) {
                    true => self.merged_once(first, set, ctx),
                    false => first,
                }
            }
        };
        let (id, name) = (*next_cte, "sets".to_owned());
        *next_cte += 1;
        let cte = Arc::new(Cte { id, name, plan, materialized: true });
        Grouped { cte, keys: set.keys.clone() }
    }

    /// The base, grouped by a set, to intermediate results.
    fn first(&self, set: &GroupingSet, ctx: &OptimizerContext<'_>) -> Plan {
        let keys = set.keys.iter().filter_map(|it| self.set_keys.get(*it));
        let keys = keys.map(|(column, expr)| (fresh(column, &column.data_type, ctx), expr.clone()));
        let calls = self.calls.iter().map(|it| {
            let step = match &it.call.step {
                CallStep::Final(types) => CallStep::Merge(types.clone()),
                _ => CallStep::Partial,
            };
            let call = AggregateCall { step, data_type: it.state.clone(), ..it.call.clone() };
            (fresh(&it.column, &it.state, ctx), call)
        });
        let (keys, aggregates) = (keys.collect(), calls.collect());
        Plan::Aggregate { input: Box::new(self.base.clone()), keys, aggregates }
    }

    /// Intermediate results of a set in which every group comes once.
    fn merged_once(&self, partial: Plan, set: &GroupingSet, ctx: &OptimizerContext<'_>) -> Plan {
        let made = partial.columns();
        let (own, states) = made.split_at(set.keys.len());
        let keys = set.keys.iter().copied().zip(own.iter().cloned()).collect();
        self.aggregated(partial, (set, &keys, states), Step::Merge, ctx)
    }

    /// A reference to intermediate results, with new columns.
    fn read(&self, from: &Grouped, ctx: &OptimizerContext<'_>) -> (Plan, Vec<Column>) {
        let made = from.cte.plan.columns();
        let columns: Vec<Column> = made.iter().map(|it| fresh(it, &it.data_type, ctx)).collect();
        (Plan::CteRef { cte: from.cte.clone(), columns: columns.clone() }, columns)
    }

    /// The same, with its keys by position and its states.
    fn read_all(
        &self,
        from: &Grouped,
        ctx: &OptimizerContext<'_>,
    ) -> (Plan, HashMap<usize, Column>, Vec<Column>) {
        let (plan, columns) = self.read(from, ctx);
        let (keys, states) = columns.split_at(from.keys.len());
        let keys = from.keys.iter().copied().zip(keys.iter().cloned()).collect();
        (plan, keys, states.to_vec())
    }

    /// Intermediate results grouped by a set that they have the keys of.
    fn aggregated(
        &self,
        input: Plan,
        (set, keys, states): (&GroupingSet, &HashMap<usize, Column>, &[Column]),
        step: Step,
        ctx: &OptimizerContext<'_>,
    ) -> Plan {
        let keys = set.keys.iter().filter_map(|it| keys.get(it));
        let keys = keys.map(|it| (fresh(it, &it.data_type, ctx), pass(it).1)).collect();
        let calls = self.calls.iter().zip(states).map(|(it, state)| {
            let (step, data_type) = match step {
                Step::Merge => (CallStep::Merge(it.arg_types.clone()), it.state.clone()),
                Step::Finish => (CallStep::Final(it.arg_types.clone()), it.call.data_type.clone()),
            };
            let column = fresh(&it.column, &data_type, ctx);
            let args = vec![pass(state).1];
            (column, AggregateCall { args, step, data_type, filter: None, ..it.call.clone() })
        });
        Plan::Aggregate { input: Box::new(input), keys, aggregates: calls.collect() }
    }

    /// The results of a set, from intermediate results that have its keys.
    fn finished(&self, set: &GroupingSet, from: &Grouped, ctx: &OptimizerContext<'_>) -> Plan {
        let (input, keys, states) = self.read_all(from, ctx);
        self.aggregated(input, (set, &keys, &states), Step::Finish, ctx)
    }

    /// The results of a set with all output columns, and which ones these are.
    fn padded(
        &self,
        set: &GroupingSet,
        finished: Plan,
        ctx: &OptimizerContext<'_>,
    ) -> (Plan, Vec<ColumnId>) {
        let made = finished.columns();
        let (own, results) = made.split_at(set.keys.len());
        let mut exprs: Vec<(Column, Expr)> = Vec::new();
        for (column, key) in &self.keys {
            let expr = match key {
                None => bigint(set.id),
                Some(key) => match set.keys.iter().position(|it| it == key) {
                    Some(at) => pass(&own[at]).1,
                    None => Expr::constant(Value::Null, column.data_type.clone()),
                },
            };
            exprs.push((fresh(column, &column.data_type, ctx), expr));
        }
        let passed = results.iter().map(|it| (fresh(it, &it.data_type, ctx), pass(it).1));
        exprs.extend(passed);
        let feeds = exprs.iter().map(|it| it.0.id).collect();
        (Plan::Project { input: Box::new(finished), exprs }, feeds)
    }
}

/// What is made of intermediate results.
#[derive(Clone, Copy, Debug)]
enum Step {
    Merge,
    Finish,
}

impl Call {
    /// The call, if its partial results can be merged and are smaller than its rows; `present`: the
    /// column whose test keeps the extra rows of sets without keys out.
    fn of(
        (column, call): &(Column, AggregateCall),
        present: Option<ColumnId>,
        ctx: &OptimizerContext<'_>,
    ) -> Option<Call> {
        let mut call = call.clone();
        call.filter.take_if(|it| present.is_some_and(|id| as_column(it) == Some(id)));
        let tests = |it: &Expr| present.is_some_and(|id| used_columns(it).contains(&id));
        let is_plain =
            !call.distinct && !call.filter.as_ref().is_some_and(tests) && call.order_by.is_empty();
        let arg_types = match &call.step {
            CallStep::Complete => call.args.iter().map(|it| it.data_type.clone()).collect(),
            CallStep::Final(types) => types.clone(),
            CallStep::Partial | CallStep::Merge(_) => return None,
        };
        let bound = ctx.registry.resolve_aggregate(&call.function, &arg_types).ok()?;
        let collects = matches!(bound.function, AggregateKind::Collecting(_));
        let splits = !collects && bound.over_rows.is_none() && !bound.order_sensitive;
        let (column, state) = (column.clone(), bound.intermediate);
        (is_plain && splits).then_some(Call { column, call, arg_types, state })
    }

    /// Whether intermediate results are the results.
    fn is_finished(&self) -> bool {
        let same = ["count", "sum", "min", "max", "bool_and", "bool_or", "every"];
        same.contains(&self.call.function.as_str()) && self.state == self.call.data_type
    }
}

/// The sets in an order in which each follows one that it can be computed from, if that pays.
fn levels_of<'a>(
    base: &Plan,
    set_keys: &[(Column, Expr)],
    sets: &'a [GroupingSet],
    ctx: &OptimizerContext<'_>,
    estimator: &mut Estimator,
) -> Option<Vec<Level<'a>>> {
    let mut ordered: Vec<&GroupingSet> = sets.iter().collect();
    ordered.sort_by_key(|it| std::cmp::Reverse(it.keys.len()));
    let finest = ordered.first().filter(|it| !it.keys.is_empty())?;
    let has_all = |finer: &GroupingSet, coarser: &GroupingSet| {
        coarser.keys.iter().all(|it| finer.keys.contains(it))
    };
    if sets.len() < 2 || !sets.iter().all(|it| has_all(finest, it)) {
        return None;
    }
    let groups: Vec<f64> = ordered
        .iter()
        .map(|set| {
            let keys = set.keys.iter().filter_map(|it| set_keys.get(*it)).cloned().collect();
            let input = Box::new(base.clone());
            estimator.estimate(&Plan::Aggregate { input, keys, aggregates: Vec::new() }).rows
        })
        .collect();
    let repeated_groups = groups.first()? * sets.len() as f64;
    if repeated_groups <= REPEATED_GROUPS_MIN && !ctx.always_cascades_sets {
        return None;
    }
    let parent = |at: usize| {
        let finer = (0..at).filter(|it| has_all(ordered[*it], ordered[at]));
        finer.min_by(|a, b| groups[*a].total_cmp(&groups[*b]))
    };
    let levels = ordered.iter().enumerate();
    Some(levels.map(|(at, set)| Level { set, parent: parent(at) }).collect())
}

fn fresh(column: &Column, data_type: &Type, ctx: &OptimizerContext<'_>) -> Column {
    ctx.column_ids.column(column.name.clone(), data_type.clone())
}

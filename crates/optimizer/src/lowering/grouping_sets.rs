//! Aggregations over grouping sets.
//!
//! ```text
//! Aggregation Final        keys, set        few groups, all functions in steps, no DISTINCT:
//!   LocalExchange                           rows are grouped by all keys first, then the groups
//!     GroupId                               are repeated for the sets and merged
//!       Aggregation Intermediate  all keys
//!         LocalExchange
//!           Aggregation Partial   all keys
//!
//! Aggregation              keys, set        else: rows are repeated; arguments are computed below,
//!   GroupId                                 once for all sets
//!     Project
//! ```
//!
//! Each group is repeated for all sets, so it must come once: a partial aggregation, which may pass
//! rows on where few repeat, is merged before. With one driver, `PartialOnce` replaces the exchange
//! and the two steps around it.
//!
//! The extra row of a set without keys is null in all columns except the set. Functions that ignore
//! nulls in their first argument ignore it, and so do calls with a FILTER. All other calls get a
//! filter that excludes it.

use super::aggregate::{PARTIAL_ROWS_PER_GROUP_MIN, exchange, lower_call};
use super::expr::Computed;
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::{ColumnSet, as_column, collect_used, used_columns};
use std::sync::Arc;
use volley_error::Result;
use volley_logical::{
    AggregateCall, Column, ColumnId, Expr, ExprKind, GroupingSet, Plan, SpecialForm,
};
use volley_plan::{
    Aggregate, AggregateStep, AggregationNode, GroupIdNode, GroupingSet as PhysicalSet, PlanNode,
    PlanNodeId,
};
use volley_types::{Field, Schema};

/// An aggregation whose keys are the columns of the node for grouping sets below it, and whose
/// calls use columns below that.
struct OverSets<'p> {
    base: &'p Plan,
    set_keys: &'p [(Column, Expr)],
    sets: &'p [GroupingSet],
    /// Whether sets without keys have extra rows.
    extra_rows: bool,
    /// The aggregation's keys: positions among the columns that the node appends.
    keys: Vec<(Column, usize)>,
    /// The calls, without the test whether a row is an extra one.
    calls: Vec<(Column, AggregateCall)>,
}

impl Lowering<'_> {
    /// Repeats rows, without an aggregation that fits above.
    pub(super) fn group_id(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::GroupId { input, keys, sets, id, present } = plan else {
            return Err(not_this_node());
        };
        let mut used = required.clone();
        keys.iter().for_each(|it| collect_used(&it.1, &mut used));
        let mut computed = Computed::new(self.plan(input, &used)?);
        let positions = keys.iter().map(|it| computed.position(&it.1));
        let positions = positions.collect::<Result<Vec<_>>>()?;
        let base = computed.finish();
        let own = keys.iter().map(|it| it.0.clone()).chain([id.clone()]).chain(present.clone());
        let appended = own.zip(base.width()..);
        let columns = base.columns.iter().cloned().chain(appended).collect();
        let extra_rows = present.is_some();
        let node = group_id_node(base.node, positions, keys, sets, extra_rows);
        Ok(Lowered::same_columns(PlanNode::GroupId(node), columns))
    }

    /// An aggregation over grouping sets; `None` if it is something else.
    pub(super) fn aggregate_sets(
        &mut self,
        plan: &Plan,
        required: &ColumnSet,
    ) -> Result<Option<Lowered>> {
        let Some(over) = OverSets::of(plan, required) else { return Ok(None) };
        let mut used = ColumnSet::new();
        over.set_keys.iter().for_each(|it| collect_used(&it.1, &mut used));
        over.calls.iter().flat_map(|it| it.1.exprs()).for_each(|it| collect_used(it, &mut used));
        let mut computed = Computed::new(self.plan(over.base, &used)?);
        let positions = over.set_keys.iter().map(|it| computed.position(&it.1));
        let positions = positions.collect::<Result<Vec<_>>>()?;
        let calls = over.calls.iter().map(|it| lower_call(&it.1, &mut computed));
        let calls = calls.collect::<Result<Vec<_>>>()?;
        let base = computed.finish().node;
        let columns: Vec<Column> = over.columns().cloned().collect();
        let schema = schema_of(&columns);
        let node = match self.groups_first(&over, &calls)? {
            true => self.sets_of_groups(&over, base, positions, calls, schema)?,
            false => self.sets_of_rows(plan, &over, base, positions, calls, schema)?,
        };
        Ok(Some(Lowered::new(node, columns)))
    }

    /// Whether grouping by all keys first pays.
    fn groups_first(&mut self, over: &OverSets<'_>, calls: &[Aggregate]) -> Result<bool> {
        if calls.iter().any(|it| it.distinct) || !self.can_split(calls, f64::INFINITY)? {
            return Ok(false);
        }
        let rows = self.estimator.estimate(over.base).rows;
        let grouped = Plan::Aggregate {
            input: Box::new(over.base.clone()),
            keys: over.set_keys.to_vec(),
            aggregates: Vec::new(),
        };
        let groups = self.estimator.estimate(&grouped).rows;
        Ok(rows >= groups * PARTIAL_ROWS_PER_GROUP_MIN)
    }

    fn sets_of_groups(
        &self,
        over: &OverSets<'_>,
        base: Arc<PlanNode>,
        positions: Vec<usize>,
        calls: Vec<Aggregate>,
        schema: Schema,
    ) -> Result<PlanNode> {
        let keys = positions.len();
        let fields = over.set_keys.iter().map(|it| &it.0);
        let groups = self.groups_once(base, positions, calls.clone(), schema_of(fields))?;
        let width = groups.schema().len();
        let all = (0..keys).collect();
        let node = group_id_node(groups, all, over.set_keys, over.sets, over.extra_rows);
        let merges = calls.into_iter().enumerate().map(|(index, call)| Aggregate {
            args: vec![keys + index],
            filter: over.extra_rows.then_some(width + keys + 1),
            merges: false,
            ..call
        });
        let (aggregates, keys) = (merges.collect(), over.key_positions(width));
        let mut input = Arc::new(PlanNode::GroupId(node));
        if self.ctx.drivers > 1 {
            input = exchange(input, &keys);
        }
        let step = AggregateStep::Final;
        Ok(PlanNode::Aggregation(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            step,
            keys,
            aggregates,
            schema,
        }))
    }

    fn sets_of_rows(
        &mut self,
        plan: &Plan,
        over: &OverSets<'_>,
        base: Arc<PlanNode>,
        positions: Vec<usize>,
        mut calls: Vec<Aggregate>,
        schema: Schema,
    ) -> Result<PlanNode> {
        let width = base.schema().len();
        let present = width + positions.len() + 1;
        for call in calls.iter_mut().filter(|it| over.extra_rows && it.filter.is_none()) {
            let bound = self.ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
            let ignores = bound.ignores_nulls && !call.args.is_empty() && !call.merges;
            call.filter = (!ignores).then_some(present);
        }
        let node = group_id_node(base, positions, over.set_keys, over.sets, over.extra_rows);
        let single = AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: Arc::new(PlanNode::GroupId(node)),
            step: AggregateStep::Single,
            keys: over.key_positions(width),
            aggregates: calls,
            schema,
        };
        self.in_steps(plan, single)
    }
}

impl<'p> OverSets<'p> {
    fn of(plan: &'p Plan, required: &ColumnSet) -> Option<OverSets<'p>> {
        let Plan::Aggregate { input, keys, aggregates } = plan else { return None };
        let Plan::GroupId { input: base, keys: set_keys, sets, id, present } = &**input else {
            return None;
        };
        let own = set_keys.iter().map(|it| it.0.id).chain([id.id]);
        let own: Vec<ColumnId> = own.collect();
        let position = |(column, expr): &(Column, Expr)| {
            let id = as_column(expr)?;
            Some((column.clone(), own.iter().position(|it| *it == id)?))
        };
        let keys = keys.iter().map(position).collect::<Option<_>>()?;
        let mut calls: Vec<_> =
            aggregates.iter().filter(|it| required.contains(&it.0.id)).cloned().collect();
        let extra_rows = present.is_some() && sets.iter().any(|it| it.keys.is_empty());
        if let Some(present) = present {
            calls.iter_mut().for_each(|it| drop_test(&mut it.1, present.id));
        }
        let mut made: ColumnSet = own.into_iter().collect();
        made.extend(present.iter().map(|it| it.id));
        let is_below = |it: &Expr| used_columns(it).is_disjoint(&made);
        let all_below = calls.iter().flat_map(|it| it.1.exprs()).all(is_below);
        all_below.then_some(OverSets { base, set_keys, sets, extra_rows, keys, calls })
    }

    /// The output columns.
    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.keys.iter().map(|it| &it.0).chain(self.calls.iter().map(|it| &it.0))
    }

    /// The position of the keys above an input of `width` columns.
    fn key_positions(&self, width: usize) -> Vec<usize> {
        self.keys.iter().map(|it| width + it.1).collect()
    }
}

/// Takes the test of a column out of a call's filter.
fn drop_test(call: &mut AggregateCall, tested: ColumnId) {
    let is_test = |it: &Expr| as_column(it) == Some(tested);
    let Some(filter) = &mut call.filter else { return };
    if is_test(filter) {
        call.filter = None;
    } else if let ExprKind::Special { form: SpecialForm::And, args } = &mut filter.kind {
        args.retain(|it| !is_test(it));
        if args.len() == 1 {
            call.filter = args.pop();
        }
    }
}

fn group_id_node(
    input: Arc<PlanNode>,
    keys: Vec<usize>,
    set_keys: &[(Column, Expr)],
    sets: &[GroupingSet],
    extra_rows: bool,
) -> GroupIdNode {
    let mut schema = input.schema().clone();
    let copy = |it: &(Column, Expr)| Field::new(it.0.name.clone(), it.0.data_type.clone());
    schema.fields.extend(set_keys.iter().map(copy));
    schema.fields.push(Field::new("group_id", volley_types::Type::BigInt));
    schema.fields.extend(extra_rows.then(|| Field::new("present", volley_types::Type::Boolean)));
    let sets = sets.iter().map(|it| PhysicalSet { id: it.id, keys: it.keys.clone() }).collect();
    GroupIdNode { node_id: PlanNodeId::UNASSIGNED, input, keys, sets, extra_rows, schema }
}

//! Joins by comparisons: a sorted build side instead of nested loops, and ASOF joins.

use super::expr::{lower_conjuncts, side_by_side};
use super::join::{
    Columns, Conditions, JoinShape, as_key, ids, nested_loop_join, output_columns, with_keys,
};
use super::{Lowered, Lowering, not_this_node};
use crate::expr::{ColumnSet, and, as_column, binary_call, collect_used, never_null, used_columns};
use crate::statistics::{ColumnComparison, Estimate, joined, pairs_share};
use std::collections::HashMap;
use volley_error::{Error, Result};
use volley_logical::{ColumnId, Expr, JoinKind, Plan};
use volley_plan::{
    AsofJoinNode, Comparison, NestedLoopJoinNode, PlanNode, PlanNodeId, RangeCondition,
};

/// The maximum number of comparisons that a join looks up.
const RANGES_MAX: usize = 2;

/// If the condition has more than comparisons, the maximum share of all pairs for which lookups
/// pay: nested loops test many pairs at once, and need only the columns that a condition reads.
const LOOKED_UP_SHARE_MAX: f64 = 0.5;

/// What it costs to find the pairs of a row by comparisons, and by a hash; what it costs to test a
/// pair that was found in either way. In 10 ns, about.
const ROW_COSTS: (f64, f64) = (15.0, 5.0);
const PAIR_COSTS: (f64, f64) = (2.0, 1.0);

/// Comparisons next to equalities are looked up where that is cheaper by this factor: their share
/// is a guess.
const COST_FACTOR: f64 = 4.0;

/// The minimum share of all pairs that satisfy the equalities. When memory is short, nested loops
/// test the comparisons, and must not be much slower.
const HASHED_SHARE_MIN: f64 = 0.01;

const COMPARISONS: [(&str, Comparison); 4] = [
    ("lt", Comparison::Less),
    ("lte", Comparison::LessOrEqual),
    ("gt", Comparison::Greater),
    ("gte", Comparison::GreaterOrEqual),
];

/// A comparison of an expression on the left side with one on the right side.
struct JoinRange<'a> {
    left: &'a Expr,
    comparison: Comparison,
    right: &'a Expr,
}

impl Lowering<'_> {
    /// A join by comparisons, if there are any. `conditions` are conjuncts, `known` the same as
    /// they are tested; `estimates`: of the sides.
    pub(super) fn range_join(
        &mut self,
        probe: Lowered,
        build: Lowered,
        (conditions, known): (&[Expr], &[Expr]),
        (shape, estimates): (JoinShape<'_>, (Estimate, Estimate)),
    ) -> Result<Lowered> {
        let (left, right) = (ids(&probe), ids(&build));
        let (mut ranges, mut rest) = (Vec::new(), Vec::new());
        for conjunct in conditions {
            match as_range(conjunct, &left, &right) {
                Some(range) if ranges.len() < RANGES_MAX => ranges.push(range),
                _ => rest.push(conjunct.clone()),
            }
        }
        let is_wide =
            || ranges_share(&estimates, &ranges).is_some_and(|it| it > LOOKED_UP_SHARE_MAX);
        if ranges.is_empty()
            || !self.ctx.is_enabled("range_joins")
            || (!rest.is_empty() && is_wide())
        {
            return nested_loop_join(probe, build, known, shape);
        }
        if shape.kind == JoinKind::LeftMark && !rest.is_empty() {
            rest = vec![never_null(and(rest))];
        }
        let (probe, probe_columns) = with_keys(probe, ranges.iter().map(|it| it.left))?;
        let (build, build_columns) = with_keys(build, ranges.iter().map(|it| it.right))?;
        let pairs = side_by_side(&probe, &build);
        let positions: HashMap<ColumnId, usize> = pairs.iter().map(|it| (it.0.id, it.1)).collect();
        let residual = match rest.as_slice() {
            [] => None,
            _ => Some(lower_conjuncts(&rest, &positions)?),
        };
        let compared = ranges.iter().zip(probe_columns.into_iter().zip(build_columns));
        let (columns, output, schema) = output_columns(&probe, &build, shape)?;
        let node = PlanNode::NestedLoopJoin(NestedLoopJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            kind: shape.kind,
            condition: Some(lower_conjuncts(known, &positions)?),
            ranges: compared.map(|(it, (probe, build))| it.condition(probe, build)).collect(),
            residual,
            output,
            schema,
            probe: probe.node,
            build: build.node,
        });
        Ok(Lowered::new(node, columns))
    }

    /// Whether the pairs of a join are found by comparisons more cheaply than by its equalities.
    pub(super) fn prefers_ranges(
        &self,
        estimates: &(Estimate, Estimate),
        sides: (&ColumnSet, &ColumnSet),
        parts: &Conditions<'_>,
    ) -> bool {
        let ranges = parts.others.iter().filter_map(|it| as_range(it, sides.0, sides.1));
        let ranges: Vec<JoinRange<'_>> = ranges.take(RANGES_MAX).collect();
        let Some(share) = ranges_share(estimates, &ranges).filter(|_| !ranges.is_empty()) else {
            return false;
        };
        let (left, right) = estimates;
        let keys: Vec<(Expr, Expr)> =
            parts.keys.iter().map(|it| (it.left.clone(), it.right.clone())).collect();
        let (rows, pairs) = (left.rows + right.rows, left.rows * right.rows);
        let hashed = joined(JoinKind::Inner, left.clone(), right.clone(), &keys, &[]).rows;
        let by_ranges = rows * ROW_COSTS.0 + pairs * share * PAIR_COSTS.0;
        let by_hash = rows * ROW_COSTS.1 + hashed * PAIR_COSTS.1;
        self.ctx.is_enabled("range_joins")
            && hashed > pairs * HASHED_SHARE_MIN
            && by_ranges * COST_FACTOR < by_hash
    }

    pub(super) fn asof_join(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::AsofJoin { left, right, kind, conditions } = plan else {
            return Err(not_this_node());
        };
        let mut used = required.clone();
        conditions.iter().for_each(|it| collect_used(it, &mut used));
        let probe = self.plan(left, &used)?;
        let build = self.plan(right, &used)?.packed(&used)?;
        let (left, right) = (ids(&probe), ids(&build));
        let (mut keys, mut range) = (Vec::new(), None);
        for conjunct in conditions {
            match (as_key(conjunct, &left, &right), as_range(conjunct, &left, &right)) {
                (Some(key), _) => keys.push(key),
                (None, Some(found)) if range.is_none() => range = Some(found),
                _ => return Err(Error::internal("a condition of an ASOF join was changed")),
            }
        }
        let range = range.ok_or_else(|| Error::internal("an ASOF join without a comparison"))?;
        let lefts = keys.iter().map(|it| it.left).chain([range.left]);
        let rights = keys.iter().map(|it| it.right).chain([range.right]);
        let (probe, mut probe_keys) = with_keys(probe, lefts)?;
        let (build, mut build_keys) = with_keys(build, rights)?;
        let last = probe_keys.pop().zip(build_keys.pop());
        let (probe_range, build_range) = last.ok_or_else(not_this_node)?;
        let shape = JoinShape { kind: *kind, null_aware: false, mark: &None, required };
        let (columns, output, schema) = output_columns(&probe, &build, shape)?;
        let node = PlanNode::AsofJoin(AsofJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            kind: *kind,
            probe_keys,
            build_keys,
            nulls_equal: keys.iter().map(|it| it.nulls_equal).collect(),
            range: range.condition(probe_range, build_range),
            output,
            schema,
            probe: probe.node,
            build: build.node,
        });
        Ok(Lowered::new(node, columns))
    }
}

/// The share of pairs that satisfy comparisons of columns, where that can be guessed.
fn ranges_share((left, right): &(Estimate, Estimate), ranges: &[JoinRange<'_>]) -> Option<f64> {
    let comparison = |it: &JoinRange<'_>| {
        Some(ColumnComparison {
            left: as_column(it.left)?,
            is_less: it.comparison.is_less(),
            right: as_column(it.right)?,
        })
    };
    let comparisons = ranges.iter().map(comparison).collect::<Option<Vec<_>>>()?;
    pairs_share(left, right, &comparisons)
}

impl JoinRange<'_> {
    fn condition(&self, probe: usize, build: usize) -> RangeCondition {
        RangeCondition { probe, comparison: self.comparison, build }
    }
}

/// The conjunct as a comparison of both sides, by an order that is total: values within nested ones
/// may be null.
fn as_range<'a>(conjunct: &'a Expr, left: &ColumnSet, right: &ColumnSet) -> Option<JoinRange<'a>> {
    let found = COMPARISONS.iter().find_map(|(name, it)| Some((binary_call(conjunct, name)?, *it)));
    let ((a, b), comparison) = found?;
    let (in_a, in_b) = (used_columns(a), used_columns(b));
    let is_simple = a.data_type == b.data_type && !a.data_type.is_nested();
    if in_a.is_empty() || in_b.is_empty() || !is_simple {
        return None;
    }
    if left.have_all(&in_a) && right.have_all(&in_b) {
        return Some(JoinRange { left: a, comparison, right: b });
    }
    let is_swapped = left.have_all(&in_b) && right.have_all(&in_a);
    is_swapped.then(|| JoinRange { left: b, comparison: comparison.mirrored(), right: a })
}

//! Joins by comparisons: a sorted build side instead of nested loops, and ASOF joins.

use super::expr::{lower_conjuncts, side_by_side};
use super::join::{Columns, JoinShape, as_key, nested_loop_join, put_out, with_keys};
use super::{Lowered, Lowering, not_this_node};
use crate::expr::{ColumnSet, and, binary_call, collect_used, never_null, used_columns};
use std::collections::HashMap;
use volley_error::{Error, Result};
use volley_logical::{ColumnId, Expr, JoinKind, Plan};
use volley_plan::{AsofJoinNode, Comparison, NestedLoopJoinNode, PlanNode, RangeCondition};

/// A join looks up rows by at most so many comparisons.
const RANGES_MAX: usize = 2;

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
    /// A join without equalities. `conditions` are conjuncts, `known` the same as they are tested.
    pub(super) fn range_join(
        &mut self,
        probe: Lowered,
        build: Lowered,
        (conditions, known): (&[Expr], &[Expr]),
        shape: JoinShape<'_>,
    ) -> Result<Lowered> {
        let (left, right) = (ids(&probe), ids(&build));
        let (mut ranges, mut rest) = (Vec::new(), Vec::new());
        for conjunct in conditions {
            match as_range(conjunct, &left, &right) {
                Some(range) if ranges.len() < RANGES_MAX => ranges.push(range),
                _ => rest.push(conjunct.clone()),
            }
        }
        if ranges.is_empty() || !self.ctx.is_enabled("range_joins") {
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
        let (columns, output, schema) = put_out(&probe, &build, shape)?;
        let node = PlanNode::NestedLoopJoin(NestedLoopJoinNode {
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
        let (columns, output, schema) = put_out(&probe, &build, shape)?;
        let node = PlanNode::AsofJoin(AsofJoinNode {
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

impl JoinRange<'_> {
    fn condition(&self, probe: usize, build: usize) -> RangeCondition {
        RangeCondition { probe, comparison: self.comparison, build }
    }
}

fn ids(side: &Lowered) -> ColumnSet {
    side.columns.iter().map(|it| it.0.id).collect()
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

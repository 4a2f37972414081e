//! Joins: equalities between the two inputs become keys of a hash join.

use super::expr::{Computed, lower_conjuncts, side_by_side};
use super::{Lowered, Lowering, not_this_node};
use crate::expr::{
    ColumnSet, binary_call, collect_used, is_never_null, never_null, not, used_columns,
};
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{Column, ColumnId, Expr, JoinKind, Plan};
use volley_plan::{FilterNode, HashJoinNode, NestedLoopJoinNode, PlanNode, PlanNodeId};
use volley_types::{Field, Schema};

/// An equality of an expression on the left side and one on the right side.
pub(crate) struct JoinKey<'a> {
    pub(crate) left: &'a Expr,
    pub(crate) right: &'a Expr,
    /// IS NOT DISTINCT FROM.
    pub(crate) nulls_equal: bool,
}

/// The columns of one side of a join.
pub(crate) trait Columns {
    /// Whether the column is one of them.
    fn have(&self, id: &ColumnId) -> bool;

    /// Whether all these are.
    fn have_all(&self, ids: &ColumnSet) -> bool {
        ids.iter().all(|it| self.have(it))
    }
}

impl Columns for ColumnSet {
    fn have(&self, id: &ColumnId) -> bool {
        self.contains(id)
    }
}

impl<T> Columns for HashMap<ColumnId, T> {
    fn have(&self, id: &ColumnId) -> bool {
        self.contains_key(id)
    }
}

/// The conjunct as a key of a join of inputs with these columns.
pub(crate) fn as_key<'a>(
    conjunct: &'a Expr,
    left_columns: &impl Columns,
    right_columns: &impl Columns,
) -> Option<JoinKey<'a>> {
    let equal = binary_call(conjunct, "eq").map(|it| (it, false));
    let ((a, b), nulls_equal) =
        equal.or_else(|| Some((binary_call(conjunct, "is_not_distinct_from")?, true)))?;
    let (in_a, in_b) = (used_columns(a), used_columns(b));
    if in_a.is_empty() || in_b.is_empty() || a.data_type != b.data_type {
        return None;
    }
    if left_columns.have_all(&in_a) && right_columns.have_all(&in_b) {
        return Some(JoinKey { left: a, right: b, nulls_equal });
    }
    let swapped = left_columns.have_all(&in_b) && right_columns.have_all(&in_a);
    swapped.then_some(JoinKey { left: b, right: a, nulls_equal })
}

/// The conditions of a join, sorted by use.
pub(super) struct Conditions<'a> {
    pub(super) keys: Vec<JoinKey<'a>>,
    pub(super) others: Vec<&'a Expr>,
}

impl Lowering<'_> {
    pub(super) fn join(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral: _ } = plan
        else {
            return Err(not_this_node());
        };
        let mut used = required.clone();
        conditions.iter().for_each(|it| collect_used(it, &mut used));
        let probe = self.plan(left, &used)?;
        let build = self.plan(right, &used)?.packed(&used)?;
        let mut parts = sort_conditions(conditions, &probe, &build);
        let unknowns = parts.keys.iter().filter(|it| !it.nulls_equal).count();
        let shape = JoinShape { kind: *kind, null_aware: *null_aware, mark, required };
        // A filter of a hash join does not distinguish unknown from false: one key alone may be
        // unknown.
        let is_known = || unknowns == 1 && parts.others.iter().all(|it| is_never_null(it));
        let is_hash = !parts.keys.is_empty() && (!null_aware || is_known());
        let compares = !null_aware && !parts.others.is_empty();
        let estimates = match compares {
            true => (self.estimator.estimate(left), self.estimator.estimate(right)),
            false => Default::default(),
        };
        let sides = (ids(&probe), ids(&build));
        let by_ranges = compares && self.prefers_ranges(&estimates, (&sides.0, &sides.1), &parts);
        if is_hash && !by_ranges {
            if *null_aware {
                parts.keys.sort_by_key(|it| !it.nulls_equal);
            }
            return self.hash_join(probe, build, &parts, shape);
        }
        if *null_aware && *kind == JoinKind::LeftAnti {
            return self.anti_by_mark(probe, build, conditions, required);
        }
        if !null_aware && *kind == JoinKind::LeftMark {
            // The mark of EXISTS is never null.
            let known = [never_null(crate::expr::and(conditions.clone()))];
            let conditions = (conditions.as_slice(), known.as_slice());
            return self.range_join(probe, build, conditions, (shape, estimates));
        }
        if *null_aware {
            return nested_loop_join(probe, build, conditions, shape);
        }
        let conditions = (conditions.as_slice(), conditions.as_slice());
        self.range_join(probe, build, conditions, (shape, estimates))
    }

    fn hash_join(
        &self,
        probe: Lowered,
        build: Lowered,
        parts: &Conditions<'_>,
        shape: JoinShape<'_>,
    ) -> Result<Lowered> {
        let (probe, probe_keys) = with_keys(probe, parts.keys.iter().map(|it| it.left))?;
        let (build, build_keys) = with_keys(build, parts.keys.iter().map(|it| it.right))?;
        let pairs = side_by_side(&probe, &build);
        let positions: HashMap<ColumnId, usize> = pairs.iter().map(|it| (it.0.id, it.1)).collect();
        let others: Vec<Expr> = parts.others.iter().map(|it| (*it).clone()).collect();
        let filter = match others.as_slice() {
            [] => None,
            _ => Some(lower_conjuncts(&others, &positions)?),
        };
        let (columns, output, schema) = output_columns(&probe, &build, shape)?;
        let node = self.merged(HashJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            dynamic_filters: Vec::new(),
            kind: shape.kind,
            probe_keys,
            build_keys,
            nulls_equal: parts.keys.iter().map(|it| it.nulls_equal).collect(),
            filter,
            null_aware: shape.null_aware,
            output,
            schema,
            probe: probe.node,
            build: build.node,
        });
        Ok(Lowered::new(node, columns))
    }

    /// NOT IN on any condition: rows whose mark is false.
    fn anti_by_mark(
        &mut self,
        probe: Lowered,
        build: Lowered,
        conditions: &[Expr],
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let column = self.ctx.column_ids.column("mark", volley_types::Type::Boolean);
        let mut with_mark = required.clone();
        with_mark.insert(column.id);
        let unmarked = not(Expr::column(column.id, column.data_type.clone()));
        let mark = Some(column);
        let shape = JoinShape {
            kind: JoinKind::LeftMark,
            null_aware: true,
            mark: &mark,
            required: &with_mark,
        };
        let joined = nested_loop_join(probe, build, conditions, shape)?;
        let predicate = lower_conjuncts(&[unmarked], &joined.positions())?;
        let node = PlanNode::Filter(FilterNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: joined.node,
            predicate,
        });
        Ok(Lowered::same_columns(node, joined.columns).narrowed(required))
    }
}

#[derive(Clone, Copy)]
pub(super) struct JoinShape<'a> {
    pub(super) kind: JoinKind,
    pub(super) null_aware: bool,
    pub(super) mark: &'a Option<Column>,
    pub(super) required: &'a ColumnSet,
}

pub(super) fn ids(side: &Lowered) -> ColumnSet {
    side.columns.iter().map(|it| it.0.id).collect()
}

fn sort_conditions<'a>(conditions: &'a [Expr], probe: &Lowered, build: &Lowered) -> Conditions<'a> {
    let (left, right) = (ids(probe), ids(build));
    let mut parts = Conditions { keys: Vec::new(), others: Vec::new() };
    for conjunct in conditions {
        match as_key(conjunct, &left, &right) {
            Some(key) => parts.keys.push(key),
            None => parts.others.push(conjunct),
        }
    }
    parts
}

pub(super) fn nested_loop_join(
    probe: Lowered,
    build: Lowered,
    conditions: &[Expr],
    shape: JoinShape<'_>,
) -> Result<Lowered> {
    let pairs = side_by_side(&probe, &build);
    let positions: HashMap<ColumnId, usize> = pairs.iter().map(|it| (it.0.id, it.1)).collect();
    let condition = match conditions {
        [] => None,
        _ => Some(lower_conjuncts(conditions, &positions)?),
    };
    let (columns, output, schema) = output_columns(&probe, &build, shape)?;
    let node = PlanNode::NestedLoopJoin(NestedLoopJoinNode {
        node_id: PlanNodeId::UNASSIGNED,
        kind: shape.kind,
        condition,
        ranges: Vec::new(),
        residual: None,
        output,
        schema,
        probe: probe.node,
        build: build.node,
    });
    Ok(Lowered::new(node, columns))
}

/// The input with the keys computed, and their positions.
pub(super) fn with_keys<'a>(
    input: Lowered,
    keys: impl Iterator<Item = &'a Expr>,
) -> Result<(Lowered, Vec<usize>)> {
    let mut computed = Computed::new(input);
    let positions = keys.map(|it| computed.position(it)).collect::<Result<_>>()?;
    Ok((computed.finish(), positions))
}

/// The required output columns of the join: their identities, their positions among all columns of
/// the join's kind, and their schema.
pub(super) fn output_columns(
    probe: &Lowered,
    build: &Lowered,
    shape: JoinShape<'_>,
) -> Result<(Vec<Column>, Vec<usize>, Schema)> {
    let mut all: Vec<(Column, usize)> = Vec::new();
    let mut width = 0;
    if shape.kind.has_probe_columns() {
        all.extend(probe.columns.iter().cloned());
        width += probe.width();
    }
    if shape.kind.has_build_columns() {
        let shifted = build.columns.iter().map(|(column, at)| (column.clone(), at + width));
        all.extend(shifted);
        width += build.width();
    }
    if let (JoinKind::LeftMark, Some(mark)) = (shape.kind, shape.mark) {
        all.push((mark.clone(), width));
    }
    all.retain(|it| shape.required.contains(&it.0.id));
    let fields = all.iter().map(|it| Field::new(it.0.name.clone(), it.0.data_type.clone()));
    let schema = fields.collect();
    let (columns, output) = all.into_iter().unzip();
    Ok((columns, output, schema))
}

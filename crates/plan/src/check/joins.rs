//! Joins.

use super::{comparable, condition, expect, misfit, puts_out, type_at, types_of};
use crate::{
    AsofJoinNode, HashJoinNode, JoinKind, MergeJoinNode, NestedLoopJoinNode, PlanNode,
    RangeCondition,
};
use volley_error::Result;
use volley_function::Registry;
use volley_types::{CustomOrder, Schema, Type};

/// How many comparisons a range join has.
const RANGES_MAX: usize = 2;

/// The columns of both sides of a join.
struct Sides {
    probe: Vec<Type>,
    build: Vec<Type>,
}

impl Sides {
    fn of(probe: &PlanNode, build: &PlanNode) -> Sides {
        Sides { probe: types_of(probe), build: types_of(build) }
    }

    /// The columns that conditions see.
    fn pair(&self) -> Vec<Type> {
        self.probe.iter().chain(&self.build).cloned().collect()
    }

    /// Checks a pair of keys: of the same type, with such an order.
    fn keys(&self, probe: usize, build: usize, order: CustomOrder) -> Result<()> {
        let (probe, build) = (type_at(&self.probe, probe)?, type_at(&self.build, build)?);
        expect("the build side's key", build, probe)?;
        comparable(probe, order)
    }

    fn equal_keys(&self, probe: &[usize], build: &[usize], nulls_equal: &[bool]) -> Result<()> {
        if probe.len() != build.len() || probe.len() != nulls_equal.len() {
            return Err(misfit("another number of keys on the other side"));
        }
        let mut keys = probe.iter().zip(build);
        keys.try_for_each(|(probe, build)| self.keys(*probe, *build, CustomOrder::Equality))
    }

    fn range(&self, range: &RangeCondition) -> Result<()> {
        self.keys(range.probe, range.build, CustomOrder::Ordered)
    }

    fn output(&self, kind: JoinKind, output: &[usize], schema: &Schema) -> Result<()> {
        let mut all = Vec::new();
        if kind.has_probe_columns() {
            all.extend(self.probe.iter().cloned());
        }
        if kind.has_build_columns() {
            all.extend(self.build.iter().cloned());
        }
        all.extend((kind == JoinKind::LeftMark).then_some(Type::Boolean));
        let types = output.iter().map(|it| type_at(&all, *it)).collect::<Result<Vec<_>>>()?;
        puts_out(schema, types)
    }
}

pub(super) fn hash_join(node: &HashJoinNode, registry: &Registry) -> Result<()> {
    let sides = Sides::of(&node.probe, &node.build);
    sides.equal_keys(&node.probe_keys, &node.build_keys, &node.nulls_equal)?;
    if node.probe_keys.is_empty() {
        return Err(misfit("a hash join without keys"));
    }
    if let Some(filter) = &node.filter {
        condition(filter, &sides.pair(), registry)?;
    }
    sides.output(node.kind, &node.output, &node.schema)
}

pub(super) fn nested_loop_join(node: &NestedLoopJoinNode, registry: &Registry) -> Result<()> {
    let sides = Sides::of(&node.probe, &node.build);
    let pair = sides.pair();
    for expr in node.condition.iter().chain(&node.residual) {
        condition(expr, &pair, registry)?;
    }
    if node.ranges.len() > RANGES_MAX || (!node.ranges.is_empty() && node.condition.is_none()) {
        return Err(misfit("comparisons that are not part of a condition"));
    }
    node.ranges.iter().try_for_each(|it| sides.range(it))?;
    sides.output(node.kind, &node.output, &node.schema)
}

pub(super) fn asof_join(node: &AsofJoinNode) -> Result<()> {
    let sides = Sides::of(&node.probe, &node.build);
    sides.equal_keys(&node.probe_keys, &node.build_keys, &node.nulls_equal)?;
    sides.range(&node.range)?;
    sides.output(node.kind, &node.output, &node.schema)
}

pub(super) fn merge_join(node: &MergeJoinNode, registry: &Registry) -> Result<()> {
    let sides = Sides::of(&node.probe, &node.build);
    if node.keys.is_empty() {
        return Err(misfit("a merge join without keys"));
    }
    node.keys.iter().try_for_each(|it| sides.keys(it.probe, it.build, CustomOrder::Ordered))?;
    if let Some(filter) = &node.filter {
        condition(filter, &sides.pair(), registry)?;
    }
    sides.output(node.kind, &node.output, &node.schema)
}

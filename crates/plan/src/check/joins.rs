//! Checks of joins.

use super::{comparable, condition, expect, misfit, missing, puts_out, type_at};
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
struct Sides<'a> {
    probe: &'a Schema,
    build: &'a Schema,
}

impl Sides<'_> {
    fn of<'a>(probe: &'a PlanNode, build: &'a PlanNode) -> Sides<'a> {
        Sides { probe: probe.schema(), build: build.schema() }
    }

    /// The columns that a join of this kind can return; for an inner join, the columns that
    /// conditions may use.
    fn types(&self, kind: JoinKind) -> Vec<Type> {
        kind.schema(self.probe, self.build).types().cloned().collect()
    }

    /// Checks a pair of keys: of the same type, with such an order.
    fn keys(&self, probe: usize, build: usize, order: CustomOrder) -> Result<()> {
        let (probe, build) = (column(self.probe, probe)?, column(self.build, build)?);
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
        let all = self.types(kind);
        let types = output.iter().map(|it| type_at(&all, *it)).collect::<Result<Vec<_>>>()?;
        puts_out(schema, types)
    }
}

fn column(schema: &Schema, at: usize) -> Result<&Type> {
    let field = schema.fields.get(at).ok_or_else(|| missing(at, schema.len()))?;
    Ok(&field.data_type)
}

pub(super) fn hash_join(node: &HashJoinNode, registry: &Registry) -> Result<()> {
    let sides = Sides::of(&node.probe, &node.build);
    sides.equal_keys(&node.probe_keys, &node.build_keys, &node.nulls_equal)?;
    if node.probe_keys.is_empty() {
        return Err(misfit("a hash join without keys"));
    }
    if let Some(filter) = &node.filter {
        condition(filter, &sides.types(JoinKind::Inner), registry)?;
    }
    sides.output(node.kind, &node.output, &node.schema)
}

pub(super) fn nested_loop_join(node: &NestedLoopJoinNode, registry: &Registry) -> Result<()> {
    let sides = Sides::of(&node.probe, &node.build);
    let pair = sides.types(JoinKind::Inner);
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
        condition(filter, &sides.types(JoinKind::Inner), registry)?;
    }
    sides.output(node.kind, &node.output, &node.schema)
}

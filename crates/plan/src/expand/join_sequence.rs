//! Joins on one key as one map over the partitions of all inputs.
//!
//! ```text
//! HashJoin(HashJoin(a, b), c), all on one key
//!     ->  NestedMap(Zip(Zip(Partition a, Partition b), Partition c),
//!                   HashJoin(HashJoin(RowScan A, RowScan B), RowScan C))
//! ```
//!
//! Each input is partitioned once: N + 1 times for N joins, in place of 2 N. Source: Modularis,
//! section 4.2.

use super::{Expander, rows_of_parameter, sub};
use crate::{
    HashJoinNode, JoinKind, PlanNode,
    sub::{NestedMap, Parameter, Partition, PartitionFunction, SubNode, SubOperator, Zip},
};
use std::sync::Arc;
use volley_error::Result;
use volley_types::Schema;

/// Adds a join to the map that its probe side is, if that partitions by the join's key.
pub(super) fn join_sequence(node: &PlanNode, expander: &mut Expander) -> Result<Option<PlanNode>> {
    let PlanNode::HashJoin(join) = node else { return Ok(None) };
    let PlanNode::Sub(SubNode { op: SubOperator::NestedMap(map), inputs, .. }) = &*join.probe
    else {
        return Ok(None);
    };
    let ([tuples, plan], [key]) = (&inputs[..], &join.probe_keys[..]) else { return Ok(None) };
    let Some(keys) = partition_keys(tuples, expander.bits) else { return Ok(None) };
    if super::is_null_aware(join) || !key_positions(plan, map.id, &keys).contains(key) {
        return Ok(None);
    }
    let added = expander.partition(&join.build, &join.build_keys)?;
    let tuples = sub(SubOperator::Zip(Zip), vec![Arc::clone(tuples), added])?;
    let schema = tuples.schema().clone();
    let probe = with_tuple(plan, map.id, &schema)?;
    let build = rows_of_parameter(map.id, &schema, schema.len().saturating_sub(1))?;
    let plan = PlanNode::HashJoin(HashJoinNode { probe, build, ..join.clone() });
    let map = SubOperator::NestedMap(NestedMap { id: map.id });
    Ok(Some(PlanNode::Sub(SubNode::new(map, vec![tuples, Arc::new(plan)])?)))
}

/// The key column of the rows of each collection of tuples that are zipped partitions by one key.
fn partition_keys(tuples: &PlanNode, bits: u8) -> Option<Vec<usize>> {
    let PlanNode::Sub(SubNode { op, inputs, .. }) = tuples else { return None };
    match (op, &inputs[..]) {
        (SubOperator::Partition(Partition { function }), _) => {
            let PartitionFunction::Radix { keys, skipped_bits, bits: own } = function else {
                return None;
            };
            match keys[..] {
                [key] if *skipped_bits == 0 && *own == bits => Some(vec![key]),
                _ => None,
            }
        }
        (SubOperator::Zip(Zip), [left, right]) => {
            let mut keys = partition_keys(left, bits)?;
            keys.extend(partition_keys(right, bits)?);
            Some(keys)
        }
        _ => None,
    }
}

/// The output columns of a map's plan whose values are in the partition that their hash says. A
/// side that is padded with nulls has none.
fn key_positions(plan: &PlanNode, map: u32, keys: &[usize]) -> Vec<usize> {
    match plan {
        PlanNode::Sub(SubNode { op: SubOperator::RowScan(scan), inputs, .. }) => {
            let is_tuple = |it: &Arc<PlanNode>| {
                matches!(&**it, PlanNode::Sub(SubNode { op: SubOperator::Parameter(it), .. })
                    if it.map == map)
            };
            // The first column is the number of the partition.
            let key = scan.column.checked_sub(1).and_then(|it| keys.get(it));
            key.filter(|_| inputs.iter().all(is_tuple)).copied().into_iter().collect()
        }
        PlanNode::HashJoin(join) => {
            let (probe, build) = match join.kind {
                JoinKind::Inner => (true, true),
                JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark => {
                    (true, false)
                }
                JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => (false, true),
                JoinKind::Full => (false, false),
            };
            let mut all = Vec::new();
            if probe {
                all.extend(key_positions(&join.probe, map, keys));
            }
            if build {
                let skipped = match join.kind.has_probe_columns() {
                    true => join.probe.schema().len(),
                    false => 0,
                };
                let positions = key_positions(&join.build, map, keys);
                all.extend(positions.into_iter().map(|it| skipped + it));
            }
            let output = join.output.iter().enumerate();
            output.filter(|it| all.contains(it.1)).map(|it| it.0).collect()
        }
        _ => Vec::new(),
    }
}

/// The plan of a map whose tuples have these columns: those that they had come first.
fn with_tuple(plan: &Arc<PlanNode>, map: u32, schema: &Schema) -> Result<Arc<PlanNode>> {
    if let PlanNode::Sub(SubNode { op: SubOperator::Parameter(parameter), .. }) = &**plan
        && parameter.map == map
    {
        let parameter = Parameter { map, schema: schema.clone() };
        return sub(SubOperator::Parameter(parameter), Vec::new());
    }
    let inputs = plan.inputs().into_iter().map(|it| with_tuple(it, map, schema));
    Ok(Arc::new(plan.with_inputs(inputs.collect::<Result<_>>()?)))
}

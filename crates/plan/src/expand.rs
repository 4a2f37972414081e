//! Expansions: relational nodes as compositions of sub-operators.
//!
//! ```text
//! radix_joins          HashJoin(p, b)  ->  NestedMap(Zip(Partition(p), Partition(b)),
//!                                                    HashJoin(RowScan P, RowScan B))
//! partitioned_groups   Aggregation(t)  ->  NestedMap(Partition(t), Aggregation(RowScan P))
//! join_sequences       HashJoin(NestedMap(Zip(..), ..), c)  ->  one map over the partitions of all
//! build_probe          HashJoin(p, b)  ->  Probe(p, Build(b))
//! ```
//!
//! Each is a function from data to data, found by its name. Without one, a node runs as today's
//! operator of its kind.

mod join_sequence;
#[cfg(test)]
mod tests;

use crate::{
    AggregateStep, AggregationNode, HashJoinNode, JoinKind, PlanNode,
    sub::{
        Build, NestedMap, Parameter, Partition, PartitionFunction, Probe, RowScan, SubNode,
        SubOperator, Zip,
    },
};
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_types::Schema;

/// A way to compose a relational node of sub-operators.
pub struct Expansion {
    /// Its name, for switching it on.
    pub name: &'static str,
    /// What it does, for people.
    pub description: &'static str,
    expand: fn(&PlanNode, &mut Expander) -> Result<Option<PlanNode>>,
}

/// The expansion that makes no maps.
const BUILD_PROBE: &str = "build_probe";

/// All expansions but the first form of each node, which is today's operator.
pub const EXPANSIONS: &[Expansion] = &[
    Expansion {
        name: "join_sequences",
        description: "joins on the key of a radix join in the same partitions (with radix_joins)",
        expand: join_sequence::join_sequence,
    },
    Expansion {
        name: "radix_joins",
        description: "partitions both inputs of hash joins, and joins each pair of partitions",
        expand: radix_join,
    },
    Expansion {
        name: "partitioned_groups",
        description: "partitions the input of aggregations, and aggregates each partition",
        expand: partitioned_groups,
    },
    Expansion {
        name: BUILD_PROBE,
        description: "shows hash joins as two sub-operators, which run as one operator each",
        expand: build_probe,
    },
];

/// How nodes are expanded.
pub struct Expander {
    /// The names of the expansions that are on.
    pub expansions: Vec<String>,
    /// The number of bits of partitions.
    pub bits: u8,
    /// The identity of the next map.
    next_map: u32,
}

impl Expander {
    /// Expands with these expansions, into 2 to the power of `bits` partitions.
    pub fn new(expansions: Vec<String>, bits: u8) -> Expander {
        Expander { expansions, bits, next_map: 0 }
    }

    /// The plan with all nodes expanded that an expansion applies to, and new ids. Plans with
    /// recursions or maps stay as they are, unless no expansion makes maps.
    ///
    /// # Errors
    ///
    /// Internal: an expansion whose nodes do not fit.
    pub fn expand(&mut self, plan: &Arc<PlanNode>) -> Result<Arc<PlanNode>> {
        let maps = plan.walk().into_iter().filter_map(|it| match it.node {
            PlanNode::Sub(SubNode { op: SubOperator::NestedMap(map), .. }) => Some(map.id),
            _ => None,
        });
        self.next_map = maps.max().map_or(0, |it| it.wrapping_add(1));
        let is_closed =
            |it: &PlanNode| matches!(it, PlanNode::RecursiveUnion(_) | PlanNode::Sub(_));
        let makes_maps = self.expansions.iter().any(|it| it != BUILD_PROBE);
        if makes_maps && plan.walk().iter().any(|it| is_closed(it.node)) {
            return Ok(Arc::clone(plan));
        }
        let mut work = vec![(Arc::clone(plan), false)];
        let mut done: Vec<Arc<PlanNode>> = Vec::new();
        // Readers of a shared subplan go on to share it.
        let mut shared: HashMap<u32, Arc<PlanNode>> = HashMap::new();
        while let Some((node, has_inputs)) = work.pop() {
            let inputs = node.inputs().len();
            if let PlanNode::Spool(reader) = &*node
                && let Some(known) = shared.get(&reader.id)
            {
                if has_inputs {
                    done.pop();
                }
                done.push(Arc::clone(known));
                continue;
            }
            if !has_inputs && inputs > 0 {
                work.push((Arc::clone(&node), true));
                work.extend(node.inputs().into_iter().rev().map(|it| (Arc::clone(it), false)));
                continue;
            }
            let inputs = done.split_off(done.len().saturating_sub(inputs));
            let node = Arc::new(self.expanded(node.with_inputs(inputs))?);
            if let PlanNode::Spool(reader) = &*node {
                shared.insert(reader.id, Arc::clone(&node));
            }
            done.push(node);
        }
        Ok(done.pop().map_or_else(|| Arc::clone(plan), PlanNode::numbered))
    }

    fn expanded(&mut self, node: PlanNode) -> Result<PlanNode> {
        for expansion in EXPANSIONS {
            if self.expansions.iter().any(|it| it == expansion.name)
                && let Some(expanded) = (expansion.expand)(&node, self)?
            {
                return Ok(expanded);
            }
        }
        Ok(node)
    }

    fn partition(&self, input: &Arc<PlanNode>, keys: &[usize]) -> Result<Arc<PlanNode>> {
        let (keys, bits) = (keys.to_vec(), self.bits);
        let function = PartitionFunction::Radix { keys, skipped_bits: 0, bits };
        let partition = SubOperator::Partition(Partition { function });
        sub(partition, vec![Arc::clone(input)])
    }

    /// The map whose tuples are `tuples`; `plan` makes the plan of the rows of a collection.
    fn map(
        &mut self,
        tuples: Arc<PlanNode>,
        plan: impl FnOnce(&dyn Fn(usize) -> Result<Arc<PlanNode>>) -> Result<PlanNode>,
    ) -> Result<Option<PlanNode>> {
        let (id, schema) = (self.next_map, tuples.schema().clone());
        self.next_map = self.next_map.wrapping_add(1);
        let plan = plan(&|column| rows_of_parameter(id, &schema, column))?;
        let map = SubOperator::NestedMap(NestedMap { id });
        Ok(Some(PlanNode::Sub(SubNode::new(map, vec![tuples, Arc::new(plan)])?)))
    }
}

fn rows_of_parameter(map: u32, schema: &Schema, column: usize) -> Result<Arc<PlanNode>> {
    let parameter = Parameter { map, schema: schema.clone() };
    let parameter = sub(SubOperator::Parameter(parameter), Vec::new())?;
    sub(SubOperator::RowScan(RowScan { column }), vec![parameter])
}

fn sub(op: SubOperator, inputs: Vec<Arc<PlanNode>>) -> Result<Arc<PlanNode>> {
    Ok(Arc::new(PlanNode::Sub(SubNode::new(op, inputs)?)))
}

/// Whether a null of any build row counts for all probe rows.
fn is_null_aware(join: &HashJoinNode) -> bool {
    join.null_aware && matches!(join.kind, JoinKind::LeftAnti | JoinKind::LeftMark)
}

fn radix_join(node: &PlanNode, expander: &mut Expander) -> Result<Option<PlanNode>> {
    let PlanNode::HashJoin(join) = node else { return Ok(None) };
    if is_null_aware(join) || join.probe_keys.is_empty() {
        return Ok(None);
    }
    let probe = expander.partition(&join.probe, &join.probe_keys)?;
    let build = expander.partition(&join.build, &join.build_keys)?;
    let tuples = sub(SubOperator::Zip(Zip), vec![probe, build])?;
    expander.map(tuples, |rows| {
        let (probe, build) = (rows(1)?, rows(2)?);
        Ok(PlanNode::HashJoin(HashJoinNode { probe, build, ..join.clone() }))
    })
}

fn build_probe(node: &PlanNode, _: &mut Expander) -> Result<Option<PlanNode>> {
    let PlanNode::HashJoin(join) = node else { return Ok(None) };
    let build = Build { keys: join.build_keys.clone() };
    let build = sub(SubOperator::Build(build), vec![Arc::clone(&join.build)])?;
    let probe = Probe {
        kind: join.kind,
        keys: join.probe_keys.clone(),
        nulls_equal: join.nulls_equal.clone(),
        filter: join.filter.clone(),
        null_aware: join.null_aware,
        output: join.output.clone(),
    };
    let op = SubOperator::Probe(Box::new(probe));
    let mut node = SubNode::new(op, vec![Arc::clone(&join.probe), build])?;
    // Names of columns may be others than those of the inputs.
    node.schema = join.schema.clone();
    Ok(Some(PlanNode::Sub(node)))
}

/// What a node is called among sub-operators: each has at most one inner loop.
pub fn sub_operator_name(node: &PlanNode) -> &str {
    match node {
        PlanNode::Project(_) => "Map",
        PlanNode::Aggregation(it) if it.keys.is_empty() => "Reduce",
        PlanNode::Aggregation(_) => "ReduceByKey",
        PlanNode::OrderBy(_) => "Sort",
        PlanNode::NestedLoopJoin(_) => "Cross",
        PlanNode::LocalExchange(_) | PlanNode::Exchange(_) => "Exchange",
        node => node.kind(),
    }
}

/// The plan as sub-operators, for people: with [`EXPANSIONS`] that only name what runs anyway.
///
/// # Errors
///
/// Internal: an expansion whose nodes do not fit.
pub fn sub_operators(plan: &Arc<PlanNode>) -> Result<Arc<PlanNode>> {
    Expander::new(vec![BUILD_PROBE.to_owned()], 0).expand(plan)
}

fn partitioned_groups(node: &PlanNode, expander: &mut Expander) -> Result<Option<PlanNode>> {
    let PlanNode::Aggregation(aggregation) = node else { return Ok(None) };
    let is_whole = matches!(aggregation.step, AggregateStep::Single | AggregateStep::Final);
    if !is_whole || aggregation.keys.is_empty() {
        return Ok(None);
    }
    let tuples = expander.partition(&aggregation.input, &aggregation.keys)?;
    expander.map(tuples, |rows| {
        Ok(PlanNode::Aggregation(AggregationNode { input: rows(1)?, ..aggregation.clone() }))
    })
}

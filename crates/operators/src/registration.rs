//! The lowering functions of all nodes.

use crate::{
    aggregation, cost::COSTS, dynamic_filters, enforce_single_row, exchange, filter_project,
    group_id, group_limit, hash_join, limit, merge_join, nested_loop_join, order_by, page_source,
    recursion, repeat, row_order, sample, spool, sub, table_scan, table_write, task_input, top_n,
    unique_id, unnest, values, window,
};
use volley_error::{Error, Result};
use volley_exec::{Fusion, Inputs, Lowering, LoweringRegistry, PipelineBuilder};
use volley_plan::PlanNode;

/// Adds the operators of a node to its inputs' pipelines.
type Lower = fn(&PlanNode, &mut Inputs, &mut Lowering) -> Result<PipelineBuilder>;

/// By the kind of node, see [`PlanNode::kind`].
const NODES: [(&str, Fusion, Lower); 38] = [
    ("TableScan", Fusion::Never, table_scan::lower),
    ("Values", Fusion::Never, values::lower),
    ("Filter", Fusion::Possible, filter_project::lower_filter),
    ("Project", Fusion::Possible, filter_project::lower_project),
    ("Aggregation", Fusion::Never, aggregation::lower),
    ("GroupId", Fusion::Never, group_id::lower),
    ("Window", Fusion::Never, window::lower),
    ("HashJoin", Fusion::Never, hash_join::lower),
    ("NestedLoopJoin", Fusion::Never, nested_loop_join::lower),
    ("AsofJoin", Fusion::Never, nested_loop_join::lower_asof),
    ("MergeJoin", Fusion::Never, merge_join::lower),
    ("OrderBy", Fusion::Never, order_by::lower),
    ("TopN", Fusion::Never, top_n::lower),
    ("Limit", Fusion::Never, limit::lower),
    ("GroupLimit", Fusion::Never, group_limit::lower),
    ("Repeat", Fusion::Never, repeat::lower),
    ("Unnest", Fusion::Never, unnest::lower),
    ("Sample", Fusion::Never, sample::lower),
    ("Union", Fusion::Possible, exchange::lower_union),
    ("UniqueId", Fusion::Never, unique_id::lower),
    ("EnforceSingleRow", Fusion::Never, enforce_single_row::lower),
    ("LocalExchange", Fusion::Possible, exchange::lower),
    ("Shared", Fusion::Never, spool::lower),
    ("RecursiveUnion", Fusion::Never, recursion::lower),
    ("WorkingTable", Fusion::Never, recursion::lower_working_table),
    ("TableWrite", Fusion::Never, table_write::lower),
    ("TaskInput", Fusion::Never, task_input::lower),
    ("Parameter", Fusion::Never, sub::lower_parameter),
    ("NestedMap", Fusion::Never, sub::lower_nested_map),
    ("Zip", Fusion::Never, sub::lower_zip),
    ("Histogram", Fusion::Never, sub::lower_histogram),
    ("Partition", Fusion::Never, sub::lower_partition),
    ("Materialize", Fusion::Never, sub::lower_materialize),
    ("RowScan", Fusion::Never, sub::lower_row_scan),
    ("Build", Fusion::Never, sub::lower_build),
    ("Probe", Fusion::Never, sub::lower_probe),
    ("Exchange", Fusion::Possible, exchange::lower_uncut),
    ("PageSource", Fusion::Never, page_source::lower),
];

/// How all nodes of the engine run. Nodes of other crates are added with [`LoweringRegistry::add`].
pub fn registry() -> LoweringRegistry {
    let mut registry = LoweringRegistry::default();
    register(&mut registry).expect("every kind of node is registered once");
    registry
}

/// Adds the lowering functions of all nodes of the engine.
///
/// # Errors
///
/// Invalid value, when there is a function for one of them already.
pub fn register(registry: &mut LoweringRegistry) -> Result<()> {
    for (kind, fusion, lower) in NODES {
        registry.add_kind(kind, fusion, lower)?;
    }
    registry.skip_input("HashJoin", hash_join::skipped_input)?;
    registry.skip_input("RecursiveUnion", recursion::skipped_input)?;
    registry.skip_input("NestedMap", sub::skipped_input)?;
    registry.before_plan(dynamic_filters::find);
    registry.before_plan(row_order::find);
    registry.before_plan(group_limit::find);
    registry.set_costs(COSTS);
    Ok(())
}

/// A function was called for a node of another kind.
pub(crate) fn wrong_node() -> Error {
    Error::internal("a plan node was lowered as one of another kind")
}

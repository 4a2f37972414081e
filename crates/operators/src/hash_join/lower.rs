//! Hash join: any number of drivers on both sides.

use super::{CachedBuilds, HashJoinSpec, build::HashBuild, probe::HashProbe, shared::JoinShared};
use crate::{dynamic_filters::DynamicFilters, registration::wrong_node};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_expression::{Expr, ExprKind};
use volley_plan::{HashJoinNode, PlanNode};

/// In a recursion's step: which recursion, and the build sides that it keeps.
#[derive(Default)]
pub(crate) struct StepBuilds(pub Option<(u32, Arc<CachedBuilds>)>);

/// The build side, where a recursion keeps its tables.
pub(crate) fn skipped_input(node: &PlanNode, cx: &mut Lowering) -> Option<usize> {
    let builds = cx.state::<StepBuilds>();
    builds.0.as_ref().is_some_and(|(_, it)| it.has(node.id())).then_some(1)
}

/// Adds the build side's sink and the probe side's operator.
pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::HashJoin(node) = node else { return Err(wrong_node()) };
    let (mut probe, build) = (inputs.take()?, inputs.take_optional());
    let filters = cx.state::<DynamicFilters>().to_set(node);
    let builds = cx.state::<StepBuilds>().0.clone();
    let kept = builds.filter(|(recursion, _)| keeps_build(node, *recursion)).map(|(_, it)| it);
    let spec = Arc::new(HashJoinSpec::new(node, cx.task().sizes));
    let pool = cx.pool("hash join build");
    let drivers = (build.as_ref().map_or(0, PipelineBuilder::drivers), probe.drivers());
    let shared = Arc::new(JoinShared::new(spec, filters, drivers, &pool));
    match build {
        Some(mut build) => {
            let for_build = Arc::clone(&shared);
            cx.add_in_pool(&mut build, "hash join build", pool, move |cx| {
                Ok(Box::new(HashBuild::new(Arc::clone(&for_build), cx)))
            });
            cx.seal(build);
            kept.iter().for_each(|it| it.keep(node.node_id, &shared));
        }
        None => {
            let missing = || Error::internal("a join without its build side");
            let kept = kept.ok_or_else(missing)?;
            shared.adopt(kept.tables(node.node_id).ok_or_else(missing)?);
        }
    }
    let partitioned_by = probe.partitioned_by.take();
    cx.add(&mut probe, "hash join probe", move |cx| {
        Ok(Box::new(HashProbe::new(Arc::clone(&shared), cx)?))
    });
    probe.partitioned_by = partitioned_by.and_then(|it| partitioned_after(node, &it));
    Ok(probe)
}

/// Where the columns by which the probe side is spread over drivers are in the output; `None` when
/// one is gone, or build rows without a match come from any driver.
fn partitioned_after(node: &HashJoinNode, columns: &[usize]) -> Option<Vec<usize>> {
    if node.kind.emits_build_rows() {
        return None;
    }
    columns.iter().map(|column| node.output.iter().position(|it| it == column)).collect()
}

/// Whether the build side is the same in all iterations of a recursion, and is not changed by
/// probing: rows that are kept, or plain columns of them.
fn keeps_build(node: &HashJoinNode, recursion: u32) -> bool {
    let is_kept = |it: &PlanNode| matches!(it, PlanNode::WorkingTable(it) if it.id != recursion);
    let build = match &*node.build {
        PlanNode::Project(project) if project.exprs.iter().all(repeats) => &*project.input,
        other => other,
    };
    !node.kind.emits_build_rows() && is_kept(build)
}

/// Whether an expression has the same value again, as far as that is known without the registry.
fn repeats(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Constant(_) => true,
        ExprKind::Cast { input, .. } => repeats(input),
        _ => false,
    }
}

//! Hash join: any number of drivers on both sides.

use crate::{Lowering, PipelineBuilder};
use volley_error::Result;
use volley_expression::{Expr, ExprKind};
use volley_plan::{HashJoinNode, PlanNode};

/// `build` is missing where a recursion keeps the tables of the build side.
pub(super) fn lower(
    node: &HashJoinNode,
    mut probe: PipelineBuilder,
    mut build: Option<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    cx.close_fused(&mut probe);
    build.iter_mut().for_each(|it| cx.close_fused(it));
    let filters = cx.filters.take_join(cx.node);
    let builds = cx.builds.clone().filter(|(recursion, _)| keeps_build(node, *recursion));
    let builds = builds.map(|(_, it)| (it, cx.node));
    crate::hash_join::lower(node, probe, build, (filters, builds), cx)
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

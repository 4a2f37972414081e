//! Filter, and the fusion of filters and projections into one operator.

use crate::{Lowering, PipelineBuilder, filter_project::FilterProject};
use volley_error::Result;
use volley_expression::{Expr, ExprKind};
use volley_plan::FilterNode;

/// A filter, a projection, or a filter and the projection after it: one operator.
pub(crate) struct FilterProjectSpec {
    /// The plan node whose output the operator puts out.
    pub node: usize,
    /// Conjuncts.
    pub filters: Vec<Expr>,
    /// `None`: all input columns.
    pub projections: Option<Vec<Expr>>,
}

pub(super) fn lower(
    node: &FilterNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    if input.fused.as_ref().is_none_or(|it| it.projections.is_some()) {
        cx.close_fused(&mut input);
    }
    let spec = input.fused.get_or_insert_with(|| FilterProjectSpec {
        node: cx.node,
        filters: Vec::new(),
        projections: None,
    });
    spec.node = cx.node;
    spec.filters.push(node.predicate.clone());
    Ok(input)
}

impl Lowering {
    /// Makes the operator of the filter and projection at the end of `pipeline`, if there is one.
    pub(super) fn close_fused(&mut self, pipeline: &mut PipelineBuilder) {
        let Some(spec) = pipeline.fused.take() else { return };
        let partitioned_by = partitioned_after(pipeline.partitioned_by.take(), &spec.projections);
        let node = std::mem::replace(&mut self.node, spec.node);
        let name = match (spec.filters.is_empty(), &spec.projections) {
            (true, _) => "project",
            (false, None) => "filter",
            (false, Some(_)) => "filter project",
        };
        self.add(pipeline, name, move |cx| {
            Ok(Box::new(FilterProject::new(name, &spec.filters, spec.projections.as_deref(), cx)?))
        });
        self.node = node;
        pipeline.partitioned_by = partitioned_by;
    }
}

/// The partitioning columns' positions after a projection; `None` when one of them is gone.
fn partitioned_after(
    columns: Option<Vec<usize>>,
    projections: &Option<Vec<Expr>>,
) -> Option<Vec<usize>> {
    let Some(projections) = projections else { return columns };
    let position =
        |column: &usize| projections.iter().position(|it| it.kind == ExprKind::Column(*column));
    columns?.iter().map(position).collect()
}

//! Filter and project, and their fusion into one operator.

use super::FilterProject;
use crate::registration::wrong_node;
use volley_error::{Error, Result};
use volley_exec::{FusedOperator, Inputs, Lowering, OperatorFactory, PipelineBuilder};
use volley_expression::{Expr, ExprKind};
use volley_plan::{PlanNode, PlanNodeId};

/// A filter, a projection, or a filter and the projection after it: one operator.
struct FilterProjectSpec {
    /// The plan node whose output the operator returns.
    node: PlanNodeId,
    /// Conjuncts.
    filters: Vec<Expr>,
    /// `None`: all input columns.
    projections: Option<Vec<Expr>>,
}

pub(crate) fn lower_filter(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Filter(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    open_spec(&mut input, cx)?.filters.push(node.predicate.clone());
    Ok(input)
}

pub(crate) fn lower_project(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Project(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    open_spec(&mut input, cx)?.projections = Some(node.exprs.clone());
    Ok(input)
}

/// The filter at the end of the pipeline, or a new one that keeps all rows.
fn open_spec<'a>(
    input: &'a mut PipelineBuilder,
    cx: &mut Lowering,
) -> Result<&'a mut FilterProjectSpec> {
    let node = cx.node();
    let is_open = |it: &mut FilterProjectSpec| it.projections.is_none();
    if !input.fused_mut().is_some_and(is_open) {
        cx.fuse(input, FilterProjectSpec { node, filters: Vec::new(), projections: None });
    }
    let missing = || Error::internal("a pipeline lost the filter at its end");
    let spec: &mut FilterProjectSpec = input.fused_mut().ok_or_else(missing)?;
    spec.node = node;
    Ok(spec)
}

impl FusedOperator for FilterProjectSpec {
    fn node(&self) -> PlanNodeId {
        self.node
    }

    fn name(&self) -> &'static str {
        match (self.filters.is_empty(), &self.projections) {
            (true, _) => "project",
            (false, None) => "filter",
            (false, Some(_)) => "filter project",
        }
    }

    /// The partitioning columns' positions after a projection; `None` when one of them is gone.
    fn partitioned_by(&self, input: Option<Vec<usize>>) -> Option<Vec<usize>> {
        let Some(projections) = &self.projections else { return input };
        let position =
            |column: &usize| projections.iter().position(|it| it.kind == ExprKind::Column(*column));
        input?.iter().map(position).collect()
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn into_factory(self: Box<Self>) -> OperatorFactory {
        let name = self.name();
        Box::new(move |cx| {
            let projections = self.projections.as_deref();
            Ok(Box::new(FilterProject::new(name, &self.filters, projections, cx)?))
        })
    }
}

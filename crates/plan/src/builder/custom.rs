//! Nodes of other crates in a [`PlanBuilder`].

use super::PlanBuilder;
use crate::{CustomNode, CustomPlanNode, PlanNode};
use std::sync::Arc;
use volley_error::Result;

impl PlanBuilder {
    /// Puts a node of another crate above the plan so far; it starts a plan if it is a source.
    pub fn custom(self, node: impl CustomNode) -> PlanBuilder {
        self.custom_with(node, Vec::new())
    }

    /// Like [`PlanBuilder::custom`], with more inputs after the plan so far.
    pub fn custom_with(self, node: impl CustomNode, others: Vec<PlanBuilder>) -> PlanBuilder {
        let registry = Arc::clone(&self.registry);
        let others = others.into_iter().map(PlanBuilder::unnumbered).collect::<Result<Vec<_>>>();
        let node = self.node.and_then(|first| {
            let inputs = first.into_iter().chain(others?).collect();
            let node = CustomPlanNode::new(Arc::new(node), inputs)?;
            Ok(Some(Arc::new(PlanNode::Custom(node))))
        });
        PlanBuilder { registry, node }
    }
}

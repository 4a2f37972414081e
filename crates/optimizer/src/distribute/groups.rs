//! Aggregations and windows: rows of a group in one task.

use super::{Distributor, GROUPS_BELOW_EXCHANGES, placed::Placed};
use std::sync::Arc;
use volley_error::Result;
use volley_plan::{AggregateStep, AggregationNode, PlanNode, WindowNode};

impl Distributor<'_> {
    pub(super) fn aggregation(
        &mut self,
        node: &PlanNode,
        aggregation: &AggregationNode,
    ) -> Result<Vec<Placed>> {
        self.each_input(node, |it, mut input| {
            let is_partial = aggregation.step == AggregateStep::Partial;
            if !is_partial || !it.is_enabled(GROUPS_BELOW_EXCHANGES) {
                input = match aggregation.keys.is_empty() {
                    true => it.single(input),
                    false => it.together(input, &aggregation.keys),
                };
            }
            it.above(node, input)
        })
    }

    pub(super) fn window(&mut self, node: &PlanNode, window: &WindowNode) -> Result<Vec<Placed>> {
        self.each_input(node, |it, input| {
            if input.distribution.keeps_together(&window.partition_by) {
                return it.above(node, input);
            }
            let input = match window.partition_by.is_empty() {
                true => it.single(input),
                false => it.together(input, &window.partition_by),
            };
            // An exchange has no order.
            let window = WindowNode { sorted: false, ..window.clone() };
            let window = PlanNode::Window(WindowNode { input: Arc::clone(&input.node), ..window });
            it.above(&window, input)
        })
    }
}

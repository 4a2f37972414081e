//! Visits the nodes of a plan without recursion.

use crate::PlanNode;
use std::collections::HashSet;

/// A node met on a walk.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The node.
    pub node: &'a PlanNode,
    /// How far below the root.
    pub depth: usize,
    /// Whether this is a [`crate::SpoolNode`] whose subplan was visited under an earlier one: its
    /// input is skipped here.
    pub repeated: bool,
}

impl PlanNode {
    /// All nodes, a node before its inputs, inputs in order.
    ///
    /// The subplan of a shared node appears once, under its first reader.
    pub fn walk(&self) -> Vec<Visit<'_>> {
        let mut visits = Vec::new();
        let mut shared = HashSet::new();
        let mut rest = vec![(self, 0)];
        while let Some((node, depth)) = rest.pop() {
            let repeated = matches!(node, PlanNode::Spool(it) if !shared.insert(it.id));
            visits.push(Visit { node, depth, repeated });
            if !repeated {
                rest.extend(node.inputs().into_iter().rev().map(|it| (&**it, depth + 1)));
            }
        }
        visits
    }
}

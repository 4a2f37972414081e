//! A plan's nodes in the order of their walk.

use crate::{PlanNode, Visit};
use std::ops::Range;

/// A plan's nodes, and how to find their inputs among them.
pub struct PlanWalk<'a> {
    /// The nodes in the order of [`PlanNode::walk`].
    pub visits: Vec<Visit<'a>>,
    /// For each node, the position after the last one below it.
    ends: Vec<usize>,
}

impl<'a> PlanWalk<'a> {
    /// The walk of `plan`.
    pub fn new(plan: &'a PlanNode) -> PlanWalk<'a> {
        let visits = plan.walk();
        let mut ends = vec![0; visits.len()];
        // The nodes whose ends are not known yet, each below the one before.
        let mut open: Vec<usize> = Vec::new();
        for (position, visit) in visits.iter().enumerate() {
            let closed = open.partition_point(|it| visits[*it].depth < visit.depth);
            open.drain(closed..).for_each(|it| ends[it] = position);
            open.push(position);
        }
        open.into_iter().for_each(|it| ends[it] = visits.len());
        PlanWalk { visits, ends }
    }

    /// The positions of an input of the node at `position` and of all nodes below it.
    pub fn below(&self, position: usize, index: usize) -> Range<usize> {
        let input = self.input(position, index);
        input..self.ends.get(input).copied().unwrap_or(input)
    }

    /// The position of an input of the node at `position`.
    pub fn input(&self, position: usize, index: usize) -> usize {
        let next = |it: usize| self.ends.get(it).copied().unwrap_or(usize::MAX);
        (0..index).fold(position + 1, |it, _| next(it))
    }

    /// How many inputs the node at `position` has in the walk: a shared subplan is below its first
    /// reader only.
    pub fn inputs(&self, position: usize) -> usize {
        let visit = &self.visits[position];
        if visit.repeated { 0 } else { visit.node.inputs().len() }
    }
}

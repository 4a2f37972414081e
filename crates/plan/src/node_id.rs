//! Identities of plan nodes.

#[cfg(test)]
mod tests;

use crate::{PlanNode, dynamic_filter::DynamicFilters, nodes::SpoolNode};
use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    fmt,
    sync::Arc,
};
use volley_error::{Error, Result};

/// Identity of a node within its plan. It survives saving and loading; splits, statistics and
/// filters refer to nodes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanNodeId(u32);

impl PlanNodeId {
    /// Of a node that has no identity yet: [`PlanNode::numbered`] gives it one.
    pub const UNASSIGNED: PlanNodeId = PlanNodeId(u32::MAX);

    /// The identity with a number below `u32::MAX`.
    pub const fn new(number: u32) -> PlanNodeId {
        PlanNodeId(number)
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Whether it is the identity of a node.
    pub fn is_assigned(self) -> bool {
        self != PlanNodeId::UNASSIGNED
    }
}

impl fmt::Display for PlanNodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_assigned() { write!(f, "{}", self.0) } else { f.write_str("none") }
    }
}

impl PlanNode {
    /// The plan with identities from 0 in the order of [`PlanNode::walk`], whatever they were, and
    /// with the dynamic filters that it can have. Readers of one shared subplan keep one identity
    /// among them.
    ///
    /// A subplan that has several readers without [`SpoolNode`]s is copied for each of them, since
    /// it runs once for each.
    pub fn numbered(plan: Arc<PlanNode>) -> Arc<PlanNode> {
        let filters = DynamicFilters::of_plan(&plan);
        let mut numbering = Numbering { filters, ..Numbering::default() };
        let mut work = vec![Work::Enter(plan)];
        while let Some(next) = work.pop() {
            match next {
                Work::Enter(node) => numbering.enter(node, &mut work),
                Work::Leave(node, inputs) => numbering.leave(*node, inputs),
            }
        }
        // Each node that is entered leaves itself.
        numbering.done.pop().unwrap_or_else(crate::node::leaf)
    }

    /// Checks that each node has an identity of its own, and that readers of one shared subplan
    /// have the same.
    ///
    /// # Errors
    ///
    /// Invalid query, naming the node.
    pub fn check_ids(&self) -> Result<()> {
        let (mut seen, mut shared) = (HashSet::new(), HashMap::new());
        for visit in self.walk() {
            let id = visit.node.id();
            let is_right = match visit.node {
                PlanNode::Spool(node) => match shared.entry(node.id) {
                    Entry::Occupied(known) => *known.get() == id,
                    Entry::Vacant(place) => {
                        place.insert(id);
                        seen.insert(id)
                    }
                },
                _ => seen.insert(id),
            };
            if !id.is_assigned() || !is_right {
                let message = match id.is_assigned() {
                    true => format!("several plan nodes have the id {id}"),
                    false => "a plan node has no id".to_owned(),
                };
                let error = Error::invalid_query(message).at("plan node", visit.node.label());
                return Err(error.hint("PlanNode::numbered gives each node an id"));
            }
        }
        Ok(())
    }
}

/// What is left to do of a plan.
enum Work {
    Enter(Arc<PlanNode>),
    /// A node without its inputs, which are done by then, and their number.
    Leave(Box<PlanNode>, usize),
}

#[derive(Default)]
struct Numbering {
    next: u32,
    /// The position in the walk of the node that is entered next.
    position: usize,
    filters: DynamicFilters,
    /// Shared subplans: the identity of their readers, and the subplan once it is done.
    shared: HashMap<u32, (PlanNodeId, Option<Arc<PlanNode>>)>,
    /// Nodes that are done and whose reader is not.
    done: Vec<Arc<PlanNode>>,
}

impl Numbering {
    fn enter(&mut self, node: Arc<PlanNode>, work: &mut Vec<Work>) {
        let position = self.position;
        self.position += 1;
        if let PlanNode::Spool(SpoolNode { id, .. }) = &*node
            && let Some((node_id, Some(input))) = self.shared.get(id)
        {
            // The first reader is done: no node is its own input.
            let (id, node_id, input) = (*id, *node_id, Arc::clone(input));
            self.done.push(Arc::new(PlanNode::Spool(SpoolNode { node_id, id, input })));
            return;
        }
        // Inputs are taken out, so that they are not copied where this is their only reader.
        let mut node = Arc::unwrap_or_clone(node);
        let id = PlanNodeId::new(self.next);
        self.next += 1;
        *node.id_mut() = id;
        self.filters.assign(position, &mut node);
        if let PlanNode::Spool(shared) = &node {
            self.shared.insert(shared.id, (id, None));
        }
        let mut inputs = Vec::new();
        node.for_each_input_mut(&mut |it| inputs.push(std::mem::replace(it, crate::node::leaf())));
        work.push(Work::Leave(Box::new(node), inputs.len()));
        work.extend(inputs.into_iter().rev().map(Work::Enter));
    }

    fn leave(&mut self, mut node: PlanNode, inputs: usize) {
        let mut inputs = self.done.split_off(self.done.len().saturating_sub(inputs)).into_iter();
        node.for_each_input_mut(&mut |it| {
            if let Some(input) = inputs.next() {
                *it = input;
            }
        });
        if let PlanNode::Spool(node) = &node
            && let Some((_, input)) = self.shared.get_mut(&node.id)
        {
            *input = Some(Arc::clone(&node.input));
        }
        self.done.push(Arc::new(node));
    }
}

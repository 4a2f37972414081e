//! Finding calls that can run together, block by block.

use crate::{
    marks::{Mark, hit},
    node::{Blocks, Call, Callee, Kind, Node, NodeId, Operand, Step},
};
use std::{mem, sync::Arc};
use volley_function::ScalarFunction;
use volley_types::{Type, match_native};

/// How deep a tree of joined calls is at most: longer chains are joined in part.
const LEVELS_MAX: usize = 32;

/// Makes one node of each tree of at least two calls whose functions work on blocks.
pub(super) fn join_calls(nodes: &mut [Node]) {
    let mut is_joined = vec![false; nodes.len()];
    // Users stand behind their arguments.
    for root in (0..nodes.len()).rev() {
        if is_joined[root] {
            continue;
        }
        let mut tree = Tree::default();
        if tree.add(nodes, root, LEVELS_MAX).is_none() || tree.steps.len() < 2 {
            continue;
        }
        tree.joined.iter().for_each(|it| is_joined[*it] = true);
        let Kind::Call(call) = mem::replace(&mut nodes[root].kind, Kind::Column(0)) else {
            continue;
        };
        hit(Mark::Joined);
        let Tree { inputs, steps, .. } = tree;
        nodes[root].kind = Kind::Blocks(Blocks { inputs, steps, call });
    }
}

/// Calls being joined.
#[derive(Default)]
struct Tree {
    inputs: Vec<NodeId>,
    steps: Vec<Step>,
    /// The nodes of the steps.
    joined: Vec<NodeId>,
    /// Whether the place for a result is free.
    free_slots: Vec<bool>,
}

impl Tree {
    /// Adds the steps of a call; `None` when it cannot be one.
    fn add(&mut self, nodes: &[Node], node: NodeId, levels: usize) -> Option<Operand> {
        let levels = levels.checked_sub(1)?;
        let (call, function) = block_call(&nodes[node])?;
        let width = width_of(&nodes[node].data_type)?;
        let mut args = Vec::with_capacity(call.args.len());
        let mut widths = Vec::with_capacity(call.args.len());
        for &arg in &call.args {
            args.push(self.operand(nodes, arg, levels)?);
            widths.push(width_of(&nodes[arg].data_type)?);
        }
        let slot = self.take_slot();
        for arg in &args {
            if let Operand::Slot(slot) = arg {
                self.free_slots[*slot] = true;
            }
        }
        self.joined.push(node);
        self.steps.push(Step { function: Arc::clone(function), args, widths, width, slot });
        Some(Operand::Slot(slot))
    }

    fn operand(&mut self, nodes: &[Node], node: NodeId, levels: usize) -> Option<Operand> {
        if !nodes[node].shared && block_call(&nodes[node]).is_some() {
            return self.add(nodes, node, levels);
        }
        width_of(&nodes[node].data_type)?;
        // An input that fails some rows would leave others to compute.
        if !nodes[node].infallible {
            return None;
        }
        let known = self.inputs.iter().position(|it| *it == node);
        let input = known.unwrap_or_else(|| {
            self.inputs.push(node);
            self.inputs.len() - 1
        });
        Some(Operand::Input(input))
    }

    fn take_slot(&mut self) -> usize {
        let slot = self.free_slots.iter().position(|it| *it).unwrap_or_else(|| {
            self.free_slots.push(true);
            self.free_slots.len() - 1
        });
        self.free_slots[slot] = false;
        slot
    }
}

/// The call of a node whose function works on blocks, nulls in giving nulls out.
fn block_call(node: &Node) -> Option<(&Call, &Arc<dyn ScalarFunction>)> {
    let Kind::Call(call) = &node.kind else { return None };
    let Callee::Scalar(function) = &call.function else { return None };
    let fits = call.traits.propagates_nulls
        && call.traits.deterministic
        && !call.null_on_error
        && !call.args.is_empty();
    (fits && function.block().is_some()).then_some((call, function))
}

/// Bytes of an element; `None` when the type is not of fixed width.
fn width_of(data_type: &Type) -> Option<usize> {
    match_native!(data_type.physical(), T => Some(size_of::<T>()), else None)
}

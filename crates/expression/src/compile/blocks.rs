//! Finding calls that can run together, block by block.

use crate::{
    marks::{Mark, hit},
    node::{Blocks, Call, Callee, INPUTS_MAX, Kind, Node, NodeId, Operand, Step},
};
use std::{collections::HashMap, mem, sync::Arc};
use volley_function::BlockFunction;
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
        tree.fuse_steps();
        tree.assign_slots();
        let Tree { inputs, steps, .. } = tree;
        nodes[root].kind = Kind::Blocks(Blocks { inputs, steps, call });
    }
}

/// Calls being joined. The slot of a step is its position until [`Tree::assign_slots`].
#[derive(Default)]
struct Tree {
    inputs: Vec<NodeId>,
    steps: Vec<Step>,
    /// The nodes of the steps.
    joined: Vec<NodeId>,
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
        self.joined.push(node);
        let slot = self.steps.len();
        self.steps.push(Step { function, args, widths, width, slot });
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
        let input = known.unwrap_or(self.inputs.len());
        if known.is_none() {
            self.inputs.push(node);
        }
        (input < INPUTS_MAX).then_some(Operand::Input(input))
    }

    /// Makes one step of a step and one that it takes an argument from, where there is a loop for
    /// both.
    fn fuse_steps(&mut self) {
        let mut is_fused = vec![false; self.steps.len()];
        for outer in 0..self.steps.len() {
            let fused = (0..self.steps[outer].args.len()).find_map(|position| {
                let Operand::Slot(inner) = self.steps[outer].args[position] else { return None };
                let function =
                    self.steps[outer].function.over(position, &*self.steps[inner].function)?;
                Some((position, inner, function))
            });
            let Some((position, inner, function)) = fused else { continue };
            hit(Mark::Fused);
            is_fused[inner] = true;
            let args = mem::take(&mut self.steps[inner].args);
            let widths = mem::take(&mut self.steps[inner].widths);
            let outer = &mut self.steps[outer];
            outer.function = function;
            outer.args.splice(position..=position, args);
            outer.widths.splice(position..=position, widths);
        }
        let mut is_fused = is_fused.into_iter();
        self.steps.retain(|_| is_fused.next() != Some(true));
    }

    /// Gives steps whose results are not needed at the same time the same slot.
    fn assign_slots(&mut self) {
        let mut is_free: Vec<bool> = Vec::new();
        let mut places = HashMap::new();
        for step in &mut self.steps {
            let place = is_free.iter().position(|it| *it).unwrap_or(is_free.len());
            if place == is_free.len() {
                is_free.push(true);
            }
            is_free[place] = false;
            places.insert(mem::replace(&mut step.slot, place), place);
            for arg in &mut step.args {
                if let Operand::Slot(slot) = arg {
                    *slot = places[slot];
                    is_free[*slot] = true;
                }
            }
        }
    }
}

/// The call of a node whose function works on blocks, nulls in giving nulls out.
fn block_call(node: &Node) -> Option<(&Call, Arc<dyn BlockFunction>)> {
    let Kind::Call(call) = &node.kind else { return None };
    let Callee::Scalar(function) = &call.function else { return None };
    let fits = call.traits.propagates_nulls
        && call.traits.deterministic
        && !call.null_on_error
        && !call.args.is_empty();
    if fits { Some((call, function.block()?)) } else { None }
}

/// Bytes of an element; `None` when the type is not of fixed width.
fn width_of(data_type: &Type) -> Option<usize> {
    match_native!(data_type.physical(), T => Some(size_of::<T>()), else None)
}

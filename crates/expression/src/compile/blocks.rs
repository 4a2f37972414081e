//! Finds calls that can run together, block by block.

use crate::{
    marks::{Mark, hit},
    node::{ARGS_MAX, Blocks, Call, Callee, INPUTS_MAX, Kind, Node, NodeId, Operand, Step},
};
use std::{collections::HashMap, mem, sync::Arc};
use volley_function::BlockFunction;
use volley_types::{Type, match_native};

/// How deep a tree of joined calls is at most: longer chains are joined in part.
const LEVELS_MAX: usize = 32;

/// Makes one node of each tree of at least two calls whose functions work on blocks.
pub(super) fn join_calls(nodes: &mut [Node]) {
    let mut is_joined = vec![false; nodes.len()];
    // Users follow their arguments.
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
        tree.fuse_steps(nodes);
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

    /// Makes one step of a step and those that it takes arguments from, where there is a loop for
    /// all of them.
    fn fuse_steps(&mut self, nodes: &[Node]) {
        let mut is_fused = vec![false; self.steps.len()];
        for outer in 0..self.steps.len() {
            let mut position = 0;
            while position < self.steps[outer].args.len() {
                match self.fuse(nodes, outer, position) {
                    Some(inner) => is_fused[inner] = true,
                    None => position += 1,
                }
            }
        }
        let mut is_fused = is_fused.into_iter();
        self.steps.retain(|_| is_fused.next() != Some(true));
    }

    /// Makes one step of a step and the one that argument number `position` comes from, which is
    /// the answer.
    fn fuse(&mut self, nodes: &[Node], outer: usize, position: usize) -> Option<usize> {
        let Operand::Slot(inner) = self.steps[outer].args[position] else { return None };
        let [outer, from] = self.steps.get_disjoint_mut([outer, inner]).ok()?;
        let mut args = outer.args.clone();
        args.splice(position..=position, from.args.iter().copied());
        let is_constant = |it: &Operand| match it {
            Operand::Input(input) => matches!(nodes[self.inputs[*input]].kind, Kind::Constant(_)),
            Operand::Slot(_) => false,
        };
        let is_constant: Vec<bool> = args.iter().map(is_constant).collect();
        let fits = args.len() <= ARGS_MAX;
        outer.function =
            outer.function.over(position, &*from.function, &is_constant).filter(|_| fits)?;
        hit(Mark::Fused);
        outer.args = args;
        outer.widths.splice(position..=position, mem::take(&mut from.widths));
        Some(inner)
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

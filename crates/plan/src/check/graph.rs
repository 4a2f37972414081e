//! Checks of the graph of nodes: shared nodes and recursions.

use super::{misfit, puts_out};
use crate::{PlanNode, RECURRING, WorkingTableNode};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use volley_error::Result;
use volley_types::Schema;

impl PlanNode {
    /// Checks that only shared nodes have several readers, that shared nodes of one identity have
    /// one input, and that working tables are within their recursions.
    ///
    /// Each node is visited once, so that the time is linear in the nodes.
    pub(super) fn check_graph(&self) -> Result<()> {
        let mut graph = Graph::default();
        let mut rest = vec![(self, false)];
        while let Some((node, is_done)) = rest.pop() {
            if is_done {
                graph.leave(node)?;
            } else if graph.enter(node)? {
                rest.push((node, true));
                rest.extend(node.inputs().into_iter().rev().map(|it| (&**it, false)));
            }
        }
        match graph.free.pop().unwrap_or_default().first() {
            Some(table) => Err(misfit(format!("working table {} of no recursion", table.name))),
            None => Ok(()),
        }
    }
}

/// What is known of the nodes seen so far.
#[derive(Default)]
struct Graph<'a> {
    /// Nodes by address that are not shared ones.
    seen: HashSet<usize>,
    /// The inputs of shared nodes by identity, with the working tables that they leave free.
    shared: HashMap<u32, (&'a Arc<PlanNode>, Free<'a>)>,
    /// For each node that was left and whose reader was not: the working tables below it whose
    /// recursions are above it.
    free: Vec<Free<'a>>,
}

type Free<'a> = Vec<&'a WorkingTableNode>;

impl<'a> Graph<'a> {
    /// Whether the inputs of the node are to be looked at.
    fn enter(&mut self, node: &'a PlanNode) -> Result<bool> {
        let PlanNode::Spool(shared) = node else {
            return match self.seen.insert(std::ptr::from_ref(node) as usize) {
                true => Ok(true),
                false => Err(misfit("a node that is not shared has several readers")),
            };
        };
        match self.shared.get(&shared.id) {
            None => {
                self.shared.insert(shared.id, (&shared.input, Vec::new()));
                Ok(true)
            }
            Some((input, free)) => {
                if !Arc::ptr_eq(input, &shared.input) {
                    return Err(misfit(format!("shared nodes {} of several inputs", shared.id)));
                }
                // It was left before: no node is its own input.
                self.free.push(free.clone());
                Ok(false)
            }
        }
    }

    /// All inputs of the node were left.
    fn leave(&mut self, node: &'a PlanNode) -> Result<()> {
        let inputs = node.inputs().len();
        let mut parts = self.free.split_off(self.free.len().saturating_sub(inputs));
        if let PlanNode::RecursiveUnion(recursion) = node {
            let mut kept = vec![(recursion.id, &recursion.schema)];
            if recursion.reads_all {
                kept.push((RECURRING | recursion.id, &recursion.schema));
            }
            kept.extend(recursion.kept.iter().map(|it| (it.id, it.input.schema())));
            if let Some(step) = parts.last_mut() {
                bind(step, &kept)?;
            }
        }
        let mut free = parts.concat();
        if let PlanNode::WorkingTable(table) = node {
            free.push(table);
        }
        let mut kinds = HashSet::new();
        free.retain(|it| kinds.insert((it.id, it.schema.types().collect::<Vec<_>>())));
        if let PlanNode::Spool(shared) = node
            && let Some((_, known)) = self.shared.get_mut(&shared.id)
        {
            known.clone_from(&free);
        }
        self.free.push(free);
        Ok(())
    }
}

/// Takes out the working tables that a recursion keeps, by identity and columns.
fn bind(free: &mut Free<'_>, kept: &[(u32, &Schema)]) -> Result<()> {
    for table in free.iter() {
        if let Some((_, schema)) = kept.iter().find(|it| it.0 == table.id) {
            puts_out(&table.schema, schema.types())?;
        }
    }
    free.retain(|table| kept.iter().all(|it| it.0 != table.id));
    Ok(())
}

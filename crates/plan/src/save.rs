//! Serializes plans, to run them in another process or later.
//!
//! The format is that of [`volley_vector::save`], kind 4: 0, the number of nodes, then each node
//! after its inputs, as the number of its variant, its id and its fields. The last node is the
//! root. Inputs are numbers of nodes, so that shared subplans stay shared, and deep plans need no
//! stack.
//! Custom types and functions are saved by name, custom nodes by name and their own bytes.
//! Positions in a SQL text are not saved. Without the 0 nodes have no ids and dynamic filters, as
//! in earlier plans: the reader assigns them.

pub(crate) mod codec;
mod parts;
mod nodes;
mod joins;
mod groups;
mod exchange;
mod sub;
#[cfg(test)]
mod tests;

pub(crate) use exchange::{read_routing, write_routing};

use crate::{CustomNodes, PlanNode};
use codec::{Codec, PlanReader, PlanWriter};
use std::{collections::HashSet, sync::Arc};
use volley_error::Result;
use volley_function::Registry;
use volley_vector::save::{Reader, Writer, corruption};

/// A file with a plan.
const PLAN: u8 = 4;

/// In the place of the number of nodes, which follows: the nodes have ids.
const IDS_FOLLOW: usize = 0;

impl PlanNode {
    /// The plan as bytes, for [`PlanNode::from_bytes`] of the same version of the engine.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use volley_function::Registry;
    /// use volley_plan::{PlanBuilder, PlanNode};
    /// use volley_types::{Type, Value};
    ///
    /// let registry = Arc::new(Registry::new());
    /// let rows = (0..4).map(|it| vec![Value::BigInt(it)]).collect();
    /// let plan = PlanBuilder::new(&registry)
    ///     .values(&[("n", Type::BigInt)], rows)
    ///     .order_by(&["n desc"])
    ///     .build()?;
    /// let bytes = plan.to_bytes()?;
    /// let again = PlanNode::from_bytes(&bytes, &registry)?;
    /// assert_eq!(again.to_string(), plan.to_string());
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Unsupported: custom nodes without [`CustomNode::to_bytes`](crate::CustomNode::to_bytes);
    /// opaque types and objects; expressions and types of more than
    /// [`volley_vector::save::DEPTH_MAX`] levels. Invalid query: a node without an id.
    pub fn to_bytes(self: &Arc<PlanNode>) -> Result<Vec<u8>> {
        let order = inputs_first(self);
        let mut writer = PlanWriter::new(Writer::new(PLAN));
        writer.bytes.number(IDS_FOLLOW);
        writer.bytes.number(order.len());
        for node in order {
            node.as_ref().write(&mut writer)?;
            writer.add(node);
        }
        Ok(writer.bytes.finish())
    }

    /// The plan of [`PlanNode::to_bytes`]. `registry` knows its functions and types.
    ///
    /// What is answered has passed [`PlanNode::check`]. The memory that it takes is in proportion
    /// to the bytes.
    ///
    /// # Errors
    ///
    /// Corruption, when the bytes are not those of a plan; invalid query: unknown types and
    /// functions, and whatever else [`PlanNode::check`] refuses.
    pub fn from_bytes(bytes: &[u8], registry: &Registry) -> Result<Arc<PlanNode>> {
        PlanNode::from_bytes_with(bytes, registry, &CustomNodes::default())
    }

    /// As [`PlanNode::from_bytes`]; `custom_nodes` reads the nodes of other crates.
    ///
    /// # Errors
    ///
    /// As [`PlanNode::from_bytes`], and those of these readers.
    pub fn from_bytes_with(
        bytes: &[u8],
        registry: &Registry,
        custom_nodes: &CustomNodes,
    ) -> Result<Arc<PlanNode>> {
        let bytes = Reader::new(bytes, PLAN, registry.types())?;
        let (nodes, has_ids) = (Vec::new(), false);
        let mut reader = PlanReader { bytes, registry, custom_nodes, nodes, has_ids };
        let mut count = reader.bytes.count()?;
        if count == IDS_FOLLOW {
            reader.has_ids = true;
            count = reader.bytes.count()?;
        }
        for _ in 0..count {
            let node = PlanNode::read(&mut reader)?;
            reader.nodes.push(Arc::new(node));
        }
        reader.bytes.finish()?;
        let plan = reader.nodes.pop().ok_or_else(|| corruption("a plan without nodes"))?;
        if reader.nodes.iter().any(|it| Arc::strong_count(it) == 1) {
            return Err(corruption("a node without a reader"));
        }
        drop(reader.nodes);
        plan.check(registry)?;
        if !reader.has_ids {
            return Ok(PlanNode::numbered(plan));
        }
        plan.check_ids()?;
        Ok(plan)
    }
}

/// Every node once, after its inputs.
fn inputs_first(plan: &Arc<PlanNode>) -> Vec<&Arc<PlanNode>> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut rest = vec![(plan, false)];
    while let Some((node, is_done)) = rest.pop() {
        if is_done {
            order.push(node);
        } else if seen.insert(Arc::as_ptr(node)) {
            rest.push((node, true));
            rest.extend(node.inputs().into_iter().rev().map(|it| (it, false)));
        }
    }
    order
}

//! Redistributes rows among the drivers of one task.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeKind {
    /// All to one driver.
    Gather,
    /// Batches to any driver.
    RoundRobin,
    /// Rows with equal keys to the same driver.
    Hash(
        /// The key columns.
        Vec<usize>,
    ),
}

/// Ends a pipeline and begins another one with its own number of drivers.
#[derive(Clone, Debug)]
pub struct LocalExchangeNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Where rows go.
    pub kind: ExchangeKind,
}

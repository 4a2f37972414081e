//! Samples of rows.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// Keeps some rows of the input by chance, or gives all of them random numbers.
#[derive(Clone, Debug)]
pub struct SampleNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// What is done with rows.
    pub method: SampleMethod,
    /// Where chance begins; rows that come in the same order meet the same. `None`: anywhere.
    pub seed: Option<u64>,
    /// The input's columns, and that of the numbers.
    pub schema: Schema,
}

/// What a [`SampleNode`] does with rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleMethod {
    /// Keeps each row with this probability.
    Rows(f64),
    /// Keeps each batch with this probability.
    Batches(f64),
    /// Keeps all rows, and appends a BIGINT column of random numbers: the rows with the least ones
    /// are a sample of a number of rows.
    Number,
}

//! WITH RECURSIVE.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// The rows of `anchor`, then those that `step` makes of the rows that came last, and so on until
/// there are none. The rows that came last are what a [`WorkingTableNode`] with this id reads.
#[derive(Clone, Debug)]
pub struct RecursiveUnionNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// The identity of its working table within the plan.
    pub id: u32,
    /// The first rows.
    pub anchor: Arc<PlanNode>,
    /// The plan of an iteration; its columns have the types of the anchor's.
    pub step: Arc<PlanNode>,
    /// What runs once, and `step` reads again in each iteration.
    pub kept: Vec<LoopInvariant>,
    /// UNION without ALL: a row that came before does not come again.
    pub distinct: bool,
    /// The columns of USING KEY: a row replaces the one with the same key, and all rows come at
    /// the end. Empty without it.
    pub keys: Vec<usize>,
    /// Whether the step reads the last row of each key, as the working table
    /// [`RECURRING`] | `id`.
    pub reads_all: bool,
    /// The output columns.
    pub schema: Schema,
}

/// The bit in the identity of a working table that stands for the last row of each key.
pub const RECURRING: u32 = 1 << 30;

/// A part of the step of a recursion that does not depend on its iterations.
#[derive(Clone, Debug)]
pub struct LoopInvariant {
    /// The identity by which [`WorkingTableNode`]s of the step read it.
    pub id: u32,
    /// What runs once.
    pub input: Arc<PlanNode>,
}

/// Reads rows that a recursion around it keeps: those of the iteration before, or what is the same
/// in all iterations.
#[derive(Clone, Debug)]
pub struct WorkingTableNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// [`RecursiveUnionNode::id`] or [`LoopInvariant::id`].
    pub id: u32,
    /// The name of the common table expression, for EXPLAIN.
    pub name: String,
    /// The output columns.
    pub schema: Schema,
}

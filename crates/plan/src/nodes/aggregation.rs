//! Groups and aggregates.

use crate::{PlanNode, PlanNodeId, SortKey};
use std::sync::Arc;
use volley_expression::SourceSpan;
use volley_types::{Schema, Type};

/// Which part of an aggregation a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateStep {
    /// Raw input to results.
    Single,
    /// Raw input to intermediate results; may return a group several times.
    Partial,
    /// Raw input to intermediate results; returns every group once.
    PartialOnce,
    /// Intermediate results to fewer intermediate results.
    Intermediate,
    /// Intermediate results to results.
    Final,
}

impl AggregateStep {
    /// Whether the input is intermediate results.
    pub fn merges(self) -> bool {
        matches!(self, AggregateStep::Intermediate | AggregateStep::Final)
    }

    /// Whether a group may be returned several times, so that drivers need not share groups.
    pub fn repeats_groups(self) -> bool {
        self == AggregateStep::Partial
    }

    /// Whether the output is results, and not intermediate ones.
    pub fn finishes(self) -> bool {
        matches!(self, AggregateStep::Single | AggregateStep::Final)
    }
}

/// One aggregate of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The registered name.
    pub function: String,
    /// Argument columns (where the step merges: the one column of intermediate results).
    pub args: Vec<usize>,
    /// The argument types that the function was resolved with, in every step.
    pub arg_types: Vec<Type>,
    /// Only distinct argument rows count. Only in step Single.
    pub distinct: bool,
    /// In a step of raw input: whether the argument is intermediate results nevertheless.
    pub merges: bool,
    /// A BOOLEAN column: rows where it is not true do not count.
    pub filter: Option<usize>,
    /// The order in which rows are added within a group, by input columns. Only in step Single.
    pub order_by: Vec<SortKey>,
    /// The position of the call.
    pub place: SourceSpan,
}

/// Groups by key columns and aggregates. Without keys there is one group. A finishing step returns
/// it even without input. Returns the keys, then the aggregates. Null keys are equal, and so are
/// NaNs; -0.0 equals 0.0.
#[derive(Clone, Debug)]
pub struct AggregationNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Which part of the work.
    pub step: AggregateStep,
    /// The key columns, by position in the input.
    pub keys: Vec<usize>,
    /// The aggregates; none for DISTINCT.
    pub aggregates: Vec<Aggregate>,
    /// Keys, then results (where the step does not finish: intermediate results).
    pub schema: Schema,
}

//! Joins on any condition, and by comparisons.

use crate::{JoinKind, PlanNode, PlanNodeId};
use std::{fmt, sync::Arc};
use volley_expression::Expr;
use volley_types::Schema;

/// Joins every pair that satisfies a condition; without one: the cross product.
#[derive(Clone, Debug)]
pub struct NestedLoopJoinNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Streams.
    pub probe: Arc<PlanNode>,
    /// Is held in memory.
    pub build: Arc<PlanNode>,
    /// Which rows are returned. All kinds of [`JoinKind`]; LeftMark returns NULL if no pair is true
    /// and some pair is null.
    pub kind: JoinKind,
    /// The condition on a pair; its columns are those of the probe side, then of the build side.
    pub condition: Option<Expr>,
    /// One or two comparisons that are part of the condition: then the build side is sorted, and
    /// only pairs that satisfy them are inspected. None, or nested loops, if it does not fit in
    /// memory.
    pub ranges: Vec<RangeCondition>,
    /// The rest of the condition.
    pub residual: Option<Expr>,
    /// The output columns, as in a hash join.
    pub output: Vec<usize>,
    /// The output columns.
    pub schema: Schema,
}

/// Compares a column of the probe side with one of the build side, of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeCondition {
    /// The probe column.
    pub probe: usize,
    /// How it compares.
    pub comparison: Comparison,
    /// The build column.
    pub build: usize,
}

/// How a left value compares with a right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether the left value is the smaller one.
    pub fn is_less(self) -> bool {
        matches!(self, Comparison::Less | Comparison::LessOrEqual)
    }

    /// The same comparison, of the right value with the left one.
    #[must_use]
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        }
    }
}

impl fmt::Display for RangeCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.comparison {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        write!(f, "#{} {operator} build #{}", self.probe, self.build)
    }
}

//! Joins on equal keys.

use crate::{MadeFilter, PlanNode, PlanNodeId};
use std::{fmt, sync::Arc};
use volley_expression::Expr;
use volley_types::Schema;

/// Which rows a join returns. "Left" is the probe side, "right" the build side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// Matching pairs, and probe rows without a match, padded with nulls.
    Left,
    /// Matching pairs, and build rows without a match, padded with nulls.
    Right,
    /// Both.
    Full,
    /// Probe rows with a match, once; probe columns only.
    LeftSemi,
    /// Probe rows without a match; probe columns only.
    LeftAnti,
    /// Build rows with a match, once; build columns only.
    RightSemi,
    /// Build rows without a match; build columns only.
    RightAnti,
    /// Every probe row, with a BOOLEAN column appended: whether it has a match. With
    /// `null_aware`, NULL as `IN` has it.
    LeftMark,
}

/// Joins two inputs on equal keys and an optional further condition.
#[derive(Clone, Debug)]
pub struct HashJoinNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Streams.
    pub probe: Arc<PlanNode>,
    /// Is held in memory.
    pub build: Arc<PlanNode>,
    /// Which rows are returned.
    pub kind: JoinKind,
    /// Key columns of the probe side.
    pub probe_keys: Vec<usize>,
    /// Key columns of the build side, of the same types.
    pub build_keys: Vec<usize>,
    /// Per key: whether null equals null (`IS NOT DISTINCT FROM`); otherwise null matches nothing.
    pub nulls_equal: Vec<bool>,
    /// A further condition on a pair; its columns are those of the probe side, then of the build
    /// side. Part of the match: in outer joins, a pair that fails it is no match.
    pub filter: Option<Expr>,
    /// `NOT IN` (with LeftAnti) or `IN` (with LeftMark): a null in the last key makes the
    /// comparison unknown. The other keys, if any, and `filter` select the build rows that count
    /// (correlation). LeftAnti drops a probe row whose comparison is unknown. No effect on other
    /// kinds.
    pub null_aware: bool,
    /// The output columns, as positions among all columns of the kind (probe columns, then build
    /// columns, then the mark).
    pub output: Vec<usize>,
    /// The output columns.
    pub schema: Schema,
    /// The filters of its keys that tell scans which probe rows have no match.
    pub dynamic_filters: Vec<MadeFilter>,
}

impl JoinKind {
    /// Whether probe columns are returned.
    pub fn has_probe_columns(self) -> bool {
        !matches!(self, JoinKind::RightSemi | JoinKind::RightAnti)
    }

    /// Whether build columns are returned.
    pub fn has_build_columns(self) -> bool {
        !matches!(self, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark)
    }

    /// Whether build rows are returned after the probe side ended.
    pub fn emits_build_rows(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti)
    }
}

impl fmt::Display for JoinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JoinKind::Inner => "inner",
            JoinKind::Left => "left",
            JoinKind::Right => "right",
            JoinKind::Full => "full",
            JoinKind::LeftSemi => "left semi",
            JoinKind::LeftAnti => "left anti",
            JoinKind::RightSemi => "right semi",
            JoinKind::RightAnti => "right anti",
            JoinKind::LeftMark => "left mark",
        })
    }
}

//! Window functions.

use crate::{PlanNode, PlanNodeId, SortKey};
use std::sync::Arc;
use volley_expression::SourceSpan;
use volley_function::Exclusion;
use volley_types::{Schema, Type};

/// Appends a column per call, computed over partitions of rows in an order. Rows are returned
/// partition by partition, each in its order. Null keys are equal, and so are NaNs; -0.0 equals
/// 0.0.
#[derive(Clone, Debug)]
pub struct WindowNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The columns that rows of one partition agree in; none: one partition.
    pub partition_by: Vec<usize>,
    /// The order within a partition.
    pub order_by: Vec<SortKey>,
    /// What is computed.
    pub calls: Vec<WindowCall>,
    /// Returns only the first rows of each partition.
    pub limit: Option<WindowLimit>,
    /// Whether rows are sorted by `partition_by` (these columns in any sequence and direction),
    /// then by `order_by`. Then they are returned in the order of arrival, and calls that do not
    /// need the whole partition receive it in segments.
    pub sorted: bool,
    /// Whether partitions must be returned in the order of `partition_by`, ascending, nulls last,
    /// because a reader relies on it; see [`PlanNode::keep_order`].
    pub keeps_order: bool,
    /// The input columns that are returned.
    pub output: Vec<usize>,
    /// These, then one column per call.
    pub schema: Schema,
}

/// One call of a window function, or of an aggregate over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The registered name.
    pub function: String,
    /// Argument columns.
    pub args: Vec<usize>,
    /// The argument types that the function was resolved with.
    pub arg_types: Vec<Type>,
    /// Only distinct argument rows of a frame count. Aggregates only.
    pub distinct: bool,
    /// A BOOLEAN column: rows where it is not true do not count. Aggregates only.
    pub filter: Option<usize>,
    /// The order, by input columns, in which the rows of the frame come, where it is not that of
    /// the partition.
    pub order_by: Vec<SortKey>,
    /// Whether rows where the first argument is null do not count. Not for aggregates.
    pub ignore_nulls: bool,
    /// How many of the node's order keys the call has: rows that agree in these are peers.
    pub order_keys: usize,
    /// Which rows of the partition the call sees.
    pub frame: Frame,
    /// The position of the call.
    pub place: SourceSpan,
}

/// The rows of its partition that a row's call sees. `C` identifies a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame<C = usize> {
    /// What offsets count.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound<C>,
    /// The last row.
    pub end: FrameBound<C>,
    /// Rows left out.
    pub exclusion: Exclusion,
}

/// What the offsets of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Distances between values of the only order key.
    Range,
    /// Groups of peers.
    Groups,
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound<C = usize> {
    /// The partition's first row.
    UnboundedPreceding,
    /// Before the current row.
    Preceding(FrameOffset<C>),
    /// The current row; with RANGE and GROUPS, its first or last peer.
    CurrentRow,
    /// After the current row.
    Following(FrameOffset<C>),
    /// The partition's last row.
    UnboundedFollowing,
}

/// How far a bound is from the current row.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameOffset<C = usize> {
    /// This many rows or groups.
    Count(u64),
    /// As many rows or groups as a BIGINT column says.
    Column(C),
    /// RANGE: where the order key reaches a value.
    Value {
        /// The order key's column, converted to the type of `bound`.
        key: C,
        /// The key plus or minus the offset; null where that overflows.
        bound: C,
        /// Whether rows in order have bounds in order.
        is_monotone: bool,
    },
}

/// Returns only rows whose value of a ranking call (`row_number`, `rank`, `dense_rank`) is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLimit {
    /// Which call.
    pub call: usize,
    /// The largest value kept.
    pub rows: u64,
}

impl<C> Frame<C> {
    /// The frame of a call that names none: from the partition's first row to the last peer.
    pub fn up_to_peers() -> Frame<C> {
        Frame {
            units: FrameUnits::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: Exclusion::NoOthers,
        }
    }

    /// Whether every row sees the whole partition.
    pub fn is_partition(&self) -> bool {
        matches!(self.start, FrameBound::UnboundedPreceding)
            && matches!(self.end, FrameBound::UnboundedFollowing)
            && self.exclusion == Exclusion::NoOthers
    }

    /// Whether every row of a partition whose rows are all peers sees the whole partition.
    pub fn is_partition_of_peers(&self) -> bool {
        let ends_with_peers =
            self.units != FrameUnits::Rows && matches!(self.end, FrameBound::CurrentRow);
        let starts = matches!(self.start, FrameBound::UnboundedPreceding);
        self.is_partition() || (starts && ends_with_peers && self.exclusion == Exclusion::NoOthers)
    }

    /// Whether a bound or the exclusion depends on which rows are peers.
    pub fn uses_peers(&self) -> bool {
        let is_unbounded = |it: &FrameBound<C>| {
            matches!(it, FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing)
        };
        matches!(self.exclusion, Exclusion::Group | Exclusion::Ties)
            || (self.units != FrameUnits::Rows
                && !(is_unbounded(&self.start) && is_unbounded(&self.end)))
    }

    /// The offsets of both bounds.
    pub fn offsets(&self) -> impl Iterator<Item = &FrameOffset<C>> {
        [&self.start, &self.end].into_iter().filter_map(|it| match it {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        })
    }

    /// The columns that bounds are found by.
    pub fn columns(&self) -> impl Iterator<Item = &C> {
        self.offsets()
            .flat_map(|it| match it {
                FrameOffset::Count(_) => [None, None],
                FrameOffset::Column(column) => [Some(column), None],
                FrameOffset::Value { key, bound, .. } => [Some(key), Some(bound)],
            })
            .flatten()
    }

    /// The columns that bounds are found by, to change.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut C> {
        let bounds = [&mut self.start, &mut self.end].into_iter();
        bounds
            .flat_map(|it| match it {
                FrameBound::Preceding(offset) | FrameBound::Following(offset) => match offset {
                    FrameOffset::Count(_) => [None, None],
                    FrameOffset::Column(column) => [Some(column), None],
                    FrameOffset::Value { key, bound, .. } => [Some(key), Some(bound)],
                },
                _ => [None, None],
            })
            .flatten()
    }

    /// The frame with other columns.
    ///
    /// # Errors
    ///
    /// Those of `f`.
    pub fn try_map<D, E>(&self, mut f: impl FnMut(&C) -> Result<D, E>) -> Result<Frame<D>, E> {
        Ok(Frame {
            units: self.units,
            start: self.start.try_map(&mut f)?,
            end: self.end.try_map(&mut f)?,
            exclusion: self.exclusion,
        })
    }
}

impl<C> FrameBound<C> {
    fn try_map<D, E>(&self, f: &mut impl FnMut(&C) -> Result<D, E>) -> Result<FrameBound<D>, E> {
        Ok(match self {
            FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            FrameBound::Preceding(offset) => FrameBound::Preceding(offset.try_map(f)?),
            FrameBound::CurrentRow => FrameBound::CurrentRow,
            FrameBound::Following(offset) => FrameBound::Following(offset.try_map(f)?),
            FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
        })
    }
}

impl<C> FrameOffset<C> {
    fn try_map<D, E>(&self, f: &mut impl FnMut(&C) -> Result<D, E>) -> Result<FrameOffset<D>, E> {
        Ok(match self {
            FrameOffset::Count(count) => FrameOffset::Count(*count),
            FrameOffset::Column(column) => FrameOffset::Column(f(column)?),
            FrameOffset::Value { key, bound, is_monotone } => {
                FrameOffset::Value { key: f(key)?, bound: f(bound)?, is_monotone: *is_monotone }
            }
        })
    }
}

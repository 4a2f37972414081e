//! Where frames begin and end, as far as pieces of partitions differ by it.

use super::super::spec::CallSpec;
use volley_function::Exclusion;
use volley_plan::{FrameBound, FrameUnits};

/// An end of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Partition,
    Peers,
    /// Some groups or some distance between keys away.
    Value,
    Rows,
}

impl Edge {
    /// What a bound is.
    pub(super) fn of(bound: &FrameBound, units: FrameUnits) -> Edge {
        match (bound, units) {
            (FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing, _) => Edge::Partition,
            (_, FrameUnits::Rows) => Edge::Rows,
            (FrameBound::CurrentRow, _) => Edge::Peers,
            (FrameBound::Preceding(_) | FrameBound::Following(_), _) => Edge::Value,
        }
    }
}

/// Whether a call needs all rows of its frames up to where these end, however many there are. A
/// call for the last row alone, or for a result at the end of a group, needs nothing but that.
pub(super) fn is_by_value(call: &CallSpec, edges: (Edge, Edge), is_last: bool) -> bool {
    let needs_frame = call.ignore_nulls || call.frame.exclusion != Exclusion::NoOthers;
    match edges {
        (Edge::Partition, Edge::Peers) => needs_frame,
        (Edge::Peers, Edge::Peers) => needs_frame || !is_last,
        (_, Edge::Partition) | (Edge::Rows, _) => false,
        _ => true,
    }
}

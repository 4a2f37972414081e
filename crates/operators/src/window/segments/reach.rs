//! How far frames reach whose bounds are found by value: the distance between keys, or a number of
//! groups of peers.

use super::{
    super::{boundaries::Boundaries, frames::Framing, run::Run, spec::WindowSpec},
    plan::PiecePlan,
};
use volley_error::Result;
use volley_plan::FrameBound;

/// The rows between which frames begin and end.
pub(super) struct Reach {
    /// Frames of later rows do not begin before this position. Those that begin with the partition
    /// do not end before the row at it.
    pub start: usize,
    /// Frames of earlier rows do not end after this position.
    pub end: usize,
}

impl Reach {
    /// What is between the first start and the last end of the frames of a row.
    ///
    /// # Errors
    ///
    /// An offset that no frame can have.
    pub(super) fn of_row(
        row: usize,
        (spec, plan): (&WindowSpec, &PiecePlan),
        (run, places): (&Run, &Boundaries),
    ) -> Result<Reach> {
        let batch = places.row(row);
        let descending = spec.order_by.first().is_some_and(|it| it.descending);
        let mut reach = Reach { start: row, end: row };
        let calls = spec.calls.iter().zip(&plan.calls);
        for (call, _) in calls.filter(|it| it.1.is_by_value) {
            let framing = Framing { call, run, places, descending };
            let frames = framing.frames(&batch).map_err(|it| call.place.locate(it))?;
            let (mut start, end) = frames.get(0);
            if call.frame.start == FrameBound::UnboundedPreceding {
                start = end.saturating_sub(1);
            }
            reach.start = reach.start.min(start as usize);
            reach.end = reach.end.max(end as usize);
        }
        Ok(reach)
    }
}

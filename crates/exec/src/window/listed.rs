//! Aggregates that see the rows of every frame anew: those that collect rows, and DISTINCT over
//! frames that do not grow, and those with an order of their own. Costs as many rows as all frames
//! have together.

use super::{
    STEP_ROWS, active::ActiveRows, argument_order::ArgumentOrder, frames::DistinctFrames,
    states::States,
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{AggregateKind, CollectingFunction, FrameParts};
use volley_memory::Pool;
use volley_vector::{Batch, Rows, ScalarBuffer, Vector};

/// Lists the rows of frames.
pub(super) struct Listed {
    function: Function,
    args: Batch,
    /// Whether rows whose first argument is null do not count.
    ignores_nulls: bool,
    /// The order of the rows of a frame, where it is not theirs.
    order: Option<ArgumentOrder>,
    /// Results of the frames of the batch so far.
    parts: Vec<Vector>,
    /// The frame of the batch to answer next.
    next: usize,
}

enum Function {
    Collecting(Arc<dyn CollectingFunction>),
    Folding(States),
}

/// The rows of some frames, one frame after the other.
#[derive(Default)]
struct List {
    rows: Vec<u32>,
    /// Per row, its frame.
    frames: Vec<u32>,
    /// Where the rows of each frame end.
    ends: Vec<u32>,
}

impl Listed {
    /// `args`: of all rows, in order.
    pub(super) fn new(
        function: &AggregateKind,
        args: Vec<Vector>,
        (rows, ignores_nulls): (usize, bool),
        order: Option<ArgumentOrder>,
        pool: &Pool,
    ) -> Listed {
        let function = match function {
            AggregateKind::Collecting(function) => Function::Collecting(Arc::clone(function)),
            AggregateKind::Folding(function) => Function::Folding(States::new(function, pool)),
        };
        let args = Batch::new(args, rows);
        Listed { function, args, ignores_nulls, order, parts: Vec::new(), next: 0 }
    }

    /// Answers some frames; the results of all `frames` at the end.
    pub(super) fn step(
        &mut self,
        frames: &DistinctFrames,
        active: &ActiveRows,
    ) -> Result<Option<Vector>> {
        let mut list = List::default();
        while self.next < frames.parts.len()
            && (list.ends.is_empty() || list.rows.len() < STEP_ROWS)
        {
            self.push(&mut list, &frames.parts[self.next], active)?;
            self.next += 1;
        }
        let part = self.results(list)?;
        self.parts.push(part);
        if self.next < frames.parts.len() {
            return Ok(None);
        }
        self.next = 0;
        let parts = std::mem::take(&mut self.parts);
        Vector::concat(parts[0].data_type(), &parts).map(Some)
    }

    fn push(&self, list: &mut List, frame: &FrameParts, active: &ActiveRows) -> Result<()> {
        let first = frame.iter().next().map_or(0, |it| it.0);
        let is_inside = |row: u32| frame.iter().any(|it| (it.0..it.1).contains(&row));
        let nulls = match self.args.columns().first() {
            Some(first) if self.ignores_nulls => first.null_buffer(),
            _ => None,
        };
        let counts = |row: &u32| {
            active.contains(*row)
                && nulls.is_none_or(|it| it.is_valid(*row as usize))
                && active.is_first(*row, first, is_inside)
        };
        let before = list.rows.len();
        list.rows.extend(frame.iter().flat_map(|it| it.0..it.1).filter(counts));
        if let Some(order) = &self.order {
            order.sort(&mut list.rows[before..])?;
        }
        list.frames.resize(list.rows.len(), list.ends.len() as u32);
        list.ends.push(list.rows.len() as u32);
        Ok(())
    }

    fn results(&mut self, list: List) -> Result<Vector> {
        match &mut self.function {
            Function::Collecting(function) => {
                let args = self.args.gather(&list.rows)?;
                function.results(args.columns(), &list.ends)
            }
            Function::Folding(states) => {
                states.init(list.ends.len())?;
                let rows = Rows::all(list.rows.len());
                let args = self.args.wrap(&ScalarBuffer::from(list.rows));
                if !rows.is_empty() {
                    states.add(&list.frames, args.columns(), &rows)?;
                }
                states.results()
            }
        }
    }
}

//! Aggregates that see the rows of every frame anew: those that collect rows, and DISTINCT over
//! frames that do not grow, and those with an order of their own. Costs as many rows as all frames
//! have together.

use super::{
    active::ActiveRows,
    argument_order::ArgumentOrder,
    frames::DistinctFrames,
    size_estimate::{SizeEstimate, StepLimits},
    states::States,
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{AggregateKind, BoundAggregate, CollectingFunction, FrameParts};
use volley_memory::{Pool, Reservation};
use volley_types::PhysicalType;
use volley_vector::{Batch, Rows, ScalarBuffer, Values, Vector};

/// What listing a row takes: itself and its frame.
const LISTED_BYTES: usize = 2 * size_of::<u32>();

/// Lists the rows of frames.
pub(super) struct PerFrame {
    function: Function,
    args: Batch,
    /// Whether rows whose first argument is null do not count.
    ignores_nulls: bool,
    /// The order of the rows of a frame, where it is not theirs.
    order: Option<ArgumentOrder>,
    /// What rows add to the results.
    weights: SizeEstimate,
    /// Results are returned when they take this number of bytes.
    limits: StepLimits,
    /// Results of frames of the batch that were not given yet.
    parts: Vec<Vector>,
    /// What these take, or those given last.
    charge: Reservation,
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
    /// What they add to the results, and the list takes itself.
    bytes: usize,
}

impl PerFrame {
    /// `args`: of all rows, in order; `rows`: how many.
    pub(super) fn new(
        bound: &BoundAggregate,
        args: Vec<Vector>,
        rows: usize,
        order: Option<ArgumentOrder>,
        (limits, pool): (StepLimits, &Pool),
    ) -> PerFrame {
        let function = match &bound.function {
            AggregateKind::Collecting(function) => Function::Collecting(Arc::clone(function)),
            AggregateKind::Folding(function) => Function::Folding(States::new(function, pool)),
        };
        // What depends on the order of all rows, and is a text, has all of them in it; other
        // results share the texts.
        let copies = bound.order_sensitive && bound.result.physical() == PhysicalType::View;
        let weights = match &function {
            Function::Collecting(_) if !copies => SizeEstimate::of_gathered(&args),
            Function::Folding(states) if !states.have_outside() => SizeEstimate::of_gathered(&[]),
            _ => SizeEstimate::of_copies(&args),
        };
        PerFrame {
            function,
            args: Batch::new(args, rows),
            ignores_nulls: bound.ignores_nulls,
            order,
            weights,
            limits,
            parts: Vec::new(),
            charge: pool.reservation(),
            next: 0,
        }
    }

    /// Answers some frames; the results of those since the ones given last, at the end of `frames`
    /// or when they take much.
    pub(super) fn step(
        &mut self,
        frames: &DistinctFrames,
        active: &ActiveRows,
    ) -> Result<Option<Vector>> {
        if self.parts.is_empty() {
            self.charge.clear();
        }
        let bytes_max = self.limits.bytes.saturating_sub(self.charge.bytes());
        let mut list = List::default();
        while self.next < frames.parts.len()
            && (list.ends.is_empty()
                || (list.rows.len() < self.limits.rows && list.bytes < bytes_max))
        {
            self.push(&mut list, &frames.parts[self.next], active)?;
            self.next += 1;
        }
        let part = self.results(list)?;
        self.parts.push(part);
        if self.next < frames.parts.len() && self.charge.bytes() < self.limits.bytes {
            return Ok(None);
        }
        if self.next == frames.parts.len() {
            self.next = 0;
        }
        let parts = std::mem::take(&mut self.parts);
        // For as long as both are there.
        let copied = if parts.len() > 1 { self.charge.bytes() } else { 0 };
        self.charge.grow(copied)?;
        let results = Vector::concat(parts[0].data_type(), &parts)?;
        self.charge.shrink(copied);
        Ok(Some(results))
    }

    /// The returned results belong to the caller.
    pub(super) fn release(&mut self) {
        self.charge.clear();
    }

    /// The frames under way are not asked for any more.
    pub(super) fn skip_rest(&mut self) {
        self.parts.clear();
        self.charge.clear();
        self.next = 0;
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
        let listed = &list.rows[before..];
        let bytes = self.weights.of_listed(listed).saturating_add(listed.len() * LISTED_BYTES);
        list.bytes = list.bytes.saturating_add(bytes);
        list.frames.resize(list.rows.len(), list.ends.len() as u32);
        list.ends.push(list.rows.len() as u32);
        Ok(())
    }

    fn results(&mut self, list: List) -> Result<Vector> {
        match &mut self.function {
            Function::Collecting(function) => {
                let before = self.charge.bytes();
                self.charge.grow(list.bytes)?;
                let args = self.args.gather(&list.rows)?;
                let results = function.results(args.columns(), &list.ends)?;
                self.charge.resize(before.saturating_add(kept_bytes(&results, list.bytes)))?;
                Ok(results)
            }
            Function::Folding(states) => {
                states.init(list.ends.len())?;
                if !states.have_outside() {
                    let rows = Rows::all(list.rows.len());
                    let args = self.args.wrap(&ScalarBuffer::from(list.rows));
                    if !rows.is_empty() {
                        states.add(&list.frames, args.columns(), &rows)?;
                    }
                    return states.results(&mut self.charge);
                }
                let mut start = 0;
                // What states hold is charged after each portion.
                while start < list.rows.len() {
                    let end = self.weights.end_of_listed(&list.rows, start, self.limits.bytes);
                    let rows = list.rows[start..end].to_vec();
                    let args = self.args.wrap(&ScalarBuffer::from(rows));
                    let rows = Rows::all(end - start);
                    states.add(&list.frames[start..end], args.columns(), &rows)?;
                    start = end;
                }
                states.results(&mut self.charge)
            }
        }
    }
}

/// The bytes of results that were made of rows of this number of bytes.
fn kept_bytes(results: &Vector, listed_bytes: usize) -> usize {
    match results.flat_values() {
        Some(Values::Array(_) | Values::FixedArray(_) | Values::Map(_)) => listed_bytes,
        _ => {
            let weights = SizeEstimate::of_copies(std::slice::from_ref(results));
            weights.of_range(0, results.len() as u32)
        }
    }
}

//! Merges the sorted rows of several tasks.

use std::task::{Poll, Waker};
use volley_error::{Error, Result};
use volley_exchange::ExchangeReader;
use volley_exec::{BlockedOn, Operator, Step, StepContext};
use volley_state::sort::{MergeStep, RunMerge, RunStep, SortedRun};
use volley_types::{SortKey, Type};
use volley_vector::Batch;

/// The source of a pipeline that reads sorted pages.
pub(super) struct PageMerge {
    merge: RunMerge<SenderRun>,
}

/// The pages of one task, in order.
struct SenderRun(ExchangeReader);

impl SortedRun for SenderRun {
    fn next(&mut self, waker: &Waker) -> Result<RunStep> {
        Ok(match self.0.poll(waker) {
            Poll::Pending => RunStep::Wait,
            Poll::Ready(Ok(Some((_, batch)))) => RunStep::Batch(batch),
            Poll::Ready(Ok(None)) => RunStep::End,
            Poll::Ready(Err(failure)) => return Err(failure.error),
        })
    }
}

impl PageMerge {
    /// Merges rows of `types` that each of `readers` gets sorted by `keys`.
    pub(super) fn new(
        readers: Vec<ExchangeReader>,
        types: &[Type],
        keys: &[SortKey],
        rows_max: usize,
    ) -> PageMerge {
        let runs = readers.into_iter().map(SenderRun).collect();
        PageMerge { merge: RunMerge::new(types, keys, runs, rows_max) }
    }
}

impl Operator for PageMerge {
    fn name(&self) -> &'static str {
        "page source"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.merge.next(cx.waker)? {
            MergeStep::Batch(batch) => Step::Output(batch),
            MergeStep::Wait => Step::Blocked(BlockedOn::Exchange),
            MergeStep::End => Step::Finished,
        })
    }
}

//! The operators of a recursion.

use super::{
    Generation, Recursion,
    direct::{DIRECT_ITERATIONS, DirectRun},
    lock,
    settle::Settling,
};
use std::{
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::{Duration, Instant},
};
use volley_error::{Error, Result};
use volley_exec::{
    BlockedOn, NestedRun, Operator, OperatorMetrics, Spill, Step, StepContext, Turn,
};
use volley_vector::Batch;

/// The counter of iterations, the one without rows included.
const ITERATIONS: &str = "iterations";

/// The source that emits the rows of all iterations.
pub struct RecursiveUnion {
    recursion: Arc<Recursion>,
    current: Generation,
    phase: Phase,
    /// How long the last iteration took.
    took: Duration,
    /// Runs iterations of few rows, if the step only filters and computes.
    direct: Option<DirectRun>,
    metrics: Arc<OperatorMetrics>,
}

enum Phase {
    /// The anchor's rows are not complete.
    Anchor,
    /// Rows of which it is not known whether they came before are looked for on disk.
    Settle(Settling),
    Emit,
    /// USING KEY: the rows of the iteration replace others.
    Replace,
    /// USING KEY: the rows of all keys come.
    EmitAll,
    Run {
        next: Generation,
        run: Arc<NestedRun>,
        since: Instant,
    },
    Done,
}

impl RecursiveUnion {
    /// Begins with the anchor's rows.
    pub(crate) fn new(
        recursion: Arc<Recursion>,
        anchor: Generation,
        direct: Option<DirectRun>,
        metrics: &Arc<OperatorMetrics>,
    ) -> RecursiveUnion {
        let phase = match (&recursion.keyed, &recursion.seen) {
            (Some(_), _) => Phase::Replace,
            (None, Some(_)) => Phase::Anchor,
            (None, None) => Phase::Emit,
        };
        RecursiveUnion {
            recursion,
            current: anchor,
            phase,
            took: Duration::ZERO,
            direct,
            metrics: Arc::clone(metrics),
        }
    }

    /// Begins to emit complete rows.
    fn settle(&self) -> Result<Phase> {
        let settling = self.recursion.seen.as_ref().map(|it| it.settle()).transpose()?.flatten();
        Ok(settling.map_or_else(|| self.emit(), Phase::Settle))
    }

    /// All rows of the iteration are known.
    fn emit(&self) -> Phase {
        if self.recursion.seen.is_some() {
            self.current.rows.producer_finished();
        }
        Phase::Emit
    }

    /// Begins the next iteration, unless there was nothing to begin it with.
    fn iterate(&mut self) -> Result<Step> {
        if self.current.rows.pushed_rows() == 0 {
            self.recursion.end();
            if let Some(mut keyed) = self.recursion.keyed() {
                let all = keyed.all()?;
                self.current = self.recursion.complete(all)?;
                self.phase = Phase::EmitAll;
                return Ok(Step::Yield);
            }
            self.phase = Phase::Done;
            return Ok(Step::Finished);
        }
        self.metrics.add(ITERATIONS, 1);
        if let Some(direct) = &mut self.direct
            && let Some(next) = direct.iterate(&self.recursion, &self.current)?
        {
            self.metrics.add(DIRECT_ITERATIONS, 1);
            self.current = next;
            self.phase = Phase::Emit;
            return Ok(Step::Yield);
        }
        let since = Instant::now();
        let (next, run) = self.recursion.iterate(&self.current, self.took)?;
        self.phase = Phase::Run { next, run, since };
        Ok(Step::Yield)
    }

    fn run(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let Phase::Run { run, since, .. } = &self.phase else { return Ok(Step::Yield) };
        match run.step(cx.waker)? {
            Turn::Worked => return Ok(Step::Yield),
            Turn::Wait => return Ok(Step::Blocked(BlockedOn::Build)),
            Turn::Over => {}
        }
        self.took = since.elapsed();
        self.recursion.close_run();
        if let Phase::Run { next, .. } = std::mem::replace(&mut self.phase, Phase::Emit) {
            self.current = next;
        }
        self.phase = match self.recursion.keyed {
            Some(_) => Phase::Replace,
            None => self.settle()?,
        };
        Ok(Step::Yield)
    }

    /// Takes rows of the iteration; the next one begins with those that changed something.
    fn replace(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let next = match self.current.output.poll_next(cx.waker) {
            Poll::Ready(next) => next?,
            Poll::Pending => return Ok(Step::Blocked(BlockedOn::Exchange)),
        };
        let Some(mut keyed) = self.recursion.keyed() else {
            return Err(Error::internal("rows without keys"));
        };
        if let Some(batch) = next {
            keyed.insert(&batch)?;
            return Ok(Step::Yield);
        }
        let changed = keyed.finish_iteration()?;
        drop(keyed);
        self.current = self.recursion.complete(changed)?;
        self.iterate()
    }
}

impl Operator for RecursiveUnion {
    fn name(&self) -> &'static str {
        "recursive union"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        match &mut self.phase {
            Phase::Anchor => {
                if !self.current.rows.poll_finished(1, cx.waker) {
                    return Ok(Step::Blocked(BlockedOn::Build));
                }
                self.phase = self.settle()?;
                Ok(Step::Yield)
            }
            Phase::Settle(settling) => {
                if settling.step(&self.current.rows, &self.metrics)? {
                    self.phase = self.emit();
                }
                Ok(Step::Yield)
            }
            Phase::Emit => match self.current.output.poll_next(cx.waker) {
                Poll::Ready(next) => {
                    next?.map_or_else(|| self.iterate(), |it| Ok(Step::Output(it)))
                }
                Poll::Pending => Ok(Step::Blocked(BlockedOn::Exchange)),
            },
            Phase::Replace => self.replace(cx),
            Phase::EmitAll => match self.current.output.poll_next(cx.waker) {
                Poll::Ready(next) => Ok(match next? {
                    Some(batch) => Step::Output(batch),
                    None => {
                        self.phase = Phase::Done;
                        Step::Finished
                    }
                }),
                Poll::Pending => Ok(Step::Blocked(BlockedOn::Exchange)),
            },
            Phase::Run { .. } => self.run(cx),
            Phase::Done => Ok(Step::Finished),
        }
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }

    fn abort(&mut self) {
        if let Phase::Run { run, .. } = &self.phase {
            run.abort();
        }
    }
}

impl Spill for RecursiveUnion {
    fn reclaimable_bytes(&self) -> usize {
        let seen = self.recursion.seen.as_ref().map_or(0, |it| it.reclaimable_bytes());
        let bytes = seen.max(self.current.rows.reclaimable_bytes());
        match &self.phase {
            Phase::Run { run, .. } => bytes.max(run.reclaimable_bytes()),
            _ => bytes,
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.recursion.builds.forget();
        let rows = self.current.rows.reclaimable_bytes();
        let seen = self.recursion.seen.as_ref();
        let seen_bytes = seen.map_or(0, |it| it.reclaimable_bytes());
        if let Phase::Run { run, .. } = &self.phase
            && run.reclaimable_bytes() > rows.max(seen_bytes)
        {
            return run.spill();
        }
        match seen {
            Some(seen) if seen_bytes > rows => seen.spill(&self.metrics),
            _ => {
                self.metrics.add_spilled(self.current.rows.spill()?);
                Ok(())
            }
        }
    }
}

impl Drop for RecursiveUnion {
    fn drop(&mut self) {
        self.recursion.end();
    }
}

/// Runs chains of iterations that take long; a pipeline of its own, which puts nothing out.
pub struct RecursionHelper {
    recursion: Arc<Recursion>,
}

impl RecursionHelper {
    /// Of this recursion.
    pub(crate) fn new(recursion: Arc<Recursion>) -> RecursionHelper {
        RecursionHelper { recursion }
    }

    fn run(&self) -> Option<Arc<NestedRun>> {
        lock(&self.recursion.run).clone()
    }
}

impl Operator for RecursionHelper {
    fn name(&self) -> &'static str {
        "recursion helper"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.recursion.has_ended.load(Ordering::Acquire) {
            return Ok(Step::Finished);
        }
        let run = self.run();
        match run.as_ref().map_or(Ok(Turn::Over), |it| it.step(cx.waker))? {
            Turn::Worked => Ok(Step::Yield),
            Turn::Wait => Ok(Step::Blocked(BlockedOn::Exchange)),
            Turn::Over => {
                lock(&self.recursion.helpers).add(cx.waker);
                // Events in between have woken no driver.
                let is_same = self.run().as_ref().map(Arc::as_ptr) == run.as_ref().map(Arc::as_ptr);
                let is_idle = is_same && !self.recursion.has_ended.load(Ordering::Acquire);
                Ok(if is_idle { Step::Blocked(BlockedOn::Exchange) } else { Step::Yield })
            }
        }
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}

impl Spill for RecursionHelper {
    fn reclaimable_bytes(&self) -> usize {
        self.run().map_or(0, |it| it.reclaimable_bytes())
    }

    fn spill(&mut self) -> Result<()> {
        self.run().map_or(Ok(()), |it| it.spill())
    }
}

//! The operators of one driver and the loop that moves batches through them.
//!
//! ```text
//! source ── operator ── ... ── sink        a cursor points at the operator to step
//!
//!   Output(batch)  the next operator takes it; the cursor moves there
//!   NeedInput      the cursor moves to the operator before
//!   Finished       this one and all before it are dropped; the next one's input is finished, and
//!                  the cursor moves there; past the sink, the driver is done
//!   EndOfSplit     the next operators are told, up to one that holds rows; the cursor moves there
//!   Yield          the cursor stays; the driver looks up
//!   Blocked        the cursor stays; the driver leaves its thread
//! ```
//!
//! Before each step the driver asks whether it may go on or must spill first.
//!
//! The cursor starts at the sink. The last answer of every operator after the cursor was
//! `NeedInput`, so that a batch can always be passed on at once: no batch is ever queued between
//! two operators.

use crate::{
    BlockedOn, DriverState, Operator, OperatorMetrics, Step, StepContext, TaskContext,
    timeline::DriverRecorder,
};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Waker,
    time::{Duration, Instant},
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Arbitration, Offer, Participant, take_failed_allocation};

/// The counter of the times that an operator gave memory back.
pub(crate) const SPILLS: &str = "spills";

/// The operators of one driver, source first, sink last.
pub(crate) struct Chain {
    stages: Vec<Stage>,
    cursor: usize,
    /// The operator that was called last: that at the cursor, or one that spills.
    called: usize,
    /// Why and since when the operator at the cursor waits.
    waiting: Option<(BlockedOn, Instant)>,
    /// Whether operators spill before every step.
    spill_always: bool,
    /// `None` when it runs within a driver, which asks for memory itself.
    participant: Option<Participant>,
    /// `None` when it runs within a driver.
    recorder: Option<Arc<DriverRecorder>>,
    visit: Visit,
}

/// What a driver did since it came onto its thread, or last spilled.
struct Visit {
    since: Instant,
    /// The longest step, and the position of its operator.
    longest: Duration,
    position: usize,
}

/// One operator and its counters.
pub(crate) struct Stage {
    pub name: &'static str,
    /// `None` once it is finished.
    pub operator: Option<Box<dyn Operator>>,
    pub metrics: Arc<OperatorMetrics>,
}

/// How a run of a chain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The quantum is used up; there is more to do.
    Ready,
    /// Waits for the waker.
    Blocked,
    /// All operators are finished.
    Finished,
}

impl Chain {
    /// A chain of at least one operator.
    pub(crate) fn new(stages: Vec<Stage>, task: &TaskContext) -> Chain {
        let cursor = stages.len() - 1;
        Chain {
            stages,
            cursor,
            called: cursor,
            waiting: None,
            spill_always: task.spill_always,
            participant: Some(task.pool.participate()),
            recorder: None,
            visit: Visit::begin(Instant::now(), cursor),
        }
    }

    /// Records what the driver does when.
    pub(crate) fn record_to(&mut self, recorder: Arc<DriverRecorder>) {
        self.recorder = Some(recorder);
    }

    /// Notes that the driver takes no further steps.
    pub(crate) fn record_end(&self) {
        self.recorder.iter().for_each(|it| it.end());
    }

    /// One that runs within a driver, which asks for memory itself.
    pub(crate) fn nested(self) -> Chain {
        Chain { participant: None, ..self }
    }

    /// About how many bytes an operator could spill; `None` if no operator can.
    pub(crate) fn reclaimable(&mut self) -> Option<usize> {
        self.largest_spill().map(|it| it.1.bytes)
    }

    /// Lets the operator that holds most give memory back.
    pub(crate) fn reclaim(&mut self) -> Result<()> {
        match self.largest_spill() {
            Some((position, _)) => self.spill_at(position).map(drop),
            None => Ok(()),
        }
    }

    /// Takes back what others can see of unfinished work.
    pub(crate) fn abort(&mut self) {
        for operator in self.stages.iter_mut().filter_map(|it| it.operator.as_mut()) {
            // The task has ended, so that a panic cannot be reported.
            let _ = catch_unwind(AssertUnwindSafe(|| operator.abort()));
        }
    }

    /// Drops the operators, each on its own: two that panic at once would end the process. The
    /// first panic, and the name of its operator.
    pub(crate) fn dismantle(&mut self) -> Result<(), (&'static str, Box<dyn Any + Send>)> {
        let drop_one = |stage: &mut Stage| {
            let operator = stage.operator.take();
            catch_unwind(AssertUnwindSafe(|| drop(operator))).map_err(|it| (stage.name, it))
        };
        self.stages.iter_mut().map(drop_one).fold(Ok(()), Result::and)
    }

    /// The name of the operator that was called last.
    pub(crate) fn current(&self) -> &'static str {
        self.stages.get(self.called).map_or("driver", |it| it.name)
    }

    /// Gives memory back if it is this driver's turn, and does nothing else: the task is paused.
    pub(crate) fn rest(&mut self, waker: &Waker) -> Result<()> {
        self.visit = Visit::begin(Instant::now(), self.cursor);
        while self.offer(waker).is_some_and(|it| it.rest()) {
            self.spill()?;
        }
        Ok(())
    }

    /// Runs until something must be waited for, all is done, `quantum` has passed, or the driver is
    /// `interrupted`.
    pub(crate) fn run(
        &mut self,
        waker: &Waker,
        quantum: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Progress> {
        // What failed on this thread before was another driver's.
        take_failed_allocation();
        let start = Instant::now();
        self.record_waiting(start);
        self.visit = Visit::begin(start, self.cursor);
        let progress = self.run_steps(waker, quantum, interrupted);
        self.record_visit(Instant::now());
        progress
    }

    fn run_steps(
        &mut self,
        waker: &Waker,
        quantum: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Progress> {
        let start = self.visit.since;
        let mut now = start;
        while !interrupted() {
            let Some(spilling) = self.arbitrate(waker)? else {
                self.waiting = Some((BlockedOn::Memory, Instant::now()));
                return Ok(Progress::Blocked);
            };
            // That is counted already.
            now += spilling;
            let step = self.step(waker)?;
            let end = Instant::now();
            let time = end.saturating_duration_since(now);
            self.stages[self.cursor].metrics.record_busy(time);
            self.visit.note(time, self.cursor);
            now = end;
            match step {
                Step::Blocked(why) => {
                    self.waiting = Some((why, end));
                    self.participant.iter().for_each(|it| it.park(why.is_outside()));
                    return Ok(Progress::Blocked);
                }
                Step::Finished if self.cursor + 1 == self.stages.len() => {
                    return Ok(Progress::Finished);
                }
                other => self.advance(other)?,
            }
            if end - start >= quantum {
                return Ok(Progress::Ready);
            }
        }
        Ok(Progress::Ready)
    }

    /// Gives memory back when it is this driver's turn, and how long that took; `None` when it has
    /// to wait for others that do.
    fn arbitrate(&mut self, waker: &Waker) -> Result<Option<Duration>> {
        let mut spilling = Duration::ZERO;
        if self.spill_always {
            for position in 0..self.stages.len() {
                spilling += self.spill_at(position)?;
            }
        }
        loop {
            match self.offer(waker).map_or(Arbitration::Proceed, |it| it.arbitrate()) {
                Arbitration::Proceed => return Ok(Some(spilling)),
                Arbitration::Wait => return Ok(None),
                Arbitration::Reclaim => spilling += self.spill()?,
            }
        }
    }

    /// Returns the bytes that could be spilled now.
    fn offer(&mut self, waker: &Waker) -> Option<&Participant> {
        let offered = self.largest_spill().map_or(Offer::default(), |it| it.1);
        let participant = self.participant.as_mut()?;
        participant.wake_with(waker);
        participant.offer(offered);
        Some(participant)
    }

    /// The operator that would free the most, and how much.
    fn largest_spill(&mut self) -> Option<(usize, Offer)> {
        let stages = self.stages.iter_mut().enumerate();
        let offers = stages.filter_map(|(position, it)| {
            let spill = it.operator.as_mut()?.as_spill()?;
            let (bytes, alongside) = (spill.reclaimable_bytes(), spill.spills_alongside());
            Some((position, Offer { bytes, alongside }))
        });
        offers.max_by_key(|it| it.1.bytes)
    }

    /// Lets that operator spill.
    fn spill(&mut self) -> Result<Duration> {
        let mut time = Duration::ZERO;
        if let Some((position, _)) = self.largest_spill() {
            time = self.spill_at(position)?;
        }
        self.participant.iter().for_each(Participant::reclaimed);
        Ok(time)
    }

    /// Lets the operator at `position` give memory back, if it can; how long that took.
    fn spill_at(&mut self, position: usize) -> Result<Duration> {
        let stage = &mut self.stages[position];
        let spill = stage.operator.as_mut().and_then(|it| it.as_spill());
        let Some(spill) = spill else { return Ok(Duration::ZERO) };
        self.called = position;
        let start = Instant::now();
        spill.spill().map_err(|it| it.at("spill of", stage.name))?;
        let end = Instant::now();
        let time = end - start;
        stage.metrics.record_busy(time);
        stage.metrics.add(SPILLS, 1);
        self.record_visit(start);
        self.record(DriverState::Spilling, position, start, end);
        self.visit = Visit::begin(end, self.cursor);
        Ok(time)
    }

    fn record_waiting(&mut self, now: Instant) {
        if let Some((why, since)) = self.waiting.take() {
            self.stages[self.cursor].metrics.record_blocked(why, now - since);
            self.record(DriverState::Blocked(why), self.cursor, since, now);
        }
    }

    /// Records the time on the thread until `end`.
    fn record_visit(&self, end: Instant) {
        self.record(DriverState::Running, self.visit.position, self.visit.since, end);
    }

    fn record(&self, state: DriverState, position: usize, start: Instant, end: Instant) {
        self.recorder.iter().for_each(|it| it.record(state, position, start, end));
    }

    fn step(&mut self, waker: &Waker) -> Result<Step> {
        self.called = self.cursor;
        let step = match &mut self.stages[self.cursor].operator {
            Some(operator) => operator.step(&mut StepContext { waker }),
            None => Err(Error::internal("step of a finished operator")),
        };
        if take_failed_allocation() { Err(no_memory(self.current())) } else { step }
    }

    /// Moves the cursor, and the batch if there is one.
    fn advance(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Output(batch) => {
                debug_assert!(batch.rows() > 0, "{} emitted an empty batch", self.current());
                self.stages[self.cursor].metrics.record_output(&batch);
                self.cursor += 1;
                let Some(stage) = self.stages.get_mut(self.cursor) else {
                    return Err(Error::internal("output of a sink"));
                };
                stage.metrics.record_input(batch.rows());
                self.called = self.cursor;
                stage.operator.as_mut().map_or(Ok(()), |it| it.accept(batch))
            }
            Step::NeedInput => {
                let before = self.cursor.checked_sub(1);
                let open = before.filter(|it| self.stages[*it].operator.is_some());
                let error = || Error::internal("operator needs input after its end");
                self.cursor = open.ok_or_else(error)?;
                Ok(())
            }
            Step::Finished => {
                for position in 0..=self.cursor {
                    self.called = position;
                    let operator = self.stages[position].operator.take();
                    drop(operator);
                }
                self.cursor += 1;
                self.called = self.cursor;
                self.stages[self.cursor].operator.as_mut().map_or(Ok(()), |it| it.finish_input())
            }
            Step::EndOfSplit => {
                self.end_split();
                Ok(())
            }
            Step::Yield | Step::Blocked(_) => Ok(()),
        }
    }

    /// Tells the operators after the cursor that the rows of a part of the source have come, up to
    /// the first one that holds rows: it outputs them next. The cursor goes to the sink else.
    fn end_split(&mut self) {
        while self.cursor + 1 < self.stages.len() {
            self.cursor += 1;
            self.called = self.cursor;
            let operator = self.stages[self.cursor].operator.as_mut();
            if operator.is_some_and(|it| it.end_split()) {
                return;
            }
        }
    }
}

impl Visit {
    fn begin(since: Instant, position: usize) -> Visit {
        Visit { since, longest: Duration::ZERO, position }
    }

    fn note(&mut self, step: Duration, position: usize) {
        if step > self.longest {
            (self.longest, self.position) = (step, position);
        }
    }
}

#[cold]
fn no_memory(operator: &'static str) -> Error {
    Error::new(ErrorKind::OutOfMemory, "the system gives the process no more memory")
        .at("operator", operator)
        .hint("set memory_limit to less than the process may have, or raise its limit (ulimit)")
}

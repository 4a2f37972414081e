//! An operator at the end of a pipeline, out of what it does with a batch.

use crate::{BlockedOn, Operator, Spill, Step, StepContext};
use std::task::Waker;
use volley_error::Result;
use volley_state::queue::Room;
use volley_vector::Batch;

/// Takes the batches of one driver. [`SinkOperator`] makes an operator of it.
pub trait BatchSink: Send {
    /// As [`Operator::name`].
    fn name(&self) -> &'static str;

    /// What a driver waits for while there is no room.
    fn waits_for(&self) -> BlockedOn {
        BlockedOn::Exchange
    }

    /// Whether a batch can be pushed; when there is no room, `waker` is woken once there is.
    fn poll_room(&mut self, _waker: &Waker) -> Room {
        Room::Free
    }

    /// Takes a batch with loaded columns. Answers [`Room::Closed`] if no more is needed.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn push(&mut self, batch: Batch) -> Result<Room>;

    /// Whether no more is needed, as far as that is cheap to tell.
    fn is_closed(&self) -> bool {
        false
    }

    /// As [`Operator::end_split`]; a sink holds no rows.
    fn end_split(&mut self) {}

    /// Tells that no more comes. Called once.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn finish(&mut self) -> Result<()>;

    /// Whether the driver may end after [`BatchSink::finish`]; if not, `waker` is woken once it
    /// may.
    fn poll_done(&mut self, _waker: &Waker) -> bool {
        true
    }

    /// As [`Operator::as_spill`].
    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        None
    }
}

/// The operator that pushes its input to a sink.
pub struct SinkOperator<S> {
    sink: S,
    pending: Option<Batch>,
    input_done: bool,
    is_finished: bool,
}

impl<S: BatchSink> SinkOperator<S> {
    /// Pushes to `sink`.
    pub fn new(sink: S) -> SinkOperator<S> {
        SinkOperator { sink, pending: None, input_done: false, is_finished: false }
    }
}

impl<S: BatchSink> Operator for SinkOperator<S> {
    fn name(&self) -> &'static str {
        self.sink.name()
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn end_split(&mut self) -> bool {
        self.sink.end_split();
        false
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let room = match &self.pending {
            Some(_) => self.sink.poll_room(cx.waker),
            None if self.sink.is_closed() => Room::Closed,
            None => Room::Free,
        };
        match room {
            Room::Closed => return Ok(Step::Finished),
            Room::Full => return Ok(Step::Blocked(self.sink.waits_for())),
            Room::Free | Room::Ended => {}
        }
        if let Some(batch) = self.pending.take()
            && self.sink.push(batch)? == Room::Closed
        {
            return Ok(Step::Finished);
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        if !self.is_finished {
            self.sink.finish()?;
            self.is_finished = true;
        }
        let is_done = self.sink.poll_done(cx.waker);
        Ok(if is_done { Step::Finished } else { Step::Blocked(self.sink.waits_for()) })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        self.sink.as_spill()
    }
}

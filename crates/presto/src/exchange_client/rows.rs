//! Where the rows of remote sources go.

use crate::sorted_input::SortedInput;
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};
use volley_error::{Error, Result};
use volley_exec::{InputState, TaskInput};
use volley_state::queue::{BatchQueue, Room};
use volley_vector::Batch;

/// What a plan node of a task reads.
pub(crate) enum RemoteRows {
    /// Rows in any order: those of all locations go to one queue.
    AnyOrder(TaskInput),
    /// Rows that each location has in order: a queue per location.
    Sorted(Arc<SortedInput>),
}

/// Where the rows of one location go.
pub(super) enum RowWriter {
    AnyOrder(TaskInput),
    Sorted(Arc<BatchQueue>),
}

impl RemoteRows {
    pub(super) fn fail(&self, error: Error) {
        match self {
            RemoteRows::AnyOrder(input) => input.fail(error),
            RemoteRows::Sorted(input) => input.fail(error),
        }
    }
}

impl RowWriter {
    /// Waits until there is room.
    pub(super) async fn room(&self) -> InputState {
        poll_fn(|cx| self.poll_room(cx.waker())).await
    }

    /// Whether rows can be pushed; if not, `waker` is woken once that has changed.
    pub(super) fn poll_room(&self, waker: &Waker) -> Poll<InputState> {
        match self {
            RowWriter::AnyOrder(input) => input.poll_ready(waker),
            RowWriter::Sorted(queue) => match queue.poll_ready(waker) {
                Room::Free => Poll::Ready(InputState::Ready),
                Room::Full => Poll::Pending,
                Room::Closed | Room::Ended => Poll::Ready(InputState::Closed),
            },
        }
    }

    /// Gives rows to the task, whether or not there is room.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push(&self, batch: Batch) -> Result<()> {
        match self {
            RowWriter::AnyOrder(input) => input.push(batch),
            RowWriter::Sorted(queue) => queue.push(0, batch).map(|_| ()),
        }
    }

    /// Tells that the location has no more rows.
    pub(super) fn finish(&self) {
        if let RowWriter::Sorted(queue) = self {
            queue.producer_finished();
        }
    }
}

//! The messages between ranks, as bytes.
//!
//! ```text
//! message  content, then at its end: u64 query, u32 task that sends it, u32 task that gets it,
//!          u8 kind, 7 zeros
//! kind     content
//!   0      a frame of exchange::link
//!   1      start: u32 fragments, u32 first task of each, the query's spec
//!   2      splits: u32 fragment, u32 scan, u32 splits, then each
//!   3      no more splits: u32 fragment, u32 scan
//!   4      end: rank 0 ends the query
//!   5      ended: nothing of the query runs in the sender any more; u32 bytes of statistics,
//!          these, the failure, if any
//!   6      failed: the failure
//!   7      ready: the sender can run queries; or the failure why not
//!   8      leave: the job ends
//!   9      filter: u32 filter, u32 task, the keys of a join, if it has a filter
//! ```
//!
//! Numbers are little-endian. What describes a message is at its end, so that the pages of a frame
//! are where the frame has aligned them.

use crate::splits;
use std::sync::Arc;
use volley_connector::Split;
use volley_error::{Error, Result};
use volley_exchange::{Failure, TaskId};
use volley_expression::filter::KeyFilter;
use volley_plan::PlanNodeId;
use volley_schedule::{FilterKeys, ProcessEnd, TaskNumbers};

/// Bytes at the end of a message.
const TRAILER_BYTES: usize = 24;

/// What ranks send each other.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Frame { from: TaskId, to: TaskId, frame: Vec<u8> },
    Start { tasks: TaskNumbers, spec: Vec<u8> },
    Splits { scan: ScanId, splits: Vec<Split> },
    NoMoreSplits { scan: ScanId },
    End,
    Ended { end: ProcessEnd },
    Failed { failure: Failure },
    Ready { failure: Option<Failure> },
    Leave,
    Filter { filter: u32, task: u32, keys: FilterKeys },
}

/// A scan of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanId {
    pub(crate) fragment: u32,
    pub(crate) scan: PlanNodeId,
}

impl Message {
    /// The bytes of a message that belongs to `query`; 0 for those of none.
    pub(crate) fn to_bytes(&self, query: u64) -> Vec<u8> {
        let (mut from, mut to) = (TaskId(0), TaskId(0));
        let (kind, mut bytes) = match self {
            Message::Frame { .. } => (0, Vec::new()),
            Message::Start { tasks, spec } => {
                let mut bytes = (tasks.first_tasks.len() as u32).to_le_bytes().to_vec();
                tasks.first_tasks.iter().for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()));
                bytes.extend_from_slice(spec);
                (1, bytes)
            }
            Message::Splits { scan, splits } => {
                let mut bytes = scan.to_bytes();
                splits::write(splits, &mut bytes);
                (2, bytes)
            }
            Message::NoMoreSplits { scan } => (3, scan.to_bytes()),
            Message::End => (4, Vec::new()),
            Message::Ended { end: ProcessEnd { failure, statistics } } => {
                let mut bytes = (statistics.len() as u32).to_le_bytes().to_vec();
                bytes.extend_from_slice(statistics);
                bytes.extend_from_slice(&failure_bytes(failure.as_ref()));
                (5, bytes)
            }
            Message::Failed { failure } => (6, failure.to_bytes()),
            Message::Ready { failure } => (7, failure_bytes(failure.as_ref())),
            Message::Leave => (8, Vec::new()),
            Message::Filter { filter, task, keys } => {
                let mut bytes = [filter.to_le_bytes(), task.to_le_bytes()].concat();
                keys.iter().for_each(|it| bytes.extend_from_slice(&it.to_bytes()));
                (9, bytes)
            }
        };
        if let Message::Frame { from: sender, to: receiver, frame } = self {
            (from, to) = (*sender, *receiver);
            bytes.clone_from(frame);
        }
        append_trailer(&mut bytes, query, from, to, kind);
        bytes
    }

    /// The message of [`Message::to_bytes`], and its query.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes.
    pub(crate) fn from_bytes(mut bytes: Vec<u8>) -> Result<(u64, Message)> {
        let damaged = || Error::corruption("damaged message between ranks");
        let end = bytes.len().checked_sub(TRAILER_BYTES).ok_or_else(damaged)?;
        let mut trailer = Input(bytes.get(end..).unwrap_or_default());
        let parts = (trailer.u64(), trailer.u32(), trailer.u32(), trailer.byte());
        let (Some(query), Some(from), Some(to), Some(kind)) = parts else { return Err(damaged()) };
        bytes.truncate(end);
        if kind == 0 {
            let (from, to) = (TaskId(from), TaskId(to));
            return Ok((query, Message::Frame { from, to, frame: bytes }));
        }
        let mut input = Input(&bytes);
        let message = input.message(kind).filter(|_| input.0.is_empty());
        Ok((query, message.ok_or_else(damaged)?))
    }
}

/// The bytes of a frame from task to task, without a copy of the frame.
pub(crate) fn frame_bytes(query: u64, from: TaskId, to: TaskId, mut frame: Vec<u8>) -> Vec<u8> {
    append_trailer(&mut frame, query, from, to, 0);
    frame
}

fn append_trailer(bytes: &mut Vec<u8>, query: u64, from: TaskId, to: TaskId, kind: u8) {
    bytes.extend_from_slice(&query.to_le_bytes());
    bytes.extend_from_slice(&from.0.to_le_bytes());
    bytes.extend_from_slice(&to.0.to_le_bytes());
    bytes.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
}

fn failure_bytes(failure: Option<&Failure>) -> Vec<u8> {
    failure.map(Failure::to_bytes).unwrap_or_default()
}

impl ScanId {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.fragment.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.scan.number().to_le_bytes());
        bytes
    }
}

/// What is left of a message.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|it| u32::from_le_bytes(*it))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|it| u64::from_le_bytes(*it))
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn scan(&mut self) -> Option<ScanId> {
        Some(ScanId { fragment: self.u32()?, scan: PlanNodeId::new(self.u32()?) })
    }

    /// The failure, if the bytes have one; the outer `None`: they are damaged.
    fn failure(&mut self) -> Option<Option<Failure>> {
        match self.rest() {
            [] => Some(None),
            bytes => Failure::from_bytes(bytes).ok().map(Some),
        }
    }

    fn message(&mut self, kind: u8) -> Option<Message> {
        Some(match kind {
            1 => {
                let count = self.u32()?;
                let first_tasks = (0..count).map(|_| self.u32()).collect::<Option<Vec<_>>>()?;
                let tasks = TaskNumbers { first_tasks };
                Message::Start { tasks, spec: self.rest().to_vec() }
            }
            2 => Message::Splits { scan: self.scan()?, splits: splits::read(self)? },
            3 => Message::NoMoreSplits { scan: self.scan()? },
            4 => Message::End,
            5 => {
                let len = self.u32()? as usize;
                let statistics = self.take(len)?.to_vec();
                Message::Ended { end: ProcessEnd { failure: self.failure()?, statistics } }
            }
            6 => Message::Failed { failure: self.failure()?? },
            7 => Message::Ready { failure: self.failure()? },
            8 => Message::Leave,
            9 => {
                let (filter, task) = (self.u32()?, self.u32()?);
                let keys = match self.rest() {
                    [] => None,
                    bytes => Some(Arc::new(KeyFilter::from_bytes(bytes).ok()?)),
                };
                Message::Filter { filter, task, keys }
            }
            _ => return None,
        })
    }
}

//! Failures that cross tasks: errors as typed data, and which of several is the cause.
//!
//! ```text
//! failure  u8   rank: 0 cause, 1 peer lost, 2 cancelled
//!          u16  kind of the error
//!          u32  bytes of the message, then the message
//!          u32  bytes of the hint, then the hint; u32::MAX: none
//!          u8   1: u32 start and u32 end of the text that the error is about
//!          u16  tasks that it passed through, then a u32 for each
//! ```

use crate::TaskId;
use std::fmt;
use volley_error::{Error, ErrorKind, Span};

/// The kinds of errors, by number.
const KINDS: [ErrorKind; 10] = [
    ErrorKind::Syntax,
    ErrorKind::InvalidQuery,
    ErrorKind::Unsupported,
    ErrorKind::InvalidValue,
    ErrorKind::OutOfMemory,
    ErrorKind::Io,
    ErrorKind::Corruption,
    ErrorKind::Cancelled,
    ErrorKind::Internal,
    ErrorKind::TimedOut,
];

/// No hint.
const NO_HINT: u32 = u32::MAX;

/// Why an edge failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Whether the error is the cause or follows from another one.
    pub rank: Rank,
    /// What failed.
    pub error: Error,
    /// The tasks that the failure passed through, the one where it began first.
    pub tasks: Vec<TaskId>,
}

/// Whether a failure is the cause of others. A smaller rank wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A cause by itself.
    Cause,
    /// A task was lost: probably the consequence of a failure that is not known yet.
    PeerLost,
    /// Work was cancelled, by the user or because another task failed.
    Cancelled,
}

/// The failure of an edge or a task: the first one of the smallest rank.
#[derive(Debug, Default)]
pub struct FailureSlot(Option<Failure>);

impl Failure {
    /// The failure of an error; cancellation is told by its kind.
    pub fn new(error: Error) -> Failure {
        let rank = match error.kind() {
            ErrorKind::Cancelled => Rank::Cancelled,
            _ => Rank::Cause,
        };
        Failure { rank, error, tasks: Vec::new() }
    }

    /// The loss of a task.
    pub fn peer_lost(task: TaskId) -> Failure {
        let error = Error::new(ErrorKind::Io, format!("lost the connection to task {}", task.0))
            .hint("the process of the task ended, or the network failed; run the query again");
        Failure { rank: Rank::PeerLost, error, tasks: vec![task] }
    }

    /// The failure, having passed through `task`.
    pub fn through(mut self, task: TaskId) -> Failure {
        if self.tasks.last() != Some(&task) && self.tasks.len() < usize::from(u16::MAX) {
            self.tasks.push(task);
        }
        self
    }

    /// The bytes of the failure; see the module's drawing. The context of the error becomes a part
    /// of its message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.rank as u8];
        bytes.extend_from_slice(&(self.error.kind() as u16).to_le_bytes());
        push_text(&self.error.to_string(), &mut bytes);
        match self.error.hint_text() {
            Some(hint) => push_text(hint, &mut bytes),
            None => bytes.extend_from_slice(&NO_HINT.to_le_bytes()),
        }
        bytes.push(self.error.text_span().is_some().into());
        if let Some(span) = self.error.text_span() {
            bytes.extend_from_slice(&span.start.to_le_bytes());
            bytes.extend_from_slice(&span.end.to_le_bytes());
        }
        bytes.extend_from_slice(&(self.tasks.len() as u16).to_le_bytes());
        self.tasks.iter().for_each(|it| bytes.extend_from_slice(&it.0.to_le_bytes()));
        bytes
    }

    /// The failure that [`Failure::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes.
    pub fn from_bytes(bytes: &[u8]) -> volley_error::Result<Failure> {
        let mut input = bytes;
        let failure = read(&mut input).filter(|_| input.is_empty());
        failure.ok_or_else(|| Error::corruption("bytes that are no failure of a task"))
    }
}

impl FailureSlot {
    /// Notes a failure; whether it replaced what was known.
    pub fn record(&mut self, failure: Failure) -> bool {
        let wins = self.0.as_ref().is_none_or(|it| failure.rank < it.rank);
        if wins {
            self.0 = Some(failure);
        }
        wins
    }

    /// What is known.
    pub fn get(&self) -> Option<&Failure> {
        self.0.as_ref()
    }
}

fn push_text(text: &str, bytes: &mut Vec<u8>) {
    // Longer messages are of no use.
    let text = text.get(..text.floor_char_boundary(1 << 20)).unwrap_or_default();
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn read(input: &mut &[u8]) -> Option<Failure> {
    let rank = match take::<1>(input)? {
        [0] => Rank::Cause,
        [1] => Rank::PeerLost,
        [2] => Rank::Cancelled,
        _ => return None,
    };
    let kind = u16::from_le_bytes(take(input)?);
    // A kind that a newer version has appended.
    let kind = KINDS.into_iter().find(|it| *it as u16 == kind).unwrap_or(ErrorKind::Internal);
    let len = u32::from_le_bytes(take(input)?);
    let mut error = Error::new(kind, text(input, len)?);
    match u32::from_le_bytes(take(input)?) {
        NO_HINT => {}
        len => error = error.hint(text(input, len)?),
    }
    match take::<1>(input)? {
        [0] => {}
        [1] => {
            let (start, end) = (u32::from_le_bytes(take(input)?), u32::from_le_bytes(take(input)?));
            error = error.span(Some(Span { start, end }));
        }
        _ => return None,
    }
    let mut tasks = Vec::new();
    for _ in 0..u16::from_le_bytes(take(input)?) {
        tasks.push(TaskId(u32::from_le_bytes(take(input)?)));
    }
    Some(Failure { rank, error, tasks })
}

fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(*taken)
}

fn text(input: &mut &[u8], len: u32) -> Option<String> {
    let (taken, rest) = input.split_at_checked(len as usize)?;
    *input = rest;
    String::from_utf8(taken.to_vec()).ok()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        self.tasks.iter().try_for_each(|it| write!(f, " (task: {})", it.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_come_back_as_typed_data() {
        for kind in KINDS {
            let plain = Error::new(kind, "what é is wrong");
            let full = plain.clone().at("file", "a b").hint("do this");
            let full = full.span(Some(Span { start: 3, end: 9 }));
            for error in [plain, full] {
                let failure = Failure::new(error).through(TaskId(3)).through(TaskId(0));
                let found = Failure::from_bytes(&failure.to_bytes()).unwrap();
                assert_eq!(found.error.to_string(), failure.error.to_string());
                assert_eq!(found.error.kind(), kind);
                assert_eq!(found.error.hint_text(), failure.error.hint_text());
                assert_eq!(found.error.text_span(), failure.error.text_span());
                assert_eq!((found.rank, found.tasks), (failure.rank, failure.tasks));
            }
        }
    }

    #[test]
    fn other_bytes_are_corrupt() {
        let error = Error::internal("a").hint("b").span(Some(Span::default()));
        let bytes = Failure::new(error).through(TaskId(1)).to_bytes();
        for end in 0..bytes.len() {
            let error = Failure::from_bytes(&bytes[..end]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let mut damaged = bytes.clone();
            damaged[random.usize(..bytes.len())] = random.u8(..);
            let _ = Failure::from_bytes(&damaged);
        }
    }

    #[test]
    fn the_first_real_cause_wins() {
        let mut slot = FailureSlot::default();
        assert!(slot.record(Failure::new(Error::cancelled())));
        assert!(slot.record(Failure::peer_lost(TaskId(2))));
        assert!(!slot.record(Failure::new(Error::cancelled())));
        assert!(slot.record(Failure::new(Error::internal("first"))));
        assert!(!slot.record(Failure::new(Error::internal("second"))));
        assert_eq!(slot.get().unwrap().error.message(), "first");
    }
}

//! What evaluation carries along.

use crate::{RowErrors, Sequences, sequences::NoSequences};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::{CancellationToken, Reservation};
use volley_types::Zone;
use volley_vector::{Recycler, Vector};

/// The state of one evaluation of a set of expressions over a batch.
#[derive(Debug, Default)]
pub struct EvalContext {
    /// Rows that failed so far.
    pub errors: RowErrors,
    /// Whether errors will be discarded unread (inside TRY): do not build messages.
    pub errors_discarded: bool,
    /// What conversions make of parts of values that they cannot convert.
    pub bad_parts: BadParts,
    /// Whether text is taken as any text even where it is all ASCII: how the shorter ways for
    /// ASCII are checked and measured.
    pub general_text: bool,
    /// Constants of the query.
    pub query: Arc<QueryConstants>,
    /// Where large results are charged while they are made and passed on; `None`: nowhere.
    pub memory: Option<Reservation>,
    /// Memory for fixed-width results.
    pub recycler: Recycler,
}

/// What becomes of an element, a map's value or a field that cannot be converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadParts {
    /// The row fails.
    #[default]
    Fail,
    /// The part is null, where the conversion's rules know that (TRY_CAST). Keys of maps, which are
    /// never null, and texts that have no parts fail all the same.
    Null,
}

/// What is the same for every row of a query.
#[derive(Clone, Debug)]
pub struct QueryConstants {
    /// `now()`: microseconds since 1970-01-01 00:00:00 UTC, read once when the query starts.
    pub now_micros: i64,
    /// The session's time zone.
    pub time_zone: Zone,
    /// Cancels the query; knows its deadline.
    pub cancellation: CancellationToken,
    /// The sequences.
    pub sequences: Arc<dyn Sequences>,
}

impl Default for QueryConstants {
    fn default() -> QueryConstants {
        QueryConstants {
            now_micros: 0,
            time_zone: Zone::default(),
            cancellation: CancellationToken::new(),
            sequences: Arc::new(NoSequences),
        }
    }
}

impl EvalContext {
    /// A context for one evaluation.
    pub fn new(query: Arc<QueryConstants>) -> EvalContext {
        EvalContext { query, ..EvalContext::default() }
    }

    /// Charges `bytes` of a result that is being made. They are released with the context.
    ///
    /// # Errors
    ///
    /// The memory limit.
    pub fn charge(&mut self, bytes: usize) -> Result<()> {
        self.memory.as_mut().map_or(Ok(()), |it| it.grow(bytes))
    }

    /// Bytes charged so far.
    pub fn charged(&self) -> usize {
        self.memory.as_ref().map_or(0, Reservation::bytes)
    }

    /// Charges `bytes` in place of what was charged since [`EvalContext::charged`] was `before`.
    ///
    /// # Errors
    ///
    /// The memory limit.
    pub fn settle(&mut self, before: usize, bytes: usize) -> Result<()> {
        let all = before.saturating_add(bytes);
        self.memory.as_mut().map_or(Ok(()), |it| it.resize(all))
    }

    /// What to charge for `made`, which was made of `known`: the bytes that none of those keeps
    /// alive. 0 where nothing is charged, and for vectors of less than `least_bytes`.
    pub fn bytes_made(&self, made: &Vector, known: &[Vector], least_bytes: usize) -> usize {
        if self.memory.is_none() || made.retained_bytes() < least_bytes {
            return 0;
        }
        made.retained_bytes_beyond(known)
    }

    /// Records that `row` failed; `error` runs only if its message will be read.
    pub fn fail(&mut self, row: usize, error: impl FnOnce() -> Error) {
        let error = (!self.errors_discarded).then(error);
        self.errors.add(row, error);
    }
}

//! The sequences that a statement sees, and the numbers that a session got last.

use crate::{StatementCatalog, place::SchemaPlace};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use volley_connector::{SequenceEntry, SequenceId};
use volley_error::{Error, Result};
use volley_function::Sequences;

/// The numbers that a session got last, by database and sequence.
#[derive(Debug, Default)]
pub(crate) struct LastNumbers(Mutex<BTreeMap<(String, SequenceId), i64>>);

/// The sequences as a statement sees them. The numbers are not part of a transaction: a rollback
/// does not return them, and other sessions do not get them.
pub struct SessionSequences {
    pub(crate) catalog: StatementCatalog,
    pub(crate) last: Arc<LastNumbers>,
}

impl SessionSequences {
    fn find(&self, name: &str) -> Result<(SchemaPlace, Arc<SequenceEntry>)> {
        self.catalog.find_sequence(name)?.ok_or_else(|| no_sequence(name))
    }
}

impl LastNumbers {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, SequenceId), i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sequences for SessionSequences {
    fn next(&self, name: &str, numbers: &mut [i64]) -> Result<()> {
        let (place, sequence) = self.find(name)?;
        let taken = self.catalog.snapshot(&place.database)?.take_numbers(sequence.id, numbers)?;
        if let Some(last) = numbers.get(..taken).and_then(<[i64]>::last) {
            self.last.lock().insert((place.database, sequence.id), *last);
        }
        if taken == numbers.len() {
            return Ok(());
        }
        let last = if sequence.increment > 0 { sequence.greatest } else { sequence.least };
        let error = Error::invalid_value(format!("sequence {name} has no number beyond {last}"));
        Err(error.hint("CYCLE makes a sequence begin again"))
    }

    fn current(&self, name: &str) -> Result<i64> {
        let (place, sequence) = self.find(name)?;
        let last = self.last.lock().get(&(place.database, sequence.id)).copied();
        last.ok_or_else(|| {
            let error =
                Error::invalid_query(format!("sequence {name} has given this session no number"));
            error.hint(format!("nextval('{name}') gives one"))
        })
    }
}

impl fmt::Debug for SessionSequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionSequences").field(&self.catalog).finish()
    }
}

pub(crate) fn no_sequence(name: &str) -> Error {
    Error::invalid_query(format!("no such sequence: {name}"))
}

//! Sequences: numbers that are returned once.
//!
//! The numbers are not part of a transaction: a rollback does not return them, and other sessions
//! do not get them. The definition of a sequence is part of the transaction.

use crate::catalog::Names;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_error::{Error, Result};
use volley_function::Sequences;
use volley_sql::SequenceDefinition;

/// A sequence.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// Distinguishes it from earlier sequences of the same name.
    id: u64,
    definition: SequenceDefinition,
    /// The next number; `None` at the end.
    next: Mutex<Option<i64>>,
}

/// The numbers that a session got last, by the ids of sequences.
#[derive(Debug, Default)]
pub(crate) struct LastNumbers(Mutex<BTreeMap<u64, i64>>);

/// The sequences as a statement sees them.
#[derive(Debug)]
pub(crate) struct SessionSequences {
    pub(crate) names: Arc<Names>,
    pub(crate) last: Arc<LastNumbers>,
}

impl Sequence {
    pub(crate) fn new(definition: SequenceDefinition) -> Sequence {
        static IDS: AtomicU64 = AtomicU64::new(0);
        let next = Mutex::new(Some(definition.start));
        Sequence { id: IDS.fetch_add(1, Ordering::Relaxed), definition, next }
    }

    /// Takes a number for each place, without a gap; how many there were.
    fn take(&self, numbers: &mut [i64]) -> usize {
        let mut next = lock(&self.next);
        for (taken, place) in numbers.iter_mut().enumerate() {
            let Some(number) = *next else { return taken };
            *place = number;
            *next = self.definition.after(number);
        }
        numbers.len()
    }
}

impl SessionSequences {
    fn find(&self, name: &str) -> Result<&Arc<Sequence>> {
        self.names.sequence(name).ok_or_else(|| no_sequence(name))
    }
}

impl Sequences for SessionSequences {
    fn next(&self, name: &str, numbers: &mut [i64]) -> Result<()> {
        let sequence = self.find(name)?;
        let taken = sequence.take(numbers);
        if let Some(last) = numbers[..taken].last() {
            lock(&self.last.0).insert(sequence.id, *last);
        }
        if taken == numbers.len() {
            return Ok(());
        }
        let last = sequence.definition.last();
        let error = Error::invalid_value(format!("sequence {name} has no number beyond {last}"));
        Err(error.hint("CYCLE makes a sequence begin again"))
    }

    fn current(&self, name: &str) -> Result<i64> {
        let sequence = self.find(name)?;
        let last = lock(&self.last.0).get(&sequence.id).copied();
        last.ok_or_else(|| {
            let error =
                Error::invalid_query(format!("sequence {name} has given this session no number"));
            error.hint(format!("nextval('{name}') gives one"))
        })
    }
}

pub(crate) fn no_sequence(name: &str) -> Error {
    Error::invalid_query(format!("no such sequence: {name}"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

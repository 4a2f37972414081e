//! The numbers of a sequence.

use std::sync::{Mutex, PoisonError};
use volley_connector::SequenceEntry;

/// Numbers that are given out once, by any transaction.
#[derive(Debug)]
pub(super) struct Numbers {
    entry: SequenceEntry,
    /// The next number; `None` at the end.
    next: Mutex<Option<i64>>,
}

impl Numbers {
    pub fn new(entry: SequenceEntry) -> Numbers {
        let next = Mutex::new(Some(entry.start));
        Numbers { entry, next }
    }

    /// The number that is taken next; `None` at the end.
    pub fn next(&self) -> Option<i64> {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a number for each place, without a gap; how many there were.
    pub fn take(&self, numbers: &mut [i64]) -> usize {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        for (taken, place) in numbers.iter_mut().enumerate() {
            let Some(number) = *next else { return taken };
            *place = number;
            *next = self.entry.after(number);
        }
        numbers.len()
    }
}

//! The numbers of sequences.
//!
//! A number is given out once, whatever becomes of the transaction that took it. Numbers are
//! reserved on disk in blocks: after a crash, the rest of a block is skipped.

use crate::locks::{Mutex, MutexGuard};
use std::sync::PoisonError;
use volley_connector::SequenceEntry;
use volley_error::Result;

/// Numbers that one record reserves.
const BLOCK: u32 = 1024;

/// The numbers of one sequence.
#[derive(Debug)]
pub struct Numbers {
    entry: SequenceEntry,
    state: Mutex<State>,
    /// Where a recovery goes on.
    reserved: Mutex<Option<i64>>,
}

#[derive(Debug)]
struct State {
    /// The next number; `None` at the end.
    next: Option<i64>,
    /// How many numbers are reserved; `None` while no commit has made the sequence durable.
    left: Option<u32>,
}

impl Numbers {
    /// The numbers of a sequence that is not committed.
    pub fn new(entry: SequenceEntry) -> Numbers {
        let (next, reserved) = (Some(entry.start), Mutex::new(Some(entry.start)));
        Numbers { entry, state: Mutex::new(State { next, left: None }), reserved }
    }

    /// The numbers of a sequence that go on at `next`.
    pub(crate) fn recovered(entry: SequenceEntry, next: Option<i64>) -> Numbers {
        let state = Mutex::new(State { next, left: Some(0) });
        Numbers { entry, state, reserved: Mutex::new(next) }
    }

    /// The number that is taken next; `None` at the end.
    pub fn next(&self) -> Option<i64> {
        lock(&self.state).next
    }

    /// Takes a number for each element, without a gap; how many there were. `reserve` makes durable
    /// where a recovery goes on.
    ///
    /// # Errors
    ///
    /// Those of `reserve`; no number was taken then.
    pub(crate) fn take(
        &self,
        numbers: &mut [i64],
        reserve: impl FnOnce(Option<i64>) -> Result<()>,
    ) -> Result<usize> {
        let mut state = lock(&self.state);
        let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        if state.left.is_some_and(|it| it < count) {
            let ahead = count.saturating_add(BLOCK);
            reserve(self.after(state.next, ahead))?;
            state.left = Some(ahead);
        }
        let mut taken = 0;
        for number in numbers {
            let Some(next) = state.next else { break };
            *number = next;
            state.next = self.entry.after(next);
            taken += 1;
        }
        state.left = state.left.map(|it| it - taken);
        Ok(taken as usize)
    }

    /// Reserves the first numbers, by the commit that makes the sequence: where a recovery goes on.
    pub(crate) fn make_durable(&self) -> Option<i64> {
        let mut state = lock(&self.state);
        let resume = self.after(state.next, BLOCK);
        state.left = Some(BLOCK);
        *lock(&self.reserved) = resume;
        resume
    }

    /// Where a recovery goes on.
    pub(crate) fn reserved(&self) -> Option<i64> {
        *lock(&self.reserved)
    }

    pub(crate) fn set_reserved(&self, resume: Option<i64>) {
        *lock(&self.reserved) = resume;
    }

    /// Releases what is reserved: a recovery goes on with the next number, once a manifest says
    /// so. Whether anything was reserved.
    pub(crate) fn release_reserved(&self) -> bool {
        let mut state = lock(&self.state);
        let is_reserved = state.left.is_some_and(|it| it > 0);
        if is_reserved {
            state.left = Some(0);
            *lock(&self.reserved) = state.next;
        }
        is_reserved
    }

    /// The number that comes `count` numbers after `next`.
    fn after(&self, next: Option<i64>, count: u32) -> Option<i64> {
        (0..count).try_fold(next?, |number, _| self.entry.after(number))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_connector::SequenceId;

    fn entry(greatest: i64, cycles: bool) -> SequenceEntry {
        let (id, name, start, increment, least) = (SequenceId(1), "s".into(), 1, 1, 1);
        SequenceEntry { id, name, start, increment, least, greatest, cycles }
    }

    #[test]
    fn numbers_are_reserved_in_blocks() {
        let numbers = Numbers::new(entry(10_000, false));
        let mut resumes = Vec::new();
        let mut take = |numbers: &Numbers, count: usize| {
            let mut taken = vec![0; count];
            let count = numbers.take(&mut taken, |it| {
                resumes.push(it);
                Ok(())
            });
            taken.truncate(count.unwrap());
            (taken, resumes.len())
        };
        assert_eq!(take(&numbers, 2), (vec![1, 2], 0));
        assert_eq!(numbers.make_durable(), Some(3 + 1024));
        assert_eq!(take(&numbers, 1024).1, 0);
        assert_eq!(take(&numbers, 3), (vec![1027, 1028, 1029], 1));
        assert_eq!(take(&numbers, 1), (vec![1030], 1));
        numbers.release_reserved();
        assert_eq!(numbers.reserved(), Some(1031));
        let again = Numbers::recovered(entry(10_000, false), Some(1031));
        assert_eq!(take(&again, 1), (vec![1031], 2));
        assert_eq!(resumes, [Some(1027 + 1027), Some(1031 + 1025)]);
    }

    #[test]
    fn the_end_of_a_sequence_is_an_end() {
        let numbers = Numbers::new(entry(3, false));
        assert_eq!(numbers.make_durable(), None);
        let mut taken = [0; 5];
        assert_eq!(numbers.take(&mut taken, |_| Ok(())).unwrap(), 3);
        assert_eq!(numbers.take(&mut taken, |_| Ok(())).unwrap(), 0);
        let cycle = Numbers::new(entry(3, true));
        assert_eq!(cycle.take(&mut taken, |_| Ok(())).unwrap(), 5);
        assert_eq!(taken, [1, 2, 3, 1, 2]);
    }

    #[test]
    fn a_failed_reservation_takes_nothing() {
        let numbers = Numbers::recovered(entry(9, false), Some(4));
        let failed = |_| Err(volley_error::Error::internal("no"));
        assert!(numbers.take(&mut [0], failed).is_err());
        let mut taken = [0];
        assert_eq!(numbers.take(&mut taken, |_| Ok(())).unwrap(), 1);
        assert_eq!(taken, [4]);
    }
}

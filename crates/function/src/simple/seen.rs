//! A set of elements of one row.

use super::memory::{CancelCheck, Scratch};
use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table::Entry};
use std::hash::{BuildHasher, Hash};

/// A table with this capacity does not grow; it is divided into several tables.
const PARTED_MIN: usize = if cfg!(test) { 1000 } else { 1 << 20 };

/// How many.
const PARTS: usize = 256;

/// A set that a closure fills with elements: takes memory before it grows, and looks from time to
/// time whether anybody wants the answer. Once that is over, it has nothing and takes nothing.
///
/// ```text
/// few values   one table
/// very many    256 tables, by a byte of the hashes: none takes long to grow
/// ```
pub struct Seen<T> {
    whole: HashTable<T>,
    /// None, or [`PARTS`]; then `whole` is empty.
    parts: Box<[HashTable<T>]>,
    len: usize,
    /// Of all tables.
    bytes: usize,
    scratch: Scratch,
    cancel: CancelCheck,
    is_over: bool,
}

impl<T: Eq + Hash> Default for Seen<T> {
    fn default() -> Seen<T> {
        Seen {
            whole: HashTable::new(),
            parts: Box::default(),
            len: 0,
            bytes: 0,
            scratch: Scratch::default(),
            cancel: CancelCheck::default(),
            is_over: false,
        }
    }
}

impl<T: Eq + Hash> FromIterator<T> for Seen<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Seen<T> {
        let mut seen = Seen::default();
        for value in values {
            seen.insert(value);
            if seen.is_over {
                break;
            }
        }
        seen
    }
}

impl<T: Eq + Hash> Seen<T> {
    /// Adds `value`; whether it was not there.
    #[inline]
    pub fn insert(&mut self, value: T) -> bool {
        let hash = hash_of(&value);
        if self.is_over() || !self.has_room(hash) {
            return false;
        }
        let entry = self.table(hash).entry(hash, |it| *it == value, hash_of);
        let Entry::Vacant(place) = entry else { return false };
        place.insert(value);
        self.len += 1;
        true
    }

    /// Whether `value` is there.
    #[inline]
    pub fn contains(&mut self, value: &T) -> bool {
        let hash = hash_of(value);
        !self.is_over() && self.table(hash).find(hash, |it| it == value).is_some()
    }

    /// Takes `value` out; whether it was there.
    #[inline]
    pub fn remove(&mut self, value: &T) -> bool {
        let hash = hash_of(value);
        if self.is_over() {
            return false;
        }
        let Ok(entry) = self.table(hash).find_entry(hash, |it| it == value) else { return false };
        entry.remove();
        self.len -= 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn is_over(&mut self) -> bool {
        self.is_over |= !self.cancel.go_on(1);
        self.is_over
    }

    /// The table with values of `hash`.
    #[inline]
    fn table(&mut self, hash: u64) -> &mut HashTable<T> {
        if self.parts.is_empty() { &mut self.whole } else { &mut self.parts[part_of(hash)] }
    }

    #[inline]
    fn has_room(&mut self, hash: u64) -> bool {
        let table = self.table(hash);
        table.len() < table.capacity() || self.make_room(hash)
    }

    #[cold]
    fn make_room(&mut self, hash: u64) -> bool {
        if self.parts.is_empty() && self.whole.capacity() >= PARTED_MIN {
            self.split();
            return !self.is_over() && self.has_room(hash);
        }
        let more = self.table(hash).capacity().max(4);
        // While a table is made twice as large, both are there.
        if self.may_hold(1, more * 2) {
            let table = self.table(hash);
            let before = table.allocation_size();
            table.reserve(more, hash_of);
            let after = table.allocation_size();
            self.bytes = self.bytes - before + after;
        }
        !self.is_over
    }

    /// Moves the values to parts.
    fn split(&mut self) {
        let each = self.whole.capacity() * 2 / PARTS;
        if !self.may_hold(PARTS, each) {
            return;
        }
        self.parts = (0..PARTS).map(|_| HashTable::with_capacity(each)).collect();
        self.bytes += self.parts.iter().map(HashTable::allocation_size).sum::<usize>();
        for value in std::mem::take(&mut self.whole) {
            let hash = hash_of(&value);
            if self.is_over() || !self.has_room(hash) {
                return;
            }
            self.table(hash).insert_unique(hash, value, hash_of);
        }
        self.bytes = self.parts.iter().map(HashTable::allocation_size).sum();
    }

    /// Whether this number of `tables`, each with a capacity of `values`, fit next to the existing
    /// ones.
    fn may_hold(&mut self, tables: usize, values: usize) -> bool {
        // An eighth of the slots is kept free, and a table has a byte next to each.
        let slots = (values * 8 / 7).next_power_of_two();
        let bytes = slots.saturating_mul(size_of::<T>() + 1).saturating_mul(tables);
        self.is_over |= !self.scratch.raise(self.bytes.saturating_add(bytes));
        !self.is_over
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}

/// The part of values with `hash`, by bits that places within a table do not depend on.
#[inline]
fn part_of(hash: u64) -> usize {
    (hash >> 48) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::super::memory::{BorrowedReservation, tests::limited, with_memory};
    use super::*;
    use crate::EvalContext;
    use std::collections::HashSet;
    use volley_error::ErrorKind;
    use volley_memory::{CancellationToken, with_cancellation};

    #[test]
    fn a_set_has_what_was_put_in_however_large_it_is() {
        let (mut seen, mut plain) = (Seen::default(), HashSet::new());
        for step in 0..20_000u64 {
            let value = step * 7919 % 9973;
            assert_eq!(seen.insert(value), plain.insert(value), "{value}");
            let other = step * 31 % 9973;
            assert_eq!(seen.contains(&other), plain.contains(&other), "{other}");
            if step % 5 == 0 {
                assert_eq!(seen.remove(&other), plain.remove(&other), "{other}");
            }
            assert_eq!((seen.len(), seen.is_empty()), (plain.len(), plain.is_empty()));
        }
        assert_eq!(seen.parts.len(), PARTS);
        assert!((0..9973).all(|it| seen.contains(&it) == plain.contains(&it)));
    }

    #[test]
    fn values_of_one_part_are_found() {
        let same = (0..1 << 20).filter(|it| part_of(hash_of(it)) == 3).take(3000);
        let mut seen: Seen<u64> = same.clone().collect();
        assert_eq!((seen.len(), seen.parts[3].len()), (3000, 3000));
        assert!(same.clone().all(|it| seen.contains(&it) && !seen.insert(it)));
    }

    #[test]
    fn what_a_set_holds_is_taken_before() {
        let (pool, mut ctx) = limited(64 << 20);
        let lent = BorrowedReservation::of(&mut ctx);
        let mut seen = Seen::default();
        for value in 0..200_000u64 {
            assert!(seen.insert(value));
            let tables = seen.parts.iter().chain([&seen.whole]);
            let held: usize = tables.map(HashTable::allocation_size).sum();
            assert_eq!(held, seen.bytes);
            assert!(held < 64 << 10 || held <= pool.stats().bytes, "{held}");
        }
        drop(seen);
        assert!(lent.return_to(&mut ctx).is_ok());
        assert_eq!(ctx.charged(), 0);
    }

    #[test]
    fn a_set_that_may_not_grow_takes_nothing() {
        let (_, mut ctx) = limited(1 << 20);
        let lent = BorrowedReservation::of(&mut ctx);
        let mut seen = Seen::default();
        assert!(seen.insert(1u64) && !seen.insert(1) && seen.contains(&1));
        let taken = (2..1 << 20).filter(|it| seen.insert(*it)).count();
        assert!((1000..1 << 16).contains(&taken), "{taken}");
        assert!(!seen.contains(&1) && !seen.remove(&1));
        drop(seen);
        assert!(lent.return_to(&mut ctx).is_err());
        let few: Seen<u64> = [3, 3, 5].into_iter().collect();
        assert_eq!(few.len(), 2);
    }

    #[test]
    fn a_set_that_nobody_wants_ends() {
        with_cancellation(&CancellationToken::after_checks(0), || {
            let ended = with_memory(&mut EvalContext::default(), |_| {
                let some: Seen<u64> = (0..1 << 30).collect();
                assert!(some.len() < 1 << 20);
                Ok(())
            });
            assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
        });
    }
}

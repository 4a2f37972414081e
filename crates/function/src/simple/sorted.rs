//! Values of one row that a closure sorts.

use super::memory::{Scratch, fail_call};
use crate::{sort_by, sort_unstable_by};
use std::{
    cmp::Ordering,
    ops::{Deref, DerefMut},
};

/// Sorted values, with the memory that they take.
pub struct Sorted<T> {
    values: Vec<T>,
    _scratch: Scratch,
}

impl<T> Sorted<T> {
    /// The values; `None` where the call fails whatever is answered.
    fn unsorted(len: usize, bytes: usize, values: impl Iterator<Item = T>) -> Option<Sorted<T>> {
        let scratch = Scratch::of(bytes)?;
        let mut kept = Vec::with_capacity(len);
        // Views of arrays look themselves whether anybody wants it.
        values.for_each(|it| kept.push(it));
        Some(Sorted { values: kept, _scratch: scratch })
    }
}

impl<T> Deref for Sorted<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.values
    }
}

impl<T> DerefMut for Sorted<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.values
    }
}

/// `values`, which are at most `len`, in the order of `compare`, equal ones as they arrive; `None`
/// where the call fails whatever is answered.
pub fn sorted<T>(
    len: usize,
    values: impl Iterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Option<Sorted<T>> {
    // Sorting in a stable way takes half as much again.
    let bytes = len.saturating_mul(size_of::<T>() + size_of::<T>() / 2);
    let mut sorted = Sorted::unsorted(len, bytes, values)?;
    fail_call(sort_by(&mut sorted, compare)).then_some(sorted)
}

/// Like [`sorted`], with equal values in any order, which takes less memory.
pub fn sorted_unstable<T>(
    len: usize,
    values: impl Iterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Option<Sorted<T>> {
    let mut sorted = Sorted::unsorted(len, len.saturating_mul(size_of::<T>()), values)?;
    fail_call(sort_unstable_by(&mut sorted, compare)).then_some(sorted)
}

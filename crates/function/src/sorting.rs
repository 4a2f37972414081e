//! Sorts and selections of many values, which end soon after a cancel.
//!
//! The standard library's sorts cannot be divided into steps. For many values the comparison checks
//! for cancellation from time to time, and unwinds if the query is cancelled. These sorts keep
//! their values valid then, in some order.

use std::{
    cmp::Ordering,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;

/// The number of values that are sorted without a check.
const FEW_VALUES: usize = if cfg!(test) { 100 } else { 1 << 16 };

/// The number of comparisons between two checks: some milliseconds.
const COMPARISONS: usize = if cfg!(test) { 100 } else { 1 << 16 };

/// Sorts by `compare`; equal values keep their order. Needs room for half of the values besides.
///
/// # Errors
///
/// The query was cancelled; the values are in any order then.
pub fn sort_by<T>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    if values.len() <= FEW_VALUES {
        values.sort_by(compare);
        return Ok(());
    }
    stopped_by_unwinding(|| values.sort_by(looking(compare)))
}

/// Like [`sort_by`], in place; equal values come in any order.
///
/// # Errors
///
/// The query was cancelled; the values are in any order then.
pub fn sort_unstable_by<T>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    if values.len() <= FEW_VALUES {
        values.sort_unstable_by(compare);
        return Ok(());
    }
    stopped_by_unwinding(|| values.sort_unstable_by(looking(compare)))
}

/// Puts the value in place `index` that sorting by `compare` would, those before it in front of it
/// and those after it.
///
/// # Errors
///
/// The query was cancelled; the values are in any order then.
///
/// # Panics
///
/// If there are not more than `index` values.
pub fn select_nth_by<T>(
    values: &mut [T],
    index: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    if values.len() <= FEW_VALUES {
        values.select_nth_unstable_by(index, compare);
        return Ok(());
    }
    stopped_by_unwinding(|| _ = values.select_nth_unstable_by(index, looking(compare)))
}

/// The same comparison, which unwinds with an error once the query is cancelled.
fn looking<T>(compare: impl Fn(&T, &T) -> Ordering) -> impl FnMut(&T, &T) -> Ordering {
    let mut left = COMPARISONS;
    move |a, b| {
        left -= 1;
        if left == 0 {
            left = COMPARISONS;
            check_cancelled().unwrap_or_else(|error| resume_unwind(Box::new(error)));
        }
        compare(a, b)
    }
}

/// Runs `sort`; the error that it unwinds with. Other panics continue.
fn stopped_by_unwinding(sort: impl FnOnce()) -> Result<()> {
    catch_unwind(AssertUnwindSafe(sort)).map_err(|payload| match payload.downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => resume_unwind(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, panic::panic_any};
    use volley_error::ErrorKind;
    use volley_memory::{CancellationToken, with_cancellation};

    fn numbered(count: usize) -> Vec<(u32, usize)> {
        (0..count).map(|row| (row as u32 * 7919 % 10_007 % 20, row)).collect()
    }

    #[test]
    fn values_are_sorted_whether_few_or_many() {
        for count in [0, 1, 2, 100, 101, 5000] {
            let mut stable = numbered(count);
            sort_by(&mut stable, |a, b| a.0.cmp(&b.0)).unwrap();
            // Rows are in order, so that a stable sort orders by both.
            assert!(stable.is_sorted());
            let mut unstable = numbered(count);
            sort_unstable_by(&mut unstable, Ord::cmp).unwrap();
            assert_eq!(unstable, stable);
            for index in (0..count).step_by(1 + count / 7) {
                let mut some = numbered(count);
                select_nth_by(&mut some, index, Ord::cmp).unwrap();
                assert_eq!(some[index], stable[index]);
                assert!(some[..index].iter().all(|it| *it < stable[index]));
                some.sort_unstable();
                assert_eq!(some, stable);
            }
        }
    }

    #[test]
    fn a_sort_that_nobody_wants_ends_and_loses_nothing() {
        type Sort = fn(&mut [(u32, usize)], &Cell<usize>) -> Result<()>;
        fn counted<'a, T: Ord>(calls: &'a Cell<usize>) -> impl Fn(&T, &T) -> Ordering + 'a {
            |a, b| {
                calls.set(calls.get() + 1);
                a.cmp(b)
            }
        }
        let sorts: [Sort; 3] = [
            |values, calls| sort_by(values, counted(calls)),
            |values, calls| sort_unstable_by(values, counted(calls)),
            |values, calls| select_nth_by(values, 2500, counted(calls)),
        ];
        for sort in sorts {
            for looks in [0, 1, 17] {
                let (mut values, calls) = (numbered(5000), Cell::new(0));
                let token = CancellationToken::after_checks(looks);
                let ended = with_cancellation(&token, || sort(&mut values, &calls));
                assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
                assert_eq!(calls.get(), (looks + 1) * COMPARISONS - 1);
                values.sort_unstable_by_key(|it| it.1);
                assert_eq!(values, numbered(5000));
            }
        }
    }

    #[test]
    fn other_panics_are_not_held_up() {
        let sort = || sort_by(&mut numbered(5000), |_, _| panic_any(7u8));
        assert!(catch_unwind(sort).unwrap_err().is::<u8>());
    }
}

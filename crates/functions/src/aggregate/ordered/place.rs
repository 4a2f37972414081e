//! Positions in the order of values.

use crate::order::Ordinal;
use std::cmp::Ordering;
use volley_error::{Error, Result};
use volley_function::select_nth_by;
use volley_types::{Type, Value, custom::TimestampUnit};

/// Products of shares and counts that are this close to a whole number are meant to be one.
const WHOLE_WITHIN: f64 = 1e-9;

/// The part of a large product by which arithmetic goes astray: some times 2^-52.
const WHOLE_PART: f64 = 1e-15;

/// Which value a share of the values means.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// One of the values.
    Whole,
    /// A value between two of them.
    Between(Between),
}

/// Types that have values between two others.
#[derive(Clone, Copy)]
pub(super) enum Between {
    /// REAL, DOUBLE.
    Float,
    /// DECIMAL.
    Decimal,
    /// TIME, TIMESTAMP, and with a time zone.
    Time,
}

impl Between {
    /// The type that values of `data_type` are converted to, and what is between its values.
    pub(super) fn of(data_type: &Type) -> Option<(Type, Between)> {
        Some(match data_type {
            Type::Real => (Type::Real, Between::Float),
            Type::Decimal { .. } => (data_type.clone(), Between::Decimal),
            Type::Time => (Type::Time, Between::Time),
            Type::Date => (Type::Timestamp, Between::Time),
            other if other.key_type().is_some() => return None,
            other if *other.storage() == Type::Timestamp => (other.clone(), Between::Time),
            other if TimestampUnit::of(other).is_some() => (Type::Timestamp, Between::Time),
            other if other.is_number() || *other == Type::Unknown => (Type::Double, Between::Float),
            _ => return None,
        })
    }

    /// The integer that is `part` of the way from one to another.
    pub(super) fn integer(self, low: i128, high: i128, part: f64) -> i128 {
        let distance = high.saturating_sub(low) as f64 * part;
        // Shares are not exact: 0.3 of 3 is 0.8999999999999999.
        let near = distance.round();
        let is_whole = (distance - near).abs() <= WHOLE_WITHIN.max(near.abs() * WHOLE_PART);
        let distance = if is_whole { near } else { distance };
        let between = low.saturating_add(distance.floor() as i128);
        let part = distance - distance.floor();
        let rounds_up = match self {
            // Digits that there is no place for are cut off.
            Between::Decimal => between < 0 && part > 0.0,
            _ => part >= 0.5,
        };
        between.saturating_add(rounds_up.into())
    }
}

/// A share of the values from the least, or from the greatest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    of_all: f64,
    descends: bool,
}

impl Share {
    /// Half of the values.
    pub(super) const HALF: Share = Share { of_all: 0.5, descends: false };

    /// The share that a value says; `None` for null.
    pub(super) fn of(value: &Value) -> Result<Option<Share>> {
        let Value::Double(share) = value else { return Ok(None) };
        if !(-1.0..=1.0).contains(share) {
            return Err(Error::invalid_value(format!("share is not from -1 to 1: {share}")));
        }
        Ok(Some(Share { of_all: share.abs(), descends: share.is_sign_negative() }))
    }
}

impl Place {
    /// The value at a share of `all`, at least one, and where the place is after it, the next one
    /// and how far on the way to that. Puts them in another order.
    ///
    /// # Errors
    ///
    /// The query was cancelled.
    pub(super) fn at<K: Copy>(
        self,
        all: &mut [K],
        share: Share,
        compare: &impl Fn(&K, &K) -> Ordering,
    ) -> Result<(K, Option<(K, f64)>)> {
        let (rank, next) = self.ranks(all.len(), share);
        let compare = |a: &K, b: &K| compare(a, b);
        select_nth_by(all, rank, compare)?;
        let neighbor = |(next, part)| {
            let found = match next < rank {
                true => all[..rank].iter().copied().max_by(compare),
                false => all[rank + 1..].iter().copied().min_by(compare),
            };
            found.map(|it| (it, part))
        };
        Ok((all[rank], next.and_then(neighbor)))
    }

    /// The rank, counted from the least value, of the value at a share of `count`, at least one;
    /// and where the place is after it, that of the next one and how far on the way to that.
    pub(super) fn ranks(self, count: usize, share: Share) -> (usize, Option<(usize, f64)>) {
        let (first, part) = self.position(count, share);
        let is_between = part > 0.0;
        match share.descends {
            true => {
                let rank = count - 1 - first;
                (rank, is_between.then(|| (rank - 1, part)))
            }
            false => (first, is_between.then(|| (first + 1, part))),
        }
    }

    /// The value that [`Place::at`] found by its key.
    pub(super) fn value<T: Ordinal>(self, (low, next): (T::Key, Option<(T::Key, f64)>)) -> T {
        let low = T::of_key(low);
        match (self, next) {
            (Place::Between(between), Some((next, part))) => {
                let integer = |low, high, part| between.integer(low, high, part);
                low.towards(T::of_key(next), part, integer)
            }
            _ => low,
        }
    }

    /// The position of a share of `count` values in its direction, and what is beyond it.
    fn position(self, count: usize, share: Share) -> (usize, f64) {
        let last = count - 1;
        let (first, part) = match self {
            Place::Whole => (ceil(count as f64 * share.of_all).max(1.0) - 1.0, 0.0),
            Place::Between(_) => {
                let place = last as f64 * share.of_all;
                (place.floor(), place - place.floor())
            }
        };
        ((first as usize).min(last), part)
    }
}

/// The next whole number, except where arithmetic went astray just above one.
fn ceil(value: f64) -> f64 {
    let near = value.round();
    if (value - near).abs() < WHOLE_WITHIN { near } else { value.ceil() }
}

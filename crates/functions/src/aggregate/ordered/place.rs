//! Places among values in order.

use crate::order::compare_values;
use std::cmp::Ordering;
use volley_error::{Error, Result};
use volley_types::{Type, Value};
use volley_vector::Vector;

/// Products of shares and counts that are this close to a whole number are meant to be one.
const WHOLE_WITHIN: f64 = 1e-9;

/// Which value a share of the rows means.
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
    /// REAL.
    Real,
    /// DOUBLE.
    Double,
    /// DECIMAL.
    Decimal,
    /// TIME.
    Time,
    /// TIMESTAMP, and with a time zone.
    Timestamp,
}

impl Between {
    /// The type that values of `data_type` are converted to, and what is between its values.
    pub(super) fn of(data_type: &Type) -> Option<(Type, Between)> {
        Some(match data_type {
            Type::Real => (Type::Real, Between::Real),
            Type::Decimal { .. } => (data_type.clone(), Between::Decimal),
            Type::Time => (Type::Time, Between::Time),
            Type::Date => (Type::Timestamp, Between::Timestamp),
            other if *other.storage() == Type::Timestamp => (other.clone(), Between::Timestamp),
            other if other.is_numeric() || *other == Type::Unknown => {
                (Type::Double, Between::Double)
            }
            _ => return None,
        })
    }

    /// The value that is `part` of the way from one to another.
    fn value(self, low: &Value, high: &Value, part: f64) -> Value {
        if let (Value::Real(low), Value::Real(high)) = (low, high) {
            // The place is one of doubles, the distance one of reals.
            return Value::Real((f64::from(*low) + f64::from(high - low) * part) as f32);
        }
        if let (Value::Double(low), Value::Double(high)) = (low, high) {
            return Value::Double(low + (high - low) * part);
        }
        let (low, high) = (low.as_i128().unwrap_or(0), high.as_i128().unwrap_or(0));
        let distance = high.saturating_sub(low) as f64 * part;
        let between = low.saturating_add(distance.floor() as i128);
        let part = distance - distance.floor();
        let rounds_up = match self {
            // Digits that there is no place for are cut off.
            Between::Decimal => between < 0 && part > 0.0,
            _ => part >= 0.5,
        };
        self.integer(between.saturating_add(rounds_up.into()))
    }

    fn integer(self, value: i128) -> Value {
        let micros = i64::try_from(value).unwrap_or(i64::MAX);
        match self {
            Between::Time => Value::Time(micros),
            Between::Timestamp => Value::Timestamp(micros),
            Between::Decimal | Between::Real | Between::Double => Value::Decimal(value),
        }
    }

    /// How far two values are from each other.
    pub(super) fn distance(self, left: &Value, right: &Value) -> Result<Value> {
        Ok(match (left, right) {
            (Value::Real(left), Value::Real(right)) => Value::Real((left - right).abs()),
            (Value::Double(left), Value::Double(right)) => Value::Double((left - right).abs()),
            _ => {
                let (left, right) = (left.as_i128(), right.as_i128());
                let distance = left.zip(right).and_then(|(left, right)| left.checked_sub(right));
                let distance = distance.and_then(i128::checked_abs);
                let too_far = || Error::invalid_value("distance of values is out of range");
                self.integer(distance.ok_or_else(too_far)?)
            }
        })
    }
}

/// The middle of some values, at least one.
pub(super) fn midpoint(between: Between, mut values: Vec<Value>) -> Value {
    values.sort_unstable_by(compare_values);
    let last = values.len().saturating_sub(1);
    match (values.get(last / 2), values.get(last.div_ceil(2))) {
        (Some(low), Some(high)) if last % 2 == 1 => between.value(low, high, 0.5),
        (Some(middle), _) => middle.clone(),
        _ => Value::Null,
    }
}

impl Place {
    /// The value at a share of the rows, at least one of which there is; puts them in another
    /// order. Null for a share of null.
    pub(super) fn at(
        self,
        values: &Vector,
        rows: &mut [u32],
        share: &Value,
        compare: &impl Fn(&u32, &u32) -> Ordering,
    ) -> Result<Value> {
        let Value::Double(share) = share else { return Ok(Value::Null) };
        if !(-1.0..=1.0).contains(share) {
            return Err(Error::invalid_value(format!("share is not from -1 to 1: {share}")));
        }
        let descends = share.is_sign_negative();
        let compare = |a: &u32, b: &u32| if descends { compare(b, a) } else { compare(a, b) };
        let count = rows.len() as f64;
        let (first, part) = match self {
            Place::Whole => (ceil(count * share.abs()).max(1.0) - 1.0, 0.0),
            Place::Between(_) => {
                let place = (count - 1.0) * share.abs();
                (place.floor(), place - place.floor())
            }
        };
        let first = (first as usize).min(rows.len() - 1);
        let (_, row, after) = rows.select_nth_unstable_by(first, compare);
        let low = values.value(*row as usize)?;
        let next = after.iter().copied().min_by(|a, b| compare(a, b)).filter(|_| part > 0.0);
        match (self, next) {
            (Place::Between(between), Some(next)) => {
                Ok(between.value(&low, &values.value(next as usize)?, part))
            }
            _ => Ok(low),
        }
    }
}

/// The next whole number, except where arithmetic went astray just above one.
fn ceil(value: f64) -> f64 {
    let near = value.round();
    if (value - near).abs() < WHOLE_WITHIN { near } else { value.ceil() }
}

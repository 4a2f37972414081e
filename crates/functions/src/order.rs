//! The order of values: NaN is the greatest float, `-0.0` equals `0.0`, NULL is greatest within
//! nested values.

use std::cmp::Ordering;
use volley_kernels::order::Ordered;
use volley_types::{Interval, Value};
use volley_vector::interval_nanos;

/// The order of values of one type that are compared as they are stored; NULL is the greatest
/// within nested values.
pub fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => left.is_null().cmp(&right.is_null()),
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
        (Value::Real(left), Value::Real(right)) => left.sql_cmp(right),
        (Value::Double(left), Value::Double(right)) => left.sql_cmp(right),
        (Value::Varchar(left), Value::Varchar(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Varbinary(left), Value::Varbinary(right)) => left.cmp(right),
        (Value::Interval(left), Value::Interval(right)) => left.sql_cmp(right),
        (Value::Array(left), Value::Array(right)) | (Value::Row(left), Value::Row(right)) => {
            compare_all(left.iter(), right.iter(), compare_values)
        }
        (Value::Map(left), Value::Map(right)) => {
            compare_all(left.iter(), right.iter(), |left, right| {
                compare_values(&left.0, &right.0).then_with(|| compare_values(&left.1, &right.1))
            })
        }
        (Value::Object(left), Value::Object(right)) => left.compare(right),
        _ => left.as_i128().cmp(&right.as_i128()),
    }
}

fn compare_all<T>(
    left: impl ExactSizeIterator<Item = T>,
    right: impl ExactSizeIterator<Item = T>,
    compare: impl Fn(T, T) -> Ordering,
) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    let mut orders = left.zip(right).map(|(left, right)| compare(left, right));
    orders.find(|it| it.is_ne()).unwrap_or(lengths)
}

/// The order of SQL.
pub trait SqlOrder {
    /// As [`Ord::cmp`].
    fn sql_cmp(&self, other: &Self) -> Ordering;

    /// Bits that equal values share.
    fn key_bits(&self) -> u64;
}

macro_rules! integer_order {
    ($($native:ty),*) => {
        $(impl SqlOrder for $native {
            #[inline(always)]
            fn sql_cmp(&self, other: &$native) -> Ordering {
                self.cmp(other)
            }

            #[inline(always)]
            fn key_bits(&self) -> u64 {
                Ordered::key_bits(*self)
            }
        })*
    };
}

macro_rules! float_order {
    ($($native:ty),*) => {
        $(impl SqlOrder for $native {
            #[inline(always)]
            fn sql_cmp(&self, other: &$native) -> Ordering {
                let nans = || self.is_nan().cmp(&other.is_nan());
                self.partial_cmp(other).unwrap_or_else(nans)
            }

            #[inline(always)]
            fn key_bits(&self) -> u64 {
                Ordered::key_bits(*self)
            }
        })*
    };
}

integer_order!(i8, i16, i32, i64, i128);
float_order!(f32, f64);

impl SqlOrder for Interval {
    #[inline(always)]
    fn sql_cmp(&self, other: &Interval) -> Ordering {
        interval_nanos(*self).cmp(&interval_nanos(*other))
    }

    #[inline(always)]
    fn key_bits(&self) -> u64 {
        Ordered::key_bits(interval_nanos(*self))
    }
}

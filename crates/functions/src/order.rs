//! The order of values: NaN is the greatest float, `-0.0` equals `0.0`, NULL is greatest within
//! nested values.

use std::cmp::Ordering;
use volley_kernels::order::Ordered;
use volley_types::{Interval, Native, Value};
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

/// A value of fixed width, and its key in SQL's order: all NaNs have the greatest one.
pub(crate) trait Ordinal: Native {
    /// What values are ordered by.
    type Key: Copy + Ord;

    /// The key.
    fn key(self) -> Self::Key;

    /// The value of a key.
    fn of_key(key: Self::Key) -> Self;

    /// The value that is `part` of the way to another, of types that have one; `integer`: the same
    /// of two integers.
    fn towards(self, _high: Self, _part: f64, _integer: impl Fn(i128, i128, f64) -> i128) -> Self {
        self
    }

    /// How far another value is; `None` beyond the type, and of types without distances.
    fn distance(self, _other: Self) -> Option<Self> {
        None
    }
}

macro_rules! ordinal_integers {
    ($($integer:ty),*) => {
        $(impl Ordinal for $integer {
            type Key = $integer;

            #[inline(always)]
            fn key(self) -> $integer {
                self
            }

            #[inline(always)]
            fn of_key(key: $integer) -> $integer {
                key
            }

            fn towards(
                self,
                high: $integer,
                part: f64,
                integer: impl Fn(i128, i128, f64) -> i128,
            ) -> $integer {
                let value = integer(self.into(), high.into(), part);
                <$integer>::try_from(value).unwrap_or(<$integer>::MAX)
            }

            fn distance(self, other: $integer) -> Option<$integer> {
                self.checked_sub(other)?.checked_abs()
            }
        })*
    };
}

ordinal_integers!(i8, i16, i32, i64, i128);

macro_rules! ordinal_floats {
    ($($float:ty, $bits:ty;)*) => {
        $(impl Ordinal for $float {
            type Key = $bits;

            /// The bits of negative values other than the sign are turned, as more of them is less.
            #[inline(always)]
            fn key(self) -> $bits {
                let value = if self.is_nan() { <$float>::NAN } else { self };
                let bits = value.to_bits() as $bits;
                bits ^ ((bits >> (<$bits>::BITS - 1)) & <$bits>::MAX)
            }

            #[inline(always)]
            fn of_key(key: $bits) -> $float {
                let bits = key ^ ((key >> (<$bits>::BITS - 1)) & <$bits>::MAX);
                <$float>::from_bits(bits as _)
            }

            /// The place is one of doubles, the distance one of the type.
            fn towards(
                self,
                high: $float,
                part: f64,
                _integer: impl Fn(i128, i128, f64) -> i128,
            ) -> $float {
                (f64::from(self) + f64::from(high - self) * part) as $float
            }

            fn distance(self, other: $float) -> Option<$float> {
                Some((self - other).abs())
            }
        })*
    };
}

ordinal_floats!(f32, i32; f64, i64;);

impl Ordinal for Interval {
    /// Its length, and what it is made of.
    type Key = (i128, i32, i32, i64);

    fn key(self) -> Self::Key {
        (interval_nanos(self), self.months, self.days, self.nanoseconds)
    }

    fn of_key((_, months, days, nanoseconds): Self::Key) -> Interval {
        Interval { months, days, nanoseconds }
    }

    /// The length between both, as days of 24 hours and microseconds.
    fn towards(
        self,
        high: Interval,
        part: f64,
        integer: impl Fn(i128, i128, f64) -> i128,
    ) -> Interval {
        let micros = |it: Interval| interval_nanos(it) / NANOS_PER_MICRO;
        let between = integer(micros(self), micros(high), part);
        let days = i32::try_from(between / MICROS_PER_DAY).unwrap_or(i32::MAX);
        let nanos = between % MICROS_PER_DAY * NANOS_PER_MICRO;
        Interval { months: 0, days, nanoseconds: i64::try_from(nanos).unwrap_or(i64::MAX) }
    }
}

const NANOS_PER_MICRO: i128 = 1000;
const MICROS_PER_DAY: i128 = 24 * 60 * 60 * 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_floats_are_in_the_order_of_sql() {
        let (tiny, most) = (f64::from_bits(1), f64::MAX);
        let all =
            [f64::NEG_INFINITY, -most, -1.5, -tiny, -0.0, 0.0, tiny, 1.5, most, f64::INFINITY];
        assert!(all.windows(2).all(|it| it[0].key() < it[1].key()));
        assert!(all.iter().all(|it| f64::of_key(it.key()).to_bits() == it.to_bits()));
        assert!(f64::INFINITY.key() < f64::NAN.key() && (-f64::NAN).key() == f64::NAN.key());
        assert!(f64::of_key(f64::NAN.key()).is_nan());
        let narrow = all.map(|it| it as f32);
        assert!(narrow.windows(2).all(|it| it[0].key() <= it[1].key()));
        assert!(narrow.iter().all(|it| f32::of_key(it.key()).to_bits() == it.to_bits()));
        assert!(f32::INFINITY.key() < f32::NAN.key() && (-f32::NAN).key() == f32::NAN.key());
    }

    #[test]
    fn keys_of_intervals_are_their_lengths() {
        let interval = |months, days| Interval { months, days, nanoseconds: 3 };
        for (left, right) in [(interval(1, 0), interval(0, 31)), (interval(-1, 0), interval(0, 0))]
        {
            assert_eq!(left.key().cmp(&right.key()), left.sql_cmp(&right));
            assert_eq!(Interval::of_key(left.key()), left);
        }
    }
}

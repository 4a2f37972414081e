//! TIMESTAMP_S, TIMESTAMP_MS and TIMESTAMP_NS: points in time without a zone, as TIMESTAMP, counted
//! in seconds, milliseconds and nanoseconds instead of microseconds.

use super::{Custom, CustomType, Exchange};
use crate::{Type, Value, civil::is_infinite_timestamp, text};
use std::sync::LazyLock;

/// What a timestamp type other than TIMESTAMP counts, from the longest to the shortest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimestampUnit {
    /// TIMESTAMP_S.
    Second,
    /// TIMESTAMP_MS.
    Millisecond,
    /// TIMESTAMP_NS.
    Nanosecond,
}

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i64 = 1_000;

impl TimestampUnit {
    /// All units, from the longest to the shortest.
    pub const ALL: [TimestampUnit; 3] =
        [TimestampUnit::Second, TimestampUnit::Millisecond, TimestampUnit::Nanosecond];

    /// The type. Values are stored as BIGINT: units since 1970-01-01 00:00:00.
    pub fn data_type(self) -> Type {
        static TYPES: LazyLock<[Type; 3]> =
            LazyLock::new(|| TimestampUnit::ALL.map(|it| Type::Custom(Custom::new(it))));
        TYPES[self as usize].clone()
    }

    /// The length of the unit in nanoseconds.
    pub fn nanos(self) -> i64 {
        match self {
            TimestampUnit::Second => 1_000_000_000,
            TimestampUnit::Millisecond => 1_000_000,
            TimestampUnit::Nanosecond => 1,
        }
    }

    /// The unit that a type counts.
    pub fn of(data_type: &Type) -> Option<TimestampUnit> {
        let Type::Custom(custom) = data_type else { return None };
        match custom.exchange() {
            Exchange::Timestamps(unit) => Some(unit),
            _ => None,
        }
    }

    /// The nearest number of microseconds, halves away from zero; `None` beyond 64 bits.
    pub fn to_micros(self, units: i64) -> Option<i64> {
        match self {
            _ if is_infinite_timestamp(units) => Some(units),
            TimestampUnit::Second => units.checked_mul(1_000_000),
            TimestampUnit::Millisecond => units.checked_mul(1_000),
            TimestampUnit::Nanosecond => Some(rounded(units, NANOS_PER_MICRO)),
        }
    }

    /// The number of microseconds that are complete: the point in time is at or after it.
    pub fn to_whole_micros(self, units: i64) -> Option<i64> {
        match self {
            TimestampUnit::Nanosecond if !is_infinite_timestamp(units) => {
                Some(units.div_euclid(NANOS_PER_MICRO))
            }
            _ => self.to_micros(units),
        }
    }

    /// The nearest number of units, halves away from zero; `None` beyond 64 bits.
    pub fn of_micros(self, micros: i64) -> Option<i64> {
        match self {
            _ if is_infinite_timestamp(micros) => Some(micros),
            TimestampUnit::Second => Some(rounded(micros, 1_000_000)),
            TimestampUnit::Millisecond => Some(rounded(micros, 1_000)),
            TimestampUnit::Nanosecond => micros.checked_mul(NANOS_PER_MICRO),
        }
    }

    /// Appends a value as text.
    pub fn push(self, out: &mut String, units: i64) {
        match self {
            TimestampUnit::Nanosecond => text::push_timestamp_nanos(out, units),
            // What is beyond TIMESTAMP cannot be read or computed.
            _ => text::push_timestamp(out, self.to_micros(units).unwrap_or(i64::MAX - 1)),
        }
    }

    /// The units that a text means, digits beyond the unit rounded, or cut off beyond nanoseconds.
    pub fn parse(self, text: &str) -> Option<i64> {
        match self {
            TimestampUnit::Nanosecond => text::parse_timestamp_nanos(text),
            _ => self.of_micros(text::parse_timestamp(text)?),
        }
    }
}

fn rounded(value: i64, unit: i64) -> i64 {
    let (quotient, rest) = (value / unit, value % unit);
    if rest.abs() * 2 >= unit { quotient + value.signum() } else { quotient }
}

impl CustomType for TimestampUnit {
    fn name(&self) -> &str {
        match self {
            TimestampUnit::Second => "TIMESTAMP_S",
            TimestampUnit::Millisecond => "TIMESTAMP_MS",
            TimestampUnit::Nanosecond => "TIMESTAMP_NS",
        }
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::BigInt(units) = stored {
            TimestampUnit::push(*self, out, *units);
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        TimestampUnit::parse(*self, text).map(Value::BigInt)
    }

    fn exchange(&self) -> Exchange {
        Exchange::Timestamps(*self)
    }

    /// Points in time meet in the finer unit.
    fn absorbs(&self, other: &Type) -> bool {
        match other {
            Type::Date => true,
            Type::Timestamp => *self == TimestampUnit::Nanosecond,
            _ => TimestampUnit::of(other).is_some_and(|it| it < *self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(unit: TimestampUnit, units: i64) -> String {
        let mut out = String::new();
        unit.push(&mut out, units);
        out
    }

    #[test]
    fn texts_are_rounded_to_the_unit() {
        use TimestampUnit::{Millisecond, Nanosecond, Second};
        for (unit, written, expected) in [
            (Second, "2020-01-01 12:00:00.5", "2020-01-01 12:00:01"),
            (Second, "2020-01-01 12:00:00.49", "2020-01-01 12:00:00"),
            (Second, "1969-12-31 23:59:59.5", "1969-12-31 23:59:59"),
            (Millisecond, "2020-01-01 12:00:00.1235", "2020-01-01 12:00:00.124"),
            (Millisecond, "0001-01-01 (BC) 00:00:00.25", "0001-01-01 (BC) 00:00:00.25"),
            (Nanosecond, "2020-01-01 12:00:00.123456789", "2020-01-01 12:00:00.123456789"),
            (Nanosecond, "2020-01-01 12:00:00.1234567899", "2020-01-01 12:00:00.123456789"),
            (Nanosecond, "2020-01-01 12:00:00.1234567", "2020-01-01 12:00:00.1234567"),
            (Nanosecond, "2020-01-01T12:00:00Z", "2020-01-01 12:00:00"),
            (Nanosecond, "2020-01-01", "2020-01-01 00:00:00"),
            (Nanosecond, "1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999"),
            (Nanosecond, "2262-04-11 23:47:16.854775806", "2262-04-11 23:47:16.854775806"),
        ] {
            let units = unit.parse(written);
            assert_eq!(units.map(|it| text(unit, it)).as_deref(), Some(expected), "{written}");
        }
        for beyond in ["2263-01-01", "1600-01-01", "2020-02-30", "", "x"] {
            assert_eq!(TimestampUnit::parse(Nanosecond, beyond), None, "{beyond}");
        }
        assert_eq!(TimestampUnit::parse(Nanosecond, "1970-01-01 00:00:00.000000001"), Some(1));
    }

    #[test]
    fn units_are_converted_by_way_of_microseconds() {
        use TimestampUnit::{Millisecond, Nanosecond, Second};
        assert_eq!(Nanosecond.to_micros(1_499), Some(1));
        assert_eq!(Nanosecond.to_micros(1_500), Some(2));
        assert_eq!(Nanosecond.to_micros(-1_500), Some(-2));
        assert_eq!(Nanosecond.to_whole_micros(-1), Some(-1));
        assert_eq!(Nanosecond.of_micros(i64::MAX / 500), None);
        assert_eq!(Millisecond.to_micros(i64::MAX / 500), None);
        assert_eq!(Second.of_micros(-500_000), Some(-1));
        assert_eq!(Second.of_micros(-499_999), Some(0));
    }
}

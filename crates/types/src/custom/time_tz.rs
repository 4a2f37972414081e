//! TIME WITH TIME ZONE: a time of day, and how far its zone is ahead of UTC.
//!
//! ```text
//! stored    time in UTC, in microseconds (may be before midnight, or beyond it) · 2^24
//!           + greatest offset - offset, in seconds
//! ```
//!
//! Stored values have the order of the type, which is DuckDB's: by the time in UTC, then the
//! greater offset first. `12:00:00+02` and `11:00:00+01` are different.

use super::{Custom, CustomType, Exchange};
use crate::{
    Type, Value,
    civil::{MICROS_PER_DAY, MICROS_PER_SECOND},
    text,
};

/// The type TIME WITH TIME ZONE. Stored as BIGINT; see [`ZonedTime`].
#[derive(Debug)]
pub struct TimeTz;

/// A value of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedTime {
    /// Microseconds since midnight, as the clocks of the zone show.
    pub micros: i64,
    /// Seconds that the zone is ahead of UTC; less than 16 hours in both directions.
    pub offset: i64,
}

/// Bits of the offset.
const OFFSET_BITS: u32 = 24;

/// The greatest offset in seconds: 15:59:59.
const OFFSET_MAX: i64 = 16 * 3600 - 1;

impl ZonedTime {
    /// The time as it is stored; `None` if it is no time of a day, or the offset is too great.
    pub fn stored(self) -> Option<i64> {
        let is_valid = (0..=MICROS_PER_DAY).contains(&self.micros)
            && (-OFFSET_MAX..=OFFSET_MAX).contains(&self.offset);
        let utc = self.micros - self.offset * MICROS_PER_SECOND;
        is_valid.then_some((utc << OFFSET_BITS) | (OFFSET_MAX - self.offset))
    }

    /// The time that is stored as `stored`.
    pub fn of(stored: i64) -> ZonedTime {
        let offset = OFFSET_MAX - (stored & ((1 << OFFSET_BITS) - 1));
        let micros = (stored >> OFFSET_BITS) + offset * MICROS_PER_SECOND;
        ZonedTime { micros, offset }
    }

    /// The time that a text means: a time and an offset, of UTC if there is none; or the time in
    /// UTC of a timestamp and its offset.
    pub fn parse(text: &str) -> Option<ZonedTime> {
        if let Some((micros, offset)) = text::parse_zoned_time(text) {
            return Some(ZonedTime { micros, offset });
        }
        let (local, zone) = text::parse_zoned(text)?;
        let offset = match zone {
            text::WrittenZone::None => 0,
            text::WrittenZone::Offset(seconds) => seconds,
            text::WrittenZone::Name(_) => return None,
        };
        let utc = local.checked_sub(offset * MICROS_PER_SECOND)?;
        Some(ZonedTime { micros: utc.rem_euclid(MICROS_PER_DAY), offset: 0 })
    }

    /// Appends `12:00:00.5+02`.
    pub fn push(self, out: &mut String) {
        text::push_time(out, self.micros);
        text::push_offset(out, self.offset);
    }
}

impl TimeTz {
    /// The name of the type.
    pub const NAME: &str = "TIME WITH TIME ZONE";

    /// The type.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(TimeTz))
    }

    /// Whether this is the type.
    pub fn is(data_type: &Type) -> bool {
        matches!(data_type, Type::Custom(custom) if custom.name() == TimeTz::NAME)
    }
}

impl CustomType for TimeTz {
    fn name(&self) -> &str {
        TimeTz::NAME
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::BigInt(stored) = stored {
            ZonedTime::of(*stored).push(out);
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        ZonedTime::parse(text)?.stored().map(Value::BigInt)
    }

    fn exchange(&self) -> Exchange {
        Exchange::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for (written, expected) in [
            ("12:00:00+02", Some("12:00:00+02")),
            ("12:00", Some("12:00:00+00")),
            (" 12:00:00.5 -03:30 ", Some("12:00:00.5-03:30")),
            ("12:00:00Z", Some("12:00:00+00")),
            ("12:00:00+0230", Some("12:00:00+02:30")),
            ("12:00:00+01:02:03", Some("12:00:00+01:02:03")),
            ("24:00:00-15:59:59", Some("24:00:00-15:59:59")),
            ("00:00:00+15:59:59", Some("00:00:00+15:59:59")),
            ("2020-01-01 01:00:00+02", Some("23:00:00+00")),
            ("12:00:00+16", None),
            ("25:00:00", None),
            ("12:00:00 Europe/Berlin", None),
            ("12", None),
            ("", None),
        ] {
            let value = TimeTz.parse(written);
            let text = value.map(|it| {
                let mut out = String::new();
                CustomType::push(&TimeTz, &mut out, &it);
                out
            });
            assert_eq!(text.as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn stored_values_are_ordered_by_time_in_utc_and_offset() {
        let order = [
            "00:00:00+15:59:59",
            "12:00:00+02",
            "11:00:00+01",
            "12:00:00+01",
            "24:00:00+00",
            "23:59:59.999999-15:59:59",
        ];
        let stored: Vec<Option<i64>> =
            order.iter().map(|it| ZonedTime::parse(it).and_then(ZonedTime::stored)).collect();
        assert!(stored.is_sorted() && stored.iter().all(Option::is_some), "{stored:?}");
    }
}

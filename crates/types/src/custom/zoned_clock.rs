//! ZONED_TIME: times of day that store the time zone in which they are printed, Presto's TIME WITH
//! TIME ZONE.
//!
//! Stored like a [`ZonedTimestamp`]: the instant at which clocks of the zone show the time, on
//! 1970-01-01 or, for a time that was moved, near it. The day has no meaning.

use super::{ComparisonKey, Custom, CustomType, Exchange, ZonedTimestamp};
use crate::{
    Type, Value, Zone, ZoneClocks, ZoneId,
    civil::{MICROS_PER_DAY, split_timestamp},
    text,
};

/// The type ZONED_TIME. Stored as BIGINT; compared by the instant alone, as in Presto.
#[derive(Debug, Default)]
pub struct ZonedClock {
    /// The zone of texts that name none themselves.
    zone: Zone,
}

impl ZonedClock {
    /// The name of the type.
    pub const NAME: &str = "ZONED_TIME";

    /// The type; texts without a zone are in UTC.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(ZonedClock::default()))
    }

    /// Whether this is the type.
    pub fn is(data_type: &Type) -> bool {
        matches!(data_type, Type::Custom(custom) if custom.name() == ZonedClock::NAME)
    }

    /// The stored value of a time of day, in microseconds, that clocks of `zone` show on
    /// 1970-01-01.
    pub fn pack(of_day: i64, zone: ZoneId) -> Option<i64> {
        let instant = zone.clock().first_instant_of(of_day.rem_euclid(MICROS_PER_DAY));
        ZonedTimestamp::pack(instant, zone)
    }

    /// The time of day of a stored value, in microseconds, and its zone.
    pub fn unpack(stored: i64, clocks: &mut ZoneClocks) -> (i64, ZoneId) {
        let (instant, zone) = ZonedTimestamp::unpack(stored);
        (split_timestamp(clocks.shown(instant, zone).0).1, zone)
    }
}

impl CustomType for ZonedClock {
    fn name(&self) -> &str {
        ZonedClock::NAME
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::BigInt(stored) = stored else { return };
        let (of_day, zone) = ZonedClock::unpack(*stored, &mut ZoneClocks::default());
        text::push_time_millis(out, of_day);
        out.push(' ');
        zone.push_name(out);
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let on_first_day = format!("1970-01-01 {text}");
        let (local, written) = text::parse_zoned(&on_first_day)?;
        let zone = match written {
            text::WrittenZone::None => ZoneId::of(&self.zone),
            text::WrittenZone::Offset(seconds) if seconds % 60 == 0 => {
                ZoneId::of_offset(seconds / 60)?
            }
            text::WrittenZone::Offset(_) => return None,
            text::WrittenZone::Name(name) => ZoneId::find(name)?,
        };
        ZonedClock::pack(local, zone).map(Value::BigInt)
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }

    fn exchange(&self) -> Exchange {
        Exchange::Text
    }

    fn absorbs(&self, other: &Type) -> bool {
        matches!(other, Type::Time)
    }

    fn in_zone(&self, zone: &Zone) -> Option<Custom> {
        (self.zone != *zone).then(|| Custom::new(ZonedClock { zone: zone.clone() }))
    }
}

impl ComparisonKey for ZonedClock {
    fn data_type(&self) -> &Type {
        &Type::BigInt
    }

    fn key(&self, stored: &Value) -> Value {
        ComparisonKey::key(&ZonedTimestamp::default(), stored)
    }

    fn integer_keys(&self, stored: &[i64], keys: &mut [i64]) -> bool {
        ZonedTimestamp::default().integer_keys(stored, keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(written: &str) -> Option<String> {
        let value = ZonedClock::default().parse(written)?;
        let mut out = String::new();
        CustomType::push(&ZonedClock::default(), &mut out, &value);
        Some(out)
    }

    #[test]
    fn texts_are_read_and_written() {
        for (written, expected) in [
            ("13:14:15.678 +02:00", Some("13:14:15.678 +02:00")),
            ("00:00 -08:00", Some("00:00:00.000 -08:00")),
            (" 12:00:00 America/Los_Angeles ", Some("12:00:00.000 America/Los_Angeles")),
            ("12:00", Some("12:00:00.000 UTC")),
            ("12:00Z", Some("12:00:00.000 UTC")),
            ("12:00 +02:00:30", None),
            ("12:00 Nowhere", None),
            ("25:00", None),
            ("12", None),
            ("", None),
        ] {
            assert_eq!(shown(written).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn instants_are_compared() {
        let key = |written: &str| {
            let value = ZonedClock::default().parse(written).expect("a time");
            ComparisonKey::key(&ZonedClock::default(), &value)
        };
        assert_eq!(key("12:00 +02:00"), key("11:00 +01:00"));
        assert!(key("00:00 -08:00") != key("00:00 +00:00"));
        let (stored, mut keys) = ([ZonedClock::pack(0, ZoneId::UTC).expect("a time")], [7]);
        assert!(ZonedClock::default().integer_keys(&stored, &mut keys));
        assert_eq!(keys, [0]);
    }

    #[test]
    fn moved_times_wrap_around() {
        let zone = ZoneId::of_offset(-480).expect("a zone");
        let stored = ZonedClock::pack(-3_600_000_000, zone).expect("a time");
        assert_eq!(
            ZonedClock::unpack(stored, &mut ZoneClocks::default()),
            (23 * 3_600_000_000, zone)
        );
    }
}

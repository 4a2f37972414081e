//! ZONED_TIMESTAMP: instants that store the time zone in which they are printed, Presto's TIMESTAMP
//! WITH TIME ZONE.
//!
//! ```text
//! 63                                          12 11        0
//! [ milliseconds since 1970-01-01 00:00:00 UTC ][ zone's id ]
//! ```

use super::{ComparisonKey, Custom, CustomType, Exchange, TimestampTz};
use crate::{Type, Value, Zone, ZoneClocks, ZoneId, text, zone_id::ZONE_ID_BITS};

/// Microseconds of a millisecond.
const MICROS_PER_MILLI: i64 = 1_000;

/// The type ZONED_TIMESTAMP. Stored as BIGINT; compared by the instant alone.
#[derive(Debug, Default)]
pub struct ZonedTimestamp {
    /// The zone of texts that name none themselves.
    zone: Zone,
}

impl ZonedTimestamp {
    /// The name of the type.
    pub const NAME: &str = "ZONED_TIMESTAMP";

    /// The type; texts without a zone are in UTC.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(ZonedTimestamp::default()))
    }

    /// Whether this is the type.
    pub fn is(data_type: &Type) -> bool {
        matches!(data_type, Type::Custom(custom) if custom.name() == ZonedTimestamp::NAME)
    }

    /// The stored value of an instant in microseconds, truncated to milliseconds; `None` when it is
    /// out of range.
    pub fn pack(instant: i64, zone: ZoneId) -> Option<i64> {
        let millis = instant.div_euclid(MICROS_PER_MILLI);
        let shifted = millis << ZONE_ID_BITS;
        (shifted >> ZONE_ID_BITS == millis).then(|| shifted | i64::from(zone.number()))
    }

    /// The instant of a stored value, in microseconds, and its zone. Milliseconds of 52 bits are
    /// microseconds of 62.
    pub fn unpack(stored: i64) -> (i64, ZoneId) {
        let number = stored & ((1 << ZONE_ID_BITS) - 1);
        let zone = ZoneId::from_number(u16::try_from(number).unwrap_or_default());
        ((stored >> ZONE_ID_BITS) * MICROS_PER_MILLI, zone)
    }
}

impl CustomType for ZonedTimestamp {
    fn name(&self) -> &str {
        ZonedTimestamp::NAME
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::BigInt(stored) = stored else { return };
        let (instant, zone) = ZonedTimestamp::unpack(*stored);
        let (shown, _) = ZoneClocks::default().shown(instant, zone);
        text::push_timestamp_millis(out, shown);
        out.push(' ');
        zone.push_name(out);
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let (local, written) = text::parse_zoned(text)?;
        let zone = match written {
            text::WrittenZone::None => ZoneId::of(&self.zone),
            text::WrittenZone::Offset(seconds) if seconds % 60 == 0 => {
                ZoneId::of_offset(seconds / 60)?
            }
            text::WrittenZone::Offset(_) => return None,
            text::WrittenZone::Name(name) => ZoneId::find(name)?,
        };
        ZonedTimestamp::pack(zone.clock().first_instant_of(local), zone).map(Value::BigInt)
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }

    fn exchange(&self) -> Exchange {
        Exchange::Text
    }

    fn absorbs(&self, other: &Type) -> bool {
        matches!(other, Type::Date | Type::Timestamp) || TimestampTz::is(other)
    }

    fn in_zone(&self, zone: &Zone) -> Option<Custom> {
        (self.zone != *zone).then(|| Custom::new(ZonedTimestamp { zone: zone.clone() }))
    }
}

impl ComparisonKey for ZonedTimestamp {
    fn data_type(&self) -> &Type {
        &Type::BigInt
    }

    fn key(&self, stored: &Value) -> Value {
        match stored {
            Value::BigInt(stored) => Value::BigInt(stored >> ZONE_ID_BITS),
            other => other.clone(),
        }
    }

    fn integer_keys(&self, stored: &[i64], keys: &mut [i64]) -> bool {
        for (key, stored) in keys.iter_mut().zip(stored) {
            *key = stored >> ZONE_ID_BITS;
        }
        true
    }
}

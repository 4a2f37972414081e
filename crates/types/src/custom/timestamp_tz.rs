//! TIMESTAMP WITH TIME ZONE: instants. Values do not store a zone. Instants are printed, parsed and
//! split into fields in the session's zone (decision 7).

use super::{Custom, CustomType, Exchange};
use crate::{
    Type, Value, Zone,
    civil::{MICROS_PER_SECOND, is_infinite_timestamp},
    text,
};

/// The type TIMESTAMP WITH TIME ZONE. Stored as TIMESTAMP, in UTC.
#[derive(Debug, Default)]
pub struct TimestampTz {
    /// In which text is written, and read where it names no zone itself.
    zone: Zone,
}

impl TimestampTz {
    /// The name of the type.
    pub const NAME: &str = "TIMESTAMP WITH TIME ZONE";

    /// The type, as text in UTC.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(TimestampTz::default()))
    }

    /// Whether this is the type.
    pub fn is(data_type: &Type) -> bool {
        matches!(data_type, Type::Custom(custom) if custom.name() == TimestampTz::NAME)
    }
}

impl CustomType for TimestampTz {
    fn name(&self) -> &str {
        TimestampTz::NAME
    }

    fn storage(&self) -> &Type {
        &Type::Timestamp
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::Timestamp(instant) = stored else { return };
        if is_infinite_timestamp(*instant) {
            return text::push_timestamp(out, *instant);
        }
        let offset = self.zone.clock().offset_at(*instant);
        text::push_timestamp(out, instant.saturating_add(offset));
        text::push_offset(out, offset / MICROS_PER_SECOND);
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let (local, written) = text::parse_zoned(text)?;
        let instant = match written {
            text::WrittenZone::None => self.zone.clock().instant_of(local),
            text::WrittenZone::Offset(seconds) => local.checked_sub(seconds * MICROS_PER_SECOND)?,
            text::WrittenZone::Name(name) => Zone::find(name)?.clock().instant_of(local),
        };
        Some(Value::Timestamp(instant))
    }

    fn exchange(&self) -> Exchange {
        Exchange::Instants
    }

    fn absorbs(&self, other: &Type) -> bool {
        matches!(other, Type::Date | Type::Timestamp)
    }

    fn in_zone(&self, zone: &Zone) -> Option<Custom> {
        (self.zone != *zone).then(|| Custom::new(TimestampTz { zone: zone.clone() }))
    }
}

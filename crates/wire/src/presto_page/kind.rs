//! Which block a type is stored in.

use volley_error::{Error, Result};
use volley_types::{
    Interval, PhysicalType, Type,
    custom::{Uuid, ZonedClock, ZonedTimestamp},
};

/// The blocks that hold values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Byte,
    Short,
    Int,
    Long,
    Int128,
    Variable,
    Array,
    Map,
    Row,
}

impl BlockKind {
    /// The block of values of `data_type`.
    ///
    /// # Errors
    ///
    /// Unsupported: a type that Presto does not have.
    pub(super) fn of(data_type: &Type) -> Result<BlockKind> {
        Ok(match data_type {
            Type::Unknown | Type::Boolean | Type::TinyInt => BlockKind::Byte,
            Type::SmallInt => BlockKind::Short,
            Type::Integer | Type::Real | Type::Date => BlockKind::Int,
            Type::BigInt | Type::Double | Type::Time | Type::Timestamp => BlockKind::Long,
            Type::Decimal { .. } => match data_type.physical() {
                PhysicalType::I64 => BlockKind::Long,
                _ => BlockKind::Int128,
            },
            Type::Interval => BlockKind::Int128,
            Type::Varchar | Type::Varbinary => BlockKind::Variable,
            Type::Array(_) | Type::FixedArray(_) => BlockKind::Array,
            Type::Map(_) => BlockKind::Map,
            Type::Row(_) => BlockKind::Row,
            // Such as JSON, whose values are the same bytes in Presto.
            Type::Custom(custom) if custom.storage().physical() == PhysicalType::View => {
                BlockKind::Variable
            }
            zoned if has_zone(zoned) => BlockKind::Long,
            Type::Custom(custom) if *custom.storage() == Type::HugeInt => BlockKind::Int128,
            // Such as BINGTILE and COLOR.
            Type::Custom(custom)
                if *custom.storage() == Type::BigInt && custom.name() == "BINGTILE" =>
            {
                BlockKind::Long
            }
            Type::Custom(custom) if *custom.storage() == Type::Integer => BlockKind::Int,
            _ => {
                let message = format!("values of type {data_type} in Presto's pages");
                return Err(Error::unsupported(message));
            }
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            BlockKind::Byte => "BYTE_ARRAY",
            BlockKind::Short => "SHORT_ARRAY",
            BlockKind::Int => "INT_ARRAY",
            BlockKind::Long => "LONG_ARRAY",
            BlockKind::Int128 => "INT128_ARRAY",
            BlockKind::Variable => "VARIABLE_WIDTH",
            BlockKind::Array => "ARRAY",
            BlockKind::Map => "MAP",
            BlockKind::Row => "ROW",
        }
    }
}

/// Whether values have a time zone of their own: an instant and the number of a zone.
pub(super) fn has_zone(data_type: &Type) -> bool {
    ZonedTimestamp::is(data_type) || ZonedClock::is(data_type)
}

/// The 16 bytes of an interval: months, days, nanoseconds.
pub(super) fn from_interval(interval: Interval) -> [u8; 16] {
    let days = (u64::from(interval.days as u32) << 32) | u64::from(interval.months as u32);
    (u128::from(interval.nanoseconds as u64) << 64 | u128::from(days)).to_le_bytes()
}

/// The interval of these bytes.
pub(super) fn to_interval(bytes: [u8; 16]) -> Interval {
    let bits = u128::from_le_bytes(bytes);
    Interval::new(bits as i32, (bits >> 32) as i32, (bits >> 64) as i64)
}

/// The 16 bytes of the bits of a UUID or IPADDRESS. Presto stores a UUID as two little-endian
/// numbers of 8 bytes, the upper one first, and an address in network order.
pub(super) fn from_bits(data_type: &Type, bits: u128) -> [u8; 16] {
    match *data_type == Uuid::data_type() {
        true => bits.rotate_left(64).to_le_bytes(),
        false => bits.to_be_bytes(),
    }
}

/// The bits of these 16 bytes.
pub(super) fn to_bits(data_type: &Type, bytes: [u8; 16]) -> u128 {
    match *data_type == Uuid::data_type() {
        true => u128::from_le_bytes(bytes).rotate_left(64),
        false => u128::from_be_bytes(bytes),
    }
}

/// The bit of the sign in the upper half of a 128-bit number of a page.
const SIGN: u128 = 1 << 127;

/// A long decimal as Presto stores it: sign and magnitude.
pub(super) fn to_sign_magnitude(value: i128) -> [u8; 16] {
    let sign = if value < 0 { SIGN } else { 0 };
    (value.unsigned_abs() | sign).to_le_bytes()
}

/// The number of a sign and a magnitude.
pub(super) fn from_sign_magnitude(bytes: [u8; 16]) -> i128 {
    let bits = u128::from_le_bytes(bytes);
    // Below 2^127 without the bit of the sign.
    let magnitude = (bits & !SIGN) as i128;
    if bits & SIGN == 0 { magnitude } else { -magnitude }
}

//! Leaf columns: conversion of stored values to our types.

use crate::error::corrupt;
use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit, Type as Stored},
    schema::types::{ColumnDescriptor, Type as StoredType},
};
use volley_error::Result;
use volley_types::{
    DECIMAL_PRECISION_MAX, Type,
    custom::{Json, TimestampTz, TimestampUnit, UnsignedInteger, Uuid},
};

/// One leaf of the schema: one column chunk per row group.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// Its number among the file's leaves.
    pub index: usize,
    pub data_type: Type,
    pub conversion: Conversion,
    /// The definition level of a value that is not null.
    pub def_max: u16,
    /// The number of repeated fields above it.
    pub rep_max: u16,
}

/// How a stored value becomes one of the leaf's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    Boolean,
    /// To any integer layout, multiplied; unsigned ones are stored in the leaf's type as
    /// [`UnsignedInteger`] says.
    Int32 {
        unsigned: bool,
        factor: i64,
    },
    Int64 {
        unsigned: bool,
        unit: Unit,
    },
    /// A timestamp of a Julian day and nanoseconds.
    Int96,
    Float,
    Double,
    /// Strings.
    Bytes {
        utf8: bool,
    },
    /// Big-endian integers of any length.
    BytesDecimal,
    /// Strings of one length.
    Fixed {
        len: usize,
    },
    FixedDecimal {
        len: usize,
    },
    FixedFloat16,
    /// Months, days and milliseconds.
    FixedInterval,
    /// The 16 bytes of a UUID, the most significant first.
    FixedUuid,
}

/// What a 64-bit integer counts, against what we count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Same,
    /// Milliseconds for microseconds.
    Thousands,
    /// Nanoseconds for microseconds.
    Thousandths,
}

impl Leaf {
    /// The leaf that `column` describes.
    pub fn new(index: usize, column: &ColumnDescriptor) -> Result<Leaf> {
        let (data_type, conversion) =
            leaf_type(column.self_type()).map_err(|it| it.at("column", column.path().string()))?;
        let level = |it: i16| u16::try_from(it).map_err(|_| corrupt("negative level"));
        Ok(Leaf {
            index,
            data_type,
            conversion,
            def_max: level(column.max_def_level())?,
            rep_max: level(column.max_rep_level())?,
        })
    }

    /// The leaf, with bytes that are not said to be anything as text.
    pub fn with_bytes_as_text(self) -> Leaf {
        match self.conversion {
            Conversion::Bytes { utf8: false } => {
                let conversion = Conversion::Bytes { utf8: true };
                Leaf { data_type: Type::Varchar, conversion, ..self }
            }
            _ => self,
        }
    }

    /// Bytes of a stored value in PLAIN encoding, where all have the same size.
    pub fn fixed_bytes(&self) -> Option<usize> {
        match self.conversion {
            Conversion::Int32 { .. } | Conversion::Float => Some(4),
            Conversion::Int64 { .. } | Conversion::Double => Some(8),
            Conversion::Int96 | Conversion::FixedInterval => Some(12),
            Conversion::Fixed { len } | Conversion::FixedDecimal { len } => Some(len),
            Conversion::FixedFloat16 => Some(2),
            Conversion::FixedUuid => Some(16),
            Conversion::Boolean | Conversion::Bytes { .. } | Conversion::BytesDecimal => None,
        }
    }
}

fn leaf_type(stored: &StoredType) -> Result<(Type, Conversion)> {
    let StoredType::PrimitiveType { physical_type, type_length, .. } = stored else {
        return Err(corrupt("leaf that is a group"));
    };
    let info = stored.get_basic_info();
    let (logical, converted) = (info.logical_type_ref(), info.converted_type());
    let decimal = decimal_type(stored)?;
    Ok(match physical_type {
        Stored::BOOLEAN => (Type::Boolean, Conversion::Boolean),
        Stored::INT32 => int32_type(logical, converted, decimal),
        Stored::INT64 => int64_type(logical, converted, decimal),
        Stored::INT96 => (Type::Timestamp, Conversion::Int96),
        Stored::FLOAT => (Type::Real, Conversion::Float),
        Stored::DOUBLE => (Type::Double, Conversion::Double),
        Stored::BYTE_ARRAY => match decimal {
            Some(decimal) => (decimal, Conversion::BytesDecimal),
            None if is_json(logical, converted) => {
                (Json::data_type(), Conversion::Bytes { utf8: true })
            }
            None if is_text(logical, converted) => {
                (Type::Varchar, Conversion::Bytes { utf8: true })
            }
            None => (Type::Varbinary, Conversion::Bytes { utf8: false }),
        },
        Stored::FIXED_LEN_BYTE_ARRAY => {
            let len = usize::try_from(*type_length).map_err(|_| corrupt("negative length"))?;
            if len == 0 {
                return Err(corrupt("fixed-length strings of no length"));
            }
            match (logical, converted) {
                _ if decimal.is_some() => {
                    (decimal.unwrap_or(Type::Unknown), Conversion::FixedDecimal { len })
                }
                (Some(LogicalType::Float16), _) if len == 2 => {
                    (Type::Real, Conversion::FixedFloat16)
                }
                (Some(LogicalType::Uuid), _) if len == 16 => {
                    (Uuid::data_type(), Conversion::FixedUuid)
                }
                (_, ConvertedType::INTERVAL) if len == 12 => {
                    (Type::Interval, Conversion::FixedInterval)
                }
                _ => (Type::Varbinary, Conversion::Fixed { len }),
            }
        }
    })
}

fn is_json(logical: Option<&LogicalType>, converted: ConvertedType) -> bool {
    match logical {
        Some(logical) => matches!(logical, LogicalType::Json),
        None => converted == ConvertedType::JSON,
    }
}

fn is_text(logical: Option<&LogicalType>, converted: ConvertedType) -> bool {
    match logical {
        Some(logical) => {
            matches!(logical, LogicalType::String | LogicalType::Enum)
        }
        None => {
            matches!(converted, ConvertedType::UTF8 | ConvertedType::ENUM)
        }
    }
}

/// The DECIMAL type, when the leaf is one.
fn decimal_type(stored: &StoredType) -> Result<Option<Type>> {
    let info = stored.get_basic_info();
    let (precision, scale) = match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Decimal(decimal)), _) => (decimal.precision, decimal.scale),
        (None, ConvertedType::DECIMAL) => (stored.get_precision(), stored.get_scale()),
        _ => return Ok(None),
    };
    let shape = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
    match shape {
        Some((precision, scale))
            if (1..=DECIMAL_PRECISION_MAX).contains(&precision) && scale <= precision =>
        {
            Ok(Some(Type::Decimal { precision, scale }))
        }
        _ => Err(volley_error::Error::unsupported(format!("DECIMAL({precision},{scale})"))),
    }
}

fn int32_type(
    logical: Option<&LogicalType>,
    converted: ConvertedType,
    decimal: Option<Type>,
) -> (Type, Conversion) {
    let signed = Conversion::Int32 { unsigned: false, factor: 1 };
    let unsigned = Conversion::Int32 { unsigned: true, factor: 1 };
    if let Some(decimal) = decimal {
        return (decimal, signed);
    }
    let (bits, is_signed) = match (logical, converted) {
        (Some(LogicalType::Integer(it)), _) => (it.bit_width, it.is_signed),
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => return (Type::Date, signed),
        (Some(LogicalType::Time(_)), _) | (None, ConvertedType::TIME_MILLIS) => {
            return (Type::Time, Conversion::Int32 { unsigned: false, factor: 1000 });
        }
        (None, ConvertedType::INT_8) => (8, true),
        (None, ConvertedType::INT_16) => (16, true),
        (None, ConvertedType::UINT_8) => (8, false),
        (None, ConvertedType::UINT_16) => (16, false),
        (None, ConvertedType::UINT_32) => (32, false),
        _ => (32, true),
    };
    match (bits, is_signed) {
        (8, true) => (Type::TinyInt, signed),
        (16, true) => (Type::SmallInt, signed),
        (8, false) => (UnsignedInteger::UTinyInt.data_type(), unsigned),
        (16, false) => (UnsignedInteger::USmallInt.data_type(), unsigned),
        (_, false) => (UnsignedInteger::UInteger.data_type(), unsigned),
        (_, true) => (Type::Integer, signed),
    }
}

fn int64_type(
    logical: Option<&LogicalType>,
    converted: ConvertedType,
    decimal: Option<Type>,
) -> (Type, Conversion) {
    let signed = |unit| Conversion::Int64 { unsigned: false, unit };
    let unsigned = || {
        let conversion = Conversion::Int64 { unsigned: true, unit: Unit::Same };
        (UnsignedInteger::UBigInt.data_type(), conversion)
    };
    if let Some(decimal) = decimal {
        return (decimal, signed(Unit::Same));
    }
    match (logical, converted) {
        (Some(LogicalType::Timestamp(it)), _) => {
            let is_instant = it.is_adjusted_to_u_t_c;
            if it.unit == TimeUnit::NANOS && !is_instant {
                return (TimestampUnit::Nanosecond.data_type(), signed(Unit::Same));
            }
            let data_type = if is_instant { TimestampTz::data_type() } else { Type::Timestamp };
            (data_type, signed(unit_of(&it.unit)))
        }
        (Some(LogicalType::Time(it)), _) => (Type::Time, signed(unit_of(&it.unit))),
        (None, ConvertedType::TIMESTAMP_MILLIS) => (Type::Timestamp, signed(Unit::Thousands)),
        (None, ConvertedType::TIMESTAMP_MICROS) => (Type::Timestamp, signed(Unit::Same)),
        (None, ConvertedType::TIME_MICROS) => (Type::Time, signed(Unit::Same)),
        (Some(LogicalType::Integer(it)), _) if !it.is_signed => unsigned(),
        (None, ConvertedType::UINT_64) => unsigned(),
        _ => (Type::BigInt, signed(Unit::Same)),
    }
}

fn unit_of(unit: &TimeUnit) -> Unit {
    match unit {
        TimeUnit::MILLIS => Unit::Thousands,
        TimeUnit::MICROS => Unit::Same,
        TimeUnit::NANOS => Unit::Thousandths,
    }
}

impl Leaf {
    /// The physical type in the file.
    pub fn stored(&self) -> Stored {
        match self.conversion {
            Conversion::Boolean => Stored::BOOLEAN,
            Conversion::Int32 { .. } => Stored::INT32,
            Conversion::Int64 { .. } => Stored::INT64,
            Conversion::Int96 => Stored::INT96,
            Conversion::Float => Stored::FLOAT,
            Conversion::Double => Stored::DOUBLE,
            Conversion::Bytes { .. } | Conversion::BytesDecimal => Stored::BYTE_ARRAY,
            _ => Stored::FIXED_LEN_BYTE_ARRAY,
        }
    }

    /// Whether values are stored as strings, of any length or of one.
    pub fn is_stored_as_strings(&self) -> bool {
        matches!(self.stored(), Stored::BYTE_ARRAY | Stored::FIXED_LEN_BYTE_ARRAY)
    }
}

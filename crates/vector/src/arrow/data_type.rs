//! Logical types as Arrow types, and back.

use arrow_schema::{
    DataType, Field as ArrowField, Fields, IntervalUnit, Schema as ArrowSchema, TimeUnit,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{
    Exchange, FIXED_ARRAY_SIZE_MAX, Field, PhysicalType, Schema, Type,
    custom::{TimestampTz, TimestampUnit, UnsignedInteger, Uuid},
    row_field_name,
};

/// The key of the name of an extension type in the metadata of a field.
const EXTENSION_NAME: &str = "ARROW:extension:name";

/// Which of several Arrow layouts a vector takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowLayout {
    /// The layout that copies least: list views.
    Native,
    /// The layout that every Arrow library reads: lists with offsets.
    Portable,
}

/// The Arrow type of a logical type. Opaque types have none: theirs is `Null`, and their values are
/// refused when they are passed on.
pub fn type_to_arrow(data_type: &Type, layout: ArrowLayout) -> DataType {
    match data_type {
        Type::Unknown => DataType::Null,
        Type::Boolean => DataType::Boolean,
        Type::TinyInt => DataType::Int8,
        Type::SmallInt => DataType::Int16,
        Type::Integer => DataType::Int32,
        Type::BigInt => DataType::Int64,
        Type::HugeInt => DataType::Decimal128(38, 0),
        Type::Real => DataType::Float32,
        Type::Double => DataType::Float64,
        Type::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        Type::Varchar => DataType::Utf8View,
        Type::Varbinary => DataType::BinaryView,
        Type::Date => DataType::Date32,
        Type::Time => DataType::Time64(TimeUnit::Microsecond),
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        Type::Array(element) => {
            let element = Arc::new(arrow_field("item", element, layout, true));
            match layout {
                ArrowLayout::Native => DataType::ListView(element),
                ArrowLayout::Portable => DataType::List(element),
            }
        }
        Type::FixedArray(array) => {
            let element = arrow_field("item", &array.0, layout, true);
            DataType::FixedSizeList(Arc::new(element), array.1 as i32)
        }
        Type::Map(entry) => {
            let key = arrow_field("key", &entry.0, layout, false);
            let value = arrow_field("value", &entry.1, layout, true);
            let entries = DataType::Struct(Fields::from(vec![key, value]));
            DataType::Map(Arc::new(ArrowField::new("entries", entries, false)), false)
        }
        Type::Row(fields) => DataType::Struct(row_to_arrow(fields, layout)),
        Type::Custom(custom) => match custom.exchange() {
            Exchange::Storage => type_to_arrow(custom.storage(), layout),
            Exchange::Text | Exchange::Json => DataType::Utf8View,
            Exchange::Uuids => DataType::FixedSizeBinary(16),
            Exchange::Instants => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Exchange::Timestamps(unit) => DataType::Timestamp(time_unit(unit), None),
            Exchange::Unsigned => match custom.storage().physical() {
                PhysicalType::I8 => DataType::UInt8,
                PhysicalType::I16 => DataType::UInt16,
                PhysicalType::I32 => DataType::UInt32,
                PhysicalType::I64 => DataType::UInt64,
                _ => DataType::Decimal128(38, 0),
            },
        },
        Type::Opaque(_) => DataType::Null,
    }
}

fn time_unit(unit: TimestampUnit) -> TimeUnit {
    match unit {
        TimestampUnit::Second => TimeUnit::Second,
        TimestampUnit::Millisecond => TimeUnit::Millisecond,
        TimestampUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

/// The Arrow fields of a ROW. Where others read them, every field has a name.
pub(super) fn row_to_arrow(fields: &[Field], layout: ArrowLayout) -> Fields {
    let named = |(index, field): (usize, &Field)| match layout {
        ArrowLayout::Native => field_to_arrow(field, layout),
        ArrowLayout::Portable => {
            field_to_arrow(field, layout).with_name(row_field_name(field, index))
        }
    };
    fields.iter().enumerate().map(named).collect()
}

/// The Arrow field of a field; always nullable.
pub fn field_to_arrow(field: &Field, layout: ArrowLayout) -> ArrowField {
    arrow_field(&field.name, &field.data_type, layout, true)
}

/// A field, with the name of Arrow's extension type where there is one.
fn arrow_field(name: &str, of: &Type, layout: ArrowLayout, nullable: bool) -> ArrowField {
    let field = ArrowField::new(name, type_to_arrow(of, layout), nullable);
    let Type::Custom(custom) = of else { return field };
    let extension = match custom.exchange() {
        Exchange::Uuids => "arrow.uuid",
        Exchange::Json => "arrow.json",
        _ => return field,
    };
    let name = (EXTENSION_NAME.to_owned(), extension.to_owned());
    let parameters = ("ARROW:extension:metadata".to_owned(), String::new());
    let metadata = match extension {
        "arrow.uuid" => vec![name],
        _ => vec![name, parameters],
    };
    field.with_metadata(metadata.into_iter().collect::<std::collections::HashMap<_, _>>())
}

/// The Arrow schema of a schema.
pub fn schema_to_arrow(schema: &Schema, layout: ArrowLayout) -> ArrowSchema {
    ArrowSchema::new(schema.fields.iter().map(|it| field_to_arrow(it, layout)).collect::<Fields>())
}

/// The schema of an Arrow schema.
///
/// # Errors
///
/// Unsupported, for Arrow types without a counterpart.
pub fn schema_from_arrow(schema: &ArrowSchema) -> Result<Schema> {
    let fields = schema.fields().iter().map(|it| {
        let data_type = type_of_field(it).map_err(|e| e.at("column", it.name()))?;
        Ok(Field::new(it.name(), data_type))
    });
    fields.collect::<Result<Vec<_>>>().map(Schema::new)
}

/// The logical type of the values of an Arrow field, which may name an extension type: `arrow.uuid`
/// is UUID. Others are what their storage is.
///
/// # Errors
///
/// As [`type_from_arrow`].
pub(super) fn type_of_field(field: &ArrowField) -> Result<Type> {
    match field.data_type() {
        DataType::FixedSizeBinary(16) if has_uuids(field) => Ok(Uuid::data_type()),
        other => type_from_arrow(other),
    }
}

fn has_uuids(field: &ArrowField) -> bool {
    field.metadata().get(EXTENSION_NAME).is_some_and(|it| it == "arrow.uuid")
}

/// The logical type that an Arrow type becomes.
///
/// # Errors
///
/// Unsupported, for Arrow types without a counterpart: unions, decimals of more than 38 digits.
pub fn type_from_arrow(data_type: &DataType) -> Result<Type> {
    Ok(match data_type {
        DataType::Null => Type::Unknown,
        DataType::Boolean => Type::Boolean,
        DataType::Int8 => Type::TinyInt,
        DataType::Int16 => Type::SmallInt,
        DataType::Int32 => Type::Integer,
        DataType::Int64 => Type::BigInt,
        DataType::UInt8 => UnsignedInteger::UTinyInt.data_type(),
        DataType::UInt16 => UnsignedInteger::USmallInt.data_type(),
        DataType::UInt32 => UnsignedInteger::UInteger.data_type(),
        DataType::UInt64 => UnsignedInteger::UBigInt.data_type(),
        DataType::Float16 | DataType::Float32 => Type::Real,
        DataType::Float64 => Type::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if *scale >= 0 && *scale as u8 <= *precision && (1..=38).contains(precision) =>
        {
            Type::Decimal { precision: *precision, scale: *scale as u8 }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Varchar,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Type::Varbinary,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time,
        DataType::Timestamp(TimeUnit::Second, None) => TimestampUnit::Second.data_type(),
        DataType::Timestamp(TimeUnit::Millisecond, None) => TimestampUnit::Millisecond.data_type(),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => TimestampUnit::Nanosecond.data_type(),
        DataType::Timestamp(_, None) => Type::Timestamp,
        DataType::Timestamp(_, Some(_)) => TimestampTz::data_type(),
        DataType::Interval(_) | DataType::Duration(_) => Type::Interval,
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => Type::array(type_of_field(element)?),
        DataType::FixedSizeList(element, size) => {
            let element = type_of_field(element)?;
            match fixed_size(*size) {
                Some(size) => Type::fixed_array(element, size),
                None => Type::array(element),
            }
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                Type::map(type_of_field(&fields[0])?, type_of_field(&fields[1])?)
            }
            _ => return Err(unsupported(data_type)),
        },
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|it| Ok(Field::new(it.name(), type_of_field(it)?)));
            Type::row(fields.collect::<Result<Vec<_>>>()?)
        }
        DataType::Dictionary(_, values) => type_from_arrow(values)?,
        DataType::RunEndEncoded(_, values) => type_of_field(values)?,
        _ => return Err(unsupported(data_type)),
    })
}

/// The size of a `FixedSizeList` whose rows are arrays of a fixed size, too; larger and empty ones
/// are arrays of any size.
pub(super) fn fixed_size(size: i32) -> Option<u32> {
    u32::try_from(size).ok().filter(|it| (1..=FIXED_ARRAY_SIZE_MAX).contains(it))
}

fn unsupported(data_type: &DataType) -> Error {
    Error::unsupported(format!("unsupported Arrow type: {data_type}"))
}

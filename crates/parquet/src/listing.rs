//! The contents of a footer as rows.

use crate::{
    bounds::stored_value,
    file::{Footer, ParquetReadOptions, read_footer},
    leaf::Leaf,
    schema::read_schema,
};
use parquet::{
    basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical},
    file::metadata::{ColumnChunkMetaData, RowGroupMetaData},
    schema::types::{SchemaDescriptor, Type as Stored},
};
use std::fmt::Display;
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Reservation;
use volley_types::{Field, Schema, Type, Value};

/// A table of what footers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The elements of the schema, groups before what is in them.
    Schema,
    /// The column chunks of each row group.
    Chunks,
    /// The file.
    File,
    /// What the writer noted by keys of its own.
    KeyValues,
}

const SCHEMA: [(&str, Type); 13] = [
    ("file_name", Type::Varchar),
    ("name", Type::Varchar),
    ("type", Type::Varchar),
    ("type_length", Type::Varchar),
    ("repetition_type", Type::Varchar),
    ("num_children", Type::BigInt),
    ("converted_type", Type::Varchar),
    ("scale", Type::BigInt),
    ("precision", Type::BigInt),
    ("field_id", Type::BigInt),
    ("logical_type", Type::Varchar),
    ("duckdb_type", Type::Varchar),
    ("column_id", Type::BigInt),
];

const CHUNKS: [(&str, Type); 32] = [
    ("file_name", Type::Varchar),
    ("row_group_id", Type::BigInt),
    ("row_group_num_rows", Type::BigInt),
    ("row_group_num_columns", Type::BigInt),
    ("row_group_bytes", Type::BigInt),
    ("column_id", Type::BigInt),
    ("file_offset", Type::BigInt),
    ("num_values", Type::BigInt),
    ("path_in_schema", Type::Varchar),
    ("type", Type::Varchar),
    ("stats_min", Type::Varchar),
    ("stats_max", Type::Varchar),
    ("stats_null_count", Type::BigInt),
    ("stats_distinct_count", Type::BigInt),
    ("stats_min_value", Type::Varchar),
    ("stats_max_value", Type::Varchar),
    ("compression", Type::Varchar),
    ("encodings", Type::Varchar),
    ("index_page_offset", Type::BigInt),
    ("dictionary_page_offset", Type::BigInt),
    ("data_page_offset", Type::BigInt),
    ("total_compressed_size", Type::BigInt),
    ("total_uncompressed_size", Type::BigInt),
    ("bloom_filter_offset", Type::BigInt),
    ("bloom_filter_length", Type::BigInt),
    ("min_is_exact", Type::Boolean),
    ("max_is_exact", Type::Boolean),
    ("row_group_compressed_bytes", Type::BigInt),
    ("column_index_offset", Type::BigInt),
    ("column_index_length", Type::BigInt),
    ("offset_index_offset", Type::BigInt),
    ("offset_index_length", Type::BigInt),
];

const FILE: [(&str, Type); 7] = [
    ("file_name", Type::Varchar),
    ("created_by", Type::Varchar),
    ("num_rows", Type::BigInt),
    ("num_row_groups", Type::BigInt),
    ("format_version", Type::BigInt),
    ("file_size_bytes", Type::BigInt),
    ("footer_size", Type::BigInt),
];

const KEY_VALUES: [(&str, Type); 3] =
    [("file_name", Type::Varchar), ("key", Type::Varbinary), ("value", Type::Varbinary)];

impl Listing {
    /// Its columns.
    pub fn schema(self) -> Schema {
        let columns: &[(&str, Type)] = match self {
            Listing::Schema => &SCHEMA,
            Listing::Chunks => &CHUNKS,
            Listing::File => &FILE,
            Listing::KeyValues => &KEY_VALUES,
        };
        columns.iter().map(|it| Field::new(it.0, it.1.clone())).collect()
    }

    /// The rows of a file, which are added to `charge`.
    ///
    /// # Errors
    ///
    /// I/O; corruption of the footer; out of memory.
    pub fn rows(
        self,
        file: &dyn RandomAccessFile,
        charge: &mut Reservation,
    ) -> Result<Vec<Vec<Value>>> {
        let at = |it: Error| it.at("file", file.path());
        let mut kept = charge.pool().reservation();
        let footer = read_footer(file, &mut kept).map_err(at)?;
        charge.grow(self.rows_bytes(&footer)).map_err(at)?;
        let mut rows = match self {
            Listing::Schema => schema_rows(footer.metadata.file_metadata().schema_descr()),
            Listing::Chunks => chunk_rows(&footer),
            Listing::File => vec![file_row(&footer, file.size_bytes())],
            Listing::KeyValues => key_value_rows(&footer),
        };
        rows.iter_mut().for_each(|it| it.insert(0, Value::text(file.path())));
        Ok(rows)
    }
}

/// What a row takes besides its values, and a value with a short text.
const ROW_BYTES: usize = 64;
const VALUE_BYTES: usize = size_of::<Value>() + 32;

impl Listing {
    /// About what the rows of a footer take.
    fn rows_bytes(self, footer: &Footer) -> usize {
        let metadata = &footer.metadata;
        let file = metadata.file_metadata();
        let rows = match self {
            Listing::Schema => file.schema_descr().num_columns().saturating_mul(2),
            Listing::Chunks => metadata.row_groups().iter().map(|it| it.num_columns()).sum(),
            Listing::File => 1,
            Listing::KeyValues => file.key_value_metadata().map_or(0, Vec::len),
        };
        rows.saturating_mul(ROW_BYTES + self.schema().len() * VALUE_BYTES)
    }
}

fn number(value: impl TryInto<i64>) -> Value {
    value.try_into().map_or(Value::Null, Value::BigInt)
}

fn maybe<T: TryInto<i64>>(value: Option<T>) -> Value {
    value.map_or(Value::Null, number)
}

fn shown(value: Option<impl Display>) -> Value {
    value.map_or(Value::Null, |it| Value::text(it.to_string()))
}

fn schema_rows(descriptor: &SchemaDescriptor) -> Vec<Vec<Value>> {
    let mut leaves = (0..descriptor.num_columns()).map(|index| {
        let leaf = Leaf::new(index, &descriptor.column(index)).ok()?;
        Some(leaf.data_type.to_string())
    });
    let columns =
        read_schema(descriptor, ParquetReadOptions::default()).map(|it| it.0).unwrap_or_default();
    let mut column_types = columns.fields.iter().map(|it| it.data_type.to_string());
    let mut rows = Vec::new();
    // Elements to come, the next one last, and how deep they are.
    let mut open = vec![(descriptor.root_schema(), 0)];
    while let Some((element, depth)) = open.pop() {
        let leaf = if element.is_group() { None } else { leaves.next().flatten() };
        let column = if depth == 1 { column_types.next() } else { None };
        rows.push(schema_row(element, column.or(leaf), rows.len()));
        if element.is_group() {
            open.extend(element.get_fields().iter().rev().map(|it| (it.as_ref(), depth + 1)));
        }
    }
    rows
}

fn schema_row(element: &Stored, data_type: Option<String>, index: usize) -> Vec<Value> {
    let info = element.get_basic_info();
    let (physical, length) = match element {
        Stored::PrimitiveType { physical_type, type_length, .. } => {
            let has_length = *physical_type == Physical::FIXED_LEN_BYTE_ARRAY;
            (Some(physical_type), has_length.then_some(type_length))
        }
        Stored::GroupType { .. } => (None, None),
    };
    // The root has none, which is the first one.
    let repetition = if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED };
    let converted = Some(info.converted_type()).filter(|it| *it != ConvertedType::NONE);
    let (scale, precision) = match element {
        Stored::PrimitiveType { scale, precision, .. } if *precision > 0 => {
            (Some(*scale), Some(*precision))
        }
        _ => (None, None),
    };
    let children = element.is_group().then(|| element.get_fields().len());
    vec![
        Value::text(element.name()),
        shown(physical),
        shown(length),
        shown(Some(repetition)),
        maybe(children),
        shown(converted),
        maybe(scale),
        maybe(precision),
        maybe(info.has_id().then(|| info.id())),
        info.logical_type_ref().and_then(logical_name).map_or(Value::Null, Value::text),
        shown(data_type),
        number(index),
    ]
}

/// A logical type as Thrift writes it.
fn logical_name(logical: &LogicalType) -> Option<String> {
    let time = |name: &str, is_utc: bool, unit: &TimeUnit| {
        let unit_text = |is_it: bool, name: &str| match is_it {
            true => format!("{name}()"),
            false => "<null>".to_owned(),
        };
        let millis = unit_text(matches!(unit, TimeUnit::MILLIS), "MilliSeconds");
        let micros = unit_text(matches!(unit, TimeUnit::MICROS), "MicroSeconds");
        let nanos = unit_text(matches!(unit, TimeUnit::NANOS), "NanoSeconds");
        let unit = format!("TimeUnit(MILLIS={millis}, MICROS={micros}, NANOS={nanos})");
        format!("{name}(isAdjustedToUTC={}, unit={unit})", i32::from(is_utc))
    };
    Some(match logical {
        LogicalType::String => "StringType()".to_owned(),
        LogicalType::Map => "MapType()".to_owned(),
        LogicalType::List => "ListType()".to_owned(),
        LogicalType::Enum => "EnumType()".to_owned(),
        LogicalType::Date => "DateType()".to_owned(),
        LogicalType::Unknown => "NullType()".to_owned(),
        LogicalType::Json => "JsonType()".to_owned(),
        LogicalType::Bson => "BsonType()".to_owned(),
        LogicalType::Uuid => "UUIDType()".to_owned(),
        LogicalType::Float16 => "Float16Type()".to_owned(),
        LogicalType::Decimal(it) => {
            format!("DecimalType(scale={}, precision={})", it.scale, it.precision)
        }
        LogicalType::Integer(it) => {
            format!("IntType(bitWidth={}, isSigned={})", it.bit_width, i32::from(it.is_signed))
        }
        LogicalType::Time(it) => time("TimeType", it.is_adjusted_to_u_t_c, &it.unit),
        LogicalType::Timestamp(it) => time("TimestampType", it.is_adjusted_to_u_t_c, &it.unit),
        _ => return None,
    })
}

fn chunk_rows(footer: &Footer) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (index, group) in footer.metadata.row_groups().iter().enumerate() {
        let chunks = group.columns().iter().enumerate();
        rows.extend(chunks.map(|(column, chunk)| chunk_row((index, group), (column, chunk))));
    }
    rows
}

fn chunk_row(
    (index, group): (usize, &RowGroupMetaData),
    (column, chunk): (usize, &ColumnChunkMetaData),
) -> Vec<Value> {
    let statistics = chunk.statistics();
    let leaf = Leaf::new(column, chunk.column_descr()).ok();
    let bound = |bytes: Option<&[u8]>| {
        let value = leaf.as_ref().zip(bytes).and_then(|(leaf, it)| {
            Some(stored_value(leaf, it)?.display(&leaf.data_type).to_string())
        });
        value.map_or(Value::Null, Value::text)
    };
    let min = bound(statistics.and_then(|it| it.min_bytes_opt()));
    let max = bound(statistics.and_then(|it| it.max_bytes_opt()));
    let is_old = statistics.is_some_and(|it| it.is_min_max_deprecated());
    let when = |is_shown: bool, value: &Value| if is_shown { value.clone() } else { Value::Null };
    let exact = |bound: &Value, is_exact: Option<bool>| match (bound, is_exact) {
        (Value::Null, _) | (_, None) => Value::Null,
        (_, Some(is_exact)) => Value::Boolean(is_exact),
    };
    let encodings: Vec<String> = chunk.encodings().map(|it| it.to_string()).collect();
    vec![
        number(index),
        number(group.num_rows()),
        number(group.num_columns()),
        number(group.total_byte_size()),
        number(column),
        number(chunk.file_offset()),
        number(chunk.num_values()),
        Value::text(chunk.column_path().parts().join(", ")),
        shown(Some(chunk.column_type())),
        when(is_old, &min),
        when(is_old, &max),
        maybe(statistics.and_then(|it| it.null_count_opt())),
        maybe(statistics.and_then(|it| it.distinct_count_opt())),
        when(!is_old, &min),
        when(!is_old, &max),
        Value::text(format!("{:?}", chunk.compression_codec())),
        Value::text(encodings.join(", ")),
        maybe(chunk.index_page_offset()),
        maybe(chunk.dictionary_page_offset()),
        number(chunk.data_page_offset()),
        number(chunk.compressed_size()),
        number(chunk.uncompressed_size()),
        maybe(chunk.bloom_filter_offset()),
        maybe(chunk.bloom_filter_length()),
        exact(&min, statistics.map(|it| it.min_is_exact())),
        exact(&max, statistics.map(|it| it.max_is_exact())),
        number(group.compressed_size()),
        maybe(chunk.column_index_offset()),
        maybe(chunk.column_index_length()),
        maybe(chunk.offset_index_offset()),
        maybe(chunk.offset_index_length()),
    ]
}

fn file_row(footer: &Footer, file_bytes: u64) -> Vec<Value> {
    let file = footer.metadata.file_metadata();
    vec![
        shown(file.created_by()),
        number(file.num_rows()),
        number(footer.metadata.num_row_groups()),
        number(file.version()),
        number(file_bytes),
        number(footer.bytes),
    ]
}

fn key_value_rows(footer: &Footer) -> Vec<Vec<Value>> {
    let pairs = footer.metadata.file_metadata().key_value_metadata();
    let bytes = |text: &str| Value::Varbinary(text.as_bytes().into());
    let row =
        |(key, value): (&str, Option<&str>)| vec![bytes(key), value.map_or(Value::Null, bytes)];
    pairs.into_iter().flatten().map(|it| row((&it.key, it.value.as_deref()))).collect()
}

//! Writes Parquet files.

use crate::error::from_parquet;
use arrow_array::{Array, ArrayRef, cast::AsArray, types::Decimal128Type};
use arrow_schema::{DataType, SchemaRef};
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::{Compression as Codec, GzipLevel, ZstdLevel},
    file::properties::WriterProperties,
};
use std::{io::Write, sync::Arc};
use volley_error::{Error, Result};
use volley_types::{
    Schema, Type,
    custom::{TimestampUnit, UnsignedInteger},
};
use volley_vector::{
    Batch, Decoded, Vector,
    arrow::{ArrowLayout, batch_to_arrow, schema_to_arrow},
};

/// How pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Quick.
    Snappy,
    /// Small.
    Zstd,
    /// What most systems read, slow.
    Gzip,
    /// LZ4_RAW.
    Lz4,
}

/// Memory for writing each byte of a batch: elements of arrays have 12 bytes of levels and
/// positions besides their 1 to 16 bytes, and all values exist once in Arrow's layout and once in
/// pages.
const WRITE_FACTOR: usize = 3;

/// Writes batches to one file.
pub struct ParquetWriter<W: Write + Send> {
    schema: SchemaRef,
    writer: ArrowWriter<W>,
    has_hugeints: bool,
    /// Columns of TIMESTAMP_S, which Parquet has no unit for: they are written as TIMESTAMP.
    seconds: Vec<usize>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A writer of columns of `schema` to `output`.
    ///
    /// # Errors
    ///
    /// Types that Parquet does not have.
    pub fn new(output: W, schema: &Schema, compression: Compression) -> Result<ParquetWriter<W>> {
        ParquetWriter::with_row_groups(output, schema, compression, None)
    }

    /// Like [`ParquetWriter::new`], with a maximum number of rows per row group. A row group may
    /// end earlier: [`ParquetWriter::end_row_group`].
    ///
    /// # Errors
    ///
    /// As [`ParquetWriter::new`].
    pub fn with_row_groups(
        output: W,
        schema: &Schema,
        compression: Compression,
        rows_max: Option<usize>,
    ) -> Result<ParquetWriter<W>> {
        let is_missing = |it: &Type| matches!(it, Type::Interval | Type::Opaque(_));
        for field in &schema.fields {
            if let Some(missing) = find(&field.data_type, &is_missing) {
                let message = format!("Parquet files do not hold {missing}: column {}", field.name);
                return Err(Error::unsupported(message).hint("cast it to VARCHAR"));
            }
        }
        let second = TimestampUnit::Second.data_type();
        let (mut schema, mut seconds) = (schema.clone(), Vec::new());
        for (index, field) in schema.fields.iter_mut().enumerate() {
            if field.data_type == second {
                field.data_type = Type::Timestamp;
                seconds.push(index);
            } else if find(&field.data_type, &|it| *it == second).is_some() {
                let message = format!("Parquet files do not hold {second}: column {}", field.name);
                return Err(Error::unsupported(message).hint("cast it to TIMESTAMP"));
            }
        }
        let uhugeint = UnsignedInteger::UHugeInt.data_type();
        let is_hugeint = |it: &Type| *it == Type::HugeInt || *it == uhugeint;
        let has_hugeints = schema.types().any(|it| find(it, &is_hugeint).is_some());
        let schema = Arc::new(schema_to_arrow(&schema, ArrowLayout::Portable));
        let codec = match compression {
            Compression::None => Codec::UNCOMPRESSED,
            Compression::Snappy => Codec::SNAPPY,
            Compression::Zstd => Codec::ZSTD(ZstdLevel::default()),
            Compression::Gzip => Codec::GZIP(GzipLevel::default()),
            Compression::Lz4 => Codec::LZ4_RAW,
        };
        // Names of list and map elements follow the format's specification, and no Arrow schema is
        // added: other readers, and old ones, see plain Parquet.
        let properties = WriterProperties::builder().set_compression(codec).set_coerce_types(true);
        let properties = match rows_max {
            Some(rows) => properties.set_max_row_group_row_count(Some(rows)),
            None => properties,
        };
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(output, Arc::clone(&schema), options);
        Ok(ParquetWriter { schema, writer: writer.map_err(from_parquet)?, has_hugeints, seconds })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O; what a lazy column's loader reports; a HUGEINT or UHUGEINT of 39 digits.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let batch = match self.seconds.is_empty() {
            true => batch_to_arrow(batch, &self.schema, ArrowLayout::Portable)?,
            false => {
                let batch = with_micros(batch, &self.seconds)?;
                batch_to_arrow(&batch, &self.schema, ArrowLayout::Portable)?
            }
        };
        if self.has_hugeints {
            batch.columns().iter().try_for_each(check_38_digits)?;
        }
        self.writer.write(&batch).map_err(from_parquet)
    }

    /// Bytes of memory that the rows of the row group take which is not complete.
    pub fn held_bytes(&self) -> usize {
        self.writer.memory_size()
    }

    /// The maximum additional memory for writing a batch of this number of flat bytes: columns in
    /// Arrow's layout, levels of nested ones, and pages.
    pub fn write_bytes(flat_bytes: usize) -> usize {
        flat_bytes.saturating_mul(WRITE_FACTOR)
    }

    /// Completes the row group, so that no rows are held.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn end_row_group(&mut self) -> Result<()> {
        self.writer.flush().map_err(from_parquet)
    }

    /// Writes the footer and gives the output back.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(from_parquet)
    }
}

/// The type, or the first one inside of it, for which `wanted` holds.
fn find<'a>(data_type: &'a Type, wanted: &dyn Fn(&Type) -> bool) -> Option<&'a Type> {
    if wanted(data_type) {
        return Some(data_type);
    }
    match data_type {
        Type::Array(element) => find(element, wanted),
        Type::FixedArray(array) => find(&array.0, wanted),
        Type::Map(entry) => find(&entry.0, wanted).or_else(|| find(&entry.1, wanted)),
        Type::Row(fields) => fields.iter().find_map(|it| find(&it.data_type, wanted)),
        _ => None,
    }
}

/// The batch with its columns of seconds as microseconds.
fn with_micros(batch: &Batch, seconds: &[usize]) -> Result<Batch> {
    let mut columns = batch.columns().to_vec();
    for index in seconds {
        let Some(column) = columns.get_mut(*index) else { continue };
        let decoded = Decoded::new(column)?;
        let values = decoded.native::<i64>();
        let micros = |row: usize| match decoded.is_null(row) {
            true => Ok(0),
            false => {
                let seconds = values.get(decoded.index(row)).copied().unwrap_or_default();
                let micros = TimestampUnit::Second.to_micros(seconds);
                micros.ok_or_else(|| Error::invalid_value("timestamp out of range"))
            }
        };
        let micros = (0..column.len()).map(micros).collect::<Result<Vec<i64>>>()?;
        let micros = Vector::native::<i64>(Type::Timestamp, micros, decoded.nulls());
        *column = micros;
    }
    Ok(Batch::new(columns, batch.rows()))
}

/// HUGEINT and UHUGEINT are written as decimals of 38 digits, but have values of one digit more.
fn check_38_digits(array: &ArrayRef) -> Result<()> {
    const LIMIT: u128 = 10_u128.pow(38);
    match array.data_type() {
        DataType::Decimal128(..) => {
            let mut values = array.as_primitive::<Decimal128Type>().iter().flatten();
            match values.find(|it| it.unsigned_abs() >= LIMIT) {
                None => Ok(()),
                Some(value) => {
                    let message =
                        format!("a decimal of Parquet has at most 38 digits, not those of {value}");
                    Err(Error::invalid_value(message).hint("cast it to VARCHAR or DOUBLE"))
                }
            }
        }
        DataType::List(_) => check_38_digits(array.as_list::<i32>().values()),
        DataType::FixedSizeList(..) => check_38_digits(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().try_for_each(check_38_digits),
        DataType::Map(..) => {
            array.as_map().entries().columns().iter().try_for_each(check_38_digits)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::{
        basic::{LogicalType, TimeUnit, TimestampType, Type as PhysicalType},
        file::reader::FileReader,
    };
    use volley_types::{
        Field, Value,
        custom::{Json, TimestampTz, Uuid},
    };

    #[track_caller]
    fn check(data_type: Type, value: Value, message: Option<&str>) {
        let schema = Schema::new(vec![Field::new("c", data_type.clone())]);
        let batch = Batch::new(vec![Vector::from_values(data_type, &[Value::Null, value])], 2);
        let written = ParquetWriter::new(Vec::new(), &schema, Compression::None)
            .and_then(|mut writer| writer.write(&batch).and_then(|()| writer.finish()));
        let came = written.err().map(|it| it.to_string());
        assert_eq!(came.as_deref(), message);
    }

    #[test]
    fn what_parquet_cannot_hold_is_an_error() {
        let most = 10_i128.pow(38) - 1;
        check(Type::HugeInt, Value::HugeInt(-most), None);
        let message =
            format!("a decimal of Parquet has at most 38 digits, not those of {}", most + 1);
        check(Type::HugeInt, Value::HugeInt(most + 1), Some(&message));
        let list = |value| Value::Array([Value::HugeInt(value)].into());
        check(Type::Array(Arc::new(Type::HugeInt)), list(most), None);
        check(Type::Array(Arc::new(Type::HugeInt)), list(most + 1), Some(&message));
        let fixed = Type::fixed_array(Type::HugeInt, 1);
        check(fixed.clone(), list(most), None);
        check(fixed, list(most + 1), Some(&message));
        let unsigned = UnsignedInteger::UHugeInt;
        let stored = |it: i128| unsigned.store(it.unsigned_abs()).unwrap();
        check(unsigned.data_type(), stored(most), None);
        check(unsigned.data_type(), stored(most + 1), Some(&message));
        let message = format!("UHUGEINT value has too many digits: {}", u128::MAX);
        check(unsigned.data_type(), unsigned.store(u128::MAX).unwrap(), Some(&message));
        let things = Type::array(Type::Opaque(volley_vector::random::opaque_type()));
        check(things, Value::Null, Some("Parquet files do not hold THING: column c"));
        let intervals = Type::Array(Arc::new(Type::Interval));
        check(intervals, Value::Null, Some("Parquet files do not hold INTERVAL: column c"));
    }

    #[test]
    fn a_row_group_can_be_ended_before_it_is_full() {
        let schema = Schema::new(vec![Field::new("c", Type::Varchar)]);
        let mut writer =
            ParquetWriter::with_row_groups(Vec::new(), &schema, Compression::None, Some(250))
                .unwrap();
        assert_eq!(writer.held_bytes(), 0);
        writer.end_row_group().unwrap();
        for batch in 0..6 {
            let texts: Vec<Value> =
                (0..100).map(|it| Value::text(format!("{batch} {it}").repeat(20))).collect();
            let column = Vector::from_values(Type::Varchar, &texts);
            writer.write(&Batch::new(vec![column], 100)).unwrap();
            if batch == 0 {
                assert!(writer.held_bytes() > 100 * 60, "{}", writer.held_bytes());
                writer.end_row_group().unwrap();
                assert_eq!(writer.held_bytes(), 0);
            }
        }
        let file = bytes::Bytes::from(writer.finish().unwrap());
        let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
        let rows = reader.metadata().row_groups().iter().map(|it| it.num_rows());
        assert_eq!(rows.collect::<Vec<_>>(), [100, 250, 250]);
    }

    #[test]
    fn other_readers_are_told_what_types_are() {
        let types = [Uuid::data_type(), Json::data_type(), TimestampTz::data_type()];
        let (nested, types) =
            (Type::row(vec![Field::new("f", Type::array(types[0].clone()))]), types);
        let fields = types.into_iter().chain([nested]).enumerate();
        let schema: Schema =
            fields.map(|(index, it)| Field::new(format!("c{index}"), it)).collect();
        let writer = ParquetWriter::new(Vec::new(), &schema, Compression::None).unwrap();
        let file = bytes::Bytes::from(writer.finish().unwrap());
        let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
        let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
        let found = columns.iter().map(|it| (it.physical_type(), it.logical_type_ref().cloned()));
        let unit = TimeUnit::MICROS;
        let micros = TimestampType { is_adjusted_to_u_t_c: true, unit };
        let expected = [
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
            (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json)),
            (PhysicalType::INT64, Some(LogicalType::Timestamp(micros))),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

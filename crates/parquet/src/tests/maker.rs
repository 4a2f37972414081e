//! Makes random Parquet files with the `parquet` crate's writer: any type and nesting, in every
//! encoding, codec, page version and page size that it writes.

use super::batch_read;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, TimestampNanosecondArray,
    types::{
        ArrowPrimitiveType, Decimal32Type, Float16Type, Int32Type, Time32MillisecondType,
        Time64NanosecondType, TimestampMillisecondType, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    },
};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use parquet::{
    arrow::{ArrowSchemaConverter, ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::{Compression, Encoding, Type as Stored},
    file::properties::{
        DeltaBinaryPackedEncoderOptions, EnabledStatistics, WriterProperties,
        WriterPropertiesBuilder, WriterVersion,
    },
    schema::types::ColumnPath,
};
use std::sync::Arc;
use volley_types::{Type, Value};
use volley_vector::{
    Batch,
    arrow::{ArrowLayout, to_arrow},
    random::Generator,
};

/// A file in memory and what is in it.
pub(super) struct MadeFile {
    pub bytes: Vec<u8>,
    /// One vector per column.
    pub rows: Batch,
}

/// A random file of at most `rows_max` rows.
pub(super) fn random_file(random: &mut Generator, rows_max: usize) -> MadeFile {
    let rows = random.below(rows_max + 1);
    let nulls = *random.choose(&[0.0, 0.2, 0.2, 0.9, 1.0]);
    *random = random.clone().with_null_ratio(nulls);
    let columns: Vec<ArrayRef> = (0..1 + random.below(4)).map(|_| column(random, rows)).collect();
    let fields = columns.iter().enumerate().map(|(index, array)| {
        let is_nullable = array.logical_null_count() > 0 || random.below(2) == 0;
        ArrowField::new(format!("c{index}"), array.data_type().clone(), is_nullable)
    });
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options).unwrap();
    let bytes = write(random, &batch);
    MadeFile { bytes, rows: batch_read(&batch) }
}

fn column(random: &mut Generator, rows: usize) -> ArrayRef {
    if random.below(3) == 0 {
        return foreign(random, rows);
    }
    let depth = *random.choose(&[0, 0, 1, 2, 3]);
    loop {
        let data_type = random.data_type(depth);
        if is_stored(&data_type) {
            let vector = random.vector(&data_type, rows).loaded().unwrap();
            return to_arrow(&vector, ArrowLayout::Portable).unwrap();
        }
    }
}

/// Whether Parquet has the type: no intervals, no rows without fields, no fields without names.
fn is_stored(data_type: &Type) -> bool {
    match data_type {
        // Arrays of a fixed size come back as arrays of any size.
        Type::Interval | Type::Unknown | Type::FixedArray(_) | Type::Opaque(_) => false,
        Type::Array(element) => is_stored(element),
        Type::Map(entry) => is_stored(&entry.0) && is_stored(&entry.1),
        Type::Row(fields) => !fields.is_empty() && fields.iter().all(|it| is_stored(&it.data_type)),
        _ => true,
    }
}

/// A column of a type that we read but do not write.
fn foreign(random: &mut Generator, rows: usize) -> ArrayRef {
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let day = 86_400_000;
    match random.below(12) {
        0 => numbers::<UInt8Type>(random, rows, |it| it as u8),
        1 => numbers::<UInt16Type>(random, rows, |it| it as u16),
        2 => numbers::<UInt32Type>(random, rows, |it| it as u32),
        3 => numbers::<UInt64Type>(random, rows, |it| it as u64),
        4 => numbers::<TimestampMillisecondType>(random, rows, |it| it >> 12),
        5 => {
            let values = integers(random, rows);
            Arc::new(TimestampNanosecondArray::from(values).with_timezone("UTC"))
        }
        6 => numbers::<Time32MillisecondType>(random, rows, |it| it.rem_euclid(day) as i32),
        7 => numbers::<Time64NanosecondType>(random, rows, |it| it.rem_euclid(day * 1_000_000)),
        8 => numbers::<Float16Type>(random, rows, |it| Half::from_bits(it as u16)),
        9 => {
            let values = integers(random, rows).into_iter();
            let values = values.map(|it| it.map(|it| (it % 1_000_000) as i32));
            let array = PrimitiveArray::<Decimal32Type>::from_iter(values);
            Arc::new(array.with_precision_and_scale(9, 3).unwrap())
        }
        10 => {
            let width = 1 + random.below(8);
            let values = integers(random, rows).into_iter();
            let values = values.map(|it| it.map(|it| it.to_le_bytes()[..width].to_vec()));
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, width as i32);
            Arc::new(array.unwrap())
        }
        _ => {
            let words = random.values(&Type::Varchar, 5);
            let words = StringArray::from_iter(words.iter().map(Value::as_str));
            let keys = integers(random, rows).into_iter();
            let keys = keys.map(|it| it.map(|it| it.rem_euclid(5) as i32));
            let keys = PrimitiveArray::<Int32Type>::from_iter(keys);
            Arc::new(DictionaryArray::try_new(keys, Arc::new(words)).unwrap())
        }
    }
}

fn integers(random: &mut Generator, rows: usize) -> Vec<Option<i64>> {
    let values = random.values(&Type::BigInt, rows);
    values.iter().map(|it| it.as_i128().map(|it| it as i64)).collect()
}

fn numbers<T: ArrowPrimitiveType>(
    random: &mut Generator,
    rows: usize,
    convert: impl Fn(i64) -> T::Native,
) -> ArrayRef {
    let values = integers(random, rows).into_iter().map(|it| it.map(&convert));
    Arc::new(PrimitiveArray::<T>::from_iter(values))
}

/// The bytes of a file with `batch`, in random pieces.
fn write(random: &mut Generator, batch: &RecordBatch) -> Vec<u8> {
    let options = ArrowWriterOptions::new()
        .with_properties(properties(random, &batch.schema()))
        .with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    let mut row = 0;
    while row < batch.num_rows() {
        let rows = 1 + random.below(batch.num_rows() - row);
        writer.write(&batch.slice(row, rows)).unwrap();
        row += rows;
        if random.below(3) == 0 {
            writer.flush().unwrap();
        }
    }
    writer.into_inner().unwrap()
}

fn properties(random: &mut Generator, schema: &ArrowSchema) -> WriterProperties {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let levels = [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page];
    let is_coerced = random.below(2) == 0;
    let truncated = *random.choose(&[None, Some(1), Some(3), Some(64)]);
    let mut properties = WriterProperties::builder()
        .set_writer_version(*random.choose(&versions))
        .set_coerce_types(is_coerced)
        .set_write_batch_size(*random.choose(&[1, 7, 1024]))
        .set_data_page_row_count_limit(*random.choose(&[1, 10, 100, 20_000]))
        .set_data_page_size_limit(*random.choose(&[16, 500, 1 << 20]))
        .set_dictionary_page_size_limit(*random.choose(&[16, 100, 1 << 20]))
        .set_max_row_group_row_count(Some(*random.choose(&[17, 100, 1 << 20])))
        .set_offset_index_disabled(random.below(2) == 0)
        .set_statistics_enabled(*random.choose(&levels))
        .set_write_page_header_statistics(random.below(2) == 0)
        .set_statistics_truncate_length(truncated)
        .set_column_index_truncate_length(truncated)
        .set_data_page_v2_compression_ratio_threshold(*random.choose(&[0.5, 1.0, 2.0]))
        .set_bloom_filter_enabled(random.below(3) == 0)
        .set_bloom_filter_max_ndv(100);
    let converter = ArrowSchemaConverter::new().with_coerce_types(is_coerced);
    for leaf in converter.convert(schema).unwrap().columns() {
        properties = leaf_properties(random, properties, leaf.path(), leaf.physical_type());
    }
    properties.build()
}

fn leaf_properties(
    random: &mut Generator,
    properties: WriterPropertiesBuilder,
    path: &ColumnPath,
    stored: Stored,
) -> WriterPropertiesBuilder {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ];
    let encodings: &[Encoding] = match stored {
        Stored::BOOLEAN => &[Encoding::PLAIN, Encoding::RLE],
        Stored::INT32 | Stored::INT64 => {
            &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]
        }
        Stored::BYTE_ARRAY => {
            &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
        }
        Stored::FIXED_LEN_BYTE_ARRAY => {
            &[Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT]
        }
        _ => &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT],
    };
    let (block, miniblocks) = *random.choose(&[(128, 4), (128, 1), (256, 8), (384, 3)]);
    let blocks = DeltaBinaryPackedEncoderOptions::try_new(block, miniblocks).unwrap();
    properties
        .set_column_compression(path.clone(), *random.choose(&codecs))
        .set_column_encoding(path.clone(), *random.choose(encodings))
        .set_column_dictionary_enabled(path.clone(), random.below(2) == 0)
        .set_column_delta_binary_packed_encoder_options(path.clone(), blocks)
}

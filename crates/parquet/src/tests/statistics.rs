//! Statistics of all kinds of writers never lose a row; what the format leaves undefined is not
//! used (parquet-format, `Statistics`, `ColumnOrder`).

use super::{MemoryFile, random_files::Expected};
use crate::{ParquetFile, thrift::Reader};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt32Array, UInt64Array,
};
use bytes::Bytes;
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    data_type::{ByteArray, FixedLenByteArray, Int96},
    file::{
        metadata::{
            ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter,
        },
        properties::{EnabledStatistics, WriterProperties},
        statistics::{Statistics, ValueStatistics},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use std::sync::Arc;
use volley_connector::{Bounds, may_match};
use volley_expression::{Expr, SpecialForm};
use volley_types::{Type, Value, custom::UnsignedInteger};
use volley_vector::arrow::{batch_from_arrow, from_arrow};

/// A file with one column, without statistics.
fn write(column: &ArrayRef) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable([("c", Arc::clone(column), true)]);
    let properties =
        WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None).build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let batch = batch.unwrap();
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The file with a footer of `statistics`; `has_order`: whether it says how values are ordered.
fn with_statistics(file: &[u8], statistics: Statistics, has_order: bool) -> Vec<u8> {
    let tail = file.len() - 8;
    let footer = u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let metadata = ParquetMetaDataReader::decode_metadata(&file[tail - footer..tail]).unwrap();
    let new = metadata.file_metadata().clone();
    let groups = metadata.row_groups().iter().map(|group| {
        let chunk = group.column(0).clone().into_builder();
        let chunk = chunk.set_statistics(statistics.clone()).build().unwrap();
        group.clone().into_builder().set_column_metadata(vec![chunk]).build().unwrap()
    });
    let new: ParquetMetaData =
        ParquetMetaDataBuilder::new(new).set_row_groups(groups.collect()).build();
    let mut bytes = file[..tail - footer].to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &new).finish().unwrap();
    if has_order { bytes } else { without_order(bytes) }
}

/// The file without the footer's last field (7), the orders of columns.
fn without_order(mut bytes: Vec<u8>) -> Vec<u8> {
    let tail = bytes.len() - 8;
    let footer = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
    let start = tail - footer;
    let (mut reader, mut number) = (Reader { bytes: &bytes[start..tail], at: 0 }, 0);
    let mut end = 0;
    while let Some(field) = reader.field(&mut number).unwrap() {
        if number == 7 {
            break;
        }
        reader.skip(field, 0).unwrap();
        end = reader.at;
    }
    assert_eq!(number, 7, "a footer with orders of columns");
    bytes.truncate(start + end);
    bytes.push(0);
    bytes.extend_from_slice(&(end as u32 + 1).to_le_bytes());
    bytes.extend_from_slice(b"PAR1");
    bytes
}

/// Filters that compare the column with each of its values, both ways, and ask for nulls.
fn filters(data_type: &Type, values: &[Value]) -> Vec<Expr> {
    let column = || Expr::column(0, data_type.clone());
    let is_null = Expr::special(SpecialForm::IsNull, vec![column()], Type::Boolean);
    let mut filters = vec![Expr::call("not", vec![is_null.clone()], Type::Boolean), is_null];
    for value in values.iter().filter(|it| !it.is_null()) {
        let constant = || Expr::constant(value.clone(), data_type.clone());
        for name in ["eq", "neq", "lt", "lte", "gt", "gte", "is_not_distinct_from"] {
            filters.push(Expr::call(name, vec![column(), constant()], Type::Boolean));
        }
        let list = vec![column(), constant()];
        filters.push(Expr::special(SpecialForm::In, list, Type::Boolean));
        if let Value::Varchar(text) = value {
            for len in 0..=text.chars().count() {
                let start: String = text.chars().take(len).collect();
                let pattern = Expr::constant(Value::text(start + "%"), Type::Varchar);
                filters.push(Expr::call("like", vec![column(), pattern], Type::Boolean));
            }
        }
    }
    filters
}

fn open(bytes: Vec<u8>) -> ParquetFile {
    ParquetFile::open(Arc::new(MemoryFile(Bytes::from(bytes)))).unwrap()
}

/// No filter that some row satisfies rules the row group out. Returns its bounds.
#[track_caller]
fn check_rows(file: &ParquetFile, expected: &Expected, values: &[Value]) -> Bounds {
    let rows = file.rows(0);
    for filter in filters(&file.schema().fields[0].data_type, values) {
        let is_read = may_match(&filter, rows as u64, &|_| file.bounds(0, 0));
        let kept = expected.kept(std::slice::from_ref(&filter), 0..rows);
        assert!(is_read || kept.is_empty(), "{filter} loses rows {kept:?}");
    }
    file.bounds(0, 0)
}

/// Checks that no row is lost, and which bounds are used.
#[track_caller]
fn check(column: ArrayRef, statistics: Statistics, has_order: bool, bounds: [Option<Value>; 2]) {
    let file = open(with_statistics(&write(&column), statistics, has_order));
    let batch = RecordBatch::try_from_iter([("c", Arc::clone(&column))]).unwrap();
    let expected = Expected::new(batch_from_arrow(&batch).unwrap());
    let values = from_arrow(&column).unwrap().to_values().unwrap();
    let found = check_rows(&file, &expected, &values);
    assert_eq!(format!("{:?}", [found.min, found.max]), format!("{bounds:?}"));
}

/// Statistics of text; `old`: in the older fields.
fn text_statistics(min: &[u8], max: &[u8], old: bool) -> Statistics {
    let bytes = |it: &[u8]| Some(ByteArray::from(it.to_vec()));
    let values = ValueStatistics::new(bytes(min), bytes(max), None, Some(0), old);
    Statistics::ByteArray(values.with_backwards_compatible_min_max(old))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn text(value: &str) -> Option<Value> {
    Some(Value::text(value))
}

#[test]
fn older_fields_of_text_hold_another_order() {
    let column = || texts(&["a", "é", "z"]);
    // Bytes from 128 on are negative there.
    let signed = || text_statistics("é".as_bytes(), b"z", true);
    check(column(), signed(), true, [None, None]);
    check(column(), signed(), false, [None, None]);
    let newer = text_statistics(b"a", "é".as_bytes(), false);
    check(column(), newer, true, [text("a"), text("é")]);
}

#[test]
fn bounds_without_an_order_mean_nothing_unless_there_is_one_alone() {
    let column = texts(&["a", "é", "z"]);
    check(column, text_statistics("é".as_bytes(), b"z", false), false, [None, None]);
    let column = Arc::new(Int32Array::from(vec![-5, 7]));
    let statistics = Statistics::int32(Some(-5), Some(7), None, Some(0), false);
    let bounds = [Some(Value::Integer(-5)), Some(Value::Integer(7))];
    check(column.clone(), statistics, false, bounds.clone());
    let older = Statistics::int32(Some(-5), Some(7), None, Some(0), true);
    check(column, older, false, bounds);
}

#[test]
fn cut_text_is_still_a_bound() {
    let column = texts(&["abba", "abcd", "abzz"]);
    check(column, text_statistics(b"ab", b"ac", false), true, [text("ab"), text("ac")]);
    // Cut within a character.
    let column = texts(&["éa", "éz"]);
    let max = [0xc3, 0xaa];
    check(column.clone(), text_statistics(&[0xc3], &max, false), true, [None, text("ê")]);
    check(column, text_statistics(&[], &[0xc4], false), true, [text(""), None]);
    let column = Arc::new(BinaryArray::from(vec![&[1_u8, 200][..], &[2, 0]]));
    let bytes = |it: &[u8]| Some(Value::Varbinary(it.into()));
    check(column, text_statistics(&[1], &[3], false), true, [bytes(&[1]), bytes(&[3])]);
}

#[test]
fn a_missing_count_of_nulls_is_unknown() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let bounds = [Some(Value::BigInt(1)), Some(Value::BigInt(3))];
    for nulls in [None, Some(1)] {
        let statistics = Statistics::int64(Some(1), Some(3), Some(2), nulls, false);
        check(Arc::clone(&column), statistics.clone(), true, bounds.clone());
        let found = open(with_statistics(&write(&column), statistics, true)).bounds(0, 0);
        assert_eq!((found.nulls, found.distinct), (nulls, Some(2)));
    }
    let empty = Statistics::int64(None, None, None, Some(2), false);
    check(Arc::new(Int64Array::from(vec![None, None])), empty, true, [None, None]);
}

#[test]
fn floats_may_be_nan_or_either_zero() {
    let column = |values: &[f64]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let statistics = |min, max, nans: Option<u64>| {
        let values = ValueStatistics::new(Some(min), Some(max), None, Some(0), false);
        Statistics::Double(values.with_nan_count(nans))
    };
    let double = |it| Some(Value::Double(it));
    // NaN is the greatest value for us; the writer did not count them.
    let values = [1.0, f64::NAN, 3.0];
    check(column(&values), statistics(1.0, 3.0, None), true, [double(1.0), None]);
    check(column(&values), statistics(1.0, 3.0, Some(1)), true, [double(1.0), None]);
    check(column(&[1.0, 3.0]), statistics(1.0, 3.0, Some(0)), true, [double(1.0), double(3.0)]);
    check(column(&values), statistics(f64::NAN, 3.0, None), true, [None, None]);
    check(column(&values), statistics(1.0, f64::NAN, None), true, [None, None]);
    let zeros = column(&[0.0, -0.0]);
    let bounds = [double(0.0), double(-0.0)];
    check(Arc::clone(&zeros), statistics(0.0, -0.0, Some(0)), true, bounds);
    check(zeros, statistics(0.0, 0.0, Some(0)), true, [double(0.0), double(0.0)]);
}

#[test]
fn unsigned_integers_have_an_order_of_their_own() {
    let column = || Arc::new(UInt32Array::from(vec![1, u32::MAX])) as ArrayRef;
    let signed = Statistics::int32(Some(-1), Some(1), None, Some(0), true);
    check(column(), signed, false, [None, None]);
    let newer = || Statistics::int32(Some(1), Some(-1), None, Some(0), false);
    let bounds = [1, u32::MAX.into()].map(|it| UnsignedInteger::UInteger.store(it));
    check(column(), newer(), true, bounds);
    check(column(), newer(), false, [None, None]);
    let column = Arc::new(UInt64Array::from(vec![1, u64::MAX])) as ArrayRef;
    let newer = Statistics::int64(Some(1), Some(-1), None, Some(0), false);
    let bounds = [1, u64::MAX.into()].map(|it| UnsignedInteger::UBigInt.store(it));
    check(column, newer, true, bounds);
}

#[test]
fn decimals_of_bytes_are_ordered_by_value() {
    let column = || {
        let values = Decimal128Array::from(vec![-5, 300]);
        Arc::new(values.with_precision_and_scale(30, 2).unwrap()) as ArrayRef
    };
    let statistics = |min: i128, max: i128, old| {
        let bytes = |it: i128| {
            // 30 digits take 13 bytes.
            let bytes = it.to_be_bytes()[3..].to_vec();
            Some(FixedLenByteArray::from(ByteArray::from(bytes)))
        };
        Statistics::FixedLenByteArray(ValueStatistics::new(bytes(min), bytes(max), None, None, old))
    };
    let bounds = [Some(Value::Decimal(-5)), Some(Value::Decimal(300))];
    check(column(), statistics(-5, 300, false), true, bounds);
    // Ordered as bytes.
    check(column(), statistics(300, -5, true), true, [None, None]);
    check(column(), statistics(300, -5, false), true, [None, None]);
}

#[test]
fn bounds_in_the_wrong_order_are_none() {
    let column = Arc::new(Int32Array::from(vec![1, 9]));
    let statistics = Statistics::int32(Some(9), Some(1), None, Some(0), false);
    check(column, statistics, true, [None, None]);
    let column = Arc::new(BooleanArray::from(vec![true, false]));
    let statistics = Statistics::boolean(Some(true), Some(false), None, Some(0), false);
    check(column, statistics, true, [None, None]);
}

#[test]
fn dates_and_times_are_bounded_in_our_units() {
    let column = Arc::new(TimestampMillisecondArray::from(vec![-1, 5]));
    let statistics = Statistics::int64(Some(-1), Some(5), None, Some(0), false);
    let bounds = [Some(Value::Timestamp(-1000)), Some(Value::Timestamp(5000))];
    check(column, statistics, true, bounds);
    let column = Arc::new(Date32Array::from(vec![1, 2]));
    let statistics = Statistics::int32(Some(1), Some(2), None, Some(0), true);
    check(column, statistics, false, [Some(Value::Date(1)), Some(Value::Date(2))]);
}

#[test]
fn statistics_that_are_none_do_not_make_a_file_unreadable() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![10, 20]));
    // Bounds of no bytes are none of 64 bits.
    let statistics = text_statistics(b"", b"", false);
    let file = open(with_statistics(&write(&column), statistics, true));
    assert_eq!(file.bounds(0, 0), Bounds::default());
    assert_eq!(file.rows(0), 2);
}

/// A file with one column of a type that Arrow has not, of two values.
fn write_stored<T: parquet::data_type::DataType>(schema: &str, values: &[T::T]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn decimals_of_any_length_may_have_been_cut() {
    use parquet::data_type::ByteArrayType;
    let bytes = |it: &[u8]| ByteArray::from(it.to_vec());
    let values = [bytes(&[0xff]), bytes(&[1, 0])];
    let file =
        write_stored::<ByteArrayType>("message m { required binary c (DECIMAL(9,1)); }", &values);
    let statistics = |is_exact| {
        let [min, max] = values.clone().map(Some);
        let values = ValueStatistics::new(min, max, None, Some(0), false);
        let values = values.with_min_is_exact(is_exact).with_max_is_exact(is_exact);
        Statistics::ByteArray(values)
    };
    let bounds = |statistics| open(with_statistics(&file, statistics, true)).bounds(0, 0);
    let exact = bounds(statistics(true));
    assert_eq!([exact.min, exact.max], [Some(Value::Decimal(-1)), Some(Value::Decimal(256))]);
    let cut = bounds(statistics(false));
    assert_eq!([cut.min, cut.max], [None, None]);
}

#[test]
fn bounds_of_the_oldest_timestamps_are_not_used() {
    let day = |it| {
        let mut value = Int96::new();
        value.set_data(0, 0, it);
        value
    };
    let values = [day(2_440_588), day(2_440_589)];
    let schema = "message m { required int96 c; }";
    let file = write_stored::<parquet::data_type::Int96Type>(schema, &values);
    let [min, max] = values.map(Some);
    let found =
        open(with_statistics(&file, Statistics::int96(min, max, None, Some(0), false), true));
    let found = found.bounds(0, 0);
    assert_eq!([found.min, found.max], [None, None]);
}

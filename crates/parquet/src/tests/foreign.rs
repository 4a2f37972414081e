//! Types and nestings of other writers, among them old ones, become what users expect.

use super::{MemoryFile, columns_of, read_batches, request};
use crate::{ParquetFile, chunk::ChunkBytes, column::ColumnReader, pages::Pages};
use parquet::{
    data_type::{
        ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
        Int64Type,
    },
    file::writer::SerializedFileWriter,
    schema::parser::parse_message_type,
};
use std::sync::Arc;
use volley_io::BufferPool;
use volley_memory::Pool;
use volley_types::{Interval, Type, Value, custom::Json};

/// Values of one leaf, with their levels.
struct Column<'a, T: DataType> {
    values: &'a [T::T],
    defs: &'static [i16],
    reps: &'static [i16],
}

/// A file of `schema` with a single leaf.
fn write<T: DataType>(schema: &str, column: &Column<T>) -> ParquetFile {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut leaf = group.next_column().unwrap().unwrap();
    let levels = |it: &'static [i16]| (!it.is_empty()).then_some(it);
    let (defs, reps) = (levels(column.defs), levels(column.reps));
    leaf.typed::<T>().write_batch(column.values, defs, reps).unwrap();
    leaf.close().unwrap();
    group.close().unwrap();
    let bytes = writer.into_inner().unwrap();
    ParquetFile::open(Arc::new(MemoryFile(bytes.into()))).unwrap()
}

#[track_caller]
fn check<T: DataType>(schema: &str, column: Column<T>, data_type: Type, expected: &[Value]) {
    let file = write(schema, &column);
    assert_eq!(file.schema().fields[0].data_type, data_type);
    for batch_rows in [1, 1024] {
        let batches = read_batches(&file, &request(vec![0], batch_rows)).unwrap();
        assert_eq!(columns_of(&batches, 1).unwrap(), [expected]);
    }
}

fn flat<T: DataType>(values: &[T::T]) -> Column<'_, T> {
    Column { values, defs: &[], reps: &[] }
}

fn bytes(values: &[&[u8]]) -> Vec<ByteArray> {
    values.iter().map(|it| ByteArray::from(it.to_vec())).collect()
}

fn integers(values: &[i32]) -> Value {
    Value::Array(values.iter().map(|it| Value::Integer(*it)).collect())
}

#[test]
fn lists_of_two_levels_are_lists() {
    let column =
        || Column::<Int32Type> { values: &[1, 2], defs: &[2, 2, 0, 1], reps: &[0, 1, 0, 0] };
    let expected = [integers(&[1, 2]), Value::Null, integers(&[])];
    let list = Type::array(Type::Integer);
    let schema = "message m { optional group l (LIST) { repeated int32 array; } }";
    check(schema, column(), list.clone(), &expected);
    let schema = "message m { optional group l (LIST) { repeated int32 anything; } }";
    check(schema, column(), list, &expected);
}

#[test]
fn lists_of_two_levels_may_be_elements() {
    let column =
        Column::<Int32Type> { values: &[1, 2, 3], defs: &[3, 3, 3, 0], reps: &[0, 2, 1, 0] };
    let schema = "message m { optional group l (LIST) {
        repeated group item (LIST) { repeated int32 item; } } }";
    let expected = [Value::Array([integers(&[1, 2]), integers(&[3])].into()), Value::Null];
    check(schema, column, Type::array(Type::array(Type::Integer)), &expected);
}

#[test]
fn a_repeated_field_is_a_list_that_is_never_null() {
    let column = Column::<Int32Type> { values: &[1, 2], defs: &[1, 1, 0], reps: &[0, 1, 0] };
    let expected = [integers(&[1, 2]), integers(&[])];
    check("message m { repeated int32 l; }", column, Type::array(Type::Integer), &expected);
}

#[test]
fn decimals_of_bytes_have_any_length() {
    let values = bytes(&[&[0xff], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[]]);
    let expected = [Value::Decimal(-1), Value::Decimal(256), Value::Decimal(0)];
    for precision in [9, 30] {
        let schema = format!("message m {{ required binary d (DECIMAL({precision},1)); }}");
        let data_type = Type::decimal(precision, 1);
        check(&schema, flat::<ByteArrayType>(&values), data_type, &expected);
    }
}

#[test]
fn bytes_are_text_where_they_are_called_so() {
    let values = bytes(&[b"a"]);
    for kind in ["UTF8", "ENUM", "JSON"] {
        let schema = format!("message m {{ required binary c ({kind}); }}");
        let data_type = if kind == "JSON" { Json::data_type() } else { Type::Varchar };
        check(&schema, flat::<ByteArrayType>(&values), data_type, &[Value::text("a")]);
    }
    for kind in ["", "(BSON)"] {
        let schema = format!("message m {{ required binary c {kind}; }}");
        let expected = [Value::Varbinary(b"a"[..].into())];
        check(&schema, flat::<ByteArrayType>(&values), Type::Varbinary, &expected);
    }
}

#[test]
fn times_of_old_writers_have_their_units() {
    let schema = "message m { required int64 c (TIMESTAMP_MILLIS); }";
    let expected = [Value::Timestamp(-5000)];
    check(schema, flat::<Int64Type>(&[-5]), Type::Timestamp, &expected);
    let schema = "message m { required int32 c (TIME_MILLIS); }";
    check(schema, flat::<Int32Type>(&[5]), Type::Time, &[Value::Time(5000)]);
    let interval: Vec<u8> = [1_u32, 2, 3].iter().flat_map(|it| it.to_le_bytes()).collect();
    let interval = [FixedLenByteArray::from(interval)];
    let schema = "message m { required fixed_len_byte_array(12) c (INTERVAL); }";
    let expected = [Value::Interval(Interval::new(1, 2, 3_000_000))];
    check(schema, flat::<FixedLenByteArrayType>(&interval), Type::Interval, &expected);
}

/// A v2 page, not compressed, of less than 64 values and bytes of each part.
fn page(values: u8, encoding: u8, reps: &[u8], defs: &[u8], data: &[u8]) -> Vec<u8> {
    let size = (reps.len() + defs.len() + data.len()) as u8;
    // Numbers are zigzag varints: twice the number. 0x15 is the next field, an i32; 0x5c the field
    // five later, a struct.
    let fields = [values, 0, values, encoding, defs.len() as u8, reps.len() as u8];
    let mut page = vec![0x15, 3 * 2, 0x15, size * 2, 0x15, size * 2, 0x5c];
    page.extend(fields.iter().flat_map(|it| [0x15, it * 2]));
    page.extend([0, 0]);
    [&page, reps, defs, data].concat()
}

/// Reads the only column of a file, with other pages than the file has.
fn read_pages(file: &ParquetFile, rows: usize, pages: &[Vec<u8>]) -> Vec<Value> {
    let node = file.node(0).unwrap();
    let leaf = node.leaves()[0].clone();
    let metadata = file.chunk(0, &leaf).unwrap();
    let reservation = Pool::root("test", None).reservation();
    let bytes = ChunkBytes::whole(pages.concat().into());
    let pages = Pages::new(leaf, metadata, bytes, rows, BufferPool::default(), reservation);
    let mut reader = ColumnReader::new(node, vec![pages], rows).unwrap();
    reader.read(0, rows, None).unwrap().to_values().unwrap()
}

#[test]
fn pages_of_nulls_may_be_empty_in_any_encoding() {
    let column = Column::<Int32Type> { values: &[], defs: &[0, 0], reps: &[] };
    let file = write("message m { optional int32 c; }", &column);
    // Encodings by number; a run of two levels of 0.
    for encoding in [0, 2, 5, 8, 9] {
        let pages = [page(2, encoding, &[], &[4, 0], &[])];
        assert_eq!(read_pages(&file, 2, &pages), [Value::Null, Value::Null]);
    }
}

#[test]
fn pages_without_values_are_passed_over() {
    let empty = || page(0, 0, &[], &[], &[]);
    let value = |it: u8| page(1, 0, &[], &[], &[it, 0, 0, 0]);
    let column = || flat::<Int32Type>(&[1, 2]);
    let file = write("message m { required int32 c; }", &column());
    let pages = [empty(), value(1), empty(), empty(), value(2), empty()];
    assert_eq!(read_pages(&file, 2, &pages), [Value::Integer(1), Value::Integer(2)]);
    let column = Column::<Int32Type> { values: &[1, 2], defs: &[1, 1], reps: &[0, 0] };
    let file = write("message m { repeated int32 l; }", &column);
    // Runs of one level: of repetition 0, of definition 1.
    let value = |it: u8| page(1, 0, &[2, 0], &[2, 1], &[it, 0, 0, 0]);
    let pages = [empty(), value(1), empty(), value(2), empty()];
    assert_eq!(read_pages(&file, 2, &pages), [integers(&[1]), integers(&[2])]);
}

#[test]
fn levels_that_are_all_the_same_may_be_left_out() {
    let column = Column::<Int32Type> { values: &[7, 8], defs: &[1, 1], reps: &[] };
    let file = write("message m { optional int32 c; }", &column);
    let pages = [page(2, 0, &[], &[], &[7, 0, 0, 0, 8, 0, 0, 0])];
    assert_eq!(read_pages(&file, 2, &pages), [Value::Integer(7), Value::Integer(8)]);
}

#[test]
fn pages_with_and_without_codes_may_alternate() {
    let file = write("message m { required int32 c; }", &flat::<Int32Type>(&[1, 2]));
    // As of `page`: 0x4c is the field four later.
    let mut dictionary = vec![0x15, 2 * 2, 0x15, 8 * 2, 0x15, 8 * 2, 0x4c, 0x15, 2 * 2, 0x15, 0];
    dictionary.extend([0, 0, 7, 0, 0, 0, 8, 0, 0, 0]);
    // A bit per code; one group of eight codes.
    let codes = || page(2, 8, &[], &[], &[1, 3, 0b10]);
    let plain = |it: u8| page(1, 0, &[], &[], &[it, 0, 0, 0]);
    let pages = [dictionary, codes(), plain(1), codes(), plain(2), codes()];
    let expected = [7, 8, 1, 7, 8, 2, 7, 8].map(Value::Integer);
    assert_eq!(read_pages(&file, 8, &pages), expected);
}

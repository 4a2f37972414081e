//! Page indexes that contradict themselves, or the pages, never change an answer.

use super::{MemoryFile, columns_of, read_batches, request};
use crate::{
    ParquetFile, RowGroupReader,
    file::chunk_range,
    leaf::Leaf,
    page_index::{PageBounds, PageLocations},
};
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, types::Int64Type};
use parquet::{
    arrow::ArrowWriter,
    basic::{ColumnOrder, SortOrder},
    file::properties::WriterProperties,
};
use std::{ops::Range, sync::Arc, task::Waker};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::Result;
use volley_expression::{
    Expr,
    filter::{ColumnFilter, DynamicFilter, KeyFilter},
};
use volley_types::{Type, Value};

/// Rows of the files here, and of their pages.
const ROWS: usize = 1000;
const PAGE_ROWS: usize = 100;

/// A page: where it begins, its size, its first row.
type Location = (i64, i64, i64);

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn signed(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63) as u64, out);
}

/// The header of a list that is the field after `before`.
fn list(before: u8, number: u8, element: u8, len: usize, out: &mut Vec<u8>) {
    out.push((number - before) << 4 | 9);
    if len < 15 {
        out.push((len as u8) << 4 | element);
    } else {
        out.push(0xf0 | element);
        varint(len as u64, out);
    }
}

/// An offset index as stored.
fn offset_index(pages: &[Location]) -> Vec<u8> {
    let mut out = Vec::new();
    list(0, 1, 12, pages.len(), &mut out);
    for (offset, bytes, row) in pages {
        for (number, type_) in [(offset, 0x16), (bytes, 0x15), (row, 0x16)] {
            out.push(type_);
            signed(*number, &mut out);
        }
        out.push(0);
    }
    out.push(0);
    out
}

/// A column index as stored: for each page whether it is null, its bounds and its nulls.
fn column_index(pages: &[(bool, &[u8], &[u8], i64)]) -> Vec<u8> {
    let mut out = Vec::new();
    list(0, 1, 1, pages.len(), &mut out);
    out.extend(pages.iter().map(|it| if it.0 { 1 } else { 2 }));
    for number in [2, 3] {
        list(number - 1, number, 8, pages.len(), &mut out);
        for (_, min, max, _) in pages {
            let value = if number == 2 { min } else { max };
            varint(value.len() as u64, &mut out);
            out.extend_from_slice(value);
        }
    }
    list(3, 5, 6, pages.len(), &mut out);
    pages.iter().for_each(|it| signed(it.3, &mut out));
    out.push(0);
    out
}

#[test]
fn locations_that_contradict_themselves_are_none() {
    let read =
        |pages: &[Location]| PageLocations::read(&offset_index(pages), &(50..150), 30).is_some();
    assert!(read(&[(60, 20, 0), (80, 30, 10), (120, 30, 20)]));
    assert!(read(&[(60, 20, 0), (80, 30, 30), (120, 30, 30)]));
    for wrong in [
        &[][..],
        // Not from the first row on, backwards, beyond the rows.
        &[(60, 20, 1)],
        &[(60, 20, 0), (80, 20, 11), (100, 20, 10)],
        &[(60, 20, 0), (80, 20, 31)],
        // Before the chunk, after it, one in the other, of no bytes.
        &[(49, 20, 0)],
        &[(60, 20, 0), (140, 11, 10)],
        &[(60, 21, 0), (80, 20, 10)],
        &[(60, 0, 0)],
        &[(60, -1, 0)],
        &[(-60, 10, 0)],
        &[(60, 10, i64::MIN)],
        &[(i64::MAX, i64::MAX, 0)],
        &[(60, i64::MAX, 0), (80, 20, 10)],
    ] {
        assert!(!read(wrong), "{wrong:?}");
    }
    let whole = offset_index(&[(60, 20, 0), (80, 30, 10)]);
    for len in 0..whole.len() {
        assert!(PageLocations::read(&whole[..len], &(50..150), 30).is_none());
    }
}

/// A file whose column `a` counts up, with a list of as many elements as the row's number modulo 3
/// next to, in pages of [`PAGE_ROWS`] rows.
fn file_bytes() -> Vec<u8> {
    let numbers = Int64Array::from_iter_values(0..ROWS as i64);
    let lists = (0..ROWS as i64).map(|it| Some((0..it % 3).map(move |at| Some(it + at))));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let columns: [(&str, ArrayRef); 2] = [("a", Arc::new(numbers)), ("l", Arc::new(lists))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn open(bytes: Vec<u8>) -> ParquetFile {
    ParquetFile::open(Arc::new(MemoryFile(bytes.into()))).unwrap()
}

fn leaf(file: &ParquetFile, column: usize) -> Leaf {
    file.node(column).unwrap().leaves()[0].clone()
}

/// Where the offset index of a column is, and what is in there.
fn locations(file: &ParquetFile, bytes: &[u8], column: usize) -> (Range<usize>, Vec<Location>) {
    let chunk = file.chunk(0, &leaf(file, column)).unwrap();
    let range = chunk.offset_index_range().unwrap();
    let range = range.start as usize..range.end as usize;
    let found = PageLocations::read(&bytes[range.clone()], &chunk_range(chunk), ROWS).unwrap();
    let start = chunk_range(chunk).start as i64;
    let location = |page| {
        let bytes: Range<usize> = found.bytes(page).unwrap();
        (start + bytes.start as i64, bytes.len() as i64, found.first_row(page) as i64)
    };
    (range, (0..found.len()).map(location).collect())
}

/// Both columns of the rows of `a` from `from` to `to`, and how many pages were ruled out.
fn read(
    file: &ParquetFile,
    from: i64,
    to: i64,
    batch_rows: usize,
) -> Result<(Vec<Vec<Value>>, u64)> {
    let compare = |name: &str, value: i64| {
        let column = Expr::column(0, Type::BigInt);
        let constant = Expr::constant(Value::BigInt(value), Type::BigInt);
        Expr::call(name, vec![column, constant], Type::Boolean)
    };
    let filters = vec![compare("gte", from), compare("lte", to)];
    let registry = Arc::clone(&super::random_files::REGISTRY);
    let request = ScanRequest { filters, registry, ..request(vec![0, 1], batch_rows) };
    let mut reader = RowGroupReader::new(&request)?;
    reader.start(file.clone(), 0, &|column| column)?;
    let mut batches = Vec::new();
    loop {
        match reader.step(Waker::noop())? {
            SourceStep::Batch(batch) => batches.push(batch.loaded()?),
            SourceStep::NeedSplit => break,
            SourceStep::Blocked | SourceStep::Progress => {}
        }
    }
    Ok((columns_of(&batches, 2)?, reader.metrics().pages_pruned))
}

fn rows(all: &[Vec<Value>], from: i64, to: i64) -> Vec<Vec<Value>> {
    all.iter().map(|it| it[from as usize..=to as usize].to_vec()).collect()
}

#[test]
fn nested_columns_are_read_beside_pages_that_are_left_out() {
    let bytes = file_bytes();
    let file = open(bytes.clone());
    let all = columns_of(&read_batches(&file, &request(vec![0, 1], 1024)).unwrap(), 2).unwrap();
    let starts = [0, 1].map(|it| {
        let pages = locations(&file, &bytes, it).1;
        pages.iter().map(|it| it.2).chain([ROWS as i64]).collect::<Vec<_>>()
    });
    assert!(starts[1].len() > 5, "{starts:?}");
    for (from, to) in [(0, 0), (0, 99), (150, 151), (250, 700), (899, 900), (999, 999)] {
        for batch_rows in [1, 3, 100, 1024] {
            let (found, pruned) = read(&file, from, to, batch_rows).unwrap();
            assert_eq!(found, rows(&all, from, to), "{from} to {to}");
            let (first, end) = (from / 100 * 100, (to / 100 + 1) * 100);
            let is_out = |it: &&[i64]| it[1] <= first || it[0] >= end;
            let pages = starts.iter().flat_map(|it| it.windows(2)).filter(is_out);
            assert_eq!(pruned, pages.count() as u64, "{from} to {to}");
        }
    }
}

#[test]
fn locations_that_the_pages_contradict_are_errors_or_not_used() {
    let bytes = file_bytes();
    let file = open(bytes.clone());
    let all = columns_of(&read_batches(&file, &request(vec![0, 1], 1024)).unwrap(), 2).unwrap();
    let mut errors = 0;
    for column in [0, 1] {
        let (range, pages) = locations(&file, &bytes, column);
        assert_eq!(offset_index(&pages), bytes[range.clone()]);
        for page in 0..pages.len() {
            for change in [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)] {
                let mut changed = pages.clone();
                let it = &mut changed[page];
                *it = (it.0 + change.0, it.1 + change.1, it.2 + change.2);
                let index = offset_index(&changed);
                if index.len() != range.len() {
                    continue;
                }
                let mut damaged = bytes.clone();
                damaged[range.clone()].copy_from_slice(&index);
                let damaged = open(damaged);
                for (from, to) in [(0, 0), (99, 100), (350, 351), (450, 720), (999, 999)] {
                    match read(&damaged, from, to, 1024) {
                        Ok((found, _)) => assert!(found == rows(&all, from, to), "{change:?}"),
                        Err(_) => errors += 1,
                    }
                }
            }
        }
    }
    assert!(errors > 0);
}

#[test]
fn bounds_that_contradict_themselves_are_none() {
    let file = open(file_bytes());
    let (leaf, required) = (leaf(&file, 0), leaf(&file, 0));
    let leaf = Leaf { def_max: 1, ..leaf };
    let order = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED);
    let pages = offset_index(&[(60, 20, 0), (80, 30, 10)]);
    let pages = PageLocations::read(&pages, &(50..150), 30).unwrap();
    let (low, high) = (5i64.to_le_bytes(), 9i64.to_le_bytes());
    let first = (false, &low[..], &high[..], 0);
    let second = |leaf: &Leaf, page| {
        let index = column_index(&[first, page]);
        PageBounds::read(&index, leaf, order, &pages).map(|it| it.of(1))
    };
    let bounds = second(&leaf, (false, &low, &high, 19)).unwrap();
    assert_eq!((bounds.min, bounds.nulls), (Some(Value::BigInt(5)), Some(19)));
    let bounds = second(&leaf, (true, &[], &[], 20)).unwrap();
    assert_eq!((bounds.max, bounds.nulls), (None, Some(20)));
    // Turned round, or of another width: the page has no bounds.
    assert_eq!(second(&leaf, (false, &high, &low, 0)).unwrap().min, None);
    assert_eq!(second(&leaf, (false, &low[..7], &high, 0)).unwrap().min, None);
    for page in [
        (false, &low[..], &high[..], 21),
        (false, &low, &high, -1),
        (false, &low, &high, 20),
        (true, &[], &[], 19),
    ] {
        assert!(second(&leaf, page).is_none(), "{page:?}");
    }
    let required = Leaf { def_max: 0, ..required };
    assert!(second(&required, (true, &[], &[], 20)).is_none());
    for count in [1, 3] {
        let index = column_index(&vec![first; count]);
        assert!(PageBounds::read(&index, &leaf, order, &pages).is_none());
    }
    let whole = column_index(&[first, first]);
    for len in 0..whole.len() {
        assert!(PageBounds::read(&whole[..len], &leaf, order, &pages).is_none());
    }
}

#[test]
fn filters_of_joins_rule_out_pages() {
    let file = open(file_bytes());
    for (min, max, rows) in [(250, 320, 200), (1, 0, 0)] {
        let filter = KeyFilter::range(min, max);
        let known = DynamicFilter::default();
        known.set(Some(Arc::new(filter)));
        let dynamic_filters = vec![ColumnFilter { column: 0, filter: Arc::new(known) }];
        let request = ScanRequest { dynamic_filters, ..request(vec![0], 1024) };
        let mut reader = RowGroupReader::new(&request).unwrap();
        reader.start(file.clone(), 0, &|column| column).unwrap();
        while !matches!(reader.step(Waker::noop()).unwrap(), SourceStep::NeedSplit) {}
        let metrics = reader.metrics();
        assert_eq!(metrics.rows_read, rows);
        assert_eq!(metrics.pages_pruned, 10 - rows / PAGE_ROWS as u64);
        assert_eq!(metrics.groups_skipped, u64::from(rows == 0));
    }
}

//! Filters while scanning keep the rows that a filter after a plain scan keeps.

use super::{columns_of, data, open_file, request};
use crate::{
    ParquetFile, RowGroupReader, chunk::ChunkBytes, column::ColumnReader, file::chunk_range,
    pages::Pages,
};
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanMetrics, ScanRequest, SourceStep};
use volley_error::ErrorKind;
use volley_expression::{Expr, ExprSet};
use volley_function::{QueryConstants, Registry};
use volley_io::BufferPool;
use volley_memory::Pool;
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows};

fn registry() -> Arc<Registry> {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    Arc::new(registry)
}

fn filtered(columns: Vec<usize>, filters: Vec<Expr>, batch_rows: usize) -> ScanRequest {
    ScanRequest { filters, registry: registry(), ..request(columns, batch_rows) }
}

/// All batches, loaded when `load` says so for their number.
fn scan(
    file: &ParquetFile,
    request: &ScanRequest,
    load: &dyn Fn(usize) -> bool,
) -> (Vec<Batch>, ScanMetrics) {
    let mut reader = RowGroupReader::new(request).unwrap();
    let mut batches = Vec::new();
    let mut number = 0;
    for group in 0..file.row_groups() {
        reader.start(file.clone(), group, &|column| column).unwrap();
        loop {
            match reader.step(Waker::noop()).unwrap() {
                SourceStep::Batch(batch) => {
                    if load(number) {
                        batches.push(batch.loaded().unwrap());
                    }
                    number += 1;
                }
                SourceStep::NeedSplit => break,
                SourceStep::Blocked | SourceStep::Progress => {}
            }
        }
    }
    (batches, reader.metrics())
}

/// What a filter keeps when it runs after the scan of all columns.
fn twin(file: &ParquetFile, filter: &Expr, columns: &[usize]) -> Vec<Vec<Value>> {
    let all: Vec<usize> = (0..file.schema().len()).collect();
    let (batches, _) = scan(file, &request(all, 1024), &|_| true);
    let query = Arc::new(QueryConstants::default());
    let mut exprs = ExprSet::compile(std::slice::from_ref(filter), &registry(), query).unwrap();
    let kept: Vec<Batch> = batches
        .iter()
        .map(|batch| {
            let rows = exprs.begin(batch).select(0, &Rows::all(batch.rows())).unwrap();
            batch.project(columns).select(&rows)
        })
        .collect();
    columns_of(&kept, columns.len()).unwrap()
}

fn compare(name: &str, file: &ParquetFile, column: usize, value: Value) -> Expr {
    let data_type = file.schema().fields[column].data_type.clone();
    let args = vec![Expr::column(column, data_type.clone()), Expr::constant(value, data_type)];
    Expr::call(name, args, Type::Boolean)
}

/// Some value of a column, to compare with.
fn some_value(file: &ParquetFile, column: usize) -> Option<Value> {
    let (batches, _) = scan(file, &request(vec![column], 1024), &|_| true);
    let values = columns_of(&batches, 1).unwrap().remove(0);
    let present: Vec<&Value> = values.iter().filter(|it| !it.is_null()).collect();
    present.get(present.len() / 3).map(|it| (*it).clone())
}

fn text(values: &[Vec<Value>]) -> String {
    format!("{values:?}")
}

#[test]
fn filters_on_every_column_keep_what_a_later_filter_keeps() {
    let names = [
        "types.parquet",
        "nested.parquet",
        "numbers.parquet",
        "encoding/dictionary.parquet",
        "encoding/delta.parquet",
        "encoding/fallback.parquet",
        "encoding/plain.parquet",
        "encoding/snappy_v2.parquet",
    ];
    for name in names {
        let file = ParquetFile::open(open_file(&data(name)).unwrap()).unwrap();
        let columns: Vec<usize> = (0..file.schema().len()).rev().collect();
        for column in 0..columns.len() {
            if file.schema().fields[column].data_type.is_nested() {
                continue;
            }
            let Some(value) = some_value(&file, column) else { continue };
            for comparison in ["eq", "lt", "gte"] {
                let filter = compare(comparison, &file, column, value.clone());
                let expected = text(&twin(&file, &filter, &columns));
                for batch_rows in [3, 1024] {
                    let request = filtered(columns.clone(), vec![filter.clone()], batch_rows);
                    let (batches, _) = scan(&file, &request, &|_| true);
                    let found = columns_of(&batches, columns.len()).unwrap();
                    assert_eq!(text(&found), expected, "{name} {filter} {batch_rows}");
                }
            }
        }
    }
}

#[test]
fn several_conjuncts_keep_what_their_conjunction_keeps() {
    let file = ParquetFile::open(open_file(&data("numbers.parquet")).unwrap()).unwrap();
    let columns: Vec<usize> = (0..file.schema().len()).collect();
    let filters: Vec<Expr> = columns
        .iter()
        .filter_map(|it| Some(compare("gte", &file, *it, some_value(&file, *it)?)))
        .collect();
    let expected = text(&twin(&file, &Expr::and(filters.clone()), &columns));
    for batch_rows in [1, 100] {
        let request = filtered(columns.clone(), filters.clone(), batch_rows);
        let (batches, _) = scan(&file, &request, &|_| true);
        assert_eq!(text(&columns_of(&batches, columns.len()).unwrap()), expected);
    }
}

#[test]
fn batches_that_nobody_loads_are_passed_over() {
    for name in ["numbers.parquet", "nested_many.parquet", "encoding/fallback.parquet"] {
        let file = ParquetFile::open(open_file(&data(name)).unwrap()).unwrap();
        let columns: Vec<usize> = (0..file.schema().len()).collect();
        let (all, _) = scan(&file, &request(columns.clone(), 7), &|_| true);
        let (some, _) = scan(&file, &request(columns.clone(), 7), &|it| it % 5 == 3);
        let every: Vec<Batch> = all.into_iter().skip(3).step_by(5).collect();
        let expected = columns_of(&every, columns.len()).unwrap();
        assert_eq!(text(&columns_of(&some, columns.len()).unwrap()), text(&expected), "{name}");
    }
}

#[test]
fn a_column_loaded_too_late_is_an_error() {
    let file = ParquetFile::open(open_file(&data("numbers.parquet")).unwrap()).unwrap();
    let mut reader = RowGroupReader::new(&request(vec![0], 10)).unwrap();
    reader.start(file, 0, &|column| column).unwrap();
    let SourceStep::Batch(first) = reader.step(Waker::noop()).unwrap() else { panic!("no batch") };
    let SourceStep::Batch(_) = reader.step(Waker::noop()).unwrap() else { panic!("no batch") };
    assert_eq!(first.loaded().unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn rows_that_are_passed_over_do_not_change_what_follows() {
    for name in ["nested_many.parquet", "nested.parquet", "types.parquet"] {
        let file = ParquetFile::open(open_file(&data(name)).unwrap()).unwrap();
        let rows = file.rows(0);
        for column in 0..file.schema().len() {
            let all = column_reader(&file, column).read(0, rows, None).unwrap();
            let all = all.to_values().unwrap();
            for start in [1, rows / 3, rows / 2, rows - 1] {
                let mut reader = column_reader(&file, column);
                reader.pass_to(start / 2).unwrap();
                reader.pass_to(start).unwrap();
                let rest = reader.read(start, rows - start, None).unwrap();
                let rest = format!("{:?}", rest.to_values().unwrap());
                assert_eq!(rest, format!("{:?}", &all[start..]), "{name} {column} {start}");
            }
        }
    }
}

/// A reader of a column of the first row group.
fn column_reader(file: &ParquetFile, column: usize) -> ColumnReader {
    let (node, rows) = (file.node(column).unwrap(), file.rows(0));
    let pages = node.leaves().into_iter().map(|leaf| {
        let chunk = file.chunk(0, leaf).unwrap();
        let bytes = ChunkBytes::whole(file.file().read(chunk_range(chunk)).unwrap());
        let reservation = Pool::root("test", None).reservation();
        Pages::new(leaf.clone(), chunk, bytes, rows, BufferPool::default(), reservation)
    });
    ColumnReader::new(node, pages.collect(), rows).unwrap()
}

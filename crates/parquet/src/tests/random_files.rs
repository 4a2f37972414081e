//! Random files are read as they were written, whatever is projected, filtered and loaded.
//!
//! `VOLLEY_FUZZ_SEEDS=1000..2000` runs other seeds than the few of every day.

use super::{
    any_file,
    maker::{MadeFile, random_file},
    request,
};
use crate::{ParquetFile, RowGroupReader};
use std::{
    collections::BTreeSet,
    ops::Range,
    panic::AssertUnwindSafe,
    sync::{Arc, LazyLock},
    task::Waker,
};
use volley_connector::{ScanRequest, SourceStep, may_match};
use volley_expression::{Expr, ExprSet, SpecialForm, plain::Plain};
use volley_function::{QueryConstants, Registry};
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector, random::Generator};

pub(super) static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    Arc::new(registry)
});

/// The seeds to run.
pub(super) fn seeds(default: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("VOLLEY_FUZZ_SEEDS") else { return default };
    let (start, end) = text.split_once("..").unwrap();
    start.parse().unwrap()..end.parse().unwrap()
}

/// Runs `run` and says which seed failed.
pub(super) fn seeded(seed: u64, run: impl FnOnce(&mut Generator)) {
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(&mut Generator::new(seed))));
    assert!(outcome.is_ok(), "seed {seed}");
}

/// What a file holds: rows to evaluate filters on, and their values as text to compare.
pub(super) struct Expected {
    rows: Batch,
    /// By column, then by row.
    text: Vec<Vec<String>>,
    values: Vec<Vec<Value>>,
}

impl Expected {
    pub fn new(rows: Batch) -> Expected {
        let values: Vec<_> = rows.columns().iter().map(|it| it.to_values().unwrap()).collect();
        let text = |values: &Vec<Value>| values.iter().map(|it| format!("{it:?}")).collect();
        Expected { text: values.iter().map(text).collect(), values, rows }
    }

    /// The types of the columns.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.rows.columns().iter().map(Vector::data_type)
    }

    /// Of `range`, the rows that satisfy all filters.
    pub fn kept(&self, filters: &[Expr], range: Range<usize>) -> Vec<usize> {
        let query = Arc::new(QueryConstants::default());
        let plain =
            Plain { registry: &REGISTRY, query: &query, input: &self.rows, parameters: &[] };
        let is_kept = |row: &usize| filters.iter().all(|it| plain.select(it, *row).unwrap());
        range.filter(is_kept).collect()
    }
}

/// A filter that compiles; its constants are often values of the column.
pub(super) fn random_filter(random: &mut Generator, expected: &Expected) -> Expr {
    loop {
        let filter = if random.below(5) == 0 {
            let args = vec![random_filter(random, expected), random_filter(random, expected)];
            let form = *random.choose(&[SpecialForm::Or, SpecialForm::And]);
            Expr::special(form, args, Type::Boolean)
        } else {
            simple_filter(random, expected)
        };
        let query = Arc::new(QueryConstants::default());
        if ExprSet::compile(std::slice::from_ref(&filter), &REGISTRY, query).is_ok() {
            return filter;
        }
    }
}

fn simple_filter(random: &mut Generator, expected: &Expected) -> Expr {
    let index = random.below(expected.values.len());
    let data_type = expected.rows.column(index).data_type().clone();
    let column = Expr::column(index, data_type.clone());
    let call = |name: &str, args| Expr::call(name, args, Type::Boolean);
    let form = if data_type.is_nested() { 0 } else { random.below(8) };
    let constant = |random: &mut Generator| {
        let values = &expected.values[index];
        let value = match random.below(5) {
            0 => random.values(&data_type, 1).remove(0),
            _ if values.is_empty() => Value::Null,
            _ => random.choose(values).clone(),
        };
        Expr::constant(value, data_type.clone())
    };
    match form {
        0 | 1 => {
            let is_null = Expr::special(SpecialForm::IsNull, vec![column], Type::Boolean);
            if random.below(2) == 0 { is_null } else { call("not", vec![is_null]) }
        }
        2 => {
            let count = 1 + random.below(5);
            let mut args = vec![column];
            args.extend((0..count).map(|_| constant(random)));
            Expr::special(SpecialForm::In, args, Type::Boolean)
        }
        3 => {
            let bounds = [constant(random), constant(random)];
            let [low, high] = bounds;
            Expr::and(vec![call("gte", vec![column.clone(), low]), call("lte", vec![column, high])])
        }
        4 if data_type == Type::Varchar => {
            let patterns = ["a%", "exactly 1_ %", "%b%", "日%", "", "_", "%"];
            let pattern = Value::text(*random.choose(&patterns));
            call("like", vec![column, Expr::constant(pattern, Type::Varchar)])
        }
        4 if data_type == Type::Integer => {
            let value = random.value(&Type::BigInt);
            call("lt", vec![column.cast(Type::BigInt), Expr::constant(value, Type::BigInt)])
        }
        _ => {
            let names = ["eq", "neq", "lt", "lte", "gt", "gte", "is_not_distinct_from"];
            let mut args = vec![column, constant(random)];
            if random.below(3) == 0 {
                args.reverse();
            }
            let name = *random.choose(&names[..]);
            call(name, args)
        }
    }
}

/// One scan of a file.
struct Check<'a> {
    random: &'a mut Generator,
    file: &'a ParquetFile,
    expected: &'a Expected,
    request: ScanRequest,
}

impl Check<'_> {
    /// Returns how many pages were ruled out.
    fn run(mut self) -> u64 {
        let mut reader = RowGroupReader::new(&self.request).unwrap();
        let mut start = 0;
        for group in 0..self.file.row_groups() {
            let rows = self.file.rows(group);
            let kept = self.expected.kept(&self.request.filters, start..start + rows);
            start += rows;
            let bounds = |column| self.file.bounds(group, column);
            for filter in &self.request.filters {
                let is_read = may_match(filter, rows as u64, &bounds);
                assert!(is_read || kept.is_empty(), "{filter} must read group {group}");
            }
            reader.start(self.file.clone(), group, &|column| column).unwrap();
            self.group(&mut reader, &kept);
        }
        assert_eq!(start, self.expected.rows.rows(), "rows of all row groups");
        reader.metrics().pages_pruned
    }

    fn group(&mut self, reader: &mut RowGroupReader, mut kept: &[usize]) {
        loop {
            match reader.step(Waker::noop()).unwrap() {
                SourceStep::Batch(batch) => {
                    assert!(batch.rows() <= kept.len(), "{:?}", self.request.filters);
                    let (now, later) = kept.split_at(batch.rows());
                    self.batch(batch, now);
                    kept = later;
                }
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
        assert!(kept.is_empty(), "{} rows lost by {:?}", kept.len(), self.request.filters);
    }

    /// Loads none, some or all rows of each column.
    fn batch(&mut self, batch: Batch, rows: &[usize]) {
        let columns = self.request.columns.clone();
        for (vector, column) in batch.into_columns().into_iter().zip(columns) {
            let places: Vec<u32> = match self.random.below(6) {
                0 => continue,
                1 => (0..rows.len() as u32).filter(|_| self.random.below(3) == 0).collect(),
                _ => (0..rows.len() as u32).collect(),
            };
            let found = if places.len() == rows.len() {
                vector.loaded().unwrap()
            } else {
                let few = Rows::from_indices(rows.len(), places.iter().map(|it| *it as usize));
                // The selection alone holds the vector, so that it decodes its rows alone.
                let vector = Batch::new(vec![vector], rows.len()).select(&few);
                vector.column(0).loaded().unwrap()
            };
            found.validate().unwrap();
            let found = found.to_values().unwrap();
            assert_eq!(found.len(), places.len());
            for (found, place) in found.iter().zip(&places) {
                let row = rows[*place as usize];
                let expected = &self.expected.text[column][row];
                assert_eq!(format!("{found:?}"), *expected, "column {column} row {row}");
            }
        }
    }
}

/// Writes a file and scans it in several ways; notes its encodings and codecs in `seen`.
fn check(random: &mut Generator, seen: &mut BTreeSet<String>) {
    let rows_max = *random.choose(&[10, 300, 300, 3000]);
    let MadeFile { bytes, rows } = random_file(random, rows_max);
    let expected = Expected::new(rows);
    let file = ParquetFile::open(any_file(random, bytes)).unwrap();
    note_encodings(&file, seen);
    for (field, vector) in file.schema().fields.iter().zip(expected.rows.columns()) {
        assert_eq!(field.data_type, *vector.data_type());
    }
    for _ in 0..4 {
        let columns = file.schema().len();
        let columns = (0..random.below(columns + 2)).map(|_| random.below(columns)).collect();
        let filters = random.below(3);
        let filters = (0..filters).map(|_| random_filter(random, &expected)).collect();
        let batch_rows = *random.choose(&[1, 3, 50, 1024]);
        let request = ScanRequest {
            filters,
            registry: Arc::clone(&REGISTRY),
            ..request(columns, batch_rows)
        };
        let check = Check { random, file: &file, expected: &expected, request };
        if check.run() > 0 {
            seen.insert("PRUNED PAGES".to_owned());
        }
    }
}

fn note_encodings(file: &ParquetFile, seen: &mut BTreeSet<String>) {
    for group in 0..file.row_groups() {
        for column in 0..file.schema().len() {
            for leaf in file.node(column).unwrap().leaves() {
                let chunk = file.chunk(group, leaf).unwrap();
                seen.extend(chunk.encodings().map(|it| it.to_string()));
                seen.insert(chunk.compression().to_string());
            }
        }
    }
}

#[test]
fn random_files_are_read_as_they_were_written() {
    let mut seen = BTreeSet::new();
    let seeds = seeds(0..600);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        seeded(seed, |random| check(random, &mut seen));
    }
    let encodings = ["PLAIN", "RLE_DICTIONARY", "RLE", "BYTE_STREAM_SPLIT"];
    let deltas = ["DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"];
    let codecs = ["UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4", "LZ4_RAW"];
    for wanted in encodings.iter().chain(&deltas).chain(&codecs).chain(&["PRUNED PAGES"]) {
        let found = seen.iter().any(|it| it.split('(').next() == Some(wanted));
        assert!(found || count < 100, "{wanted} is not among {seen:?}");
    }
}

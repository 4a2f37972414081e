//! Tables of every format, written and read.

mod splits;

use crate::{FileFormat, FileOptions, FileSinkFactory, FileTable};
use std::{fs, sync::Arc, task::Waker};
use volley_connector::{
    FormatRegistry, Scan, ScanMetrics, ScanRequest, SinkFactory, Source, SourceStep, Split,
    SplitStep, Table,
};
use volley_error::{ErrorKind, Result};
use volley_expression::Expr;
use volley_function::{QueryConstants, Registry};
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_plan::WriteTarget;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

fn registry() -> Arc<Registry> {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    Arc::new(registry)
}

fn data(name: &str) -> String {
    format!("../../tests/data/{name}")
}

fn open(path: &str) -> Result<FileTable> {
    FileTable::open(path, &FileOptions::default())
}

/// The rows of some columns, as text, and what was read.
fn scan(
    table: &FileTable,
    columns: &[usize],
    filters: Vec<Expr>,
    batch_rows: usize,
) -> Result<(Vec<String>, ScanMetrics)> {
    let scan = table.scan(request(columns, filters, batch_rows))?;
    let mut source = scan.source()?;
    let mut rows = Vec::new();
    for split in splits_of(&*scan)? {
        for _ in 0..split.readers_max {
            source.start(split.clone())?;
            rows.extend(rest_of(table, columns, &mut *source, batch_rows)?);
        }
    }
    let mut metrics = source.metrics();
    metrics += scan.pruned();
    Ok((rows, metrics))
}

fn request(columns: &[usize], filters: Vec<Expr>, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        columns: columns.to_vec(),
        filters,
        dynamic_filters: Vec::new(),
        batch_rows,
        registry: registry(),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("test", None),
    }
}

/// All splits of a scan.
fn splits_of(scan: &dyn Scan) -> Result<Vec<Split>> {
    let (mut source, mut splits) = (scan.splits()?, Vec::new());
    while let SplitStep::Splits(some) = source.next(3, Waker::noop())? {
        assert!((1..=3).contains(&some.len()));
        splits.extend(some);
    }
    Ok(splits)
}

/// What is left of the split that a source reads.
fn rest_of(
    table: &FileTable,
    columns: &[usize],
    source: &mut dyn Source,
    batch_rows: usize,
) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    loop {
        match source.step(Waker::noop())? {
            SourceStep::Batch(batch) => {
                assert!(batch.rows() <= batch_rows, "batch is too large");
                rows.extend(texts(table, columns, &batch.loaded()?)?);
            }
            SourceStep::NeedSplit => return Ok(rows),
            SourceStep::Blocked | SourceStep::Progress => {}
        }
    }
}

fn texts(table: &FileTable, columns: &[usize], batch: &Batch) -> Result<Vec<String>> {
    let mut rows = vec![String::new(); batch.rows()];
    for (index, (column, vector)) in columns.iter().zip(batch.columns()).enumerate() {
        let data_type = &table.schema().fields[*column].data_type;
        for (row, value) in rows.iter_mut().zip(vector.to_values()?) {
            let comma = if index == 0 { "" } else { "|" };
            *row += &format!("{comma}{}", value.display(data_type));
        }
    }
    Ok(rows)
}

fn all(table: &FileTable) -> Vec<String> {
    let columns: Vec<usize> = (0..table.schema().len()).collect();
    scan(table, &columns, Vec::new(), 1024).unwrap().0
}

fn compare(name: &str, column: usize, value: Value, data_type: Type) -> Expr {
    let args = vec![Expr::column(column, data_type.clone()), Expr::constant(value, data_type)];
    Expr::call(name, args, Type::Boolean)
}

#[test]
fn csv_types_are_inferred_and_empty_fields_are_null() {
    let table = open(&data("people.csv")).unwrap();
    let types: Vec<String> = table.schema().types().map(|it| it.to_string()).collect();
    assert_eq!(types, ["BIGINT", "VARCHAR", "DATE", "DOUBLE", "BOOLEAN"]);
    assert_eq!(all(&table)[1], "2|Grace \"Amazing\" Hopper|1906-12-09|NULL|true");
    for batch_rows in [1, 3, 1024] {
        let filter = compare("gt", 3, Value::Double(1.68), Type::Double);
        let (rows, metrics) = scan(&table, &[1, 0], vec![filter], batch_rows).unwrap();
        assert_eq!(rows, ["Doe, Jane|3", "Žofie|4"]);
        assert_eq!(metrics.rows_read, 5);
        assert!(metrics.bytes_read > 0);
    }
}

#[test]
fn csv_formats_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv").to_string_lossy().into_owned();
    let check = |text: &str, names: &str, types: &str, rows: &[&str]| {
        fs::write(&path, text).unwrap();
        let table = open(&path).unwrap();
        let join = |it: Vec<String>| it.join(",");
        let fields = &table.schema().fields;
        assert_eq!(join(fields.iter().map(|it| it.name.clone()).collect()), names, "{text}");
        assert_eq!(
            join(fields.iter().map(|it| it.data_type.to_string()).collect()),
            types,
            "{text}"
        );
        assert_eq!(all(&table), rows, "{text}");
    };
    check("1,x\n2,y\n", "column0,column1", "BIGINT,VARCHAR", &["1|x", "2|y"]);
    check("name,city\nbob,rome\n", "name,city", "VARCHAR,VARCHAR", &["bob|rome"]);
    check("a;b\n1;2\n", "a,b", "BIGINT,BIGINT", &["1|2"]);
    check("a\tb\n1\t2.5\n", "a,b", "BIGINT,DOUBLE", &["1|2.5"]);
    check("a,a\n1,2\n", "a,a_1", "BIGINT,BIGINT", &["1|2"]);
    check("a,b\r\n1,\"x\ny\"\r\n", "a,b", "BIGINT,VARCHAR", &["1|x\ny"]);
    check("\u{feff}\na\n1\n\n2", "a", "BIGINT", &["1", "NULL", "2"]);
    check("\u{feff}a,b\n1,2\n\n3,4", "a,b", "BIGINT,BIGINT", &["1|2", "3|4"]);
    check("a\n1\n2.5\n", "a", "DOUBLE", &["1.0", "2.5"]);
    check("a,b\n", "a,b", "VARCHAR,VARCHAR", &[]);
    check("t\n2020-01-02 10:00:00.5\n", "t", "TIMESTAMP", &["2020-01-02 10:00:00.5"]);
}

#[test]
fn json_lines_become_nested_values() {
    let table = open(&data("nested.json")).unwrap();
    let types: Vec<String> = table.schema().types().map(|it| it.to_string()).collect();
    assert_eq!(types, ["BIGINT", "ARRAY(VARCHAR)", "ROW(x BIGINT, y DOUBLE)"]);
    let id = table.schema().index_of("id").unwrap();
    let tags = table.schema().index_of("tags").unwrap();
    let filter = compare("eq", id, Value::BigInt(1), Type::BigInt);
    let (rows, _) = scan(&table, &[tags], vec![filter], 1024).unwrap();
    assert_eq!(rows, ["[a, b]"]);
}

#[test]
fn json_dates_are_inferred_and_missing_fields_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json").to_string_lossy().into_owned();
    fs::write(&path, "{\"a\":\"2020-01-02\",\"b\":1}\n{\"b\":2.5,\"c\":null}\n").unwrap();
    let table = open(&path).unwrap();
    let types: Vec<String> = table.schema().types().map(|it| it.to_string()).collect();
    assert_eq!(types, ["DATE", "DOUBLE", "VARCHAR"]);
    assert_eq!(all(&table), ["2020-01-02|1.0|NULL", "NULL|2.5|NULL"]);
}

#[test]
fn a_folder_of_files_is_one_table() {
    let table = open(&data("parts")).unwrap();
    assert_eq!(table.files().count(), 3);
    let rows = table.statistics().unwrap().rows.unwrap();
    assert_eq!(all(&table).len() as u64, rows);
    let globbed = open(&data("parts/part-[01].parquet")).unwrap();
    assert_eq!(globbed.files().count(), 2);
    let error = open(&data("bad/mixed/*.parquet")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidQuery, "{error}");
    assert!(error.to_string().contains("two.parquet"), "{error}");
}

/// Columns of most types, with nulls.
fn sample() -> (Schema, Batch) {
    let columns = [
        ("i", Type::BigInt, vec![Value::BigInt(1), Value::Null, Value::BigInt(-3)]),
        ("s", Type::Varchar, vec![Value::text("a,\"b\"\n"), Value::Null, Value::text("")]),
        ("d", Type::decimal(10, 2), vec![Value::Decimal(150), Value::Null, Value::Decimal(-25)]),
        ("t", Type::Date, vec![Value::Date(18_292), Value::Null, Value::Date(-1)]),
        ("b", Type::Boolean, vec![Value::Boolean(true), Value::Null, Value::Boolean(false)]),
        ("f", Type::Double, vec![Value::Double(0.1), Value::Null, Value::Double(-0.5)]),
    ];
    let schema = columns.iter().map(|(name, it, _)| Field::new(*name, it.clone())).collect();
    let vectors = columns.into_iter().map(|(_, it, values)| Vector::from_values(it, &values));
    (schema, Batch::new(vectors.collect(), 3))
}

fn write(path: &str, format: FileFormat, finish: bool) {
    let (columns, batch) = sample();
    let (sink, location) = (format.sink_name().to_owned(), path.to_owned());
    let target = WriteTarget { sink, location, options: Vec::new() };
    let factory =
        FileSinkFactory { files: FileSystems::default(), formats: FormatRegistry::default() };
    let writer = factory.writer(&target, &columns).unwrap();
    let mut sink = writer.open().unwrap();
    sink.write(&batch).unwrap();
    sink.write(&batch).unwrap();
    if finish {
        sink.finish().unwrap();
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [
        ("t.parquet", FileFormat::Parquet),
        ("t.csv", FileFormat::Csv),
        ("t.json", FileFormat::Json),
    ] {
        let path = folder.path().join(name).to_string_lossy().into_owned();
        write(&path, format, false);
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "left something behind");
        write(&path, format, true);
        let table = open(&path).unwrap();
        let rows = all(&table);
        assert_eq!(rows.len(), 6, "{name}");
        let decimal = if format == FileFormat::Parquet { "1.50" } else { "1.5" };
        assert_eq!(rows[0], format!("1|a,\"b\"\n|{decimal}|2020-01-31|true|0.1"), "{name}");
        assert_eq!(rows[1], "NULL|NULL|NULL|NULL|NULL|NULL", "{name}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn damaged_text_is_an_error_that_names_the_file() {
    for name in [
        "ragged.csv",
        "not_a_number.csv",
        "not_utf8.csv",
        "not_json.json",
        "no_object.json",
        "empty.csv",
        "empty.json",
    ] {
        let path = data(&format!("bad/{name}"));
        let result = open(&path).and_then(|table| {
            let columns: Vec<usize> = (0..table.schema().len()).collect();
            scan(&table, &columns, Vec::new(), 1024).map(|_| ())
        });
        let error = result.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Corruption, "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn json_files_have_the_columns_of_all() {
    let table = open(&data("*.json")).unwrap();
    let id = table.schema().index_of("id").unwrap();
    let at = table.schema().index_of("at").unwrap();
    let filter = compare("eq", id, Value::BigInt(1), Type::BigInt);
    let (rows, _) = scan(&table, &[id, at], vec![filter], 1024).unwrap();
    assert_eq!(rows, ["1|{'x': 1, 'y': 2.5}", "1|NULL"]);
}

#[test]
fn a_table_of_parquet_files_is_opened_again_by_its_definition() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry();
    let copy = |to: &str| fs::copy(data("numbers.parquet"), dir.path().join(to)).unwrap();
    copy("a.parquet");
    copy("b.parquet");
    let table = open(&dir.path().join("*.parquet").to_string_lossy()).unwrap();
    let bytes = table.definition().unwrap();
    // A file that comes later is none of the table's.
    copy("c.parquet");
    let again = FileTable::from_definition(&bytes, &FileOptions::default(), registry.types());
    let again = again.unwrap();
    assert_eq!(again.handle(), table.handle());
    assert_eq!(again.files().collect::<Vec<_>>(), table.files().collect::<Vec<_>>());
    let columns: Vec<usize> = (0..table.schema().len()).collect();
    let rows = |it: &FileTable| scan(it, &columns, Vec::new(), 1024).unwrap().0;
    assert_eq!(rows(&again), rows(&table));
    for end in 0..bytes.len() {
        let cut =
            FileTable::from_definition(&bytes[..end], &FileOptions::default(), registry.types());
        assert_eq!(cut.unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn tables_that_depend_on_options_have_no_definition() {
    let options = FileOptions { filename: Some("file".to_owned()), ..FileOptions::default() };
    assert!(FileTable::open(&data("numbers.parquet"), &options).unwrap().definition().is_none());
    assert!(open(&data("people.csv")).unwrap().definition().is_none());
}

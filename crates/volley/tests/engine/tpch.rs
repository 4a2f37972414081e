//! The 22 TPC-H queries give the recorded answers, whatever the threads and batch sizes.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use tempfile::TempDir;
use volley::{Session, Type, Value, connector::WriteAccess};

/// Doubles may differ by this share, since the order of additions may.
const TOLERANCE: f64 = 1e-9;

fn answers() -> PathBuf {
    PathBuf::from("../tpch/answers")
}

/// The folder of the tables at `scale`, made once.
fn data(scale: &'static str) -> &'static Path {
    static DATA: OnceLock<[TempDir; 2]> = OnceLock::new();
    let dirs = DATA.get_or_init(|| {
        ["0.01", "0.1"].map(|scale| {
            let dir = tempfile::tempdir().unwrap();
            volley_tpch::generate(scale.parse().unwrap(), dir.path(), &|_| Ok(())).unwrap();
            dir
        })
    });
    dirs[usize::from(scale == "0.1")].path()
}

fn session(scale: &'static str, threads: &str, batch_rows: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", threads).unwrap();
    session.set("batch_rows", batch_rows).unwrap();
    for (table, _) in volley_tpch::TABLES {
        let path = data(scale).join(format!("{table}.parquet"));
        session.register_files(table, path.to_str().unwrap()).unwrap();
    }
    session
}

/// Runs all queries and lists every one that differs.
fn check(scale: &'static str, threads: &str, batch_rows: &str) {
    let failures = failures(&session(scale, threads, batch_rows), scale);
    assert!(failures.is_empty(), "{} queries differ:\n{}", failures.len(), failures.join("\n"));
}

/// The queries whose answers differ from the recorded ones, and how.
fn failures(session: &Session, scale: &str) -> Vec<String> {
    let types = recorded_types();
    let mut failures = Vec::new();
    for (index, sql) in volley_tpch::QUERIES.iter().enumerate() {
        let query = index + 1;
        let path = answers().join(format!("sf{scale}/q{query:02}.csv"));
        let expected = parse_csv(&fs::read_to_string(path).unwrap());
        match rows_of(session, sql) {
            Ok(actual) => {
                let difference = difference(&expected, &actual, &types[&query]);
                failures.extend(difference.map(|it| format!("Q{query}: {it}")));
            }
            Err(error) => failures.push(format!("Q{query}: {error}")),
        }
    }
    failures
}

/// Column types by query.
fn recorded_types() -> HashMap<usize, Vec<String>> {
    let mut types: HashMap<usize, Vec<String>> = HashMap::new();
    for line in parse_csv(&fs::read_to_string(answers().join("types.csv")).unwrap()).iter().skip(1)
    {
        types.entry(line[0][1..].parse().unwrap()).or_default().push(line[2].clone());
    }
    types
}

/// Names, then rows, as text.
fn rows_of(session: &Session, sql: &str) -> volley::Result<Vec<Vec<String>>> {
    let result = session.sql(sql)?;
    let types: Vec<Type> = result.schema().types().cloned().collect();
    let mut rows = vec![result.schema().fields.iter().map(|it| it.name.clone()).collect()];
    for row in result.collect_values()? {
        rows.push(
            row.iter().zip(&types).map(|(value, it)| value.display(it).to_string()).collect(),
        );
    }
    Ok(rows)
}

fn difference(
    expected: &[Vec<String>],
    actual: &[Vec<String>],
    types: &[String],
) -> Option<String> {
    if expected.len() != actual.len() {
        return Some(format!("{} rows instead of {}", actual.len() - 1, expected.len() - 1));
    }
    for (row, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        if expected.len() != actual.len() {
            return Some(format!("{} columns instead of {}", actual.len(), expected.len()));
        }
        for (column, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            let is_double = row > 0 && types[column] == "DOUBLE";
            if !(expected == actual || is_double && nearly(expected, actual)) {
                return Some(format!("row {row}, column {column}: {actual} instead of {expected}"));
            }
        }
    }
    None
}

fn nearly(expected: &str, actual: &str) -> bool {
    let (Ok(expected), Ok(actual)) = (expected.parse::<f64>(), actual.parse::<f64>()) else {
        return false;
    };
    (expected - actual).abs() <= TOLERANCE * expected.abs().max(actual.abs())
}

/// Lines of fields; fields in double quotes may hold commas and doubled quotes.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let parse_line = |line: &str| {
        let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut chars = line.chars().peekable();
        while let Some(it) = chars.next() {
            match it {
                '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(std::mem::take(&mut field)),
                it => field.push(it),
            }
        }
        fields.push(field);
        fields
    };
    text.lines().map(parse_line).collect()
}

#[test]
fn scale_0_01_with_one_thread_and_batches_of_one_row() {
    check("0.01", "1", "1");
}

#[test]
fn scale_0_01_with_two_threads_and_batches_of_three_rows() {
    check("0.01", "2", "3");
}

#[test]
fn scale_0_01_with_two_threads_and_batches_of_1024_rows() {
    check("0.01", "2", "1024");
}

#[test]
fn scale_0_1_with_one_thread() {
    check("0.1", "1", "1024");
}

#[test]
fn scale_0_1_with_two_threads() {
    check("0.1", "2", "8192");
}

#[test]
fn scale_0_01_without_any_one_of_the_rules() {
    let session = session("0.01", "2", "1024");
    let mut all = Vec::new();
    for rule in volley_optimizer::rules() {
        session.set("disabled_rules", rule.name).unwrap();
        let failures = failures(&session, "0.01");
        all.extend(failures.iter().map(|it| format!("without {}: {it}", rule.name)));
    }
    assert!(all.is_empty(), "{} answers differ:\n{}", all.len(), all.join("\n"));
}

#[test]
fn native_tables_clean_changed_and_read_by_another_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let path = path.to_str().unwrap();
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.open_database(path, WriteAccess::ReadWrite).unwrap();
    for (table, _) in volley_tpch::TABLES {
        let file = data("0.01").join(format!("{table}.parquet"));
        let create = format!("CREATE TABLE {table} AS FROM '{}'", file.to_str().unwrap());
        session.sql(&create).unwrap();
    }
    let check = |session: &Session, what: &str| {
        let failures = failures(session, "0.01");
        assert!(failures.is_empty(), "{what}:\n{}", failures.join("\n"));
    };
    check(&session, "clean");
    // A part of the rows is deleted and inserted again, another is updated and updated back.
    let moved = "CREATE TEMP TABLE moved AS FROM lineitem WHERE l_orderkey % 20 = 3; \
        DELETE FROM lineitem WHERE l_orderkey % 20 = 3; INSERT INTO lineitem FROM moved; \
        UPDATE orders SET o_custkey = o_custkey + 1 WHERE o_orderkey % 20 = 5; \
        UPDATE orders SET o_custkey = o_custkey - 1 WHERE o_orderkey % 20 = 5";
    session.sql(moved).unwrap();
    let changed = "SELECT max(changed_rows) > 1000 FROM storage_info('lineitem')";
    assert_eq!(session.sql(changed).unwrap().collect_values().unwrap(), [[Value::Boolean(true)]]);
    check(&session, "changed");
    let reader = Session::new().unwrap();
    reader.open_database(path, WriteAccess::ReadOnly).unwrap();
    check(&reader, "a reader");
    session.sql("VACUUM").unwrap();
    let rows = session.sql("SELECT max(changed_rows) FROM storage_info('lineitem')").unwrap();
    assert_eq!(rows.collect_values().unwrap(), [[Value::BigInt(0)]]);
    check(&session, "vacuumed");
    check(&reader, "a reader after VACUUM");
}

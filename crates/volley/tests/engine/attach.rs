//! Attached databases: on disk, of programs, and what inserts take.

use std::sync::Arc;
use volley::{ErrorKind, Session, Value};

fn run(session: &Session, sql: &str) {
    session.sql(sql).unwrap().collect().unwrap();
}

fn values(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).unwrap().collect_values().unwrap()
}

fn error(session: &Session, sql: &str) -> volley::Error {
    match session.sql(sql).and_then(|it| it.collect()) {
        Ok(_) => panic!("no error: {sql}"),
        Err(error) => error,
    }
}

#[test]
fn a_database_on_disk_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sales").to_string_lossy().into_owned();
    let session = Session::new().unwrap();
    run(&session, &format!("ATTACH '{path}'"));
    run(&session, "CREATE TABLE sales.items AS SELECT range AS id FROM range(1000)");
    run(&session, "INSERT INTO sales.items SELECT id + 1000 FROM sales.items");
    run(&session, "DELETE FROM sales.items WHERE id % 2 = 1");
    run(&session, "UPDATE sales.items SET id = -1 WHERE id = 0");
    run(&session, "CREATE VIEW sales.v AS SELECT max(id) AS m FROM sales.items");
    // The memory of another database has a table of this name, too.
    run(&session, "CREATE TABLE items AS SELECT 7 AS id");
    run(&session, "DETACH sales");
    assert!(error(&session, "FROM sales.items").message().contains("no such table"));
    let session = Session::new().unwrap();
    run(&session, &format!("ATTACH '{path}' AS sales (READ_ONLY)"));
    let found = values(&session, "SELECT count(*), min(id), max(id) FROM sales.items");
    assert_eq!(found, [[Value::BigInt(1000), Value::BigInt(-1), Value::BigInt(1998)]]);
    assert_eq!(values(&session, "FROM sales.v"), [[Value::BigInt(1998)]]);
    let refused = error(&session, "INSERT INTO sales.items VALUES (1)");
    assert_eq!(refused.message(), "the database sales is attached read only");
}

#[test]
fn programs_open_databases_of_their_own_types() {
    let open = |source: &volley::connector::DatabaseSource<'_>| {
        source.expect_options(&["size"])?;
        let found: Arc<dyn volley::connector::Database> =
            Arc::new(volley::MemoryDatabase::named(source.name, source.pool));
        Ok(found)
    };
    let session = Session::builder().add_database_opener("Own", open).build().unwrap();
    run(&session, "ATTACH 'anywhere' AS o (TYPE own, SIZE 3)");
    run(&session, "CREATE TABLE o.t AS SELECT 1 AS x");
    assert_eq!(values(&session, "FROM o.t"), [[Value::Integer(1)]]);
    let refused = error(&session, "ATTACH 'elsewhere' AS p (TYPE own, COLOUR 3)");
    assert_eq!(refused.message(), "unknown option of ATTACH: colour");
    let again = Session::builder().add_database_opener("memory", open).build();
    assert!(again.is_err());
}

#[test]
fn an_insert_takes_the_table_and_a_constant() {
    let session = Session::new().unwrap();
    run(&session, "SET threads = 2");
    let rows = 3_000_000_i64;
    run(&session, "CREATE TABLE t (a BIGINT, b BIGINT)");
    let before = session.pool().stats().bytes;
    let table_bytes = rows as usize * 16;
    // Twice the table would not fit.
    session.pool().set_limit(Some(before + table_bytes + (24 << 20)));
    let insert = format!("INSERT INTO t SELECT range, range * 2 FROM range({rows})");
    run(&session, &insert);
    let found = values(&session, "SELECT count(*), sum(b) FROM t");
    let sum = Value::HugeInt(i128::from(rows) * i128::from(rows - 1));
    assert_eq!(found, [[Value::BigInt(rows), sum]]);
    // Nothing is left of one that does not fit.
    session.wait_released();
    let held = session.pool().stats().bytes;
    assert_eq!(error(&session, &insert).kind(), ErrorKind::OutOfMemory);
    session.wait_released();
    assert_eq!(session.pool().stats().bytes, held);
}

//! Scans by key read the rows with the key: in memory and on disk, also inside of a transaction.

use super::run;
use volley::Session;

fn execute(session: &Session, sql: &str) {
    session.sql(sql).unwrap().collect().unwrap();
}

/// The rows of a query, and how many rows its scans read.
fn read(session: &Session, sql: &str) -> (Vec<String>, u64) {
    let (mut rows, count) = run(session, sql, "rows read");
    rows.sort();
    (rows, count)
}

#[test]
fn statements_with_whole_keys_read_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyed").to_string_lossy().into_owned();
    let session = Session::new().unwrap();
    execute(&session, &format!("ATTACH '{path}' AS disk"));
    for table in ["memory.main.t", "disk.main.t"] {
        execute(&session, &format!("CREATE TABLE {table} (k BIGINT PRIMARY KEY, v VARCHAR)"));
        execute(
            &session,
            &format!("INSERT INTO {table} SELECT range, 'v' || range FROM range(100000)"),
        );
        for number in 100_000..100_020 {
            execute(&session, &format!("INSERT INTO {table} VALUES ({number}, 'late')"));
        }
        let one = |key: i64| format!("SELECT v FROM {table} WHERE k = {key}");
        let (rows, count) = read(&session, &one(777));
        assert!(rows.len() == 1 && rows[0].contains("v777"), "{rows:?}");
        assert_eq!(count, 1);
        assert_eq!(read(&session, &one(100_007)).1, 1);
        assert_eq!(read(&session, &one(-5)), (Vec::new(), 0));
        let list = format!("SELECT count(*) FROM {table} WHERE k IN (3, 4, 100019, 200000)");
        assert_eq!(read(&session, &list).1, 3);
        // An upsert, whose join names the keys.
        execute(
            &session,
            &format!(
                "INSERT INTO {table} VALUES (777, 'new'), (300000, 'added')
                 ON CONFLICT (k) DO UPDATE SET v = excluded.v"
            ),
        );
        execute(&session, "BEGIN");
        execute(&session, &format!("UPDATE {table} SET v = 'own' WHERE k = 778"));
        execute(&session, &format!("DELETE FROM {table} WHERE k = 779"));
        let changed = format!("SELECT k, v FROM {table} WHERE k IN (777, 778, 779, 300000)");
        let (rows, count) = read(&session, &changed);
        assert_eq!((rows.len(), count), (3, 3));
        let all = format!("SELECT k, v FROM {table} WHERE k + 0 IN (777, 778, 779, 300000)");
        assert_eq!(read(&session, &all).0, rows);
        execute(&session, "COMMIT");
        assert_eq!(read(&session, &changed).0, rows);
        let error = session.sql(&format!("INSERT INTO {table} VALUES (778, 'x')"));
        let error = error.and_then(|it| it.collect()).unwrap_err();
        assert!(error.message().contains("duplicate key of PRIMARY KEY: k = 778"), "{error}");
    }
}

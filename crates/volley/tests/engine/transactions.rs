//! Transactions of sessions that share their tables.

use volley::{ErrorKind, Session, Value};

fn count(session: &Session, from: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {from}");
    let rows = session.sql(&sql).and_then(|it| it.collect_values()).unwrap();
    match rows[0][0] {
        Value::BigInt(count) => count,
        ref other => panic!("a count that is {other:?}"),
    }
}

fn run(session: &Session, sql: &str) {
    session.sql(sql).unwrap();
}

/// The error of a statement that fails.
fn error(session: &Session, sql: &str) -> String {
    match session.sql(sql) {
        Ok(_) => panic!("no error: {sql}"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidQuery, "{error}");
            error.message().to_owned()
        }
    }
}

fn two_sessions(setup: &str) -> (Session, Session) {
    let session = Session::new().unwrap();
    run(&session, setup);
    let other = session.another();
    (session, other)
}

#[test]
fn a_transaction_sees_the_tables_as_they_were_when_it_began() {
    let (a, b) = two_sessions("CREATE TABLE t AS SELECT 1 AS x; CREATE TABLE u AS SELECT 1 AS x");
    run(&a, "BEGIN");
    run(&b, "INSERT INTO t VALUES (2); CREATE TABLE v (x INTEGER)");
    assert_eq!((count(&a, "t"), count(&b, "t")), (1, 2));
    assert_eq!(error(&a, "FROM v"), "no such table: v");
    run(&a, "ROLLBACK; BEGIN; INSERT INTO u SELECT x FROM t");
    assert_eq!((count(&a, "u"), count(&b, "u")), (3, 1));
    run(&a, "COMMIT");
    assert_eq!((count(&a, "u"), count(&b, "u"), count(&b, "v")), (3, 3, 0));
}

#[test]
fn temporary_tables_are_of_one_session() {
    let (a, b) = two_sessions("CREATE TABLE t AS SELECT 1 AS x");
    run(&a, "CREATE TEMP TABLE t AS SELECT 1 AS y FROM range(3); CREATE TEMP TABLE u (x INTEGER)");
    run(&b, "CREATE TEMP TABLE t AS SELECT 1 AS z FROM range(7)");
    assert_eq!((count(&a, "t"), count(&b, "t"), count(&a, "main.t")), (3, 7, 1));
    assert_eq!(error(&b, "FROM u"), "no such table: u");
    assert_eq!(error(&b, "INSERT INTO temp.u VALUES (1)"), "no such table: temp.u");
    assert_eq!((a.tables().len(), b.tables().len()), (3, 2));
    let listed = "information_schema.tables WHERE table_name = 't'";
    assert_eq!((count(&a, listed), count(&b, listed)), (2, 2));
    run(&a, "BEGIN; INSERT INTO t SELECT 2; INSERT INTO u VALUES (1)");
    run(&b, "DROP TABLE t; INSERT INTO t VALUES (2)");
    assert_eq!((count(&a, "t"), count(&b, "t")), (4, 2));
    run(&a, "COMMIT");
    assert_eq!((count(&a, "t"), count(&a, "main.t")), (4, 2));
    let rows = a.sql("FROM t").unwrap();
    drop(a);
    assert_eq!(rows.collect_values().unwrap().len(), 4);
    assert_eq!(b.tables(), [("t".to_owned(), "table")]);
}

#[test]
fn changes_of_the_same_table_are_a_conflict() {
    let (a, b) = two_sessions("CREATE TABLE t AS SELECT 1 AS x; CREATE TABLE u AS SELECT 1 AS x");
    run(&a, "BEGIN; UPDATE t SET x = 2; INSERT INTO u VALUES (2)");
    run(&b, "BEGIN; UPDATE t SET x = 3; COMMIT");
    let message = "transaction conflicts with a change by another session: t";
    assert_eq!(error(&a, "COMMIT"), message);
    assert_eq!((count(&a, "t WHERE x = 3"), count(&a, "u")), (1, 1));
    assert_eq!(error(&a, "COMMIT"), "there is no transaction");
    // Other tables do not conflict.
    run(&a, "BEGIN; INSERT INTO t VALUES (4)");
    run(&b, "BEGIN; INSERT INTO u VALUES (4); COMMIT");
    run(&a, "COMMIT");
    assert_eq!((count(&b, "t"), count(&b, "u")), (2, 2));
    // Dropped and made again is another table.
    run(&a, "BEGIN; DELETE FROM t");
    run(&b, "DROP TABLE t; CREATE TABLE t AS SELECT 9 AS y");
    assert_eq!(error(&a, "COMMIT"), message);
    assert_eq!(count(&a, "t WHERE y = 9"), 1);
}

#[test]
fn names_and_schemas_are_a_conflict_too() {
    let (a, b) = two_sessions("CREATE SCHEMA s; CREATE SCHEMA kept");
    run(&a, "BEGIN; CREATE TABLE t (x INTEGER)");
    run(&b, "CREATE VIEW t AS SELECT 1 AS x");
    assert!(error(&a, "COMMIT").ends_with(": t"));
    run(&a, "BEGIN; CREATE TABLE s.t (x INTEGER)");
    run(&b, "DROP SCHEMA s");
    assert!(error(&a, "COMMIT").ends_with(": s.t"));
    run(&a, "BEGIN; DROP SCHEMA kept; CREATE SCHEMA new");
    run(&b, "CREATE TABLE kept.t (x INTEGER)");
    assert!(error(&a, "COMMIT").ends_with(": kept.t"));
    assert_eq!(error(&a, "CREATE TABLE new.t (x INTEGER)"), "no such schema: new");
    run(&a, "BEGIN; CREATE SCHEMA new; CREATE TABLE new.t AS SELECT 1 AS x; COMMIT");
    assert_eq!(count(&b, "new.t"), 1);
}

#[test]
fn a_transaction_with_an_error_commits_nothing() {
    let (a, b) = two_sessions("CREATE TABLE t (x INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)");
    run(&a, "BEGIN; INSERT INTO t VALUES (2)");
    assert!(a.sql("INSERT INTO t VALUES (1)").is_err());
    let failed = "a statement of the transaction failed";
    assert_eq!(error(&a, "INSERT INTO t VALUES (3)"), failed);
    assert_eq!(error(&a, "COMMIT"), failed);
    assert_eq!((count(&a, "t"), count(&b, "t")), (1, 1));
    assert_eq!(error(&a, "ROLLBACK"), "there is no transaction");
}

#[test]
fn money_is_neither_made_nor_lost() {
    let session = Session::new().unwrap();
    run(&session, "CREATE TABLE a AS SELECT 1000 AS x; CREATE TABLE b AS SELECT 1000 AS x");
    let transfers = |session: Session| {
        let mut done = 0;
        for _ in 0..40 {
            run(&session, "BEGIN; UPDATE a SET x = x - 1; UPDATE b SET x = x + 1");
            match session.sql("COMMIT") {
                Ok(_) => done += 1,
                Err(error) => assert!(error.message().contains("conflicts"), "{error}"),
            }
            let sum = session.sql("SELECT a.x + b.x FROM a, b").unwrap().collect_values().unwrap();
            assert_eq!(sum, [[Value::Integer(2000)]]);
        }
        done
    };
    let done: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..3).map(|_| session.another()).map(|it| scope.spawn(|| transfers(it))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert!(done > 0);
    assert_eq!(count(&session, &format!("b WHERE x = {}", 1000 + done)), 1);
}

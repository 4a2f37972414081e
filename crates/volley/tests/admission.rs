//! Many queries at once that have little memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;
use volley::{ErrorKind, ResultStream, Session, Value};

/// A session with a limit and a table of 200,000 numbers.
fn session(memory_limit: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.set("memory_limit", memory_limit).unwrap();
    session
        .sql("CREATE TABLE t AS SELECT n, n % 7 AS k FROM generate_series(1, 200000) s(n)")
        .unwrap();
    session
}

#[test]
fn queries_that_do_not_fit_beside_each_other_come_one_after_the_other() {
    let session = session("48MB");
    let statements = [
        "SELECT sum(n * p) FROM (SELECT n, row_number() OVER (ORDER BY n DESC) AS p FROM t)",
        "SELECT count(*) FROM (SELECT n, sum(k) FROM t GROUP BY n HAVING sum(k) > 2)",
        "SELECT sum(a.k) FROM t a JOIN t b ON a.n = b.n + 1",
        "SELECT count(DISTINCT n::VARCHAR || 'abcdefghij') FROM t",
    ];
    let answer = |sql: &str| session.sql(sql).unwrap().collect_values().unwrap();
    let expected = statements.map(answer);
    thread::scope(|scope| {
        for client in 0..16 {
            let (answer, expected) = (&answer, &expected);
            scope.spawn(move || {
                for turn in 0..3 {
                    let at = (client + turn) % statements.len();
                    assert_eq!(answer(statements[at]), expected[at]);
                }
            });
        }
    });
}

#[test]
fn results_that_nobody_reads_do_not_keep_others_from_beginning() {
    let session = session("48MB");
    let unread: Vec<ResultStream> = (0..12)
        .map(|_| session.sql("SELECT a.n, b.k FROM t a JOIN t b ON a.k = b.k").unwrap())
        .collect();
    let count = session.sql("SELECT count(*) FROM t").unwrap().collect_values().unwrap();
    assert_eq!(count, [[Value::BigInt(200_000)]]);
    drop(unread);
}

#[test]
fn time_passes_while_a_query_waits_to_begin() {
    let session = session("64MB");
    let mut taken = session.pool().reservation();
    while session.pool().spare_bytes() > 0 {
        taken.grow(session.pool().spare_bytes()).unwrap();
    }
    session.sql("CREATE TABLE r AS SELECT * FROM (VALUES (1), (2), (3), (4), (5)) v(n)").unwrap();
    let factors: Vec<String> = (0..25).map(|it| format!("r AS r{it}")).collect();
    let endless =
        format!("SELECT max(r0.n + r24.n) FROM {} WHERE r0.n + r24.n < r12.n", factors.join(", "));
    let endless = session.sql(&endless).unwrap();
    let count = || session.sql("SELECT count(*) FROM t WHERE n % 7 = 3")?.collect_values();
    session.set("statement_timeout", "50ms").unwrap();
    // The first one may not have begun yet.
    let late = (0..1000).find_map(|_| count().err());
    assert_eq!(late.unwrap().kind(), ErrorKind::TimedOut);
    session.set("statement_timeout", "0").unwrap();
    endless.cancel();
    assert_eq!(count().unwrap(), [[Value::BigInt(28_572)]]);
}

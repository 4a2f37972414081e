//! Many concurrent queries with little memory.

use std::{thread, time::Duration};
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

/// Whether it is so within ten seconds.
fn comes_true(is_so: impl Fn() -> bool) -> bool {
    (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        is_so()
    })
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
fn results_that_are_read_late_are_on_disk_while_others_need_the_memory() {
    let session = session("64MB");
    session.set("threads", "1").unwrap();
    // What fits into the queue, so that the query is done, and what does not.
    for rows in [45_000, 200_000] {
        check_late_reader(&session, rows);
    }
}

fn check_late_reader(session: &Session, rows: usize) {
    let sql = format!(
        "SELECT a.n, repeat(a.n::VARCHAR, 9) FROM t a JOIN t b ON a.n = b.n WHERE a.n <= {rows}"
    );
    let expected = session.sql(&sql).unwrap().collect_values().unwrap();
    assert_eq!(expected.len(), rows);
    let late = session.sql(&sql).unwrap();
    let result = || {
        let nodes = late.statistics().unwrap().nodes;
        let mut operators = nodes.iter().flat_map(|it| &it.operators);
        operators.find(|it| it.name == "result").unwrap().total()
    };
    assert!(comes_true(|| result().rows_in > 40_000));
    let mut taken = session.pool().reservation();
    while session.pool().spare_bytes() > 0 {
        taken.grow(session.pool().spare_bytes()).unwrap();
    }
    let count = session.sql("SELECT count(DISTINCT k) FROM t").unwrap().collect_values().unwrap();
    assert_eq!(count, [[Value::BigInt(7)]]);
    let written = || result().named.iter().any(|it| it.0 == "spilled rows" && it.1 > 40_000);
    assert!(comes_true(written), "{:?}", result());
    drop(taken);
    assert_eq!(late.collect_values().unwrap(), expected);
    assert_eq!(session.spill_space().stats().bytes, 0);
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

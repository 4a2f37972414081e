//! Statements that time out or are paused, and what they leave.

use std::{
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use volley::{Error, ErrorKind, Outcome, PlanBuilder, Result, Session, Type, Value, parse};

/// Takes longer than any test waits.
const ENDLESS: &str = "SELECT count(*) FROM r a, r b, r c, r d, r e, r f, r g, r h, r i, r j \
    WHERE a.n + b.n + c.n + d.n > e.n * f.n * g.n * h.n * i.n * j.n + 100000";

fn session() -> Session {
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    let numbers = (0..200).map(|it| format!("({it})")).collect::<Vec<_>>().join(", ");
    session.sql(&format!("CREATE TABLE r AS SELECT * FROM (VALUES {numbers}) v(n)")).unwrap();
    session
}

#[track_caller]
fn check_late(error: &Error, limit: &str) {
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    let expected = format!("statement took longer than it may (statement_timeout: {limit})");
    assert_eq!(error.to_string(), expected);
    assert!(error.hint_text().unwrap().contains("SET statement_timeout"));
}

#[test]
fn statements_end_after_their_time_and_leave_nothing() {
    let session = session();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("out");
    session.sql("SET statement_timeout = '20ms'").unwrap();
    for sql in [
        ENDLESS.to_owned(),
        format!("EXPLAIN ANALYZE {ENDLESS}"),
        format!("CREATE TABLE made AS {ENDLESS}"),
        "CREATE TABLE made AS SELECT a.n AS a, b.n AS b FROM r a, r b, r c, r d".to_owned(),
        format!("INSERT INTO r {ENDLESS}"),
        format!("COPY (SELECT * FROM r a, r b, r c, r d) TO '{}.csv'", file.display()),
        format!("COPY (SELECT * FROM r a, r b, r c, r d) TO '{}.parquet'", file.display()),
    ] {
        let error = session.sql(&sql).and_then(|it| it.collect().map(drop)).unwrap_err();
        check_late(&error, "20ms");
    }
    session.sql("SET statement_timeout = 0").unwrap();
    assert_eq!(session.columns("made").unwrap(), None);
    let count = session.sql("SELECT count(*) FROM r").unwrap().collect_values().unwrap();
    assert_eq!(count, [[Value::BigInt(200)]]);
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

/// What `run` gives, which may be out of time where the machine is slow: then it is tried again.
#[track_caller]
fn in_time<T>(limit: &str, run: impl Fn() -> Result<T>) -> T {
    let mut tries = 0..100;
    loop {
        match run() {
            Ok(value) => return value,
            Err(error) => check_late(&error, limit),
        }
        assert!(tries.next().is_some(), "always out of time");
    }
}

#[test]
fn time_passes_while_nobody_reads() {
    let session = session();
    let before = session.pool().stats().bytes;
    session.set("statement_timeout", "50").unwrap();
    let mut unread = in_time("50ms", || session.sql("SELECT * FROM r a, r b, r c, r d, r e"));
    // It may not have begun yet.
    let start = Instant::now();
    while session.pool().stats().bytes <= before && start.elapsed() < Duration::from_millis(100) {
        thread::yield_now();
    }
    // It ends by itself.
    while session.pool().stats().bytes > before {
        thread::yield_now();
    }
    check_late(&unread.next().unwrap_err(), "50ms");
    check_late(&unread.next().unwrap_err(), "50ms");
}

#[test]
fn time_does_not_count_after_the_end() {
    let session = session();
    session.set("statement_timeout", "50").unwrap();
    in_time("50ms", || {
        let mut quick = session.sql("SELECT max(n) FROM r")?;
        thread::sleep(Duration::from_millis(60));
        assert!(quick.next()?.is_some());
        assert!(quick.next()?.is_none());
        Ok(())
    });
    let plan = PlanBuilder::new(session.registry())
        .values(&[("n", Type::Integer)], vec![vec![Value::Integer(1)]])
        .build()
        .unwrap();
    in_time("50ms", || {
        let planned = session.run_plan(Arc::clone(&plan), [])?;
        thread::sleep(Duration::from_millis(60));
        assert_eq!(planned.collect_values()?, [[Value::Integer(1)]]);
        Ok(())
    });
}

#[test]
fn planning_takes_time_too_and_can_be_cancelled() {
    let session = session();
    session.set("statement_timeout", "1ms").unwrap();
    let many = (0..2000).map(|it| format!("SELECT n + {it} AS n FROM r")).collect::<Vec<_>>();
    let union = many.join(" UNION ALL ");
    let explained = format!("EXPLAIN SELECT * FROM ({union}) u JOIN r USING (n) WHERE u.n > 7");
    let error = session.sql(&explained).map(drop).unwrap_err();
    check_late(&error, "1ms");
    session.set("statement_timeout", "0").unwrap();
    let parsed = parse(&explained).unwrap();
    let outcome = thread::scope(|scope| {
        let planned = scope.spawn(|| session.run(&parsed[0]));
        while !planned.is_finished() {
            session.cancel();
        }
        planned.join().unwrap()
    });
    let Err(error) = outcome.map(|it| matches!(it, Outcome::Rows(_))) else {
        panic!("planned before it was cancelled");
    };
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn a_paused_query_waits_and_goes_on() {
    let session = session();
    session.set("query_priority", "low").unwrap();
    let mut paused = session.sql("SELECT count(*) FROM r a, r b, r c").unwrap();
    paused.pause();
    let handle = paused.handle();
    let others = session.sql("SELECT count(*) FROM r a, r b").unwrap().collect_values().unwrap();
    assert_eq!(others, [[Value::BigInt(40_000)]]);
    let resumer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        handle.resume();
    });
    let batch = paused.next().unwrap().unwrap();
    assert_eq!(batch.column(0).value(0).unwrap(), Value::BigInt(8_000_000));
    resumer.join().unwrap();
    // A query that has returned its row has not ended yet: paused now, it would keep its reader
    // waiting.
    assert!(paused.next().unwrap().is_none());
    // What has ended can be told anything.
    paused.pause();
    assert!(paused.next().unwrap().is_none());
    paused.resume();
    paused.cancel();
}

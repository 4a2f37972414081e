//! Concurrent reads and changes of tables: no change is lost, every reader sees a table as of one
//! moment, and memory is released.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};
use volley::{ErrorKind, Outcome, Session, Value};

/// Threads that change the table at once.
const WRITERS: i64 = 4;

/// Statements of each.
const ROUNDS: i64 = 40;

/// Rows of the table; more than fit in a batch of the tests' settings.
const ACCOUNTS: i64 = 500;

fn session() -> Session {
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.set("batch_rows", "64").unwrap();
    session
}

fn run(session: &Session, sql: &str) {
    session.sql(sql).unwrap().collect().unwrap();
}

#[track_caller]
fn check(session: &Session, sql: &str, expected: &[i64]) {
    let rows = session.sql(sql).unwrap().collect_values().unwrap();
    let row: Vec<i64> =
        rows[0].iter().map(|it| i64::try_from(it.as_i128().unwrap()).unwrap()).collect();
    assert_eq!(row, expected, "{sql}");
}

fn accounts(session: &Session) {
    run(session, "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)");
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, 100)")).collect();
    run(session, &format!("INSERT INTO accounts VALUES {}", rows.join(", ")));
}

/// Moves money between accounts, opens and closes empty ones: the sum stays.
fn move_money(session: &Session, writer: i64) {
    for round in 0..ROUNDS {
        let (from, to) = ((writer * 17 + round * 7) % ACCOUNTS, (round * 31 + 1) % ACCOUNTS);
        run(
            session,
            &format!(
                "UPDATE accounts SET balance = balance + CASE WHEN id = {from} THEN -1 ELSE 1 END \
                 WHERE id IN ({from}, {to}) AND {from} <> {to}"
            ),
        );
        let id = 1_000_000 + writer * 10_000 + round;
        run(session, &format!("INSERT INTO accounts VALUES ({id}, 0)"));
        if round % 2 == 0 {
            run(session, &format!("DELETE FROM accounts WHERE id = {id}"));
        }
    }
}

#[test]
fn readers_see_one_moment_and_no_change_is_lost() {
    let session = session();
    accounts(&session);
    run(&session, "CREATE TABLE counter (n BIGINT)");
    run(&session, "INSERT INTO counter VALUES (0)");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = || {
            let both = "SELECT a.s, b.s, a.n - b.n FROM \
                (SELECT sum(balance) AS s, count(*) AS n FROM accounts) AS a, \
                (SELECT sum(balance) AS s, count(id) AS n FROM accounts WHERE id >= 0) AS b";
            while !done.load(Ordering::Relaxed) {
                check(&session, both, &[ACCOUNTS * 100, ACCOUNTS * 100, 0]);
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let session = &session;
                scope.spawn(move || {
                    move_money(session, writer);
                    for _ in 0..ROUNDS {
                        run(session, "UPDATE counter SET n = n + 1");
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|it| it.join().unwrap());
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|it| it.join().unwrap());
    });
    check(&session, "SELECT n FROM counter", &[WRITERS * ROUNDS]);
    let opened = WRITERS * ROUNDS / 2;
    check(
        &session,
        "SELECT count(*), sum(balance) FROM accounts",
        &[ACCOUNTS + opened, ACCOUNTS * 100],
    );
}

#[test]
fn upserts_of_one_key_by_many_leave_one_row() {
    let session = session();
    run(&session, "CREATE TABLE hits (page VARCHAR PRIMARY KEY, n BIGINT)");
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let page = round % 3;
                    run(
                        &session,
                        &format!(
                            "INSERT INTO hits VALUES ('p{page}', 1) \
                             ON CONFLICT (page) DO UPDATE SET n = hits.n + 1"
                        ),
                    );
                }
            });
        }
    });
    check(&session, "SELECT count(*), sum(n) FROM hits", &[3, WRITERS * ROUNDS]);
}

#[test]
fn a_result_goes_on_with_the_rows_of_its_moment() {
    let session = session();
    accounts(&session);
    let mut result = session.sql("SELECT id, balance FROM accounts").unwrap();
    let first = result.next().unwrap().unwrap().rows();
    run(&session, "DELETE FROM accounts WHERE id % 2 = 0");
    run(&session, "UPDATE accounts SET balance = 0");
    run(&session, "ALTER TABLE accounts DROP COLUMN balance");
    run(&session, "DROP TABLE accounts");
    let mut rows = first;
    while let Some(batch) = result.next().unwrap() {
        for row in 0..batch.rows() {
            assert_eq!(batch.column(1).value(row).unwrap(), Value::BigInt(100));
        }
        rows += batch.rows();
    }
    assert_eq!(rows as i64, ACCOUNTS);
}

#[test]
fn memory_is_given_back() {
    let session = session();
    session.set("batch_rows", "8192").unwrap();
    let bytes = || {
        session.wait_released();
        session.pool().stats().bytes
    };
    let before = bytes();
    accounts(&session);
    for doubling in 0..8 {
        let more = ACCOUNTS << doubling;
        run(&session, &format!("INSERT INTO accounts SELECT id + {more}, balance FROM accounts"));
    }
    let full = bytes();
    assert!(full - before > 2 * 8 * (ACCOUNTS << 8) as usize, "{full} bytes");
    for _ in 0..5 {
        run(&session, "UPDATE accounts SET balance = balance + 1 WHERE id % 10 = 0");
        run(
            &session,
            "MERGE INTO accounts USING (SELECT id, balance FROM accounts WHERE id < 1000) AS o \
             ON accounts.id = o.id WHEN MATCHED THEN UPDATE SET balance = o.balance",
        );
    }
    assert!(bytes() <= full + full / 4, "{} bytes after {full}", bytes());
    let failing = "UPDATE accounts SET id = 1";
    let Err(error) = session.sql(failing) else { panic!("{failing}") };
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    run(&session, "DELETE FROM accounts WHERE id > 3");
    assert!(bytes() < full / 2, "{} bytes after {full}", bytes());
    run(&session, "TRUNCATE accounts");
    assert_eq!(bytes(), before);
    for id in 0..2000 {
        run(&session, &format!("INSERT INTO accounts VALUES ({id}, {id})"));
    }
    assert!(bytes() < 2000 * 200, "{} bytes for 2000 rows", bytes());
    run(&session, "DROP TABLE accounts");
    assert_eq!(bytes(), before);
}

#[test]
fn counts_of_rows_are_answered() {
    let session = session();
    accounts(&session);
    let count = |sql: &str| {
        let parsed = volley::parse(sql).unwrap();
        match session.run(&parsed[0]).unwrap() {
            Outcome::Done(rows) => rows,
            Outcome::Rows(_) => panic!("rows of {sql}"),
        }
    };
    assert_eq!(count("INSERT INTO accounts VALUES (1000, 0), (1001, 0)"), Some(2));
    assert_eq!(count("UPDATE accounts SET balance = 1 WHERE id >= 1000"), Some(2));
    assert_eq!(
        count("UPDATE accounts SET balance = 1 FROM accounts AS o WHERE accounts.id = 5"),
        Some(1)
    );
    assert_eq!(count("DELETE FROM accounts WHERE id >= 1000"), Some(2));
    assert_eq!(count("DELETE FROM accounts WHERE id >= 1000"), Some(0));
    let merge = "MERGE INTO accounts USING (SELECT 499 AS id UNION ALL SELECT 500) AS s \
                 ON s.id = accounts.id WHEN MATCHED THEN DELETE \
                 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1)";
    assert_eq!(count(merge), Some(2));
    assert_eq!(
        count("INSERT INTO accounts VALUES (0, 0), (700, 0) ON CONFLICT DO NOTHING"),
        Some(1)
    );
    assert_eq!(count("TRUNCATE accounts"), Some(501));
}

#[test]
fn a_statement_that_waits_for_another_can_be_stopped() {
    let session = session();
    accounts(&session);
    run(&session, "CREATE TABLE n AS SELECT id FROM accounts");
    thread::scope(|scope| {
        let long = || {
            session
                .sql(
                    "UPDATE accounts SET balance = (SELECT count(*) FROM n a, n b, n c, n d \
                      WHERE a.id + b.id + c.id + d.id <> accounts.id)",
                )
                .map(drop)
        };
        let waiting = [scope.spawn(long), scope.spawn(long)];
        thread::sleep(std::time::Duration::from_millis(300));
        while !waiting.iter().all(thread::ScopedJoinHandle::is_finished) {
            session.cancel();
            thread::sleep(std::time::Duration::from_millis(20));
        }
        for thread in waiting {
            assert_eq!(thread.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        }
    });
    check(&session, "SELECT sum(balance) FROM accounts", &[ACCOUNTS * 100]);
    run(&session, "UPDATE accounts SET balance = 1");
    check(&session, "SELECT sum(balance) FROM accounts", &[ACCOUNTS]);
}

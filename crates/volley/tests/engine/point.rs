//! Prepared statements of one row by key, which run without a plan, against the same statements
//! with plans.

use std::thread;
use tempfile::{TempDir, tempdir};
use volley::{ErrorKind, Outcome, Parameter, Session, Type, Value, connector::WriteAccess};
use volley_vector::random::Generator;

/// A session on a database in a folder.
fn native() -> (Session, TempDir) {
    let folder = tempdir().unwrap();
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.open_database(folder.path().to_str().unwrap(), WriteAccess::ReadWrite).unwrap();
    (session, folder)
}

fn run(session: &Session, sql: &str) {
    session.sql(sql).unwrap().collect().unwrap();
}

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).unwrap().collect_values().unwrap()
}

/// A table of 1000 rows with a key of an integer and a text.
fn make(session: &Session) {
    run(
        session,
        "CREATE TABLE t (a INTEGER, b VARCHAR, n BIGINT NOT NULL, d DATE, x DECIMAL(10, 2), \
         PRIMARY KEY (a, b))",
    );
    run(
        session,
        "INSERT INTO t SELECT i, 'b' || i % 3, i * 10, DATE '2020-01-01' + CAST(i AS INTEGER), \
         i / 4 FROM range(1000) r(i)",
    );
}

/// What a statement gave, as text.
fn outcome(result: volley::Result<Outcome>) -> String {
    match result {
        Ok(Outcome::Done(rows)) => format!("{rows:?} rows"),
        Ok(Outcome::Rows(rows)) => {
            let schema = format!("{:?}", rows.schema());
            match rows.collect_values() {
                Ok(rows) => format!("{schema} {rows:?}"),
                Err(error) => error.to_string(),
            }
        }
        // Plans that were saved have no places in the text.
        Err(error) => error.to_string(),
    }
}

const STATEMENTS: [&str; 8] = [
    "SELECT n, d FROM t WHERE a = $1 AND b = $2",
    "SELECT * FROM t WHERE b = $2 AND a = $1",
    "UPDATE t SET n = $3, d = $4 WHERE a = $1 AND b = $2",
    "UPDATE t SET x = $5 WHERE a = $1 AND b = $2",
    "DELETE FROM t WHERE a = $1 AND b = $2",
    "INSERT INTO t VALUES ($1, $2, $3, $4, $5)",
    "INSERT INTO t (b, a, n) VALUES ($2, $1, $3)",
    "INSERT INTO t (a, b, n, d) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (b, a) DO UPDATE SET n = excluded.n, d = $4",
];

/// Values of the five parameters.
fn values(random: &mut Generator) -> Vec<Parameter> {
    let number = random.below(1110) as i32 - 10;
    let first: Parameter = match random.below(20) {
        0 => Parameter::null(),
        1 => Parameter::from(i64::MAX),
        2..=9 => Parameter::from(i64::from(number)),
        _ => Parameter::from(number),
    };
    let second = match random.below(20) {
        0 => Parameter::null(),
        _ => Parameter::from(format!("b{}", random.below(4))),
    };
    let third = match random.below(20) {
        0 => Parameter::null(),
        1 => Parameter::from("12"),
        _ => Parameter::from(random.below(1 << 40) as i64),
    };
    let fourth = match random.below(4) {
        0 => Parameter::null(),
        1 => Parameter::from("2024-02-29"),
        _ => Parameter::new(Value::Date(random.below(20_000) as i32), Type::Date),
    };
    let fifth = match random.below(4) {
        0 => Parameter::from(random.below(1000) as i32),
        _ => Parameter::new(Value::Decimal(random.below(100_000) as i128), Type::decimal(10, 2)),
    };
    vec![first, second, third, fourth, fifth]
}

#[test]
fn statements_by_key_do_what_their_plans_do() {
    let ((direct, _first), (planned, _second)) = (native(), native());
    make(&direct);
    make(&planned);
    // The twin: with plans that are bytes in between, there is always a plan.
    planned.set("debug_save_plans", "true").unwrap();
    let mut random = Generator::new(36);
    for step in 0..1500 {
        let sql = STATEMENTS[random.below(STATEMENTS.len())];
        let given = values(&mut random);
        let of = |session: &Session| {
            let statement = session.prepare(sql).unwrap();
            let used = statement.parameters().len();
            outcome(statement.run(&given[..used]))
        };
        assert_eq!(of(&direct), of(&planned), "step {step}: {sql} {given:?}");
        match step % 500 {
            100 => [&direct, &planned].iter().for_each(|it| run(it, "BEGIN")),
            // A statement of the transaction may have failed.
            200 => [&direct, &planned].iter().for_each(|it| drop(it.sql("COMMIT"))),
            300 => [&direct, &planned].iter().for_each(|it| run(it, "CHECKPOINT")),
            400 => [&direct, &planned].iter().for_each(|it| run(it, "VACUUM t")),
            _ => {}
        }
        if direct.is_in_transaction() && random.below(30) == 0 {
            [&direct, &planned].iter().for_each(|it| run(it, "ROLLBACK"));
            [&direct, &planned].iter().for_each(|it| run(it, "BEGIN"));
        }
    }
    let all = "SELECT * FROM t ORDER BY a, b";
    assert_eq!(rows(&direct, all), rows(&planned, all));
    assert!(direct.direct_statements() > 500, "{}", direct.direct_statements());
    assert_eq!(planned.direct_statements(), 0);
}

#[test]
fn literals_may_stand_in_place_of_parameters() {
    let ((direct, _first), (planned, _second)) = (native(), native());
    make(&direct);
    make(&planned);
    planned.set("debug_save_plans", "true").unwrap();
    let without_plan = [
        "SELECT n, x FROM t WHERE a = 7 AND b = 'b1'",
        "SELECT n FROM t WHERE a = -7 AND b = 'b1'",
        "UPDATE t SET n = 5, x = 12.5 WHERE a = 7 AND b = 'b1'",
        "UPDATE t SET x = 3, d = NULL WHERE a = 8 AND b = 'b2'",
        "UPDATE t SET x = -0.25 WHERE a = 9 AND b = 'b0'",
        "DELETE FROM t WHERE a = 10 AND b = 'b1'",
        "INSERT INTO t VALUES (2000, 'it''s', 3000000000, NULL, 99999999.99)",
        "INSERT INTO t (a, b, n) VALUES (2000, 'it''s', 1) \
         ON CONFLICT (a, b) DO UPDATE SET n = excluded.n, x = 1.5",
    ];
    // Of another type, too large, rounded, or the same key again.
    let with_plan = [
        "UPDATE t SET d = '2024-02-29' WHERE a = 7 AND b = 'b1'",
        "UPDATE t SET n = 99999999999999999999 WHERE a = 7 AND b = 'b1'",
        "UPDATE t SET x = 1.005 WHERE a = 7 AND b = 'b1'",
        "UPDATE t SET x = 123456789 WHERE a = 7 AND b = 'b1'",
        "UPDATE t SET n = 1e3 WHERE a = 7 AND b = 'b1'",
        "SELECT n FROM t WHERE a = 3000000000 AND b = 'b1'",
        "INSERT INTO t VALUES (2000, 'it''s', 1, NULL, NULL)",
    ];
    for (statements, is_direct) in [(&without_plan[..], true), (&with_plan[..], false)] {
        for sql in statements {
            let before = direct.direct_statements();
            let of = |session: &Session| outcome(session.prepare(sql).and_then(|it| it.run(&[])));
            assert_eq!(of(&direct), of(&planned), "{sql}");
            assert_eq!(direct.direct_statements() > before, is_direct, "{sql}");
        }
    }
    let all = "SELECT * FROM t ORDER BY a, b";
    assert_eq!(rows(&direct, all), rows(&planned, all));
    assert_eq!(planned.direct_statements(), 0);
}

#[test]
fn names_are_looked_up_again_when_the_catalog_changes() {
    let (session, _folder) = native();
    make(&session);
    let find = session.prepare("SELECT n FROM t WHERE a = ? AND b = ?").unwrap();
    let found = || find.query(&[4.into(), "b1".into()]).and_then(|it| it.collect_values());
    assert_eq!(found().unwrap(), [[Value::BigInt(40)]]);
    run(&session, "ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 1");
    run(&session, "UPDATE t SET n = 41 WHERE a = 4");
    assert_eq!(found().unwrap(), [[Value::BigInt(41)]]);
    assert_eq!(session.direct_statements(), 2);
    run(&session, "CREATE TEMPORARY TABLE t AS SELECT 4 AS a, 'b1' AS b, 'other' AS n");
    assert_eq!(found().unwrap(), [[Value::text("other")]]);
    run(&session, "DROP TABLE temp.t");
    assert_eq!(found().unwrap(), [[Value::BigInt(41)]]);
    run(&session, "ALTER TABLE t RENAME COLUMN n TO m");
    let error = found().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidQuery);
    run(&session, "DROP TABLE t");
    assert!(found().is_err());
}

#[test]
fn what_needs_a_plan_has_one() {
    let (session, _folder) = native();
    run(
        &session,
        "CREATE TABLE c (k BIGINT PRIMARY KEY, v BIGINT CHECK (v > 0), w BIGINT DEFAULT 7); \
         INSERT INTO c SELECT i, i + 1, i FROM range(100) r(i)",
    );
    let run_one = |sql: &str, values: &[Parameter]| session.prepare(sql)?.run(values).map(drop);
    let insert = "INSERT INTO c (k, v) VALUES (?, ?)";
    assert!(run_one(insert, &[200.into(), (-1).into()]).is_err());
    run_one(insert, &[200.into(), 1.into()]).unwrap();
    assert_eq!(rows(&session, "SELECT w FROM c WHERE k = 200"), [[Value::BigInt(7)]]);
    run_one("UPDATE c SET k = ? WHERE k = ?", &[201.into(), 200.into()]).unwrap();
    assert_eq!(session.direct_statements(), 0);
    run_one("SELECT v FROM c WHERE k = ?", &[201.into()]).unwrap();
    assert_eq!(session.direct_statements(), 1);
    session.keep_last_profile();
    run_one("SELECT v FROM c WHERE k = ?", &[201.into()]).unwrap();
    assert_eq!(session.direct_statements(), 1);
}

#[test]
fn prepared_statements_of_sql_take_the_path() {
    let (session, _folder) = native();
    make(&session);
    run(&session, "PREPARE up AS UPDATE t SET n = $n WHERE a = $a AND b = $b");
    run(&session, "EXECUTE up(n := 5, a := 7, b := 'b1')");
    assert_eq!(rows(&session, "SELECT n FROM t WHERE a = 7"), [[Value::BigInt(5)]]);
    assert_eq!(session.direct_statements(), 1);
}

/// Connections that change the same few rows, and one that changes all of them: nothing is lost,
/// and no statement fails.
#[test]
fn connections_that_change_the_same_rows_do_not_lose_changes() {
    let (session, _folder) = native();
    run(&session, "CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, w BIGINT)");
    run(&session, "INSERT INTO t SELECT i, 0, 0 FROM range(100) r(i)");
    let name = rows(&session, "SELECT current_database()")[0][0].as_str().unwrap().to_owned();
    thread::scope(|scope| {
        for number in 0..4i64 {
            let own = session.another();
            run(&own, &format!("USE \"{name}\""));
            scope.spawn(move || {
                let upsert = own
                    .prepare("INSERT INTO t VALUES (?, ?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v")
                    .unwrap();
                for step in 0..60i64 {
                    let key = 95 + (step + number) % 10;
                    let value = number * 1000 + step;
                    upsert.run(&[key.into(), value.into(), 0i64.into()]).unwrap();
                }
            });
        }
        let all = session.another();
        run(&all, &format!("USE \"{name}\""));
        scope.spawn(move || (0..20).for_each(|_| run(&all, "UPDATE t SET w = w + 1")));
    });
    assert_eq!(
        rows(&session, "SELECT count(*), count(DISTINCT k) FROM t"),
        [[Value::BigInt(105), Value::BigInt(105)]]
    );
    assert_eq!(rows(&session, "SELECT min(w) FROM t WHERE k < 95"), [[Value::BigInt(20)]]);
    // The last value of each connection is in the row that it changed last, if no other was later.
    let last = rows(&session, "SELECT count(*) FROM t WHERE k >= 95 AND v % 1000 >= 50");
    assert_eq!(last, [[Value::BigInt(10)]]);
    let upsert = session
        .prepare("INSERT INTO t VALUES (?, ?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v")
        .unwrap();
    upsert.run(&[95i64.into(), 1i64.into(), 0i64.into()]).unwrap();
    assert_eq!(session.direct_statements(), 1);
}

#[test]
fn blocks_of_two_tables_are_told_apart_in_one_query() {
    let (session, _folder) = native();
    run(&session, "CREATE TABLE one AS SELECT i AS a FROM range(70000) r(i)");
    run(&session, "CREATE TABLE two AS SELECT i AS b FROM range(70000) r(i)");
    let sql = "SELECT DISTINCT column_name FROM (SELECT * FROM storage_info('one') UNION ALL \
               SELECT * FROM storage_info('two')) ORDER BY 1";
    assert_eq!(rows(&session, sql), [[Value::text("a")], [Value::text("b")]]);
}

//! Extremely deep or wide statements return the right answer or are refused with a reason, on
//! threads with little stack, too.
//!
//! How long that takes is not asserted: sizes are such that a step that is quadratic with a large
//! factor, or worse, would not end. `--nocapture` shows the times.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fmt::Write, thread, time::Instant};
use volley::{ErrorKind, Session};

/// Half a page of what threads usually get.
const STACK_BYTES: usize = 256 << 10;

const ONE_ROW: &str = "(VALUES (1)) t(x)";

/// What a statement gives: the text of its only value, or the error.
fn run(sql: String) -> Result<String, (ErrorKind, String)> {
    let run = move || {
        let session = Session::new().unwrap();
        session.set("threads", "2").unwrap();
        let begin = Instant::now();
        let result = session.sql(&sql).and_then(|it| {
            let data_type = it.schema().types().next().unwrap().clone();
            let rows = it.collect_values()?;
            assert_eq!(rows.len(), 1);
            Ok(rows[0][0].display(&data_type).to_string())
        });
        let start: String = sql.chars().take(60).collect();
        println!("{:8.0} ms: {start} ...", begin.elapsed().as_secs_f64() * 1e3);
        result.map_err(|it| (it.kind(), it.to_string()))
    };
    thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap()
}

#[track_caller]
fn answers(sql: String, expected: &str) {
    assert_eq!(run(sql).as_deref(), Ok(expected));
}

/// The statement is refused for its depth.
#[track_caller]
fn refuses(sql: String) {
    let (kind, message) = run(sql).unwrap_err();
    assert!([ErrorKind::InvalidQuery, ErrorKind::Syntax].contains(&kind), "{message}");
    assert!(message.contains("nested too deeply"), "{message}");
}

/// `middle` with `count` times `left` before and `right` behind.
fn nested(count: usize, left: &str, middle: &str, right: &str) -> String {
    format!("{}{middle}{}", left.repeat(count), right.repeat(count))
}

/// `parts` of an index each, with `separator` between.
fn listed(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    let parts: Vec<String> = (0..count).map(part).collect();
    parts.join(separator)
}

#[test]
fn expressions_of_ten_thousand_levels_are_refused() {
    for (left, right) in [
        ("(1 + ", ")"),
        ("- ", ""),
        ("-(", ")"),
        ("abs(", ")"),
        ("coalesce(NULL, ", ")"),
        ("CASE WHEN x = 1 THEN 1 ELSE ", " END"),
        ("CASE WHEN x = 2 THEN ", " ELSE 1 END"),
        ("CASE WHEN ", " THEN 1 END = 1"),
        ("CAST(", " AS INTEGER)"),
        ("[", "]"),
        ("(SELECT ", ")"),
    ] {
        refuses(format!("SELECT {} FROM {ONE_ROW}", nested(10_000, left, "x", right)));
    }
    for left in ["NOT ", "NOT (", "EXISTS (SELECT 1 WHERE "] {
        let right = if left.contains('(') { ")" } else { "" };
        refuses(format!("SELECT {} FROM {ONE_ROW}", nested(10_000, left, "x = 1", right)));
    }
    refuses(format!("SELECT x {} FROM {ONE_ROW}", "+ 1".repeat(10_000)));
    refuses(format!("SELECT x {} FROM {ONE_ROW}", "::INTEGER".repeat(10_000)));
    let (_, message) =
        run(format!("SELECT x {} FROM {ONE_ROW}", "[1]".repeat(10_000))).unwrap_err();
    assert_eq!(message, "a value of type INTEGER has no elements");
    refuses(format!("SELECT x FROM {}", nested(10_000, "(SELECT x FROM ", ONE_ROW, ") t")));
    for (left, right) in [("ARRAY<", ">"), ("", "[]"), ("STRUCT(a ", ")"), ("MAP(INTEGER, ", ")")] {
        refuses_not_by_us(format!("CAST(x AS {})", nested(10_000, left, "INTEGER", right)));
    }
    let lambdas = nested(10_000, "transform([x], x -> ", "x", ")");
    refuses(format!("SELECT {lambdas} FROM {ONE_ROW}"));
}

/// An error that may say less.
#[track_caller]
fn refuses_not_by_us(expr: String) {
    let (kind, message) = run(format!("SELECT {expr} FROM {ONE_ROW}")).unwrap_err();
    let allowed = [ErrorKind::Syntax, ErrorKind::InvalidQuery, ErrorKind::Unsupported];
    assert!(allowed.contains(&kind), "{message}");
}

/// What can be bound but is deeper than what runs, unless it is simpler than it looks.
#[test]
fn expressions_of_nine_hundred_levels_run_or_are_refused() {
    for (left, right) in [("(1 + ", ")"), ("abs(", ")"), ("greatest(2, ", ")")] {
        let sql = format!("SELECT {} FROM {ONE_ROW}", nested(900, left, "x", right));
        if let Err((kind, message)) = run(sql) {
            assert_eq!(kind, ErrorKind::Unsupported, "{message}");
            assert!(message.contains("nested more than 400 levels deep"), "{message}");
        }
    }
}

#[test]
fn parentheses_alone_are_no_levels_of_expressions() {
    refuses_not_by_us(nested(10_000, "(", "x", ")"));
    answers(format!("SELECT {} FROM {ONE_ROW}", nested(1_500, "(", "x", ")")), "1");
}

#[test]
fn expressions_of_three_hundred_levels_run() {
    let deep = |left, right| format!("SELECT {} FROM {ONE_ROW}", nested(300, left, "x", right));
    answers(deep("(1 + ", ")"), "301");
    answers(deep("-(", ")"), "1");
    answers(deep("abs(", ")"), "1");
    answers(deep("CASE WHEN x = 1 THEN 1 ELSE ", " END"), "1");
    answers(deep("CASE WHEN x = 1 THEN ", " ELSE 7 END"), "1");
    answers(deep("coalesce(NULL, ", ")"), "1");
    answers(deep("(SELECT ", ")"), "1");
    let not = nested(300, "NOT (", "x = 1", ")");
    answers(format!("SELECT {not} FROM {ONE_ROW}"), "true");
}

#[test]
fn chains_of_ten_thousand_operators_run() {
    for (operator, expected) in [(" AND ", "false"), (" OR ", "true")] {
        let terms = listed(5_000, operator, |it| format!("x + {it} > 7"));
        answers(format!("SELECT {terms} FROM {ONE_ROW}"), expected);
        let terms = listed(5_000, operator, |it| format!("NOT (x = {it} AND x > {it})"));
        answers(format!("SELECT {terms} FROM {ONE_ROW}"), "true");
    }
    let terms = listed(10_000, " || ", |it| format!("CAST(x + {} AS VARCHAR)", it % 3));
    answers(format!("SELECT length({terms}) FROM {ONE_ROW}"), "10000");
    let terms = listed(10_000, " || ", |_| "'ab'".to_owned());
    answers(format!("SELECT length({terms}) FROM {ONE_ROW}"), "20000");
}

#[test]
fn ten_thousand_columns_run() {
    let columns = listed(10_000, ", ", |it| format!("x + {it} AS c{it}"));
    answers(format!("SELECT c9999 FROM (SELECT {columns} FROM {ONE_ROW}) u"), "10000");
    let sums = listed(10_000, ", ", |it| format!("sum(c{it}) AS c{it}"));
    let inner = format!("(SELECT {columns} FROM {ONE_ROW}) u");
    answers(format!("SELECT {sums} FROM {inner}"), "1");
    let names = listed(10_000, ", ", |it| format!("c{it}"));
    answers(format!("SELECT count(*) FROM (SELECT DISTINCT {names} FROM {inner}) v"), "1");
    answers(format!("SELECT * FROM {inner} ORDER BY {names}"), "1");
    let values = listed(10_000, ", ", |it| it.to_string());
    let definition = format!("CREATE TABLE wide AS SELECT * FROM (VALUES ({values})) v({names})");
    answers(format!("{definition}; SELECT c7777 FROM wide WHERE c1 = 1"), "7777");
}

#[test]
fn a_million_elements_of_in_run() {
    let list = listed(1_000_000, ", ", |it| (it * 2).to_string());
    answers(format!("SELECT x IN ({list}) FROM {ONE_ROW}"), "false");
    answers(format!("SELECT count(*) FROM {ONE_ROW} WHERE x + 1 IN ({list})"), "1");
    let list = listed(200_000, ", ", |it| format!("'{it}'"));
    answers(format!("SELECT CAST(x AS VARCHAR) IN ({list}) FROM {ONE_ROW}"), "true");
    let rows = listed(200_000, ", ", |it| format!("({it}, 'a')"));
    answers(format!("SELECT sum(a) FROM (VALUES {rows}) v(a, b)"), "19999900000");
}

#[test]
fn a_thousand_tables_of_a_union_run() {
    let create = "CREATE TABLE a AS SELECT 1 AS x";
    for operator in ["UNION ALL", "UNION", "EXCEPT", "INTERSECT"] {
        let expected = match operator {
            "UNION ALL" => "1000",
            "EXCEPT" => "0",
            _ => "1",
        };
        let tables = listed(1_000, &format!(" {operator} "), |_| "SELECT x FROM a".to_owned());
        answers(format!("{create}; SELECT count(*) FROM ({tables}) u"), expected);
    }
}

#[test]
fn hundreds_of_nested_subqueries_run_and_more_are_refused() {
    let derived = |count| {
        format!("SELECT x FROM {}", nested(count, "(SELECT x + 1 AS x FROM ", ONE_ROW, ") t"))
    };
    answers(derived(200), "201");
    refuses(derived(1_000));
    let scalar = |count| nested(count, "SELECT (", "SELECT 1", ") + 1");
    answers(scalar(200), "201");
    refuses(scalar(1_000));
    let exists = |count| {
        let inner = nested(count, "EXISTS (SELECT 1 FROM a b WHERE b.x = a.x AND ", "1 = 1", ")");
        format!("CREATE TABLE a AS SELECT 1 AS x; SELECT count(*) FROM a WHERE {inner}")
    };
    answers(exists(50), "1");
    refuses(exists(1_000));
    let list = |count| {
        let inner = nested(count, "x IN (SELECT x FROM a WHERE ", "x = 1", ")");
        format!("CREATE TABLE a AS SELECT 1 AS x; SELECT count(*) FROM a WHERE {inner}")
    };
    answers(list(100), "1");
    refuses(list(1_000));
}

#[test]
fn chains_of_a_thousand_common_table_expressions_run() {
    let chain = |count: usize, step: &str| {
        let mut sql = format!("WITH c0 AS (SELECT x FROM {ONE_ROW})");
        for it in 1..count {
            write!(sql, ", c{it} AS ({})", step.replace("PREVIOUS", &format!("c{}", it - 1)))
                .unwrap();
        }
        write!(sql, " SELECT sum(x) FROM c{}", count - 1).unwrap();
        sql
    };
    answers(chain(1_000, "SELECT x + 1 AS x FROM PREVIOUS"), "1000");
    answers(chain(1_000, "SELECT x FROM PREVIOUS WHERE x > 0"), "1");
    answers(chain(1_000, "SELECT sum(x) AS x FROM PREVIOUS"), "1");
    let filtered = |sql: String| sql.replace("SELECT sum(x)", "SELECT count(x)") + " WHERE x > 0";
    answers(filtered(chain(1_000, "SELECT x + 1 AS x FROM PREVIOUS")), "1");
    // Twice as large with each step, if what a column is were written in its place.
    for step in [
        "SELECT x % 5 + x AS x FROM PREVIOUS",
        "SELECT a.x + a.x - b.y AS x FROM PREVIOUS a, (VALUES (1)) b(y)",
        "SELECT x % 5 + x AS x FROM PREVIOUS ORDER BY x LIMIT 5",
        "SELECT x % 5 + x AS x FROM PREVIOUS GROUP BY x % 5 + x",
        "SELECT x % 5 + x AS x FROM PREVIOUS LEFT JOIN (VALUES (1)) b(y) ON x = y",
    ] {
        answers(filtered(chain(60, &format!("SELECT x % 7 AS x FROM ({step}) s"))), "1");
    }
    // Each used twice: not as often as paths lead there.
    answers(chain(30, "SELECT a.x FROM PREVIOUS a JOIN PREVIOUS b ON a.x = b.x"), "1");
    let unused = listed(1_000, ", ", |it| format!("c{it} AS (SELECT {it} AS x)"));
    answers(format!("WITH {unused} SELECT x FROM c999"), "999");
}

#[test]
fn two_hundred_joins_run() {
    let create = "CREATE TABLE a AS SELECT * FROM (VALUES (1), (2)) v(x)";
    for join in ["JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN"] {
        let tables = if join == "CROSS JOIN" { 12 } else { 200 };
        let mut sql = format!("{create}; SELECT count(*) FROM a t0");
        for it in 1..tables {
            write!(sql, " {join} a t{it}").unwrap();
            if join != "CROSS JOIN" {
                write!(sql, " ON t{it}.x = t{}.x", it - 1).unwrap();
            }
        }
        answers(sql, if join == "CROSS JOIN" { "4096" } else { "2" });
    }
    // All joined with the first one, and listed with commas.
    let tables = listed(200, ", ", |it| format!("a t{it}"));
    let star = listed(199, " AND ", |it| format!("t0.x = t{}.x", it + 1));
    answers(format!("{create}; SELECT count(*) FROM {tables} WHERE {star}"), "2");
}

/// Each view names the previous one twice: the last one has 2^`count` rows of the first.
fn doubled_views(session: &Session, count: usize) {
    session.sql("CREATE VIEW v0 AS SELECT 1 AS x").unwrap();
    // Views are bound when they are made, too.
    let refused = (1..=count).find_map(|view| {
        let before = view - 1;
        let sql = format!(
            "CREATE VIEW v{view} AS SELECT a.x FROM v{before} a JOIN v{before} b ON a.x = b.x"
        );
        session.sql(&sql).err()
    });
    assert!(refused.is_some(), "2^{count} views were bound");
}

#[test]
fn statements_are_charged_while_they_are_read_and_planned() {
    let session = Session::new().unwrap();
    session.set("memory_limit", "64MB").unwrap();
    let kind = |sql: &str| session.sql(sql).err().map(|it| it.kind());
    let list = listed(200_000, ",", |it| it.to_string());
    let texts = [
        format!("SELECT x FROM {ONE_ROW} WHERE x IN ({list})"),
        format!("SELECT length('{}')", "x".repeat(10 << 20)),
        format!("SELECT {}1", "+-".repeat(100_000)),
        listed(100_000, ";", |_| "SELECT 1".to_owned()),
    ];
    for text in texts {
        assert_eq!(kind(&text), Some(ErrorKind::OutOfMemory), "{}", &text[..40]);
        assert!(session.prepare(&text).is_err());
    }
    doubled_views(&session, 30);
    let last = (0..30).rev().find(|it| kind(&format!("DESCRIBE v{it}")).is_none()).unwrap();
    assert!((5..25).contains(&last), "{last}");
    assert_eq!(kind("SELECT sum(x) FROM v5"), None);
    session.wait_released();
    assert_eq!(session.pool().stats().bytes, 0);
}

#[test]
fn planning_of_views_that_double_ends_in_time() {
    let session = Session::new().unwrap();
    session.set("statement_timeout", "200ms").unwrap();
    doubled_views(&session, 30);
    let error = (0..30).find_map(|it| session.sql(&format!("SELECT x FROM v{it}")).err());
    let error = error.unwrap();
    assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::InvalidQuery), "{error}");
}

#[test]
fn types_of_thousands_of_levels_are_refused() {
    let too_large = |sql: String| {
        let (kind, message) = run(sql).unwrap_err();
        assert_eq!(kind, ErrorKind::InvalidQuery, "{message}");
        assert!(message.contains("type too large"), "{message}");
    };
    too_large(format!("SELECT NULL::INTEGER{}", "[]".repeat(5000)));
    let grown = (0..5).fold("SELECT 1 AS a".to_owned(), |it, _| {
        format!("SELECT {} AS a FROM ({it})", nested(150, "[", "a", "]"))
    });
    too_large(format!("SELECT a::VARCHAR FROM ({grown}) ORDER BY a"));
    let doubled = (0..40).fold("SELECT 1 AS a".to_owned(), |it, _| {
        format!("SELECT {{'x': a, 'y': a}} AS a FROM ({it})")
    });
    too_large(doubled);
    let session = Session::new().unwrap();
    session.sql("CREATE TYPE t0 AS STRUCT(a INTEGER, b INTEGER)").unwrap();
    let refused = (1..40).find_map(|it| {
        let before = it - 1;
        session.sql(&format!("CREATE TYPE t{it} AS STRUCT(a t{before}, b t{before})")).err()
    });
    assert!(refused.unwrap().message().contains("type too large"));
    answers(format!("SELECT (NULL::INTEGER{}) IS NULL", "[]".repeat(90)), "true");
}

#[test]
fn what_is_longer_than_a_stack_has_room_for_is_refused() {
    for chain in ["+x", " AND x>1", "||x"] {
        let sql = format!("SELECT x{} FROM {ONE_ROW}", chain.repeat(500_000));
        refuses(sql);
    }
    refuses(format!("SELECT {}1", "(".repeat(200_000)));
    let (_, message) = run(format!("SELECT x{} FROM {ONE_ROW}", ".x".repeat(50_000))).unwrap_err();
    assert!(message.contains("x.x"), "{}", &message[..100]);
}

//! Very large statements run on a thread with the default stack, and give the right answer.
//!
//! That planning takes time about linear in the size of the text is not asserted: sizes are such
//! that a quadratic step with a large factor, or an exponential one, would not end.

use std::{fmt::Write, thread};
use volley::{Session, Value};

/// Runs a query of one row and column on a new thread with the stack that threads get.
fn answer(sql: String) -> String {
    let run = move || {
        let session = Session::new().unwrap();
        session.set("threads", "2").unwrap();
        let result = session.sql(&sql).unwrap();
        let data_type = result.schema().types().next().unwrap().clone();
        let rows: Vec<Vec<Value>> = result.collect_values().unwrap();
        assert_eq!((rows.len(), rows[0].len()), (1, 1));
        rows[0][0].display(&data_type).to_string()
    };
    thread::Builder::new().spawn(run).unwrap().join().unwrap()
}

/// `parts` of an index each, with `separator` between.
fn listed(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    let parts: Vec<String> = (0..count).map(part).collect();
    parts.join(separator)
}

const TWO_ROWS: &str = "(VALUES (1), (2)) t(x)";

#[test]
fn ten_thousand_terms_of_or() {
    let terms = listed(10_000, " OR ", |it| format!("x = {}", it + 2));
    assert_eq!(answer(format!("SELECT count(*) FROM {TWO_ROWS} WHERE {terms}")), "1");
    let terms = listed(10_000, " OR ", |it| format!("(x = {it} AND x + {it} > 2)"));
    assert_eq!(answer(format!("SELECT count(*) FROM {TWO_ROWS} WHERE {terms}")), "1");
}

#[test]
fn ten_thousand_terms_of_and() {
    let terms = listed(10_000, " AND ", |it| format!("x <> {}", it + 2));
    assert_eq!(answer(format!("SELECT count(*) FROM {TWO_ROWS} WHERE {terms}")), "1");
}

#[test]
fn ten_thousand_elements_of_in() {
    let list = listed(10_000, ", ", |it| (it + 2).to_string());
    assert_eq!(answer(format!("SELECT count(*) FROM {TWO_ROWS} WHERE x IN ({list})")), "1");
    assert_eq!(answer(format!("SELECT count(*) FROM {TWO_ROWS} WHERE x NOT IN ({list})")), "1");
    let list = listed(10_000, ", ", |it| format!("x + {}", it + 1));
    assert_eq!(answer(format!("SELECT count(*) FROM {TWO_ROWS} WHERE x IN ({list})")), "0");
}

#[test]
fn two_thousand_inputs_of_a_union() {
    let inputs = listed(2_000, " UNION ALL ", |it| format!("SELECT {it} AS a"));
    assert_eq!(answer(format!("SELECT sum(a) FROM ({inputs}) u")), "1999000");
    let inputs = listed(2_000, " UNION ", |it| format!("SELECT {} AS a", it % 100));
    assert_eq!(answer(format!("SELECT sum(a) FROM ({inputs}) u")), "4950");
}

#[test]
fn a_thousand_parentheses() {
    let (open, close) = ("(".repeat(1_000), ")".repeat(1_000));
    assert_eq!(answer(format!("SELECT {open}1{close} + 1")), "2");
    let (open, close) = ("abs(".repeat(900), ")".repeat(900));
    assert_eq!(answer(format!("SELECT {open}-1{close}")), "1");
}

#[test]
fn five_hundred_branches_of_case() {
    let whens = listed(500, " ", |it| format!("WHEN {it} THEN {}", it + 10));
    assert_eq!(answer(format!("SELECT sum(CASE x {whens} END) FROM {TWO_ROWS}")), "23");
    let mut nested = "0".to_owned();
    for it in 0..500 {
        nested = format!("CASE WHEN x = {it} THEN {} ELSE {nested} END", it + 10);
    }
    assert_eq!(answer(format!("SELECT sum({nested}) FROM {TWO_ROWS}")), "23");
}

#[test]
fn two_hundred_joined_tables() {
    for join in ["JOIN", "LEFT JOIN"] {
        let mut sql = format!("WITH b AS (SELECT * FROM {TWO_ROWS}) SELECT sum(t199.x) FROM b t0");
        for it in 1..200 {
            write!(sql, " {join} b t{it} ON t{it}.x = t{}.x", it - 1).unwrap();
        }
        assert_eq!(answer(sql), "3", "{join}");
    }
}

#[test]
fn two_thousand_columns() {
    let items = listed(2_000, ", ", |it| format!("x + {it} AS c{it}"));
    let sum = listed(900, " + ", |it| format!("c{it}"));
    let sql = format!("SELECT sum({sum}) FROM (SELECT {items} FROM {TWO_ROWS}) u");
    assert_eq!(answer(sql), (2 * (899 * 900 / 2) + 900 * 3).to_string());
    let calls = listed(2_000, ", ", |it| format!("sum(x + {it}) AS c{it}"));
    let sql = format!("SELECT c0 + c1999 FROM (SELECT {calls} FROM {TWO_ROWS}) u");
    assert_eq!(answer(sql), (3 + 3 + 2 * 1999).to_string());
}

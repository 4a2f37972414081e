//! Built queries: their text, and that the parser reads it as it was meant.

use super::*;
use std::sync::Arc;
use volley_types::{Type, Value};

fn table(name: &str) -> Arc<Query> {
    Arc::new(Query::Table(vec![name.to_owned()]))
}

fn number(value: i32) -> Expr {
    Expr::Literal(Value::Integer(value), Type::Integer)
}

fn text(value: &str) -> Expr {
    Expr::Literal(Value::text(value), Type::Varchar)
}

fn greater(name: &str, value: i32) -> Expr {
    Expr::Binary(Arc::new(Expr::column(name)), ">", Arc::new(number(value)))
}

#[track_caller]
fn check(query: &Query, expected: &str) {
    let built = query.to_statement().unwrap();
    assert_eq!(built.sql, expected);
    assert_eq!(built.statement.text(), expected);
}

fn item(expr: Expr, name: &str) -> Item {
    Item { expr, name: Some(name.to_owned()) }
}

#[test]
fn steps_merge_where_clauses_are_evaluated_in_their_order() {
    let filtered = Arc::new(table("t").filter(greater("a", 1), None));
    let filtered = Arc::new(filtered.filter(greater("b", 2), None));
    let keys = vec![Order { expr: Expr::column("a"), is_descending: true, nulls_first: false }];
    let sorted = Arc::new(filtered.sort(keys, None));
    let picked = Arc::new(sorted.select(vec![item(Expr::column("b"), "b")], None));
    check(
        &picked.limit(Some(3), 1, None),
        "SELECT b\nFROM t\nWHERE (a > 1) AND (b > 2)\nORDER BY a DESC NULLS LAST\nLIMIT 3\nOFFSET 1",
    );
}

#[test]
fn a_step_after_a_limit_reads_a_subquery() {
    let limited = Arc::new(table("t").limit(Some(3), 0, None));
    check(
        &limited.filter(greater("a", 1), None),
        "SELECT *\nFROM (\n  SELECT *\n  FROM t\n  LIMIT 3\n)\nWHERE a > 1",
    );
}

#[test]
fn an_order_is_not_merged_with_columns_of_other_names() {
    let keys = vec![Order { expr: Expr::column("a"), is_descending: false, nulls_first: true }];
    let sorted = Arc::new(table("t").sort(keys, None));
    let renamed = sorted.select(vec![item(Expr::column("b"), "a")], None);
    check(&renamed, "SELECT b AS a\nFROM (\n  SELECT *\n  FROM t\n  ORDER BY a ASC NULLS FIRST\n)");
}

#[test]
fn names_and_literals_are_quoted() {
    let odd = Expr::column("x\" FROM secret --");
    let literal = text("'; DROP TABLE t --");
    let query = table("from").select(vec![item(odd, "A b"), item(literal, "c")], None);
    check(
        &query,
        "SELECT \"x\"\" FROM secret --\" AS \"A b\", '''; DROP TABLE t --' AS c\nFROM \"from\"",
    );
}

#[test]
fn groups_joins_and_sets_have_their_clauses() {
    let sum = Expr::call("sum", vec![Expr::column("a")]);
    let grouping = Grouping { keys: vec![Expr::column("k")], having: Some(greater("k", 0)) };
    let items = vec![item(Expr::column("k"), "k"), item(sum, "total")];
    let grouped = Arc::new(table("t").aggregate(grouping, items, None));
    check(&grouped, "SELECT k, sum(a) AS total\nFROM t\nGROUP BY k\nHAVING k > 0");
    let column = |table: &str| {
        Arc::new(Expr::Column { table: Some(table.to_owned()), name: "k".to_owned() })
    };
    let join = Join {
        left: table("t"),
        right: grouped,
        kind: JoinKind::Left,
        condition: Some(Expr::Binary(column("l"), "=", column("r"))),
        items: Vec::new(),
        mark: None,
    };
    let joined = Arc::new(Query::Join(Box::new(join)));
    let union = Query::Set(SetOperator::UnionAll, joined, table("u"));
    assert!(union.to_statement().unwrap().statement.is_query());
}

#[test]
fn an_error_finds_the_innermost_mark() {
    let inner = Arc::new(table("t").limit(Some(3), 0, Some(Mark(1))));
    let query = inner.filter(greater("missing", 1), Some(Mark(2)));
    let built = query.to_statement().unwrap();
    let at = |text: &str| {
        let start = u32::try_from(built.sql.find(text).unwrap()).unwrap();
        built.mark_at(Span { start, end: start + 1 })
    };
    assert_eq!(at("missing"), Some(Mark(2)));
    assert_eq!(at("LIMIT"), Some(Mark(1)));
}

#[test]
fn clauses_of_one_select_have_the_marks_of_their_calls() {
    let first = Arc::new(table("t").filter(greater("a", 1), Some(Mark(1))));
    let second = Arc::new(first.filter(greater("b", 2), Some(Mark(2))));
    let query = second.select(vec![item(Expr::column("c"), "c")], Some(Mark(3)));
    let built = query.to_statement().unwrap();
    assert_eq!(built.sql, "SELECT c\nFROM t\nWHERE (a > 1) AND (b > 2)");
    let at = |text: &str| {
        let start = u32::try_from(built.sql.find(text).unwrap()).unwrap();
        built.mark_at(Span { start, end: start + 1 })
    };
    assert_eq!(at("a >"), Some(Mark(1)));
    assert_eq!(at("b >"), Some(Mark(2)));
    assert_eq!(at("c\n"), Some(Mark(3)));
    assert_eq!(at("FROM"), Some(Mark(3)));
}

#[test]
fn literals_have_exactly_their_type() {
    let written = |value, data_type| Expr::Literal(value, data_type).to_sql();
    assert_eq!(written(Value::Integer(-5), Type::Integer), "(-5)");
    assert_eq!(written(Value::BigInt(5), Type::BigInt), "CAST('5' AS BIGINT)");
    assert_eq!(written(Value::BigInt(5_000_000_000), Type::BigInt), "5000000000");
    assert_eq!(written(Value::Double(f64::NAN), Type::Double), "CAST('nan' AS DOUBLE)");
    assert_eq!(written(Value::Null, Type::Date), "CAST(NULL AS DATE)");
    assert_eq!(written(Value::Date(0), Type::Date), "CAST('1970-01-01' AS DATE)");
    let bytes = Value::Varbinary(vec![0, 255].into());
    assert_eq!(written(bytes, Type::Varbinary), "X'00FF'");
    let list = Value::Array(vec![Value::Integer(1), Value::Null].into());
    assert_eq!(written(list, Type::array(Type::Integer)), "[1, CAST(NULL AS INTEGER)]");
}

#[test]
fn text_of_several_statements_is_refused() {
    let query =
        table("t").select(vec![item(Expr::Text("1 FROM t; DROP TABLE t".into()), "a")], None);
    assert!(query.to_statement().is_err());
}

//! Calls that run together, block by block.

use crate::support::*;
use std::sync::Arc;
use volley_expression::{Expr, marks, marks::Mark};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// More than two blocks, the last one short.
const ROWS: i64 = 2500;

/// (a + b) xor (a + 7)
fn expression() -> Expr {
    let left = call("plus", vec![int(0), int(1)]);
    call("xor", vec![left, call("plus", vec![int(0), lit(7)])])
}

fn expected(a: Option<i64>, b: Option<i64>) -> Value {
    match (a, b) {
        (Some(a), Some(b)) => Value::BigInt((a + b) ^ (a + 7)),
        _ => Value::Null,
    }
}

fn check(a: Vec<Option<i64>>, b: Vec<Option<i64>>, columns: Vec<Vector>) {
    let before = marks::count(Mark::Blockwise);
    let batch = Batch::new(columns, a.len());
    let found = values(&expression(), &batch).unwrap();
    assert_eq!(marks::count(Mark::Blockwise) - before, 1);
    let expected: Vec<Value> = a.into_iter().zip(b).map(|(a, b)| expected(a, b)).collect();
    assert!(found == expected);
}

#[test]
fn flat_columns_with_nulls_run_in_blocks() {
    for rows in [1, 2, 1024, 1025, ROWS] {
        let a: Vec<_> = (0..rows).map(Some).collect();
        let b: Vec<_> = (0..rows).map(|it| (it % 3 != 1).then_some(it * it)).collect();
        let columns = vec![ints(&a), ints(&b)];
        if rows == 1 {
            // One row: both columns are as long as a constant.
            assert_eq!(
                values(&expression(), &Batch::new(columns, 1)).unwrap(),
                [expected(a[0], b[0])]
            );
            continue;
        }
        check(a, b, columns);
    }
}

#[test]
fn dictionaries_and_constants_are_inputs() {
    let base: Vec<Option<i64>> = (0..100).map(|it| (it % 7 != 0).then_some(it * 11)).collect();
    let codes: Vec<u32> = (0..ROWS as u32).map(|it| it * 31 % 100).collect();
    let a: Vec<_> = codes.iter().map(|it| base[*it as usize]).collect();
    let b: Vec<_> = (0..ROWS).map(Some).collect();
    let column = dictionary(&codes, &Arc::new(ints(&base)));
    check(a.clone(), b.clone(), vec![column.clone(), ints(&b)]);
    check(b.clone(), a.clone(), vec![ints(&b), column]);
    let constant = Vector::constant(Type::BigInt, &Value::BigInt(5), ROWS as usize);
    check(vec![Some(5); ROWS as usize], b.clone(), vec![constant, ints(&b)]);
}

#[test]
fn an_overflow_fails_its_row_only_where_the_row_is_needed() {
    let mut a: Vec<_> = (0..ROWS).map(Some).collect();
    a[2000] = Some(i64::MAX);
    let b: Vec<_> = (0..ROWS).map(Some).collect();
    let batch = Batch::new(vec![ints(&a), ints(&b)], a.len());
    let before = marks::count(Mark::Blockwise);
    assert_eq!(values(&expression(), &batch).unwrap_err().message(), "overflow");
    assert_eq!(marks::count(Mark::Blockwise), before);
    let tried = special(volley_expression::SpecialForm::Try, vec![expression()]);
    let found = values(&tried, &batch).unwrap();
    assert_eq!((&found[2000], &found[1999]), (&Value::Null, &expected(Some(1999), Some(1999))));
    // Where b is null, the overflow does not count.
    let mut b = b;
    b[2000] = None;
    let batch = Batch::new(vec![ints(&a), ints(&b)], a.len());
    let left = call("plus", vec![int(1), int(0)]);
    let found = values(&call("xor", vec![left, int(1)]), &batch).unwrap();
    assert_eq!(found[2000], Value::Null);
}

#[test]
fn long_chains_are_joined_in_part() {
    let chain = (0..300).fold(int(0), |sum, _| call("xor", vec![sum, lit(1)]));
    let batch = Batch::new(vec![ints(&[Some(6), None, Some(9)])], 3);
    let expected = [Value::BigInt(6), Value::Null, Value::BigInt(9)];
    assert_eq!(values(&chain, &batch).unwrap(), expected);
}

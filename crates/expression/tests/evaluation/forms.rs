//! The special forms, errors, and expressions of great size.

use crate::support::*;
use volley_expression::{Expr, SpecialForm};
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector};

fn input(values: &[Option<i64>]) -> Batch {
    Batch::new(vec![ints(values)], values.len())
}

fn truths(values: &[Option<bool>]) -> Vec<Value> {
    values.iter().map(|it| it.map_or(Value::Null, Value::Boolean)).collect()
}

fn is(value: i64) -> Expr {
    call("eq", vec![int(0), lit(value)])
}

#[test]
fn errors_count_only_in_rows_that_nothing_else_decides() {
    let inverse = call("divide", vec![lit(1), int(0)]);
    let fails_at_zero = call("eq", vec![inverse, lit(1)]);
    let batch = input(&[Some(0), Some(1), None]);
    for args in [vec![is(1), fails_at_zero.clone()], vec![fails_at_zero.clone(), is(1)]] {
        let and = special(SpecialForm::And, args);
        let expected = truths(&[Some(false), Some(true), None]);
        assert_eq!(values(&and, &batch).unwrap(), expected);
    }
    for args in [vec![is(0), fails_at_zero.clone()], vec![fails_at_zero.clone(), is(0)]] {
        let or = special(SpecialForm::Or, args);
        assert_eq!(values(&or, &batch).unwrap(), truths(&[Some(true), Some(true), None]));
    }
    let or = special(SpecialForm::Or, vec![is(5), fails_at_zero]);
    assert_eq!(values(&or, &batch).unwrap_err().message(), "division by zero");
}

#[test]
fn conjunctions_are_three_valued() {
    let all = [Some(true), Some(false), None];
    let pairs: Vec<_> = all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))).collect();
    let column = |f: &dyn Fn(&(Option<bool>, Option<bool>)) -> Option<bool>| {
        Vector::from_values(Type::Boolean, &truths(&pairs.iter().map(f).collect::<Vec<_>>()))
    };
    let batch = Batch::new(vec![column(&|it| it.0), column(&|it| it.1)], 9);
    let args = || vec![Expr::column(0, Type::Boolean), Expr::column(1, Type::Boolean)];
    let and: Vec<_> = pairs
        .iter()
        .map(|it| match it {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        })
        .collect();
    assert_eq!(values(&special(SpecialForm::And, args()), &batch).unwrap(), truths(&and));
    let or: Vec<_> = pairs
        .iter()
        .map(|it| match it {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        })
        .collect();
    assert_eq!(values(&special(SpecialForm::Or, args()), &batch).unwrap(), truths(&or));
}

#[test]
fn in_lists_of_every_length_and_type() {
    let in_list = |input: Expr, items: Vec<Expr>| {
        special(SpecialForm::In, std::iter::once(input).chain(items).collect())
    };
    for len in [1, 3, 4, 5, 8, 9, 16, 17, 10_000] {
        let items: Vec<Expr> = (0..len).map(|it| lit(it * 2)).collect();
        let found = values(&in_list(int(0), items), &input(&[Some(0), Some(1), None])).unwrap();
        assert_eq!(found, truths(&[Some(true), Some(false), None]));
    }
    let with_null = in_list(int(0), vec![lit(1), null(Type::BigInt)]);
    let found = values(&with_null, &input(&[Some(1), Some(2), None])).unwrap();
    assert_eq!(found, truths(&[Some(true), None, None]));
    let with_column = in_list(int(0), vec![lit(7), call("plus", vec![int(0), lit(0)])]);
    assert_eq!(
        values(&with_column, &input(&[Some(1), None])).unwrap(),
        truths(&[Some(true), None])
    );
    let doubles = [f64::NAN, -0.0, 1.5].map(Value::Double);
    let batch = Batch::new(vec![Vector::from_values(Type::Double, &doubles)], 3);
    let double = |it: f64| Expr::constant(Value::Double(it), Type::Double);
    for extra in [0, 20] {
        let mut items = vec![double(f64::NAN), double(0.0)];
        items.extend((0..extra).map(|it| double(100.0 + f64::from(it))));
        let found = values(&in_list(Expr::column(0, Type::Double), items), &batch).unwrap();
        assert_eq!(found, truths(&[Some(true), Some(true), Some(false)]));
    }
    let list = |it: i64| Value::Array([Value::BigInt(it)].into());
    let lists = Vector::from_values(Type::array(Type::BigInt), &[list(1), list(4)]);
    let item = |it: i64| Expr::constant(list(it), Type::array(Type::BigInt));
    let column = Expr::column(0, Type::array(Type::BigInt));
    let found = values(&in_list(column, vec![item(3), item(4)]), &Batch::new(vec![lists], 2));
    assert_eq!(found.unwrap(), truths(&[Some(false), Some(true)]));
}

#[test]
fn casts_fail_or_become_null() {
    let texts = Vector::from_values(Type::Varchar, &["1", "x"].map(Value::text));
    let batch = Batch::new(vec![texts], 2);
    let cast = Expr::column(0, Type::Varchar).cast(Type::BigInt);
    assert_eq!(values(&cast, &batch).unwrap_err().message(), "not a number");
    let mut try_cast = cast;
    if let volley_expression::ExprKind::Cast { null_on_error, .. } = &mut try_cast.kind {
        *null_on_error = true;
    }
    assert_eq!(values(&try_cast, &batch).unwrap(), [Value::BigInt(1), Value::Null]);
    let unknown = null(Type::Unknown).cast(Type::Varchar);
    assert_eq!(values(&unknown, &batch).unwrap(), [Value::Null, Value::Null]);
}

#[test]
fn the_first_failing_row_tells_the_error() {
    let texts = Vector::from_values(Type::Varchar, &["5", "0", "x"].map(Value::text));
    let batch = Batch::new(vec![texts], 3);
    let number = Expr::column(0, Type::Varchar).cast(Type::BigInt);
    let inverse = call("divide", vec![lit(1), number]);
    assert_eq!(values(&inverse, &batch).unwrap_err().message(), "division by zero");
}

#[test]
fn ten_thousand_terms_take_linear_time_and_no_stack() {
    const TERMS: i64 = 10_000;
    let batch = input(&[Some(TERMS - 1), Some(-1), None]);
    let flat = special(SpecialForm::Or, (0..TERMS).map(is).collect());
    let expected = truths(&[Some(true), Some(false), None]);
    assert_eq!(values(&flat, &batch).unwrap(), expected);
    forget(flat);
    let left = (1..TERMS).fold(is(0), |or, it| special(SpecialForm::Or, vec![or, is(it)]));
    assert_eq!(values(&left, &batch).unwrap(), expected);
    forget(left);
    let sum = (0..TERMS).fold(int(0), |sum, _| call("plus", vec![sum, int(0)]));
    let found = values(&sum, &input(&[Some(1), None])).unwrap();
    assert_eq!(found, [Value::BigInt(TERMS + 1), Value::Null]);
    forget(sum);
    let case = (0..TERMS)
        .rev()
        .fold(lit(-1), |rest, it| special(SpecialForm::Switch, vec![is(it), lit(it * 2), rest]));
    let found = values(&case, &input(&[Some(3), Some(TERMS)])).unwrap();
    assert_eq!(found, [Value::BigInt(6), Value::BigInt(-1)]);
    forget(case);
}

#[test]
fn nesting_beyond_the_limit_is_an_error() {
    let deep = (0..10_000).fold(int(0), |inner, _| call("plus", vec![lit(1), inner]));
    let error = values(&deep, &input(&[Some(1)])).unwrap_err();
    assert!(error.message().contains("nested"), "{error}");
    forget(deep);
}

/// Takes a deep tree apart from its root, since dropping it recurses.
fn forget(expr: Expr) {
    let mut work = vec![expr];
    while let Some(mut expr) = work.pop() {
        let children = expr.children_mut();
        work.extend(children.iter_mut().map(|it| std::mem::replace(it, lit(0))));
    }
}

#[test]
fn coalesce_and_switch_evaluate_what_they_need() {
    let inverse = call("divide", vec![lit(6), int(0)]);
    let coalesce = special(
        SpecialForm::Coalesce,
        vec![call("even", vec![int(0)]), special(SpecialForm::Try, vec![inverse.clone()]), lit(-1)],
    );
    let found = values(&coalesce, &input(&[Some(4), Some(3), None])).unwrap();
    assert_eq!(found, [Value::BigInt(4), Value::BigInt(2), Value::BigInt(-1)]);
    let switch = special(SpecialForm::Switch, vec![is(0), lit(0), inverse]);
    let found = values(&switch, &input(&[Some(0), Some(2), None])).unwrap();
    assert_eq!(found, [Value::BigInt(0), Value::BigInt(3), Value::Null]);
}

#[test]
fn a_selection_takes_only_true_rows_among_those_asked_for() {
    let mut set = compile(&[is(1)]).unwrap();
    let batch = input(&[Some(1), None, Some(1), Some(2)]);
    let rows = Rows::from_indices(4, [1, 2, 3]);
    assert_eq!(set.begin(&batch).select(0, &rows).unwrap().to_indices(), [2]);
}

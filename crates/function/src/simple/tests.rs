mod encodings;
mod lambdas;
mod limits;
mod signatures;

use super::*;
use crate::Registry;
use std::fmt::Write;
use volley_error::Error;
use volley_types::Value;
use volley_vector::ScalarBuffer;

fn overflow() -> Error {
    Error::invalid_value("overflow")
}

fn call(bind: BindScalar, rows: &Rows, args: &[Vector]) -> (Vec<Value>, Vec<usize>) {
    let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
    let bound = bind(&types).unwrap();
    let mut ctx = EvalContext::default();
    let result = bound.function.evaluate(rows, args, &bound.result, &mut ctx).unwrap();
    assert_eq!(result.len(), rows.len());
    (result.to_values().unwrap(), ctx.errors.rows().collect())
}

fn ints(values: &[Option<i64>]) -> Vector {
    let values: Vec<Value> =
        values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    Vector::from_values(Type::BigInt, &values)
}

fn texts(values: &[&str]) -> Vector {
    let values: Vec<Value> = values.iter().map(Value::text).collect();
    Vector::from_values(Type::Varchar, &values)
}

fn shapes(vector: &Vector) -> Vec<Vector> {
    let codes: Vec<u32> = (0..vector.len() as u32).rev().collect();
    let reversed = vector.gather(&codes).unwrap();
    let ends: Vec<u32> = (1..=vector.len() as u32).collect();
    vec![
        vector.clone(),
        Vector::dictionary(ScalarBuffer::from(codes), reversed.into(), None),
        Vector::run_length(ScalarBuffer::from(ends), vector.clone().into()),
    ]
}

#[test]
fn a_sum_is_the_same_for_every_shape_and_fails_only_active_rows() {
    let plus = binary::<BigInt, BigInt, BigInt, _>(|a, b| a.checked_add(b).ok_or_else(overflow));
    let checked =
        checked_binary::<BigInt, BigInt, BigInt, _>(i64::overflowing_add, |_, _| overflow());
    let left = ints(&[Some(1), None, Some(i64::MAX), Some(4)]);
    let right = ints(&[Some(10), Some(20), Some(30), None]);
    for left in shapes(&left) {
        for right in shapes(&right) {
            for bind in [&plus, &checked] {
                let args = [left.clone(), right.clone()];
                let (values, failed) = call(bind.clone(), &Rows::all(4), &args);
                assert_eq!(values[0], Value::BigInt(11));
                assert_eq!((&values[1], &values[3]), (&Value::Null, &Value::Null));
                assert_eq!(failed, [2]);
                let rows = Rows::from_indices(4, [0, 1, 3]);
                assert_eq!(call(bind.clone(), &rows, &args).1, [0usize; 0]);
            }
        }
    }
    let one = Vector::constant(Type::BigInt, &Value::BigInt(1), 4);
    let (values, _) = call(plus, &Rows::all(4), &[one.clone(), right]);
    assert_eq!(values[..3], [Value::BigInt(11), Value::BigInt(21), Value::BigInt(31)]);
    let (values, failed) = call(checked, &Rows::all(4), &[left, one]);
    assert_eq!((&values[3], failed), (&Value::BigInt(5), vec![2]));
}

#[test]
fn options_make_nulls() {
    let bind = unary::<BigInt, Boolean, _>(|a| (a != 0).then_some(a > 0));
    let (values, _) = call(bind, &Rows::all(4), &[ints(&[Some(0), Some(1), Some(-1), None])]);
    let expected = [Value::Null, Value::Boolean(true), Value::Boolean(false), Value::Null];
    assert_eq!(values, expected);
}

#[test]
fn nullable_arguments_see_nulls() {
    let bind = binary::<Nullable<BigInt>, Nullable<BigInt>, BigInt, _>(|a, b| a.or(b));
    let bound = bind(&[Type::BigInt, Type::BigInt]).unwrap();
    assert!(!bound.traits.propagates_nulls);
    let null = Vector::nulls(Type::BigInt, 3);
    let args = [ints(&[None, Some(2), None]), ints(&[Some(5), Some(6), None])];
    let expected = [Value::BigInt(5), Value::BigInt(2), Value::Null];
    assert_eq!(call(bind.clone(), &Rows::all(3), &args).0, expected);
    let args = [null, args[1].clone()];
    let expected = [Value::BigInt(5), Value::BigInt(6), Value::Null];
    assert_eq!(call(bind, &Rows::all(3), &args).0, expected);
}

#[test]
fn strings_are_written_sliced_and_returned() {
    let arg = texts(&["", "größe", "a string that is longer than a view"]);
    let repeat = text_binary::<Varchar, BigInt, Varchar, _>(|text, times, out| {
        (0..times).for_each(|_| out.push_str(text));
    });
    let times = ints(&[Some(1), Some(3), Some(2)]);
    let (values, _) = call(repeat, &Rows::all(3), &[arg.clone(), times]);
    assert_eq!(values[1], Value::text("größegrößegröße"));

    let tail = slice_unary(|text| text.get(2..).unwrap_or(""));
    for arg in shapes(&arg) {
        let (values, _) = call(tail.clone(), &Rows::all(3), &[arg]);
        let expected = ["", "öße", "string that is longer than a view"];
        assert_eq!(values, expected.map(Value::text));
    }
    let upper = unary::<Varchar, Varchar, _>(|text| text.to_uppercase());
    assert_eq!(call(upper, &Rows::all(3), &[arg.clone()]).0[1], Value::text("GRÖSSE"));
    let format = text_unary::<Varchar, Varchar, _>(|text, out| {
        write!(out, "<{text}>").map_err(|_| overflow())
    });
    assert_eq!(call(format, &Rows::all(3), &[arg]).0[0], Value::text("<>"));
}

#[test]
fn overloads_are_chosen_by_implicit_casts() {
    let mut registry = Registry::new();
    let doc = crate::FunctionDoc::default;
    registry.add_scalar("plus", doc(), binary::<Integer, Integer, Integer, _>(|a, b| a ^ b));
    registry.add_scalar("plus", doc(), binary::<Double, Double, Double, _>(|a, b| a + b));
    let bound = registry.resolve_scalar("plus", &[Type::SmallInt, Type::Integer]).unwrap();
    assert_eq!(bound.result, Type::Integer);
    assert!(bound.traits.infallible);
    let bound = registry.resolve_scalar("plus", &[Type::Real, Type::Integer]).unwrap();
    assert_eq!(bound.result, Type::Double);
}

#[test]
fn empty_batches_and_functions_without_arguments_work() {
    let now = nullary::<Timestamp, _>(|query| query.now_micros);
    let (values, _) = call(now, &Rows::from_indices(2, [1]), &[]);
    assert_eq!(values, [Value::Timestamp(0), Value::Timestamp(0)]);
    let bind = unary::<BigInt, BigInt, _>(|a| a);
    let arg = Vector::constant(Type::BigInt, &Value::BigInt(1), 0);
    assert!(call(bind, &Rows::all(0), &[arg]).0.is_empty());
}

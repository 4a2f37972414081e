//! Functions over lambdas, in their simple form.

use super::super::*;
use crate::{
    Applied, ArgumentType, BoundHigherOrder, FunctionDoc, Lambda as Body, LambdaType, Registry,
};
use volley_error::Error;
use volley_types::Value;
use volley_vector::random::Generator;

/// A lambda with a Rust function as its body; with a captured value per row of the call.
struct FromFn<'a> {
    result: Type,
    captured: &'a [i64],
    body: fn(&[Value], i64) -> Result<Value, ()>,
}

impl Body for FromFn<'_> {
    fn evaluate(&mut self, applied: &Applied<'_>, ctx: &mut EvalContext) -> Result<Vector> {
        let columns: Vec<Vec<Value>> =
            applied.parameters.iter().map(|it| it.to_values().unwrap()).collect();
        let mut values = vec![Value::Null; applied.rows.len()];
        applied.rows.for_each(|row| {
            let parameters: Vec<Value> = columns.iter().map(|it| it[row].clone()).collect();
            let owner = applied.owners[row] as usize;
            match (self.body)(&parameters, self.captured[owner]) {
                Ok(value) => values[row] = value,
                Err(()) => ctx.fail(owner, || Error::invalid_value("no")),
            }
        });
        Ok(Vector::from_values(self.result.clone(), &values))
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    let doc = FunctionDoc::default;
    let any_match = scalar(|array: ArrayView<Any<0>>, matches: LambdaView<bool>| {
        debug_assert_eq!(array.len(), matches.len());
        let mut any = Some(false);
        for found in matches.iter() {
            match found {
                Some(true) => return Some(true),
                Some(false) => {}
                None => any = None,
            }
        }
        any
    });
    registry.simple("any_match", doc(), any_match.errors_only_where_null());
    registry.simple(
        "filter",
        doc(),
        |array: ArrayView<Any<0>>, keep: LambdaView<bool>, out: &mut ArrayWriter<Any<0>>| {
            let kept = array.iter().zip(keep.iter()).filter(|it| it.1 == Some(true));
            out.extend(kept.map(|it| it.0));
        },
    );
    registry.simple(
        "transform",
        doc(),
        |_: ArrayView<Any<0>>, results: LambdaView<Any<1>>, out: &mut ArrayWriter<Any<1>>| {
            out.extend(results.iter());
        },
    );
    registry.simple(
        "count_entries",
        doc(),
        |map: MapView<Any<0>, Any<1>>, least: i64, counted: LambdaView<i64>| {
            let sum = counted.iter().flatten().fold(0i64, i64::wrapping_add);
            sum.wrapping_add(map.len() as i64).max(least)
        },
    );
    registry
}

/// Binds as the binder does: first without the types of bodies.
fn bind(name: &str, args: &[ArgumentType], body: Type) -> BoundHigherOrder {
    let registry = registry();
    let first = registry.resolve_higher_order(name, args).unwrap();
    let with_body = first.args.iter().map(|it| match it {
        ArgumentType::Lambda(lambda) => {
            let result = lambda.result.clone().or_else(|| Some(body.clone()));
            ArgumentType::Lambda(LambdaType { result, ..lambda.clone() })
        }
        value => value.clone(),
    });
    let with_body: Vec<ArgumentType> = with_body.collect();
    let bound = registry.resolve_higher_order(name, &with_body).unwrap();
    assert_eq!(bound.args, with_body);
    let again = registry.resolve_higher_order(name, &bound.args).unwrap();
    assert_eq!((&again.args, &again.result), (&bound.args, &bound.result));
    bound
}

fn evaluate(
    bound: &BoundHigherOrder,
    rows: &Rows,
    args: &[Vector],
    lambda: &mut FromFn<'_>,
) -> (Vec<Value>, Vec<usize>) {
    let mut ctx = EvalContext::default();
    let function = &bound.function;
    let result = function.evaluate(rows, args, &mut [lambda], &bound.result, &mut ctx).unwrap();
    result.validate().unwrap();
    assert_eq!((result.len(), result.data_type()), (rows.len(), &bound.result));
    (result.to_values().unwrap(), ctx.errors.rows().collect())
}

fn over(array: Type, parameters: usize) -> Vec<ArgumentType> {
    vec![ArgumentType::Value(array), ArgumentType::of_lambda(vec![Type::Unknown; parameters], None)]
}

fn int(value: &Value) -> Option<i64> {
    match value {
        Value::BigInt(value) => Some(*value),
        _ => None,
    }
}

/// Whether the element is even, null for null, an error for multiples of 16.
fn even(parameters: &[Value], captured: i64) -> Result<Value, ()> {
    match int(&parameters[0]) {
        None => Ok(Value::Null),
        Some(it) if it & 15 == 0 => Err(()),
        Some(it) => Ok(Value::Boolean((it ^ captured) & 1 == 0)),
    }
}

#[test]
fn arrays_in_any_encoding_are_filtered_and_searched() {
    let array = Type::array(Type::BigInt);
    let any_match = bind("any_match", &over(array.clone(), 1), Type::Boolean);
    let filter = bind("filter", &over(array.clone(), 1), Type::Boolean);
    for seed in 0..60 {
        let mut random = Generator::new(seed);
        let len = [0, 1, 3, 200][seed as usize % 4];
        let arrays = random.vector(&array, len).loaded().unwrap();
        let captured: Vec<i64> = (0..len).map(|_| random.below(2) as i64).collect();
        let mut lambda = FromFn { result: Type::Boolean, captured: &captured, body: even };
        let some: Vec<usize> = (0..len).filter(|_| random.below(4) > 0).collect();
        let rows = Rows::from_indices(len, some);
        let args = [arrays.clone()];
        let (matches, match_failed) = evaluate(&any_match, &rows, &args, &mut lambda);
        let (kept, filter_failed) = evaluate(&filter, &rows, &args, &mut lambda);
        let values = arrays.to_values().unwrap();
        rows.for_each(|row| {
            let Value::Array(elements) = &values[row] else {
                return assert_eq!((&matches[row], &kept[row]), (&Value::Null, &Value::Null));
            };
            let verdict = |it: &Value| even(std::slice::from_ref(it), captured[row]);
            let verdicts: Vec<_> = elements.iter().map(verdict).collect();
            let fails = verdicts.iter().any(Result::is_err);
            assert_eq!(filter_failed.contains(&row), fails);
            let is_true = |it: &Result<Value, ()>| *it == Ok(Value::Boolean(true));
            let is_known = |it: &Result<Value, ()>| matches!(it, Ok(Value::Boolean(_)));
            let expected = if verdicts.iter().any(is_true) {
                Value::Boolean(true)
            } else if verdicts.iter().all(is_known) {
                Value::Boolean(false)
            } else {
                Value::Null
            };
            assert_eq!(matches[row], expected, "{elements:?}");
            assert_eq!(match_failed.contains(&row), fails && expected == Value::Null);
            let pairs = elements.iter().zip(&verdicts).filter(|it| is_true(it.1));
            let expected = pairs.map(|it| it.0.clone()).collect();
            assert_eq!(kept[row], Value::Array(expected));
        });
    }
}

#[test]
fn results_of_any_type_and_places_are_passed_on() {
    let array = Type::array(Type::BigInt);
    let bound = bind("transform", &over(array.clone(), 2), Type::Varchar);
    assert_eq!(bound.result, Type::array(Type::Varchar));
    let elements = [Value::BigInt(7), Value::Null];
    let values = [Value::Array(elements.into()), Value::Null, Value::Array([].into())];
    let args = [Vector::from_values(array, &values)];
    let mut lambda = FromFn {
        result: Type::Varchar,
        captured: &[10, 20, 30],
        body: |parameters, captured| {
            let [element, place] = parameters else { return Err(()) };
            Ok(Value::text(format!("{:?} {:?} {captured}", int(element), int(place))))
        },
    };
    let (found, failed) = evaluate(&bound, &Rows::all(3), &args, &mut lambda);
    let expected = ["Some(7) Some(1) 10", "None Some(2) 10"].map(Value::text);
    assert_eq!(found, [Value::Array(expected.into()), Value::Null, Value::Array([].into())]);
    assert!(failed.is_empty());
}

#[test]
fn maps_give_keys_and_values_and_other_arguments_stay_in_place() {
    let map = Type::map(Type::BigInt, Type::BigInt);
    let args = [
        ArgumentType::Value(map.clone()),
        ArgumentType::Value(Type::Integer),
        ArgumentType::of_lambda([Type::Unknown, Type::Unknown], None),
    ];
    let bound = bind("count_entries", &args, Type::BigInt);
    assert_eq!(bound.args[1], ArgumentType::Value(Type::BigInt));
    let entries = [(1, 5), (2, 7)].map(|(a, b)| (Value::BigInt(a), Value::BigInt(b)));
    let maps = Vector::from_values(map, &[Value::Map(entries.into()), Value::Map([].into())]);
    let least = Vector::constant(Type::BigInt, &Value::BigInt(3), 2);
    let mut lambda = FromFn {
        result: Type::BigInt,
        captured: &[0, 0],
        body: |it, _| Ok(Value::BigInt(int(&it[0]).unwrap() * int(&it[1]).unwrap())),
    };
    let (found, _) = evaluate(&bound, &Rows::all(2), &[maps, least], &mut lambda);
    assert_eq!(found, [Value::BigInt(2 + 5 + 14), Value::BigInt(3)]);
    let registry = registry();
    assert!(registry.resolve_higher_order("any_match", &over(Type::Varchar, 1)).is_err());
    assert!(registry.resolve_higher_order("any_match", &over(Type::array(Type::Date), 3)).is_err());
}

//! Typed states against values.

use super::*;
use crate::aggregate::{
    frequency::{of_values, register},
    states::{folding, run_bound},
};
use volley_function::{Registry, aggregate::Groups};
use volley_memory::{CancellationToken, with_cancellation};
use volley_types::{Field, Interval, Value, custom::Uuid};
use volley_vector::{
    ScalarBuffer,
    random::{Generator, SCALAR_TYPES},
};

const ANSWERS: [(&str, Answer); 3] =
    [("histogram", Answer::Histogram), ("mode", Answer::Mode), ("entropy", Answer::Entropy)];

fn result_of(answer: Answer, key: &Type) -> Type {
    match answer {
        Answer::Histogram => Type::map(key.clone(), Type::BigInt),
        Answer::Mode => key.clone(),
        Answer::Entropy => Type::Double,
    }
}

fn resolve(name: &str, types: &[Type]) -> BoundAggregate {
    let mut registry = Registry::new();
    register(&mut registry);
    registry.resolve_aggregate(name, types).unwrap()
}

/// Every way to each answer is the one through values.
#[track_caller]
fn check(key: &Type, column: &Vector) {
    for (name, answer) in ANSWERS {
        let result = result_of(answer, key);
        let typed = bind(answer, key, &result).expect("keys are compared as they are stored");
        let plain = of_values(answer, key, result.clone());
        let args = std::slice::from_ref(column);
        let expected = run_bound(&plain, args);
        for actual in run_bound(&typed, args) {
            match (&actual, &expected[0]) {
                (Value::Double(left), Value::Double(right)) if name == "entropy" => {
                    assert!((left - right).abs() < 1e-9, "{left} {right}");
                }
                (left, right) => {
                    let texts = [left, right].map(|it| it.display(&result).to_string());
                    assert_eq!(texts[0], texts[1], "{name} of {key}");
                }
            }
        }
    }
}

fn typed_keys() -> Vec<Type> {
    let scalars = SCALAR_TYPES.into_iter().filter(|it| *it != Type::Boolean);
    scalars.chain([Type::decimal(12, 2), Type::decimal(38, 4)]).collect()
}

#[test]
fn typed_states_answer_as_values_do() {
    let mut random = Generator::new(5);
    for key in typed_keys() {
        for rows in [0, 1, 2, 9, 300] {
            let all = random.batch(std::slice::from_ref(&key), rows).column(0).flatten().unwrap();
            check(&key, &all);
            // Few values, many times each.
            let codes: ScalarBuffer<u32> =
                (0..3 * rows as u32).map(|it| it * it % 7 % rows as u32).collect();
            check(&key, &Vector::dictionary(codes, all.into(), None).flatten().unwrap());
        }
    }
}

#[test]
fn equal_values_of_different_looks_are_one() {
    let floats = [f64::NAN, 0.0, -f64::NAN, -0.0, 1.0].map(Value::Double);
    check(&Type::Double, &Vector::from_values(Type::Double, &floats));
    let floats = [f32::NAN, -0.0, -f32::NAN, 0.0].map(Value::Real);
    check(&Type::Real, &Vector::from_values(Type::Real, &floats));
    let interval = |months, days| Value::Interval(Interval { months, days, nanoseconds: 0 });
    let intervals = [interval(1, 0), interval(0, 31), interval(0, 30)];
    check(&Type::Interval, &Vector::from_values(Type::Interval, &intervals));
}

#[test]
fn constants_count_once_per_row() {
    for value in [Value::text("many times, and longer than a view"), Value::Null] {
        check(&Type::Varchar, &Vector::constant(Type::Varchar, &value, 20));
    }
}

#[test]
fn fixed_width_and_strings_are_typed_and_others_are_not() {
    for key in typed_keys() {
        for (name, answer) in ANSWERS {
            let typed = bind(answer, &key, &result_of(answer, &key)).unwrap();
            let plain = of_values(answer, &key, result_of(answer, &key));
            let state = |it: &BoundAggregate| folding(it).state().type_id;
            assert_eq!(state(&resolve(name, &[key.clone()])), state(&typed), "{name} of {key}");
            assert_ne!(state(&plain), state(&typed));
        }
    }
    let row = Type::row([Field::new("a", Type::Integer)]);
    for key in [Type::Boolean, Type::array(Type::Integer), row, Uuid::data_type()] {
        let is_typed = bind(Answer::Mode, &key, &key).is_some();
        assert_eq!(is_typed, key == Uuid::data_type(), "{key}");
        resolve("mode", &[key]);
    }
}

#[test]
fn many_entries_are_left_when_nobody_wants_them() {
    let numbers = |count: i64| {
        Vector::native::<i64>(Type::BigInt, (0..count).rev().collect::<Vec<_>>(), None)
    };
    for (name, answer) in ANSWERS {
        let bound = bind(answer, &Type::BigInt, &result_of(answer, &Type::BigInt)).unwrap();
        for (count, is_left) in [(10, false), (100_000, name != "entropy")] {
            let mut groups = Groups::new(Arc::clone(folding(&bound)), 1);
            groups.add(&vec![0; count as usize], &[numbers(count)]).unwrap();
            let results =
                with_cancellation(&CancellationToken::after_checks(0), || groups.results());
            assert_eq!(results.is_err(), is_left, "{name} of {count}");
        }
    }
}

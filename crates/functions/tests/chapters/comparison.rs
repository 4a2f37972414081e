use volley_function::{EvalContext, Registry};
use volley_types::{Field, Interval, Type, Value};
use volley_vector::{Rows, ScalarBuffer, Vector};

/// The vector in every shape that has a loop of its own.
fn shapes(values: &Vector) -> Vec<Vector> {
    let len = values.len();
    let codes: Vec<u32> = (0..len as u32).rev().collect();
    let reversed = values.gather(&codes).unwrap();
    vec![
        values.clone(),
        Vector::dictionary(ScalarBuffer::from(codes), reversed.into(), None),
        Vector::repeat(values.slice(0, 1), len),
        Vector::repeat(values.slice(len - 1, 1), len),
    ]
}

/// `ascending`: distinct values in their order.
fn check(data_type: Type, ascending: &[Value]) {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let values: Vec<Value> = ascending.iter().cloned().chain([Value::Null]).collect();
    let len = values.len();
    // All pairs.
    let pairs = |f: &dyn Fn(usize) -> usize| {
        let all: Vec<Value> = (0..len * len).map(|it| values[f(it)].clone()).collect();
        Vector::from_values(data_type.clone(), &all)
    };
    let (left, right) = (pairs(&|it| it / len), pairs(&|it| it % len));
    let place = |value: &Value| ascending.iter().position(|it| same(it, value));
    let names = ["eq", "neq", "lt", "lte", "gt", "gte", "is_distinct_from", "is_not_distinct_from"];
    for name in names {
        let bound = registry.resolve_scalar(name, &[data_type.clone(), data_type.clone()]).unwrap();
        for left in shapes(&left) {
            for right in shapes(&right) {
                let rows = Rows::all(left.len());
                let args = [left.clone(), right.clone()];
                let mut ctx = EvalContext::default();
                let result = bound.function.evaluate(&rows, &args, &Type::Boolean, &mut ctx);
                let result = result.unwrap().to_values().unwrap();
                for (row, result) in result.iter().enumerate() {
                    let (a, b) = (left.value(row).unwrap(), right.value(row).unwrap());
                    let expected = expected(name, place(&a), place(&b));
                    assert_eq!(*result, expected, "{a:?} {name} {b:?}");
                }
            }
        }
    }
}

/// Equality that finds NaN, too.
fn same(left: &Value, right: &Value) -> bool {
    left == right || format!("{left:?}") == format!("{right:?}")
}

fn expected(name: &str, left: Option<usize>, right: Option<usize>) -> Value {
    match (name, left, right) {
        ("is_distinct_from", left, right) => Value::Boolean(left != right),
        ("is_not_distinct_from", left, right) => Value::Boolean(left == right),
        (_, Some(left), Some(right)) => Value::Boolean(match name {
            "eq" => left == right,
            "neq" => left != right,
            "lt" => left < right,
            "lte" => left <= right,
            "gt" => left > right,
            _ => left >= right,
        }),
        _ => Value::Null,
    }
}

#[test]
fn numbers_compare_in_every_shape() {
    check(Type::Boolean, &[false, true].map(Value::Boolean));
    check(Type::TinyInt, &[-128, 0, 127].map(Value::TinyInt));
    check(Type::SmallInt, &[-300, 5].map(Value::SmallInt));
    check(Type::Integer, &[i32::MIN, -1, 0, i32::MAX].map(Value::Integer));
    check(Type::BigInt, &[i64::MIN, -1, 0, i64::MAX].map(Value::BigInt));
    check(Type::HugeInt, &[i128::MIN, -1, 1 << 80].map(Value::HugeInt));
    check(Type::decimal(12, 2), &[-5, 5].map(Value::Decimal));
    check(Type::decimal(30, 2), &[-5, 1 << 90].map(Value::Decimal));
    check(Type::Real, &[-1.5, f32::INFINITY, f32::NAN].map(Value::Real));
    check(Type::Double, &[f64::NEG_INFINITY, -0.0, 2.0, f64::NAN].map(Value::Double));
    check(Type::Date, &[-1, 20_000].map(Value::Date));
}

#[test]
fn strings_and_intervals_compare_in_every_shape() {
    let texts = ["", "a", "a\0", "abcd", "abcdefghijkl", "abcdefghijklm", "abcdefghijkln", "ö"];
    check(Type::Varchar, &texts.map(Value::text));
    let interval = |months, days| Value::Interval(Interval::new(months, days, 0));
    check(Type::Interval, &[interval(0, -1), interval(0, 29), interval(1, 0), interval(1, 1)]);
}

#[test]
fn nested_values_compare_element_by_element() {
    let list = |values: &[Option<i32>]| {
        Value::Array(values.iter().map(|it| it.map_or(Value::Null, Value::Integer)).collect())
    };
    let lists = [list(&[]), list(&[Some(1)]), list(&[Some(1), Some(0)]), list(&[None])];
    check(Type::array(Type::Integer), &lists);
    let row = |a: i32, b: &str| Value::Row([Value::Integer(a), Value::text(b)].into());
    let data_type = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    check(data_type, &[row(1, "x"), row(1, "y"), row(2, "a")]);
}

#[test]
fn sides_meet_in_their_common_type() {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let bound = registry.resolve_scalar("eq", &[Type::Integer, Type::BigInt]).unwrap();
    assert_eq!(bound.args, [Type::BigInt, Type::BigInt]);
    assert!(registry.resolve_scalar("eq", &[Type::Integer, Type::Varchar]).is_err());
}

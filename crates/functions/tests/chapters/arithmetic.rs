use crate::calls::{call, fails, resolve};
use volley_types::{Interval, Type, Value, civil};

fn decimal(unscaled: i128, precision: u8, scale: u8) -> (Type, Value) {
    (Type::decimal(precision, scale), Value::Decimal(unscaled))
}

fn integer(value: i32) -> (Type, Value) {
    (Type::Integer, Value::Integer(value))
}

fn double(value: f64) -> (Type, Value) {
    (Type::Double, Value::Double(value))
}

#[test]
fn result_types_are_those_of_the_manual() {
    let check = |name: &str, left: &Type, right: &Type, expected: Type| {
        assert_eq!(resolve(name, &[left.clone(), right.clone()]).result, expected, "{name}");
    };
    let d = Type::decimal;
    check("plus", &Type::TinyInt, &Type::SmallInt, Type::SmallInt);
    check("plus", &d(10, 2), &d(10, 4), d(13, 4));
    check("plus", &d(18, 2), &d(18, 2), d(19, 2));
    check("plus", &d(38, 2), &d(38, 2), d(38, 2));
    check("plus", &d(5, 2), &Type::BigInt, d(22, 2));
    check("minus", &Type::Integer, &d(15, 2), d(16, 2));
    check("plus", &d(5, 2), &Type::Real, Type::Real);
    check("multiply", &d(15, 2), &d(16, 2), d(18, 4));
    check("multiply", &d(18, 4), &d(16, 2), d(18, 6));
    check("multiply", &d(18, 10), &d(18, 10), d(36, 20));
    check("multiply", &d(5, 2), &Type::TinyInt, d(8, 2));
    check("multiply", &d(19, 2), &d(9, 2), d(28, 4));
    check("mod", &d(10, 2), &d(10, 4), d(12, 4));
    check("divide", &d(10, 2), &Type::Integer, Type::Double);
    check("divide", &Type::Real, &Type::Integer, Type::Real);
    check("integer_divide", &d(10, 2), &Type::Integer, Type::Double);
    check("plus", &Type::Unknown, &Type::Integer, Type::Integer);
    check("plus", &Type::Date, &Type::Integer, Type::Date);
    check("plus", &Type::Date, &Type::Interval, Type::Timestamp);
    check("minus", &Type::Date, &Type::Date, Type::BigInt);
    check("minus", &Type::Timestamp, &Type::Timestamp, Type::Interval);
    check("minus", &Type::Timestamp, &Type::Date, Type::Interval);
}

#[test]
fn integers_overflow_with_a_message() {
    let overflow = "overflow in addition of INTEGER (2147483647 + 1)";
    assert_eq!(fails("plus", &[integer(i32::MAX), integer(1)]), overflow);
    assert_eq!(call("minus", &[integer(3), integer(5)]), Value::Integer(-2));
    assert_eq!(call("integer_divide", &[integer(-7), integer(2)]), Value::Integer(-3));
    assert_eq!(call("mod", &[integer(-7), integer(2)]), Value::Integer(-1));
    assert_eq!(fails("mod", &[integer(1), integer(0)]), "division by zero");
    assert_eq!(fails("integer_divide", &[integer(1), integer(0)]), "division by zero");
    let overflow = "overflow in division of INTEGER (-2147483648 / -1)";
    assert_eq!(fails("integer_divide", &[integer(i32::MIN), integer(-1)]), overflow);
    assert_eq!(call("mod", &[integer(i32::MIN), integer(-1)]), Value::Integer(0));
    assert_eq!(call("divide", &[integer(1), integer(0)]), Value::Double(f64::INFINITY));
    let overflow = "overflow in negation of INTEGER (-(-2147483648))";
    assert_eq!(fails("negate", &[integer(i32::MIN)]), overflow);
}

#[test]
fn decimals_are_exact() {
    let check = |name, left, right, expected| {
        assert_eq!(call(name, &[left, right]), Value::Decimal(expected), "{name}");
    };
    check("plus", decimal(20, 2, 1), decimal(33, 3, 2), 233);
    check("minus", integer(1), decimal(5, 15, 2), 95);
    check("multiply", decimal(999, 3, 2), decimal(999, 3, 2), 998_001);
    let most = 10i128.pow(18) - 1;
    check("plus", decimal(most, 18, 0), decimal(1, 18, 0), most + 1);
    check("minus", decimal(-most, 18, 0), decimal(most, 18, 0), -2 * most);
    check("mod", decimal(-555, 3, 2), decimal(20, 2, 1), -155);
    check("multiply", decimal(1, 38, 0), integer(-7), -7);
    let overflow = "overflow in multiplication of DECIMAL(18,2) (9.99 * 900000000000000000)";
    let large = decimal(9 * 10i128.pow(17), 18, 0);
    assert_eq!(fails("multiply", &[decimal(999, 3, 2), large]), overflow);
    let most = decimal(10i128.pow(38) - 1, 38, 0);
    assert!(fails("plus", &[most.clone(), most.clone()]).starts_with("overflow in addition"));
    assert!(fails("multiply", &[most, integer(9)]).starts_with("overflow in multiplication"));
}

#[test]
fn floats_follow_ieee() {
    assert_eq!(call("divide", &[double(-1.0), double(0.0)]), Value::Double(f64::NEG_INFINITY));
    assert_eq!(call("mod", &[double(-7.5), double(2.0)]), Value::Double(-1.5));
    assert_eq!(fails("integer_divide", &[double(1.0), double(0.0)]), "division by zero");
    assert_eq!(call("integer_divide", &[double(7.5), double(2.0)]), Value::Double(3.75));
}

#[test]
fn points_in_time_move() {
    let days = |year, month, day| civil::checked_days(year, month, day).unwrap();
    let date = |y, m, d| (Type::Date, Value::Date(days(y, m, d)));
    let interval = |months, days, nanoseconds| {
        (Type::Interval, Value::Interval(Interval { months, days, nanoseconds }))
    };
    let midnight = |y, m, d| Value::Timestamp(civil::timestamp_of(days(y, m, d), 0).unwrap());
    let check = |args: &[(Type, Value)], expected| assert_eq!(call("plus", args), expected);
    check(&[date(2020, 1, 31), integer(1)], date(2020, 2, 1).1);
    check(&[date(2020, 1, 31), interval(1, 0, 0)], midnight(2020, 2, 29));
    check(&[interval(1, 1, 0), date(2020, 1, 31)], midnight(2020, 3, 1));
    let minus = call("minus", &[date(1998, 12, 1), interval(0, 90, 0)]);
    assert_eq!(minus, midnight(1998, 9, 2));
    assert_eq!(call("minus", &[date(2020, 2, 1), date(2020, 1, 1)]), Value::BigInt(31));
    assert_eq!(fails("plus", &[date(2020, 1, 1), integer(i32::MAX)]), "date out of range");
    let far = interval(i32::MAX, 0, 0);
    assert_eq!(fails("plus", &[date(2020, 1, 1), far]), "timestamp out of range");
    let second = 1_000_000;
    let timestamps =
        [-second / 2, 86_400 * second].map(|it| (Type::Timestamp, Value::Timestamp(it)));
    let expected = interval(0, -1, -500_000_000).1;
    assert_eq!(call("minus", &timestamps), expected);
}

#[test]
fn intervals_add_up_and_scale() {
    let interval = |months, days, nanoseconds| {
        (Type::Interval, Value::Interval(Interval { months, days, nanoseconds }))
    };
    let twice = call("multiply", &[interval(1, 2, 3_000), (Type::BigInt, Value::BigInt(2))]);
    assert_eq!(twice, interval(2, 4, 6_000).1);
    assert_eq!(call("multiply", &[interval(1, 0, 0), double(1.5)]), interval(1, 15, 0).1);
    assert_eq!(call("negate", &[interval(1, -1, 0)]), interval(-1, 1, 0).1);
    let failed = fails("multiply", &[interval(i32::MAX, 0, 0), (Type::BigInt, Value::BigInt(2))]);
    assert_eq!(failed, "interval out of range");
}

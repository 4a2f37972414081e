use crate::calls::{call, fails, resolve};
use volley_types::{Type, Value};

fn integer(value: i32) -> (Type, Value) {
    (Type::Integer, Value::Integer(value))
}

fn double(value: f64) -> (Type, Value) {
    (Type::Double, Value::Double(value))
}

fn decimal(unscaled: i128, precision: u8, scale: u8) -> (Type, Value) {
    (Type::decimal(precision, scale), Value::Decimal(unscaled))
}

#[track_caller]
fn floats(name: &str, value: f64, expected: f64) {
    let result = call(name, &[double(value)]);
    let same = matches!(result, Value::Double(it) if it.to_bits() == expected.to_bits());
    assert!(same, "{name}({value}): {result:?}, expected {expected}");
}

#[test]
fn signs_and_absolute_values_are_exact() {
    assert_eq!(call("abs", &[integer(-5)]), Value::Integer(5));
    assert_eq!(call("abs", &[decimal(-125, 3, 2)]), Value::Decimal(125));
    let least = (Type::TinyInt, Value::TinyInt(-128));
    assert_eq!(fails("abs", &[least]), "overflow in abs of TINYINT: -128");
    floats("abs", -1.5, 1.5);
    assert_eq!(call("sign", &[decimal(-5, 1, 1)]), Value::TinyInt(-1));
    assert_eq!(call("sign", &[double(f64::NAN)]), Value::TinyInt(0));
    assert_eq!(call("isnan", &[double(f64::NAN)]), Value::Boolean(true));
    assert_eq!(call("isinf", &[double(f64::NEG_INFINITY)]), Value::Boolean(true));
}

#[test]
fn halves_round_away_from_zero() {
    floats("round", 2.5, 3.0);
    floats("round", -2.5, -3.0);
    floats("round", f64::INFINITY, f64::INFINITY);
    assert_eq!(call("round", &[decimal(25, 2, 1)]), Value::Decimal(3));
    assert_eq!(call("round", &[decimal(-999, 3, 2)]), Value::Decimal(-10));
    assert_eq!(resolve("round", &[Type::decimal(3, 2)]).result, Type::decimal(3, 0));
    let digits = |value: (Type, Value), digits: i32| call("round", &[value, integer(digits)]);
    assert_eq!(digits(decimal(145, 3, 2), 1), Value::Decimal(150));
    assert_eq!(digits(decimal(123_456, 6, 3), -1), Value::Decimal(120_000));
    assert_eq!(digits(decimal(999, 3, 2), 1), Value::Decimal(1000));
    assert_eq!(digits(decimal(999, 3, 2), 40), Value::Decimal(999));
    assert_eq!(digits(decimal(999, 3, 2), i32::MIN), Value::Decimal(0));
    assert_eq!(digits(integer(125), -1), Value::Integer(130));
    assert_eq!(digits(integer(-125), -1), Value::Integer(-130));
    assert_eq!(digits(integer(5), -3), Value::Integer(0));
    let failed = fails("round", &[integer(i32::MAX), integer(-1)]);
    assert_eq!(failed, "overflow in round of INTEGER");
    // The DOUBLE nearest to 1.45 is less than 1.45.
    assert_eq!(digits(double(1.45), 1), Value::Double(1.4));
    assert_eq!(digits(double(123.456), -2), Value::Double(100.0));
    assert_eq!(digits(double(1e300), 2), Value::Double(1e300));
    assert_eq!(digits(double(1.5), -400), Value::Double(0.0));
}

#[test]
fn ceilings_and_floors_are_whole() {
    floats("ceil", -0.5, -0.0);
    floats("floor", -1.1, -2.0);
    floats("trunc", -1.9, -1.0);
    floats("even", 2.1, 4.0);
    floats("even", -2.1, -4.0);
    assert_eq!(call("ceil", &[decimal(-11, 2, 1)]), Value::Decimal(-1));
    assert_eq!(call("ceil", &[decimal(999, 3, 1)]), Value::Decimal(100));
    assert_eq!(call("floor", &[decimal(-11, 2, 1)]), Value::Decimal(-2));
    assert_eq!(call("trunc", &[decimal(-19, 2, 1)]), Value::Decimal(-1));
    assert_eq!(call("ceil", &[integer(2)]), Value::Double(2.0));
    assert_eq!(call("trunc", &[integer(5)]), Value::Integer(5));
}

#[test]
fn elementary_functions_follow_ieee() {
    floats("sqrt", 2.0, std::f64::consts::SQRT_2);
    floats("ln", 0.0, f64::NEG_INFINITY);
    floats("log", 100.0, 2.0);
    floats("exp", -1e9, 0.0);
    assert!(matches!(call("sqrt", &[double(-1.0)]), Value::Double(it) if it.is_nan()));
    assert_eq!(call("power", &[integer(10), integer(400)]), Value::Double(f64::INFINITY));
    assert_eq!(call("power", &[integer(0), integer(0)]), Value::Double(1.0));
    assert_eq!(call("log", &[integer(2), integer(8)]), Value::Double(3.0));
    assert_eq!(call("pi", &[]), Value::Double(std::f64::consts::PI));
}

#[test]
fn integers_divide_and_shift() {
    let big = |value| (Type::BigInt, Value::BigInt(value));
    assert_eq!(call("gcd", &[big(-4), big(6)]), Value::BigInt(2));
    assert_eq!(call("gcd", &[big(0), big(0)]), Value::BigInt(0));
    assert_eq!(fails("gcd", &[big(i64::MIN), big(0)]), "overflow in gcd");
    assert_eq!(call("lcm", &[big(-4), big(6)]), Value::BigInt(12));
    assert_eq!(fails("lcm", &[big(i64::MAX), big(i64::MAX - 1)]), "overflow in lcm");
    assert!(matches!(call("factorial", &[integer(33)]), Value::HugeInt(_)));
    assert_eq!(fails("factorial", &[integer(34)]), "overflow in factorial: 34");
    assert_eq!(call("bit_and_op", &[integer(5), integer(3)]), Value::Integer(1));
    assert_eq!(call("xor", &[integer(5), integer(3)]), Value::Integer(6));
    assert_eq!(call("bit_not_op", &[integer(5)]), Value::Integer(-6));
    assert_eq!(call("bit_shift_left", &[integer(1), integer(4)]), Value::Integer(16));
    let failed = fails("bit_shift_left", &[integer(1), integer(31)]);
    assert_eq!(failed, "overflow in left shift (1 << 31)");
    assert_eq!(call("bit_shift_right", &[integer(-8), integer(2)]), Value::Integer(-2));
    assert_eq!(call("bit_shift_right", &[integer(1), integer(100)]), Value::Integer(0));
    assert_eq!(call("bit_count", &[integer(-1)]), Value::TinyInt(32));
}

#[test]
fn the_greatest_and_least_ignore_nulls() {
    let null = (Type::Unknown, Value::Null);
    assert_eq!(call("greatest", &[integer(1), null.clone(), integer(3)]), Value::Integer(3));
    assert_eq!(call("least", &[null.clone(), integer(2)]), Value::Integer(2));
    assert_eq!(call("greatest", &[null.clone(), null]), Value::Null);
    assert_eq!(call("greatest", &[integer(1), decimal(25, 2, 1)]), Value::Decimal(25));
    let nan = call("greatest", &[integer(1), double(f64::NAN)]);
    assert!(matches!(nan, Value::Double(it) if it.is_nan()));
    assert_eq!(call("least", &[integer(1), double(f64::NAN)]), Value::Double(1.0));
    let texts = ["apple", "Banana", "b"].map(|it| (Type::Varchar, Value::text(it)));
    assert_eq!(call("least", &texts), Value::text("Banana"));
    let booleans = [true, false].map(|it| (Type::Boolean, Value::Boolean(it)));
    assert_eq!(call("greatest", &booleans), Value::Boolean(true));
}

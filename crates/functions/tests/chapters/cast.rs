use crate::calls::{cast, cast_exhausts};
use volley_types::{Field, Type, Value};

#[track_caller]
fn check(value: Value, from: &Type, to: &Type, expected: Value) {
    let result = cast(value.clone(), from, to);
    let same = matches!(&result, Ok(it) if format!("{it:?}") == format!("{expected:?}"));
    assert!(same, "{value:?} from {from} to {to}: {result:?}, expected {expected:?}");
}

#[track_caller]
fn fails(value: Value, from: &Type, to: &Type, message: &str) {
    assert_eq!(cast(value, from, to), Err(message.to_owned()));
}

/// A text as a value, and the value as the same text.
#[track_caller]
fn both_ways(text: &str, to: &Type) {
    let value = cast(Value::text(text), &Type::Varchar, to).unwrap();
    check(value, to, &Type::Varchar, Value::text(text));
}

#[test]
fn values_of_every_type_read_back_from_their_text() {
    both_ways("-128", &Type::TinyInt);
    both_ways("-32768", &Type::SmallInt);
    both_ways("2147483647", &Type::Integer);
    both_ways("-9223372036854775808", &Type::BigInt);
    both_ways("-170141183460469231731687303715884105728", &Type::HugeInt);
    both_ways("3.4028235e+38", &Type::Real);
    both_ways("1e+100", &Type::Double);
    both_ways("-0.05", &Type::decimal(5, 2));
    both_ways("9999999999999999999999999999.9999999999", &Type::decimal(38, 10));
    both_ways("true", &Type::Boolean);
    both_ways("0044-03-15 (BC)", &Type::Date);
    both_ways("2020-01-31 12:00:00.5", &Type::Timestamp);
    both_ways("23:59:59.000001", &Type::Time);
    both_ways("1 year 2 months 3 days 04:05:06", &Type::Interval);
    both_ways("a\\x00b", &Type::Varbinary);
    both_ways("[1, NULL, 3]", &Type::array(Type::Integer));
    both_ways("{k=1.5, l=NULL}", &Type::map(Type::Varchar, Type::Double));
    let row = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    both_ways("{'a': 1, 'b': x y}", &row);
}

#[test]
fn texts_that_are_no_values_fail() {
    let check = |text: &str, to: Type, message: &str| {
        fails(Value::text(text), &Type::Varchar, &to, message);
    };
    check("abc", Type::Integer, "cannot cast 'abc' to INTEGER");
    check("", Type::Integer, "cannot cast '' to INTEGER");
    check("300", Type::TinyInt, "value 300 out of range for TINYINT");
    check("1234", Type::decimal(3, 0), "value 1234 out of range for DECIMAL(3,0)");
    check("maybe", Type::Boolean, "cannot cast 'maybe' to BOOLEAN");
    check("2020-02-30", Type::Date, "cannot cast '2020-02-30' to DATE");
    check("[1, x]", Type::array(Type::Integer), "cannot cast '[1, x]' to ARRAY(INTEGER)");
}

#[test]
fn integers_are_checked_and_floats_rounded() {
    let (integer, double) = (Value::Integer, Value::Double);
    check(integer(-128), &Type::Integer, &Type::TinyInt, Value::TinyInt(-128));
    let message = "value 300 out of range for TINYINT";
    fails(integer(300), &Type::Integer, &Type::TinyInt, message);
    check(integer(-1), &Type::Integer, &Type::HugeInt, Value::HugeInt(-1));
    check(double(2.5), &Type::Double, &Type::Integer, integer(2));
    check(double(-1.5), &Type::Double, &Type::Integer, integer(-2));
    let message = "value nan out of range for INTEGER";
    fails(double(f64::NAN), &Type::Double, &Type::Integer, message);
    let message = "value 9.223372036854776e+18 out of range for BIGINT";
    fails(double(2f64.powi(63)), &Type::Double, &Type::BigInt, message);
    check(double(-(2f64.powi(63))), &Type::Double, &Type::BigInt, Value::BigInt(i64::MIN));
    check(double(-(2f64.powi(127))), &Type::Double, &Type::HugeInt, Value::HugeInt(i128::MIN));
    fails(
        double(2f64.powi(127)),
        &Type::Double,
        &Type::HugeInt,
        "value 1.7014118346046923e+38 out of range for HUGEINT",
    );
    fails(double(1e300), &Type::Double, &Type::Real, "value 1e+300 out of range for REAL");
    check(double(f64::INFINITY), &Type::Double, &Type::Real, Value::Real(f32::INFINITY));
    check(
        Value::BigInt(-9007199254740993),
        &Type::BigInt,
        &Type::Double,
        double(-9007199254740992.0),
    );
    check(double(f64::NAN), &Type::Double, &Type::Boolean, Value::Boolean(true));
    check(Value::Boolean(true), &Type::Boolean, &Type::decimal(5, 2), Value::Decimal(100));
}

#[test]
fn decimals_round_half_away_from_zero() {
    let d = Type::decimal;
    check(Value::Decimal(15), &d(2, 1), &d(2, 0), Value::Decimal(2));
    check(Value::Decimal(-15), &d(2, 1), &Type::Integer, Value::Integer(-2));
    check(Value::Decimal(149), &d(3, 2), &Type::Integer, Value::Integer(1));
    check(Value::Decimal(15), &d(2, 1), &d(38, 4), Value::Decimal(15_000));
    check(Value::Decimal(15), &d(15, 2), &d(18, 2), Value::Decimal(15));
    check(Value::Integer(1), &Type::Integer, &d(5, 2), Value::Decimal(100));
    let message = "value 1234 out of range for DECIMAL(5,2)";
    fails(Value::Integer(1234), &Type::Integer, &d(5, 2), message);
    let message = "value 99.95 out of range for DECIMAL(3,1)";
    fails(Value::Decimal(9995), &d(4, 2), &d(3, 1), message);
    check(Value::HugeInt(7), &Type::HugeInt, &d(38, 0), Value::Decimal(7));
    let most = 10i128.pow(38);
    assert!(cast(Value::HugeInt(most), &Type::HugeInt, &d(38, 0)).is_err());
    assert!(cast(Value::HugeInt(most), &Type::HugeInt, &d(38, 5)).is_err());
    check(Value::Double(0.125), &Type::Double, &d(5, 2), Value::Decimal(13));
    check(Value::Decimal(1), &d(3, 1), &Type::Double, Value::Double(0.1));
    let long = Value::Decimal(123_456_789_012_345_678_901_234_567_890);
    check(long, &d(38, 10), &Type::Double, Value::Double(12_345_678_901_234_567_890.123));
}

#[test]
fn points_in_time_convert() {
    let micros = Value::Timestamp(-1);
    check(micros.clone(), &Type::Timestamp, &Type::Date, Value::Date(-1));
    check(micros, &Type::Timestamp, &Type::Time, Value::Time(86_399_999_999));
    check(Value::Date(1), &Type::Date, &Type::Timestamp, Value::Timestamp(86_400_000_000));
    fails(Value::Date(i32::MAX - 1), &Type::Date, &Type::Timestamp, "timestamp out of range");
    let mut registry = volley_function::Registry::new();
    volley_functions::register(&mut registry);
    let error = registry.resolve_cast(&Type::Date, &Type::Integer).unwrap_err();
    assert_eq!(error.message(), "cannot cast DATE to INTEGER");
}

#[test]
fn nested_values_convert_by_element() {
    let integers = Type::array(Type::Integer);
    let array = Value::Array([Value::Integer(1), Value::Null, Value::Integer(300)].into());
    let expected = [Value::text("1"), Value::Null, Value::text("300")];
    check(array.clone(), &integers, &Type::array(Type::Varchar), Value::Array(expected.into()));
    let message = "value 300 out of range for TINYINT";
    fails(array, &integers, &Type::array(Type::TinyInt), message);
    let row = |names: [&str; 2], types: [Type; 2]| {
        Type::row(names.into_iter().zip(types).map(|(name, it)| Field::new(name, it)))
    };
    let value = Value::Row([Value::Integer(1), Value::Integer(2)].into());
    let from = row(["a", "b"], [Type::Integer, Type::Integer]);
    let to = row(["b", "c"], [Type::Varchar, Type::Integer]);
    check(value.clone(), &from, &to, Value::Row([Value::text("2"), Value::Null].into()));
    let unnamed = row(["", ""], [Type::Integer, Type::Integer]);
    check(value, &unnamed, &to, Value::Row([Value::text("1"), Value::Integer(2)].into()));
    check(Value::Null, &Type::Unknown, &integers, Value::Null);
}

#[test]
fn texts_and_parts_larger_than_the_memory_end_the_query() {
    let (numbers, texts) = (Type::array(Type::Integer), Type::array(Type::Varchar));
    let array = Value::Array(vec![Value::Integer(1_000_000); 100_000].into());
    cast_exhausts(array.clone(), &numbers, &Type::Varchar, 100);
    cast_exhausts(array, &numbers, &texts, 100);
    let written = Value::text(format!("[{}1]", "1, ".repeat(200_000)));
    cast_exhausts(written, &Type::Varchar, &numbers, 1);
}

//! Unsigned integers against arithmetic on wider integers, at the borders of all types and at
//! random, in every encoding.

use volley_function::{BoundScalar, EvalContext, Registry};
use volley_types::{Type, Value, custom::UnsignedInteger};
use volley_vector::{Rows, Vector, random::Generator};

const SIGNED: [Type; 5] =
    [Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt, Type::HugeInt];

/// A whole number of any of the types: `Err` is one beyond `i128`.
type Number = Result<i128, u128>;

fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry
}

fn from_u128(number: u128) -> Number {
    i128::try_from(number).map_err(|_| number)
}

/// The number as a value of an integer type, if it has it.
fn value_of(number: Number, data_type: &Type) -> Option<Value> {
    if let Some(unsigned) = data_type.unsigned() {
        let number = number.map_or_else(Some, |it| u128::try_from(it).ok())?;
        return unsigned.store(number);
    }
    let number = number.ok()?;
    Some(match data_type {
        Type::TinyInt => Value::TinyInt(number.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(number.try_into().ok()?),
        Type::Integer => Value::Integer(number.try_into().ok()?),
        Type::BigInt => Value::BigInt(number.try_into().ok()?),
        _ => Value::HugeInt(number),
    })
}

/// Borders of all types with their neighbors, and numbers of all sizes.
fn numbers() -> Vec<Number> {
    let mut random = fastrand::Rng::with_seed(42);
    let mut numbers: Vec<Number> = Vec::new();
    for bits in 0..128 {
        let power = 1u128 << bits;
        numbers.extend([power - 1, power, power + 1].map(from_u128));
        let signed = (power as i128).wrapping_neg();
        numbers.extend([signed.wrapping_sub(1), signed, signed.wrapping_add(1)].map(Ok));
        numbers.push(from_u128(random.u128(..) >> bits));
        numbers.push(Ok(random.i128(..) >> bits));
    }
    numbers.extend([u128::MAX, u128::MAX - 1].map(from_u128));
    numbers
}

fn integer_types() -> Vec<Type> {
    SIGNED.into_iter().chain(UnsignedInteger::ALL.map(UnsignedInteger::data_type)).collect()
}

/// The results of all rows; `None` for rows that fail.
fn run(bound: &BoundScalar, args: &[Vector]) -> Vec<Option<Value>> {
    let mut ctx = EvalContext::default();
    let rows = args[0].len();
    let result = bound.function.evaluate(&Rows::all(rows), args, &bound.result, &mut ctx).unwrap();
    let mut values: Vec<Option<Value>> =
        result.to_values().unwrap().into_iter().map(Some).collect();
    for row in ctx.errors.rows() {
        assert!(!bound.traits.infallible, "{bound:?} fails though infallible");
        values[row] = None;
    }
    values
}

#[test]
fn casts_between_all_integer_types_are_those_of_wider_integers() {
    let registry = registry();
    let types = integer_types();
    for from in &types {
        let numbers: Vec<Number> =
            numbers().into_iter().filter(|it| value_of(*it, from).is_some()).collect();
        let values: Vec<Value> = numbers.iter().filter_map(|it| value_of(*it, from)).collect();
        let flat = Vector::from_values(from.clone(), &values);
        for to in types.iter().filter(|it| *it != from) {
            let bound = registry.resolve_cast(from, to).unwrap();
            let expected: Vec<_> = numbers.iter().map(|it| value_of(*it, to)).collect();
            assert_eq!(run(&bound, std::slice::from_ref(&flat)), expected, "{from} to {to}");
            let constant = Vector::constant(from.clone(), &values[1], 3);
            assert_eq!(run(&bound, &[constant]), vec![expected[1].clone(); 3], "{from} to {to}");
        }
    }
}

#[test]
fn casts_to_text_and_back_keep_numbers() {
    let registry = registry();
    for data_type in UnsignedInteger::ALL.map(UnsignedInteger::data_type) {
        let known: Vec<(Number, Value)> =
            numbers().into_iter().filter_map(|it| Some((it, value_of(it, &data_type)?))).collect();
        let values: Vec<Value> = known.iter().map(|it| it.1.clone()).collect();
        let texts: Vec<Option<Value>> = known
            .iter()
            .map(|(number, _)| match number {
                Ok(number) => Some(Value::text(number.to_string())),
                Err(number) => Some(Value::text(number.to_string())),
            })
            .collect();
        let vector = Vector::from_values(data_type.clone(), &values);
        let to_text = registry.resolve_cast(&data_type, &Type::Varchar).unwrap();
        assert_eq!(run(&to_text, &[vector]), texts);
        let written: Vec<Value> = texts.into_iter().flatten().collect();
        let vector = Vector::from_values(Type::Varchar, &written);
        let from_text = registry.resolve_cast(&Type::Varchar, &data_type).unwrap();
        let read: Vec<Value> = run(&from_text, &[vector]).into_iter().flatten().collect();
        assert_eq!(read, values);
    }
}

#[test]
fn operators_are_those_of_wider_integers() {
    type Operation = fn(u128, u128) -> Option<u128>;
    let operations: [(&str, Operation); 10] = [
        ("plus", u128::checked_add),
        ("minus", u128::checked_sub),
        ("multiply", u128::checked_mul),
        ("integer_divide", u128::checked_div),
        ("mod", u128::checked_rem),
        ("bitwise_and", |a, b| Some(a & b)),
        ("bitwise_or", |a, b| Some(a | b)),
        ("xor", |a, b| Some(a ^ b)),
        ("bit_shift_right", |a, b| {
            Some(u32::try_from(b).ok().map_or(0, |it| a.checked_shr(it).unwrap_or(0)))
        }),
        ("bit_shift_left", |a, b| a.checked_mul(2u128.checked_pow(u32::try_from(b).ok()?)?)),
    ];
    let registry = registry();
    let mut random = Generator::new(7);
    for unsigned in UnsignedInteger::ALL {
        let data_type = unsigned.data_type();
        let mut operands = |rows: usize| {
            let vector = random.vector(&data_type, rows);
            let vector = vector.loaded().unwrap();
            let values = vector.to_values().unwrap();
            (vector, values.iter().map(|it| unsigned.number(it)).collect::<Vec<_>>())
        };
        for rows in [1, 3, 1024] {
            for (name, operation) in operations {
                let bound =
                    registry.resolve_scalar(name, &[data_type.clone(), data_type.clone()]).unwrap();
                assert_eq!((&bound.args[0], &bound.result), (&data_type, &data_type), "{name}");
                let ((left, a), (right, b)) = (operands(rows), operands(rows));
                let results = run_valid(&bound, &[left, right]);
                for row in 0..rows {
                    let (Some(a), Some(b)) = (a[row], b[row]) else { continue };
                    let expected = operation(a, b).and_then(|it| unsigned.store(it));
                    assert_eq!(results[row], expected, "{name} of {data_type}: {a}, {b}");
                }
            }
        }
    }
}

/// As [`run`], for rows without nulls; the results of others do not matter.
fn run_valid(bound: &BoundScalar, args: &[Vector]) -> Vec<Option<Value>> {
    let mut ctx = EvalContext::default();
    let len = args[0].len();
    let columns: Vec<Vec<Value>> = args.iter().map(|it| it.to_values().unwrap()).collect();
    let is_valid = |row: &usize| columns.iter().all(|it| !it[*row].is_null());
    let rows = Rows::from_indices(len, (0..len).filter(is_valid));
    let result = bound.function.evaluate(&rows, args, &bound.result, &mut ctx).unwrap();
    let failed: Vec<usize> = ctx.errors.rows().collect();
    let values = result.to_values().unwrap().into_iter().enumerate();
    values.map(|(row, it)| (!failed.contains(&row)).then_some(it)).collect()
}

#[test]
fn floats_and_decimals_round_as_for_signed_integers() {
    let registry = registry();
    let check = |from: &Type, value: Value, to: UnsignedInteger, expected: Option<u128>| {
        let bound = registry.resolve_cast(from, &to.data_type()).unwrap();
        let vector = Vector::from_values(from.clone(), &[value]);
        let expected = expected.and_then(|it| to.store(it));
        assert_eq!(run(&bound, &[vector]), [expected], "{from} to {to:?}");
    };
    let double = |value: f64, to: UnsignedInteger, expected: Option<u128>| {
        check(&Type::Double, Value::Double(value), to, expected);
    };
    use UnsignedInteger::{UBigInt, UHugeInt, UTinyInt};
    double(-0.0, UTinyInt, Some(0));
    double(-0.5, UTinyInt, Some(0));
    double(-0.51, UTinyInt, None);
    double(1.5, UTinyInt, Some(2));
    double(2.5, UTinyInt, Some(2));
    double(255.4, UTinyInt, Some(255));
    double(255.5, UTinyInt, None);
    double(f64::NAN, UBigInt, None);
    double(f64::INFINITY, UHugeInt, None);
    double(2f64.powi(64), UBigInt, None);
    double(2f64.powi(63), UBigInt, Some(1 << 63));
    double(2f64.powi(127), UHugeInt, Some(1 << 127));
    double(2f64.powi(128), UHugeInt, None);
    check(&Type::Real, Value::Real(200.5), UTinyInt, Some(200));
    let decimal = Type::decimal(5, 1);
    check(&decimal, Value::Decimal(25), UTinyInt, Some(3));
    check(&decimal, Value::Decimal(-4), UTinyInt, Some(0));
    check(&decimal, Value::Decimal(-5), UTinyInt, None);
    check(&decimal, Value::Decimal(2554), UTinyInt, Some(255));
    check(&decimal, Value::Decimal(2555), UTinyInt, None);
    check(&Type::Boolean, Value::Boolean(true), UHugeInt, Some(1));
}

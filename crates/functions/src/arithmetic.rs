//! The arithmetic operators: `plus`, `minus`, `multiply`, `divide`, `integer_divide`, `mod`,
//! `negate`.
//!
//! Result types are DuckDB's. Integers meet in the wider type, and leaving it is an error. Decimals
//! are exact (see [`decimal`]). `/` divides floats: by zero it gives an infinity or NaN.

mod decimal;
mod integer;
mod float;
mod double;
mod temporal;
mod interval;
mod nanosecond;
mod time_tz;
mod unsigned;

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Error;
use volley_function::{BindScalar, BoundScalar, Registry};
use volley_types::{Type, common_type, comparable_type, custom::UnsignedInteger};

/// Registers the arithmetic operators.
pub(crate) fn register(registry: &mut Registry) {
    let signature = |symbol: &str, what: &str| format!("x {symbol} y -> {what}");
    let same = "the wider of both types";
    let plus = doc(
        &signature("+", same),
        "The sum of numbers, or a date, time or timestamp moved by an interval or by days.",
        "math",
        &[("1 + 2", "3"), ("0.5 + 0.25", "0.75"), ("date '2020-01-31' + 1", "2020-02-01")],
    );
    let minus = doc(
        &signature("-", same),
        "The difference of numbers, dates (in days) or timestamps, or a date moved back.",
        "math",
        &[("3 - 2", "1"), ("date '2020-02-01' - date '2020-01-01'", "31")],
    );
    let multiply = doc(
        &signature("*", same),
        "The product of numbers, or an interval several times.",
        "math",
        &[("3 * 2", "6"), ("1.5 * 1.5", "2.25")],
    );
    let divide = doc(
        &signature("/", "double"),
        "The quotient as a float; by zero it is infinite or NaN.",
        "math",
        &[("1 / 2", "0.5"), ("1 / 0", "inf")],
    );
    let integer_divide = doc(
        &signature("//", same),
        "The quotient of integers, truncated toward zero; by zero it is an error.",
        "math",
        &[("7 // 2", "3"), ("-7 // 2", "-3")],
    );
    let modulo = doc(
        "x % y -> the wider of both types",
        "The remainder of the truncated quotient; it has the sign of x.",
        "math",
        &[("7 % 3", "1"), ("-7 % 3", "-1"), ("7.5 % 2", "1.5")],
    );
    let negate = doc("-x -> as x", "The negative number or interval.", "math", &[("-(1)", "-1")]);
    for name in ["plus", "add"] {
        add(registry, name, plus.clone(), bind_plus);
    }
    for name in ["minus", "subtract"] {
        add(registry, name, minus.clone(), bind_minus);
    }
    add(registry, "multiply", multiply, bind_multiply);
    add(registry, "divide", divide, bind_divide);
    add(registry, "integer_divide", integer_divide, bind_integer_divide);
    add(registry, "mod", modulo, bind_mod);
    add(registry, "negate", negate, bind_negate);
    temporal::register(registry);
    nanosecond::register(registry);
    time_tz::register(registry);
    interval::register(registry);
}

fn timestamp_out_of_range() -> Error {
    Error::invalid_value("timestamp out of range")
}

fn add(
    registry: &mut Registry,
    name: &str,
    doc: volley_function::FunctionDoc,
    bind: fn(&[Type]) -> Option<BoundScalar>,
) {
    let bind: BindScalar = Arc::new(bind);
    registry.add_scalar(name, doc, bind);
}

/// The operators that check for overflow, for loops and messages.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Plus,
    Minus,
    Multiply,
    Divide,
}

impl Operator {
    /// The error of a row that leaves `data_type`; `left` and `right` as text.
    fn overflow(self, data_type: &Type, left: String, right: String) -> Error {
        let (name, symbol) = match self {
            Operator::Plus => ("addition", '+'),
            Operator::Minus => ("subtraction", '-'),
            Operator::Multiply => ("multiplication", '*'),
            Operator::Divide => ("division", '/'),
        };
        let message = format!("overflow in {name} of {data_type} ({left} {symbol} {right})");
        Error::invalid_value(message).hint("cast an operand to a wider type")
    }
}

fn division_by_zero() -> Error {
    Error::invalid_value("division by zero")
}

/// What the operands of an operator on numbers are.
enum Operands {
    /// Integers of this type.
    Integers(Type),
    /// Unsigned integers of this type.
    Unsigned(UnsignedInteger),
    /// Decimals or integers, at least one of them a decimal: precisions and scales.
    Decimals((u8, u8), (u8, u8)),
    /// Floats of this type.
    Floats(Type),
}

fn operands(args: &[Type]) -> Option<Operands> {
    let [left, right] = args else { return None };
    let (left, right) = match (left, right) {
        (Type::Unknown, Type::Unknown) => (&Type::BigInt, &Type::BigInt),
        (Type::Unknown, other) | (other, Type::Unknown) => (other, other),
        both => both,
    };
    if !left.is_number() || !right.is_number() {
        return None;
    }
    if left.unsigned().is_some() || right.unsigned().is_some() {
        return unsigned::operands(left, right);
    }
    let common = common_type(left, right)?;
    if common.is_integer() {
        return Some(Operands::Integers(common));
    }
    if common.is_float() {
        return Some(Operands::Floats(common));
    }
    Some(Operands::Decimals(left.decimal_shape()?, right.decimal_shape()?))
}

fn bind_plus(args: &[Type]) -> Option<BoundScalar> {
    match operands(args)? {
        Operands::Integers(common) => integer::bind(Operator::Plus, common),
        Operands::Unsigned(common) => unsigned::bind(Operator::Plus, common),
        Operands::Decimals(left, right) => decimal::bind_sum(Operator::Plus, left, right),
        Operands::Floats(common) => {
            float::bind_operator(Operator::Plus, common, |a, b| a + b, |a, b| a + b)
        }
    }
}

fn bind_minus(args: &[Type]) -> Option<BoundScalar> {
    match operands(args)? {
        Operands::Integers(common) => integer::bind(Operator::Minus, common),
        Operands::Unsigned(common) => unsigned::bind(Operator::Minus, common),
        Operands::Decimals(left, right) => decimal::bind_sum(Operator::Minus, left, right),
        Operands::Floats(common) => {
            float::bind_operator(Operator::Minus, common, |a, b| a - b, |a, b| a - b)
        }
    }
}

fn bind_multiply(args: &[Type]) -> Option<BoundScalar> {
    match operands(args)? {
        Operands::Integers(common) => integer::bind(Operator::Multiply, common),
        Operands::Unsigned(common) => unsigned::bind(Operator::Multiply, common),
        Operands::Decimals(left, right) => decimal::bind_product(left, right),
        Operands::Floats(common) => {
            float::bind_operator(Operator::Multiply, common, |a, b| a * b, |a, b| a * b)
        }
    }
}

fn bind_divide(args: &[Type]) -> Option<BoundScalar> {
    let common = match operands(args)? {
        Operands::Floats(common) => common,
        _ => Type::Double,
    };
    float::bind(common, |a, b| a / b, |a, b| a / b)
}

fn bind_integer_divide(args: &[Type]) -> Option<BoundScalar> {
    match operands(args)? {
        Operands::Integers(common) => integer::bind(Operator::Divide, common),
        Operands::Unsigned(common) => unsigned::bind(Operator::Divide, common),
        Operands::Decimals(..) => float::bind_checked_divide(Type::Double),
        Operands::Floats(common) => float::bind_checked_divide(common),
    }
}

fn bind_mod(args: &[Type]) -> Option<BoundScalar> {
    match operands(args)? {
        Operands::Integers(common) => integer::bind_mod(common),
        Operands::Unsigned(common) => unsigned::bind_mod(common),
        Operands::Decimals((p1, s1), (p2, s2)) => {
            let left = Type::Decimal { precision: p1, scale: s1 };
            let right = Type::Decimal { precision: p2, scale: s2 };
            integer::bind_mod(comparable_type(&left, &right)?)
        }
        Operands::Floats(common) => float::bind(common, |a, b| a % b, |a, b| a % b),
    }
}

fn bind_negate(args: &[Type]) -> Option<BoundScalar> {
    match args {
        [Type::Unknown] => integer::bind_negate(Type::BigInt),
        [one] if one.is_float() => float::bind_negate(one.clone()),
        [one] if one.is_integer() || one.is_decimal() => integer::bind_negate(one.clone()),
        [one] => unsigned::bind_negate(one.unsigned()?),
        _ => None,
    }
}

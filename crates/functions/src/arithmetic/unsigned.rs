//! Unsigned integers: every operator checks that the result fits the type. They are stored with
//! the sign bit flipped; see [`UnsignedInteger`].

use super::{Operands, Operator, division_by_zero};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, ScalarFunction, ScalarTraits, block_binary, simple};
use volley_types::{
    Type, common_type,
    custom::{SignFlipped, UnsignedInteger},
    match_integer,
};

/// The arithmetic of two operands: at least one is an unsigned integer, the other is a number.
///
/// A signed integer and an unsigned one of another type meet as DuckDB's operators have it: in the
/// signed type, if it has all numbers of both; else in BIGINT, HUGEINT or DOUBLE.
pub(super) fn operands(left: &Type, right: &Type) -> Option<Operands> {
    let common = common_type(left, right)?;
    if let Some(unsigned) = common.unsigned() {
        return Some(Operands::Unsigned(unsigned));
    }
    if common.is_float() {
        return Some(Operands::Floats(common));
    }
    if common.is_decimal() {
        let shape = |it: &Type| match it.unsigned() {
            Some(unsigned) => Some((unsigned.digits(), 0)),
            None => it.decimal_shape(),
        };
        return Some(Operands::Decimals(shape(left)?, shape(right)?));
    }
    let huge = UnsignedInteger::UHugeInt.data_type();
    Some(match common {
        _ if [left, right].contains(&&huge) => Operands::Floats(Type::Double),
        Type::HugeInt | Type::BigInt => Operands::Integers(common),
        _ if [left, right].contains(&&common) => Operands::Integers(common),
        _ => Operands::Integers(Type::BigInt),
    })
}

/// The storage of an unsigned integer. Operations are those of 128 bits, which the compiler
/// narrows.
trait Unsigned: SignFlipped + simple::Stored<simple::NativeColumn<Self>> {}

impl<T: SignFlipped + simple::Stored<simple::NativeColumn<T>>> Unsigned for T {}

/// `operator` on two unsigned integers of type `common`.
pub(super) fn bind(operator: Operator, common: UnsignedInteger) -> Option<BoundScalar> {
    let common = common.data_type();
    let function = match_integer!(common.physical(), T => match operator {
        Operator::Plus => checked::<T>(operator, u128::overflowing_add),
        Operator::Minus => checked::<T>(operator, u128::overflowing_sub),
        Operator::Multiply => checked::<T>(operator, u128::overflowing_mul),
        Operator::Divide => divided::<T>(u128::checked_div),
    }, else return None);
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

/// The remainder of unsigned integers.
pub(super) fn bind_mod(common: UnsignedInteger) -> Option<BoundScalar> {
    let common = common.data_type();
    let function = match_integer!(
        common.physical(), T => divided::<T>(u128::checked_rem), else return None
    );
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

/// The negative number: only zero has one.
pub(super) fn bind_negate(data_type: UnsignedInteger) -> Option<BoundScalar> {
    fn function<T: Unsigned>() -> Arc<dyn ScalarFunction> {
        simple::vectorized(move |rows, args, to, ctx| {
            let error = |a: T| {
                let message = format!("overflow in negation of {to} (-{})", number(a));
                Error::invalid_value(message).hint("cast the operand to a signed type")
            };
            type Marker<T> = simple::Physical<T>;
            let f = |a: T| (a, number(a) != 0);
            simple::map_checked1::<Marker<T>, Marker<T>, T>(rows, args, to, ctx, f, error)
        })
    }
    let data_type = data_type.data_type();
    let function = match_integer!(data_type.physical(), T => function::<T>(), else return None);
    Some(BoundScalar::new(vec![data_type.clone()], data_type, ScalarTraits::DEFAULT, function))
}

#[inline(always)]
fn number<T: Unsigned>(stored: T) -> u128 {
    stored.number().into()
}

/// `operation`, which says whether it overflows 128 bits.
fn checked<T: Unsigned>(
    operator: Operator,
    operation: impl Fn(u128, u128) -> (u128, bool) + Copy + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    let f = move |a: T, b: T| {
        let (result, overflow) = operation(number(a), number(b));
        let narrow = T::stored_low(result);
        (narrow, overflow | (number(narrow) != result))
    };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let error =
            |a: T, b: T| operator.overflow(to, number(a).to_string(), number(b).to_string());
        type Marker<T> = simple::Physical<T>;
        simple::map_checked2::<Marker<T>, Marker<T>, Marker<T>, T>(rows, args, to, ctx, f, error)
    });
    simple::with_block(function, block_binary(f))
}

/// `operation`, which has no result for a zero divisor.
fn divided<T: Unsigned>(
    operation: impl Fn(u128, u128) -> Option<u128> + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    type Marker<T> = simple::Physical<T>;
    simple::function2::<Marker<T>, Marker<T>, Marker<T>, _>(move |a: T, b: T| -> Result<T> {
        let result = operation(number(a), number(b)).ok_or_else(division_by_zero)?;
        Ok(T::stored_low(result))
    })
}

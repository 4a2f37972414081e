//! Unsigned integers: every operator checks that the result fits the type. They are stored with
//! the sign bit flipped; see [`UnsignedInteger`].

use super::{Operands, Operator, division_by_zero};
use std::{fmt::Display, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundScalar, ScalarFunction, ScalarTraits, block_binary, simple};
use volley_types::{
    Type, common_type,
    custom::{SignFlipped, UnsignedInteger},
    match_integer,
};

/// What operands are at least one of which is an unsigned integer, and the other a number.
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

/// The storage of an unsigned integer, with the operations on its number that say whether they
/// overflowed.
trait Unsigned: SignFlipped<Number: Display> + simple::Stored<simple::NativeColumn<Self>> {
    const ZERO: Self;
    fn plus(self, other: Self) -> (Self, bool);
    fn minus(self, other: Self) -> (Self, bool);
    fn times(self, other: Self) -> (Self, bool);
    /// `None` for a zero divisor.
    fn quotient(self, other: Self) -> Option<Self>;
    /// `None` for a zero divisor.
    fn remainder(self, other: Self) -> Option<Self>;
}

macro_rules! unsigned {
    ($($stored:ty),*) => {
        $(impl Unsigned for $stored {
            const ZERO: $stored = <$stored>::MIN;

            #[inline(always)]
            fn plus(self, other: $stored) -> ($stored, bool) {
                let (a, b) = (self.number(), other.number());
                let sum = a.wrapping_add(b);
                (<$stored>::stored(sum), sum < a)
            }

            #[inline(always)]
            fn minus(self, other: $stored) -> ($stored, bool) {
                let (a, b) = (self.number(), other.number());
                (<$stored>::stored(a.wrapping_sub(b)), a < b)
            }

            #[inline(always)]
            fn times(self, other: $stored) -> ($stored, bool) {
                let (product, overflow) = self.number().overflowing_mul(other.number());
                (<$stored>::stored(product), overflow)
            }

            #[inline(always)]
            fn quotient(self, other: $stored) -> Option<$stored> {
                self.number().checked_div(other.number()).map(<$stored>::stored)
            }

            #[inline(always)]
            fn remainder(self, other: $stored) -> Option<$stored> {
                self.number().checked_rem(other.number()).map(<$stored>::stored)
            }
        })*
    };
}

unsigned!(i8, i16, i32, i64, i128);

/// `operator` on two unsigned integers of type `common`.
pub(super) fn bind(operator: Operator, common: UnsignedInteger) -> Option<BoundScalar> {
    let common = common.data_type();
    let function = match_integer!(common.physical(), T => match operator {
        Operator::Plus => checked::<T>(operator, T::plus),
        Operator::Minus => checked::<T>(operator, T::minus),
        Operator::Multiply => checked::<T>(operator, T::times),
        Operator::Divide => divided(T::quotient),
    }, else return None);
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

/// The remainder of unsigned integers.
pub(super) fn bind_mod(common: UnsignedInteger) -> Option<BoundScalar> {
    let common = common.data_type();
    let function = match_integer!(common.physical(), T => divided(T::remainder), else return None);
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

/// The negative number: only zero has one.
pub(super) fn bind_negate(data_type: UnsignedInteger) -> Option<BoundScalar> {
    fn function<T: Unsigned>() -> Arc<dyn ScalarFunction> {
        simple::vectorized(move |rows, args, to, ctx| {
            let error = |a: T| {
                let message = format!("overflow in negation of {to} (-{})", a.number());
                Error::invalid_value(message).hint("cast the operand to a signed type")
            };
            type Marker<T> = simple::Physical<T>;
            let f = |a: T| T::ZERO.minus(a);
            simple::map_checked1::<Marker<T>, Marker<T>, T>(rows, args, to, ctx, f, error)
        })
    }
    let data_type = data_type.data_type();
    let function = match_integer!(data_type.physical(), T => function::<T>(), else return None);
    Some(BoundScalar::new(vec![data_type.clone()], data_type, ScalarTraits::DEFAULT, function))
}

fn checked<T: Unsigned>(
    operator: Operator,
    f: impl Fn(T, T) -> (T, bool) + Copy + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let error =
            |a: T, b: T| operator.overflow(to, a.number().to_string(), b.number().to_string());
        type Marker<T> = simple::Physical<T>;
        simple::map_checked2::<Marker<T>, Marker<T>, Marker<T>, T>(rows, args, to, ctx, &f, error)
    });
    simple::with_block(function, block_binary(f))
}

fn divided<T: Unsigned>(
    f: impl Fn(T, T) -> Option<T> + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    type Marker<T> = simple::Physical<T>;
    simple::function2::<Marker<T>, Marker<T>, Marker<T>, _>(move |a: T, b: T| -> Result<T> {
        f(a, b).ok_or_else(division_by_zero)
    })
}

//! Integers: every operator checks that the result fits the type. `mod` and `negate` serve
//! decimals, too, whose operands have one scale then.

use super::{Operator, division_by_zero};
use std::{fmt::Display, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BlockArg, BlockFunction, BoundScalar, ScalarFunction, ScalarTraits, block_binary, simple,
};
use volley_kernels::arithmetic::magnitude_bits;
use volley_types::{Native, PhysicalType, Type, match_integer};
use volley_vector::{Rows, native_slice};

/// An integer with the operations that say whether they overflowed.
pub(super) trait Whole:
    Native + Display + simple::Stored<simple::NativeColumn<Self>>
{
    const ZERO: Self;
    fn plus(self, other: Self) -> (Self, bool);
    fn minus(self, other: Self) -> (Self, bool);
    fn times(self, other: Self) -> (Self, bool);
    /// `None` for a zero divisor.
    fn quotient(self, other: Self) -> Option<(Self, bool)>;
    /// `None` for a zero divisor; never overflows.
    fn remainder(self, other: Self) -> Option<Self>;
}

macro_rules! whole {
    ($($native:ty as $wide:ty),*) => {
        $(impl Whole for $native {
            const ZERO: $native = 0;

            #[inline(always)]
            fn plus(self, other: $native) -> ($native, bool) {
                let sum = self.wrapping_add(other);
                (sum, ((self ^ sum) & (other ^ sum)) < 0)
            }

            #[inline(always)]
            fn minus(self, other: $native) -> ($native, bool) {
                let difference = self.wrapping_sub(other);
                (difference, ((self ^ other) & (self ^ difference)) < 0)
            }

            #[inline(always)]
            fn times(self, other: $native) -> ($native, bool) {
                let product = <$wide>::from(self).overflowing_mul(<$wide>::from(other));
                let narrow = product.0 as $native;
                (narrow, product.1 | (<$wide>::from(narrow) != product.0))
            }

            #[inline(always)]
            fn quotient(self, other: $native) -> Option<($native, bool)> {
                (other != 0).then(|| self.overflowing_div(other))
            }

            #[inline(always)]
            fn remainder(self, other: $native) -> Option<$native> {
                (other != 0).then(|| self.wrapping_rem(other))
            }
        })*
    };
}

// The compiler makes vector loops of overflows told by signs, and of narrow products in a wider
// type; it makes none of `overflowing_add` and such.
whole!(i8 as i16, i16 as i32, i32 as i64, i64 as i64, i128 as i128);

/// `operator` on two integers of type `common`.
pub(super) fn bind(operator: Operator, common: Type) -> Option<BoundScalar> {
    let function = match_integer!(common.physical(), T => match operator {
        Operator::Plus => checked::<T>(operator, T::plus),
        Operator::Minus => checked::<T>(operator, T::minus),
        Operator::Multiply => multiply::<T>(),
        Operator::Divide => divide::<T>(),
    }, else return None);
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

fn checked<T: Whole>(
    operator: Operator,
    f: impl Fn(T, T) -> (T, bool) + Copy + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let error = |a: T, b: T| operator.overflow(to, a.to_string(), b.to_string());
        type Marker<T> = simple::Physical<T>;
        simple::map_checked2::<Marker<T>, Marker<T>, Marker<T>, T>(rows, args, to, ctx, &f, error)
    });
    simple::with_block(function, block_binary(f))
}

/// Products of BIGINT are not checked where the arguments' magnitudes rule overflow out: the check
/// costs more than the product.
fn multiply<T: Whole>() -> Arc<dyn ScalarFunction> {
    let checked = checked::<T>(Operator::Multiply, T::times);
    if T::PHYSICAL != PhysicalType::I64 {
        return checked;
    }
    simple::with_block(checked, BlockProduct { bits: i64::BITS - 2 })
}

/// Products of 64-bit integers whose magnitudes have at most `bits` bits together.
#[derive(Clone, Copy)]
pub(super) struct BlockProduct {
    pub(super) bits: u32,
}

impl BlockFunction for BlockProduct {
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        let bits = args.iter().map(|it| magnitude_bits(native_slice(it.0))).sum::<u32>();
        bits <= self.bits
            && block_binary(|a: i64, b: i64| (a.wrapping_mul(b), false)).run(args, out)
    }
}

fn divide<T: Whole>() -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows: &Rows, args, to, ctx| {
        let f = |a: T, b: T| match a.quotient(b) {
            None => Err(division_by_zero()),
            Some((_, true)) => Err(Operator::Divide.overflow(to, a.to_string(), b.to_string())),
            Some((quotient, false)) => Ok(quotient),
        };
        type Marker<T> = simple::Physical<T>;
        simple::map2::<Marker<T>, Marker<T>, Marker<T>, _>(rows, args, to, ctx, f)
    })
}

/// The remainder of integers, or of unscaled decimals of one scale.
pub(super) fn bind_mod(common: Type) -> Option<BoundScalar> {
    fn function<T: Whole>() -> Arc<dyn ScalarFunction> {
        simple::function2::<simple::Physical<T>, simple::Physical<T>, simple::Physical<T>, _>(
            |a: T, b: T| -> Result<T, Error> { a.remainder(b).ok_or_else(division_by_zero) },
        )
    }
    let function = match_integer!(common.physical(), T => function::<T>(), else return None);
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

/// The negative integer or decimal. Only the least integer has none.
pub(super) fn bind_negate(data_type: Type) -> Option<BoundScalar> {
    fn function<T: Whole>() -> Arc<dyn ScalarFunction> {
        simple::vectorized(move |rows, args, to, ctx| {
            let error = |a: T| {
                let message = format!("overflow in negation of {to} (-({a}))");
                Error::invalid_value(message).hint("cast the operand to a wider type")
            };
            let f = |a: T| T::ZERO.minus(a);
            type Marker<T> = simple::Physical<T>;
            simple::map_checked1::<Marker<T>, Marker<T>, T>(rows, args, to, ctx, f, error)
        })
    }
    let traits =
        if data_type.is_decimal() { ScalarTraits::INFALLIBLE } else { ScalarTraits::DEFAULT };
    let function = match_integer!(data_type.physical(), T => function::<T>(), else return None);
    Some(BoundScalar::new(vec![data_type.clone()], data_type, traits, function))
}

//! Booleans, integers and floats to each other; decimals are in [`super::decimal`].

use super::{decimal, fallible, infallible, out_of_range};
use std::{fmt::Display, sync::Arc};
use volley_function::{
    BoundScalar, ScalarFunction, block_unary,
    simple::{self, Boolean, Double, NativeColumn, Physical, Real, Stored},
};
use volley_types::{Native, Type, match_integer, text};

/// Whether numbers convert to and from this type.
pub(super) fn is_numeric_or_boolean(data_type: &Type) -> bool {
    data_type.is_numeric() || *data_type == Type::Boolean
}

/// A conversion between two different types of numbers or booleans.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    match (from, to) {
        (Type::Boolean, Type::Decimal { precision, scale }) if precision == scale => {
            fallible(from, to, to_fraction(to)?)
        }
        (Type::Boolean, _) => infallible(from, to, from_boolean(to)?),
        (_, Type::Boolean) => infallible(from, to, to_boolean(from)?),
        (Type::Real, Type::Double) => {
            infallible(from, to, simple::function1::<Real, Double, _>(f64::from))
        }
        (Type::Double, Type::Real) => fallible(from, to, narrow_float(to.clone())),
        (Type::Real | Type::Double, Type::Decimal { .. }) => decimal::from_float(from, to),
        (Type::Real | Type::Double, _) => fallible(from, to, float_to_integer(from, to)?),
        (_, Type::Real | Type::Double) if from.is_integer() => {
            infallible(from, to, integer_to_float(from, to)?)
        }
        (Type::Decimal { .. }, Type::Real | Type::Double) => decimal::to_float(from, to),
        (Type::Decimal { .. }, _) | (_, Type::Decimal { .. }) => decimal::bind(from, to),
        _ => integer_to_integer(from, to),
    }
}

/// An integer layout and its way through 128 bits.
pub(super) trait Whole: Native + Display + Into<i128> + Stored<NativeColumn<Self>> {
    /// The low bits.
    fn wrap(value: i128) -> Self;
    /// The nearest 64-bit float.
    fn to_f64(self) -> f64;
    /// The nearest 32-bit float.
    fn to_f32(self) -> f32;
    /// One past the greatest value, as a float.
    const END: f64;
}

macro_rules! whole {
    ($($native:ty),*) => {
        $(impl Whole for $native {
            const END: f64 = -(<$native>::MIN as f64);

            #[inline(always)]
            fn wrap(value: i128) -> $native {
                value as $native
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
        })*
    };
}

whole!(i8, i16, i32, i64, i128);

fn integer_to_integer(from: &Type, to: &Type) -> Option<BoundScalar> {
    let widens = volley_types::implicit_cast_cost(from, to).is_some();
    let function = match_integer!(from.physical(), A => {
        match_integer!(to.physical(), B => resize::<A, B>(), else return None)
    }, else return None);
    if widens { infallible(from, to, function) } else { fallible(from, to, function) }
}

fn resize<A: Whole, B: Whole>() -> Arc<dyn ScalarFunction> {
    let convert = |value: A| {
        let wide: i128 = value.into();
        let narrow = B::wrap(wide);
        (narrow, narrow.into() != wide)
    };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let error = |value: A| out_of_range(value, to);
        simple::map_checked1::<Physical<A>, Physical<B>, B>(rows, args, to, ctx, convert, error)
    });
    simple::with_block(function, block_unary(convert))
}

fn integer_to_float(from: &Type, to: &Type) -> Option<Arc<dyn ScalarFunction>> {
    Some(match_integer!(from.physical(), A => match to {
        Type::Real => simple::function1::<Physical<A>, Real, _>(|it: A| it.to_f32()),
        _ => simple::with_block(
            simple::function1::<Physical<A>, Double, _>(|it: A| it.to_f64()),
            block_unary(|it: A| (it.to_f64(), false)),
        ),
    }, else return None))
}

fn narrow_float(to: Type) -> Arc<dyn ScalarFunction> {
    simple::function1::<Double, Real, _>(move |value: f64| {
        let narrow = value as f32;
        if narrow.is_infinite() && value.is_finite() {
            return Err(out_of_range(float_text(value), &to));
        }
        Ok(narrow)
    })
}

/// Rounds to the nearest integer, halves to the even one.
fn float_to_integer(from: &Type, to: &Type) -> Option<Arc<dyn ScalarFunction>> {
    Some(match_integer!(to.physical(), B => match from {
        Type::Real => rounded::<Real, B>(|it: f32| it.into(), to.clone()),
        _ => rounded::<Double, B>(|it: f64| it, to.clone()),
    }, else return None))
}

fn rounded<A: simple::Arg, B: Whole>(
    widen: impl Fn(A::Value<'_>) -> f64 + Send + Sync + 'static,
    to: Type,
) -> Arc<dyn ScalarFunction> {
    simple::function1::<A, Physical<B>, _>(move |value| {
        let value = widen(value);
        let rounded = value.round_ties_even();
        if rounded >= -B::END && rounded < B::END {
            Ok(B::wrap(rounded as i128))
        } else {
            Err(out_of_range(float_text(value), &to))
        }
    })
}

/// A float as it is printed.
pub(super) fn float_text(value: f64) -> String {
    let mut out = String::new();
    text::push_f64(&mut out, value);
    out
}

fn from_boolean(to: &Type) -> Option<Arc<dyn ScalarFunction>> {
    let one: i128 = match to {
        Type::Decimal { scale, .. } => 10i128.pow((*scale).into()),
        _ => 1,
    };
    Some(match to {
        Type::Real => simple::function1::<Boolean, Real, _>(|it: bool| f32::from(it)),
        Type::Double => simple::function1::<Boolean, Double, _>(|it: bool| f64::from(it)),
        _ => match_integer!(to.physical(), B => {
            simple::function1::<Boolean, Physical<B>, _>(move |it: bool| {
                B::wrap(if it { one } else { 0 })
            })
        }, else return None),
    })
}

/// To a DECIMAL without an integer digit: there is no room for true.
fn to_fraction(to: &Type) -> Option<Arc<dyn ScalarFunction>> {
    let to = to.clone();
    Some(match_integer!(to.physical(), B => {
        simple::function1::<Boolean, Physical<B>, _>(move |it: bool| match it {
            true => Err(out_of_range(1, &to)),
            false => Ok(B::wrap(0)),
        })
    }, else return None))
}

/// Everything but zero is true, also NaN.
fn to_boolean(from: &Type) -> Option<Arc<dyn ScalarFunction>> {
    Some(match from {
        Type::Real => simple::function1::<Real, Boolean, _>(|it: f32| it != 0.0),
        Type::Double => simple::function1::<Double, Boolean, _>(|it: f64| it != 0.0),
        _ => match_integer!(from.physical(), A => {
            simple::function1::<Physical<A>, Boolean, _>(|it: A| it != A::default())
        }, else return None),
    })
}

//! Unsigned integers from and to numbers, booleans and text. They are stored with the sign bit
//! flipped; see [`volley_types::custom::UnsignedInteger`].
//!
//! Decimals are converted by way of a signed integer type that has all numbers of the unsigned one.

use super::{
    fallible, infallible, invalid_text,
    number::{Whole, float_text},
    out_of_range, settle, to_text,
};
use std::sync::Arc;
use volley_error::Error;
use volley_function::{
    BoundScalar, ScalarFunction, ScalarTraits,
    simple::{self, Boolean, Double, Physical, Real, Varchar},
};
use volley_types::{Type, custom::SignFlipped, implicit_cast_cost, match_integer, text};

/// A conversion from or to an unsigned integer type.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    let is_whole = |it: &Type| it.is_integer() || it.unsigned().is_some();
    match (from, to) {
        _ if is_whole(from) && is_whole(to) => between_integers(from, to),
        (_, Type::Varchar) => {
            let function = match_integer!(from.physical(), A => {
                to_text::native(|out, value: A| text::push_u128(out, value.number().into()))
            }, else return None);
            infallible(from, to, function)
        }
        (Type::Varchar, _) => {
            let function = match_integer!(to.physical(), B => from_text::<B>(to), else return None);
            fallible(from, to, function)
        }
        (_, Type::Boolean) => {
            let function = match_integer!(from.physical(), A => {
                simple::function1::<Physical<A>, Boolean, _>(|it: A| it != A::MIN)
            }, else return None);
            infallible(from, to, function)
        }
        (Type::Boolean, _) => {
            let function = match_integer!(to.physical(), B => {
                simple::function1::<Boolean, Physical<B>, _>(|it: bool| B::stored_low(it.into()))
            }, else return None);
            infallible(from, to, function)
        }
        (_, Type::Real | Type::Double) => infallible(from, to, to_float(from, to)?),
        (Type::Real | Type::Double, _) => fallible(from, to, from_float(from, to)?),
        (_, Type::Decimal { .. }) => by_way_of(from, &from.unsigned()?.signed(), to),
        (Type::Decimal { .. }, _) => by_way_of(from, &Type::HugeInt, to),
        _ => None,
    }
}

/// How an integer type stores its numbers.
#[derive(Clone, Copy)]
enum Storage {
    Plain,
    SignFlipped,
}

impl Storage {
    fn of(data_type: &Type) -> Storage {
        if data_type.unsigned().is_some() { Storage::SignFlipped } else { Storage::Plain }
    }

    /// The low 128 bits of the number that a value is, in two's complement, and whether it is
    /// negative.
    #[inline(always)]
    fn number<A: Whole + SignFlipped>(self, value: A) -> (u128, bool) {
        match self {
            Storage::Plain => {
                let wide: i128 = value.into();
                (wide as u128, wide < 0)
            }
            Storage::SignFlipped => (value.number().into(), false),
        }
    }

    /// The value of the low bits of a number.
    #[inline(always)]
    fn value<B: Whole + SignFlipped>(self, bits: u128) -> B {
        match self {
            Storage::Plain => B::wrap(bits as i128),
            Storage::SignFlipped => B::stored_low(bits),
        }
    }
}

fn between_integers(from: &Type, to: &Type) -> Option<BoundScalar> {
    let widens = implicit_cast_cost(from, to).is_some();
    let (stored, wanted) = (Storage::of(from), Storage::of(to));
    let function = match_integer!(from.physical(), A => {
        match_integer!(to.physical(), B => resize::<A, B>(stored, wanted), else return None)
    }, else return None);
    if widens { infallible(from, to, function) } else { fallible(from, to, function) }
}

fn resize<A, B>(from: Storage, into: Storage) -> Arc<dyn ScalarFunction>
where
    A: Whole + SignFlipped,
    B: Whole + SignFlipped,
{
    let convert = move |value: A| {
        let number = from.number(value);
        let narrow: B = into.value(number.0);
        (narrow, into.number(narrow) != number)
    };
    simple::vectorized(move |rows, args, to, ctx| {
        let error = |value: A| match from.number(value) {
            (bits, true) => out_of_range(bits as i128, to),
            (bits, false) => out_of_range(bits, to),
        };
        simple::map_checked1::<Physical<A>, Physical<B>, B>(rows, args, to, ctx, convert, error)
    })
}

fn from_text<B: Whole + SignFlipped>(to: &Type) -> Arc<dyn ScalarFunction> {
    let to = to.clone();
    simple::function1::<Varchar, Physical<B>, _>(move |text: &str| -> Result<B, Error> {
        let number = text::parse_unsigned(text).ok_or_else(|| invalid_text(text, &to))?;
        match B::Number::try_from(number) {
            Ok(number) => Ok(B::stored(number)),
            Err(_) => Err(out_of_range(text.trim_ascii(), &to)),
        }
    })
}

fn to_float(from: &Type, to: &Type) -> Option<Arc<dyn ScalarFunction>> {
    Some(match_integer!(from.physical(), A => match to {
        Type::Real => simple::function1::<Physical<A>, Real, _>(|it: A| {
            let number: u128 = it.number().into();
            number as f32
        }),
        _ => simple::function1::<Physical<A>, Double, _>(|it: A| {
            let number: u128 = it.number().into();
            number as f64
        }),
    }, else return None))
}

/// Rounds to the nearest integer, halves to the even one.
fn from_float(from: &Type, to: &Type) -> Option<Arc<dyn ScalarFunction>> {
    Some(match_integer!(to.physical(), B => match from {
        Type::Real => rounded::<Real, B>(|it: f32| it.into(), to.clone()),
        _ => rounded::<Double, B>(|it: f64| it, to.clone()),
    }, else return None))
}

fn rounded<A: simple::Arg, B: Whole + SignFlipped>(
    widen: impl Fn(A::Value<'_>) -> f64 + Send + Sync + 'static,
    to: Type,
) -> Arc<dyn ScalarFunction> {
    // One past the greatest number.
    let end = 2f64.powi(8 * size_of::<B>() as i32);
    simple::function1::<A, Physical<B>, _>(move |value| {
        let value = widen(value);
        let rounded = value.round_ties_even();
        if rounded >= 0.0 && rounded < end {
            Ok(B::stored_low(rounded as u128))
        } else {
            Err(out_of_range(float_text(value), &to))
        }
    })
}

/// The conversion to one type, and from that to another.
fn by_way_of(from: &Type, middle: &Type, to: &Type) -> Option<BoundScalar> {
    let (first, second) = (super::bind(from, middle)?, super::bind(middle, to)?);
    let is_infallible = first.traits.infallible && second.traits.infallible;
    let traits = if is_infallible { ScalarTraits::INFALLIBLE } else { ScalarTraits::DEFAULT };
    let (first, second, middle) = (first.function, second.function, middle.clone());
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let converted = first.evaluate(rows, args, &middle, ctx)?;
        second.evaluate(rows, &[converted], to, ctx)
    });
    settle(from, to, traits, function)
}

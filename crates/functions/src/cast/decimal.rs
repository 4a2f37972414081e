//! Decimals to decimals of another shape, and to and from integers and floats.

use super::{
    fallible, infallible,
    number::{Whole, float_text},
    out_of_range,
};
use std::sync::Arc;
use volley_function::{
    BoundScalar, ScalarFunction,
    simple::{self, Double, Physical, Real},
};
use volley_types::{Type, match_integer, text::push_decimal};

/// Integers of up to this size are exact as 64-bit floats.
const EXACT_F64: u128 = 1 << 53;

/// Between decimals and integers: digits that the new scale does not hold are rounded, halves away
/// from zero.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    let (p1, s1) = from.decimal_shape()?;
    let (p2, s2) = to.decimal_shape()?;
    let digits = if from.is_decimal() { digits_held(to, p2) } else { p2 };
    let fits = s2 >= s1 && digits - s2 >= p1 - s1 && !is_hugeint(from);
    if fits && s1 == s2 && from.physical() == to.physical() {
        let relabel = simple::vectorized(|_, args, to, _| Ok(args[0].with_type(to.clone())));
        return infallible(from, to, relabel);
    }
    let change = Change {
        factor: power(s2.saturating_sub(s1)),
        divisor: power(s1.saturating_sub(s2)),
        limit: matches!(to, Type::Decimal { .. }).then(|| power(p2)),
        from: from.clone(),
    };
    let function = match_integer!(from.physical(), A => {
        match_integer!(to.physical(), B => {
            if fits { scaled_up::<A, B>(change.factor) } else { changed::<A, B>(change) }
        }, else return None)
    }, else return None);
    if fits { infallible(from, to, function) } else { fallible(from, to, function) }
}

/// The digits for which the type has every number. The largest numbers of an integer type have one
/// more, except those of HUGEINT, whose shape is cut to the 38 digits of decimals.
fn digits_held(data_type: &Type, precision: u8) -> u8 {
    if data_type.is_decimal() || is_hugeint(data_type) { precision } else { precision - 1 }
}

fn is_hugeint(data_type: &Type) -> bool {
    *data_type == Type::HugeInt
}

fn power(exponent: u8) -> i128 {
    10i128.pow(exponent.into())
}

/// How a scaled integer changes.
struct Change {
    factor: i128,
    divisor: i128,
    /// Results must be below this, if the type does not say it.
    limit: Option<i128>,
    from: Type,
}

/// To more digits on both sides of the point: nothing is lost.
fn scaled_up<A: Whole, B: Whole>(factor: i128) -> Arc<dyn ScalarFunction> {
    if size_of::<B>() <= 8 {
        let factor = factor as i64;
        return simple::function1::<Physical<A>, Physical<B>, _>(move |value: A| {
            let wide: i128 = value.into();
            B::wrap(i128::from((wide as i64).wrapping_mul(factor)))
        });
    }
    simple::function1::<Physical<A>, Physical<B>, _>(move |value: A| {
        B::wrap(value.into().wrapping_mul(factor))
    })
}

fn changed<A: Whole, B: Whole>(change: Change) -> Arc<dyn ScalarFunction> {
    let Change { factor, divisor, limit, from } = change;
    simple::vectorized(move |rows, args, to, ctx| {
        let convert = |value: A| {
            let (scaled, overflow) = value.into().overflowing_mul(factor);
            let scaled = divide_rounded(scaled, divisor);
            let beyond = limit.is_some_and(|limit| scaled >= limit || scaled <= -limit);
            let result = B::wrap(scaled);
            (result, overflow | beyond | (result.into() != scaled))
        };
        let error = |value: A| out_of_range(text_of(value.into(), &from), to);
        simple::map_checked1::<Physical<A>, Physical<B>, B>(rows, args, to, ctx, convert, error)
    })
}

/// `value / divisor`, halves away from zero.
pub(crate) fn divide_rounded(value: i128, divisor: i128) -> i128 {
    if divisor == 1 {
        return value;
    }
    let (quotient, rest) = (value / divisor, value % divisor);
    let rounds = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    quotient + if rounds { value.signum() } else { 0 }
}

fn text_of(unscaled: i128, data_type: &Type) -> String {
    let (precision, scale) = data_type.decimal_shape().unwrap_or((38, 0));
    let mut out = String::new();
    push_decimal(&mut out, unscaled, precision, scale);
    out
}

/// To the nearest float.
pub(super) fn to_float(from: &Type, to: &Type) -> Option<BoundScalar> {
    let (_, scale) = from.decimal_shape()?;
    let divisor = power(scale);
    let function = match_integer!(from.physical(), A => match to {
        Type::Real => simple::function1::<Physical<A>, Real, _>(move |value: A| {
            quotient(value.into(), divisor) as f32
        }),
        _ => simple::function1::<Physical<A>, Double, _>(move |value: A| {
            quotient(value.into(), divisor)
        }),
    }, else return None);
    infallible(from, to, function)
}

/// Where both are exact as floats one division rounds once; else the whole part and the fraction
/// are converted apart, as one of them would lose digits of the other.
#[inline(always)]
fn quotient(value: i128, divisor: i128) -> f64 {
    if value.unsigned_abs() <= EXACT_F64 {
        return value as f64 / divisor as f64;
    }
    (value / divisor) as f64 + (value % divisor) as f64 / divisor as f64
}

/// From a float, rounded to the scale, halves away from zero.
pub(super) fn from_float(from: &Type, to: &Type) -> Option<BoundScalar> {
    let (precision, scale) = to.decimal_shape()?;
    let (factor, limit) = (10f64.powi(scale.into()), 10f64.powi(precision.into()));
    let target = to.clone();
    let convert = move |value: f64| {
        let scaled = (value * factor).round();
        if scaled.abs() < limit {
            Ok(scaled as i128)
        } else {
            Err(out_of_range(float_text(value), &target))
        }
    };
    let function = match_integer!(to.physical(), B => match from {
        Type::Real => simple::function1::<Real, Physical<B>, _>(move |value: f32| {
            convert(value.into()).map(B::wrap)
        }),
        _ => simple::function1::<Double, Physical<B>, _>(move |value: f64| {
            convert(value).map(B::wrap)
        }),
    }, else return None);
    fallible(from, to, function)
}

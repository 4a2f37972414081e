//! DOUBLE and REAL to other numbers.

use super::{out_of_range, settled, to_text::push_double};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, ScalarFunction, ScalarTraits,
    simple::{Arg, Double, NativeColumn, Physical, Real, Stored, function1},
};
use volley_types::{Native, Type, match_integer};

/// Digits after the point that a scaled mantissa of 53 bits has room for in 127 bits.
const EXACT_SCALE_MAX: u8 = 22;

/// The conversion, where it is not the core's.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    if let (Type::Double, Type::Real) = (from, to) {
        // What is too large becomes infinite.
        let function = function1::<Double, Real, f32>(|it: f64| it as f32);
        return Some(settled(from, to, ScalarTraits::INFALLIBLE, function));
    }
    if to.is_float() {
        return None;
    }
    let function = match_integer!(to.physical(), B => match from {
        Type::Real => rounded::<Real, B>(|it: f32| it.into(), to),
        _ => rounded::<Double, B>(|it: f64| it, to),
    }, else return None);
    Some(settled(from, to, ScalarTraits::DEFAULT, function))
}

fn rounded<A: Arg, B: Native + TryFrom<i128> + Stored<NativeColumn<B>>>(
    widen: impl Fn(A::Value<'_>) -> f64 + Send + Sync + 'static,
    to: &Type,
) -> Arc<dyn ScalarFunction> {
    let to = to.clone();
    function1::<A, Physical<B>, _>(move |value| -> Result<B, Error> {
        let value = widen(value);
        whole_of(value, &to).and_then(|it| B::try_from(it).ok()).ok_or_else(|| {
            let mut text = String::new();
            push_double(&mut text, value);
            match to {
                Type::BigInt => Error::invalid_value(format!("cannot cast {text} to {to}")),
                _ => out_of_range(text, &to),
            }
        })
    })
}

/// The integer, or unscaled decimal, nearest to a float, halves away from zero; `None` when it is
/// out of range.
pub(super) fn whole_of(value: f64, to: &Type) -> Option<i128> {
    let (scale, limit) = match to {
        Type::Decimal { precision, scale } => (*scale, Some(10i128.pow((*precision).into()))),
        _ => (0, None),
    };
    let unscaled = scaled(value, scale)?;
    limit.is_none_or(|limit| unscaled.abs() < limit).then_some(unscaled)
}

/// `value * 10^scale`, exactly, and then rounded.
fn scaled(value: f64, scale: u8) -> Option<i128> {
    if !value.is_finite() || value.abs() >= 1e38 {
        return None;
    }
    if scale > EXACT_SCALE_MAX {
        let scale = usize::from(scale);
        let digits = format!("{value:.scale$}");
        return digits.replace('.', "").parse().ok();
    }
    // value = mantissa * 2^exponent
    let bits = value.to_bits();
    let (raw, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i128);
    let mantissa = if raw == 0 { fraction } else { fraction | 1 << 52 };
    let exponent = raw.max(1) - 1075;
    let scaled = mantissa * 10i128.pow(scale.into());
    let magnitude = match u32::try_from(exponent) {
        Ok(exponent) => {
            let shifted = scaled.checked_shl(exponent)?;
            (shifted >> exponent == scaled).then_some(shifted)?
        }
        Err(_) => {
            let shift = exponent.unsigned_abs();
            if shift > 126 { 0 } else { (scaled + (1 << (shift - 1))) >> shift }
        }
    };
    Some(if value < 0.0 { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_scaled_exactly() {
        let check = |value: f64, scale: u8, expected: i128| {
            assert_eq!(scaled(value, scale), Some(expected), "{value} {scale}");
            assert_eq!(scaled(-value, scale), Some(-expected), "-{value} {scale}");
        };
        check(2.5, 0, 3);
        check(0.5, 0, 1);
        check(0.49999999999999994, 0, 0);
        // As a float a little less than it is written.
        check(1.115, 2, 111);
        check(0.125, 2, 13);
        check(1e22, 3, 10i128.pow(25));
        check(5e-324, 22, 0);
        check(9007199254740993.0, 0, 9007199254740992);
        check(0.25, 30, 25 * 10i128.pow(28));
        assert_eq!(scaled(1e39, 0), None);
        assert_eq!(scaled(f64::NAN, 0), None);
    }
}

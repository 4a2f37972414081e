//! Products, quotients and remainders of decimals.
//!
//! ```text
//! a(p1,s1) * b(p2,s2)   scale s1 + s2, precision min(38, p1 + p2)
//! a(p1,s1) / b(p2,s2)   scale s = max(s1, s2), precision min(38, p1 + s2 + max(0, s2 - s1)),
//!                       rounded half up: A * 10^(s + s2 - s1) / B
//! a(p1,s1) % b(p2,s2)   scale s = max(s1, s2), precision min(p1 - s1, p2 - s2) + s
//! ```
//!
//! Types are those of the manual's chapter "Decimal Functions and Operators". A quotient is
//! computed with 256 bits where 128 are too few.

use volley_error::Error;
use volley_function::{
    BoundScalar, ScalarTraits,
    simple::{Decimal, Physical, function2},
};
use volley_types::{DECIMAL_PRECISION_MAX, Type, text::push_decimal};

/// The maximum number of digits of a 64-bit decimal.
const PRECISION_I64: u8 = 18;

/// Precision and scale.
type Shape = (u8, u8);

/// The shapes of two operands, at least one of which is a decimal and none of which is a float.
fn shapes(args: &[Type]) -> Option<(Shape, Shape)> {
    let [left, right] = args else { return None };
    if !left.is_decimal() && !right.is_decimal() {
        return None;
    }
    let shape = |it: &Type, other: &Type| match it {
        Type::Unknown => other.decimal_shape(),
        it => it.decimal_shape(),
    };
    Some((shape(left, right)?, shape(right, left)?))
}

fn decimal((precision, scale): Shape) -> Type {
    Type::Decimal { precision, scale }
}

/// Products of narrow decimals that need more than 18 digits: the core keeps those in 64 bits.
pub(super) fn bind_multiply(args: &[Type]) -> Option<BoundScalar> {
    let (left, right) = shapes(args)?;
    let result = (left.0 + right.0, left.1 + right.1);
    if left.0.max(right.0) > PRECISION_I64 || result.0 <= PRECISION_I64 {
        return None;
    }
    let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
    let function = function2::<Physical<i64>, Physical<i64>, Physical<i128>, _>(product);
    let args = vec![decimal(left), decimal(right)];
    Some(BoundScalar::new(args, decimal(result), ScalarTraits::INFALLIBLE, function))
}

/// `/` of decimals.
pub(super) fn bind_divide(args: &[Type]) -> Option<BoundScalar> {
    let (left, right) = shapes(args)?;
    let scale = left.1.max(right.1);
    let precision = left.0 + right.1 + right.1.saturating_sub(left.1);
    let result = decimal((precision.min(DECIMAL_PRECISION_MAX), scale));
    let power = u32::from(scale + right.1 - left.1);
    let divide = move |a: Decimal, b: Decimal| -> Result<Decimal, Error> {
        if b.unscaled == 0 {
            return Err(division_by_zero());
        }
        let quotient = quotient(a.unscaled, power, b.unscaled);
        let quotient = quotient.ok_or_else(|| overflow(a, b))?;
        Ok(Decimal { unscaled: quotient, scale })
    };
    bind([left, right], result, divide)
}

/// `%` of decimals.
pub(super) fn bind_mod(args: &[Type]) -> Option<BoundScalar> {
    let (left, right) = shapes(args)?;
    let scale = left.1.max(right.1);
    let result = decimal(((left.0 - left.1).min(right.0 - right.1) + scale, scale));
    let remainder = move |a: Decimal, b: Decimal| -> Result<Decimal, Error> {
        if b.unscaled == 0 {
            return Err(division_by_zero());
        }
        let unscaled = remainder(a, b);
        Ok(Decimal { unscaled, scale })
    };
    bind([left, right], result, remainder)
}

fn bind(
    shapes: [Shape; 2],
    result: Type,
    f: impl Fn(Decimal, Decimal) -> Result<Decimal, Error> + Send + Sync + 'static,
) -> Option<BoundScalar> {
    let function = function2::<Decimal, Decimal, Decimal, _>(f);
    let args = shapes.map(decimal).to_vec();
    Some(BoundScalar::new(args, result, ScalarTraits::DEFAULT, function))
}

fn division_by_zero() -> Error {
    Error::invalid_value("division by zero")
}

fn overflow(a: Decimal, b: Decimal) -> Error {
    let text = |it: Decimal| {
        let mut text = String::new();
        push_decimal(&mut text, it.unscaled, DECIMAL_PRECISION_MAX, it.scale);
        text
    };
    Error::invalid_value(format!("decimal overflow: {} / {}", text(a), text(b)))
        .hint("cast an operand to DOUBLE")
}

/// `a * 10^power / b`, rounded half up; `None` when it leaves 128 bits.
fn quotient(a: i128, power: u32, b: i128) -> Option<i128> {
    let is_negative = (a < 0) != (b < 0);
    let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
    let (quotient, rest) = divide_scaled(a, power, b)?;
    let quotient = quotient.checked_add(u128::from(rest >= b - rest))?;
    let quotient = i128::try_from(quotient).ok()?;
    Some(if is_negative { -quotient } else { quotient })
}

/// The remainder in units of the smaller unit of both.
fn remainder(a: Decimal, b: Decimal) -> i128 {
    let (dividend, divisor) = (a.unscaled.unsigned_abs(), b.unscaled.unsigned_abs());
    let rest = if a.scale < b.scale {
        let power = ten_to(u32::from(b.scale - a.scale));
        divide_wide(wide_product(dividend % divisor, power), divisor).1
    } else {
        // A divisor that does not fit is greater than the dividend.
        let scaled = divisor.checked_mul(ten_to(u32::from(a.scale - b.scale)));
        scaled.map_or(dividend, |it| dividend % it)
    };
    if a.unscaled < 0 { -(rest as i128) } else { rest as i128 }
}

/// `a * 10^power` divided by `b`, and the rest; `None` when the quotient leaves 128 bits.
fn divide_scaled(a: u128, power: u32, b: u128) -> Option<(u128, u128)> {
    let (mut quotient, mut rest) = (a / b, a % b);
    let mut power = power;
    while power > 0 {
        let step = power.min(u32::from(DECIMAL_PRECISION_MAX));
        // The rest is below b, so that the next digits are below 10^step.
        let (digits, next) = divide_wide(wide_product(rest, ten_to(step)), b);
        quotient = quotient.checked_mul(ten_to(step))?.checked_add(digits)?;
        (rest, power) = (next, power - step);
    }
    Some((quotient, rest))
}

/// For exponents up to 38.
fn ten_to(exponent: u32) -> u128 {
    10u128.pow(exponent)
}

/// The high and the low half of a product.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    if let Some(product) = a.checked_mul(b) {
        return (0, product);
    }
    const MASK: u128 = u64::MAX as u128;
    let ((a1, a0), (b1, b0)) = ((a >> 64, a & MASK), (b >> 64, b & MASK));
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & MASK);
    (a1 * b1 + (middle >> 64) + (other >> 64), other << 64 | low & MASK)
}

/// Quotient and rest of a division by `b`, which is below 2^127; the quotient fits 128 bits.
fn divide_wide((high, low): (u128, u128), b: u128) -> (u128, u128) {
    if high == 0 {
        return (low / b, low % b);
    }
    let (mut quotient, mut rest) = (0u128, high % b);
    for bit in (0..u128::BITS).rev() {
        rest = rest << 1 | low >> bit & 1;
        quotient <<= 1;
        if rest >= b {
            rest -= b;
            quotient |= 1;
        }
    }
    (quotient, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_half_away_from_zero() {
        assert_eq!(quotient(1, 0, 2), Some(1));
        assert_eq!(quotient(-1, 0, 2), Some(-1));
        assert_eq!(quotient(1, 2, 3), Some(33));
        assert_eq!(quotient(2, 2, -3), Some(-67));
        // 10^37 * 10^38 / 10^38 takes 256 bits on the way.
        assert_eq!(quotient(10i128.pow(37), 38, 10i128.pow(37)), Some(10i128.pow(38)));
        // 1 / 10^10 with 20 digits after the point, through 10^40.
        assert_eq!(quotient(1, 40, 10i128.pow(30)), Some(10i128.pow(10)));
        assert_eq!(quotient(10i128.pow(37), 38, 1), None);
    }

    #[test]
    fn wide_products_divide_exactly() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let a = random.u128(..) >> random.u32(1..128);
            let b = (random.u128(..) >> random.u32(1..128)).max(1);
            let rest = random.u128(..b);
            let (high, low) = wide_product(a, b);
            let (low, carry) = low.overflowing_add(rest);
            assert_eq!(divide_wide((high + u128::from(carry), low), b), (a, rest));
        }
    }

    #[test]
    fn remainders_have_the_sign_of_the_dividend() {
        let check = |a: (i128, u8), b: (i128, u8), expected: i128| {
            let [a, b] = [a, b].map(|(unscaled, scale)| Decimal { unscaled, scale });
            assert_eq!(remainder(a, b), expected);
        };
        check((123, 1), (121, 2), 20);
        check((-123, 1), (121, 2), -20);
        check((7, 0), (3, 0), 1);
        check((5, 38), (10i128.pow(37), 0), 5);
        // 10^37 % 3e-38: the dividend in units of 10^-38 has 75 digits.
        check((10i128.pow(37), 0), (3, 38), 1);
    }
}

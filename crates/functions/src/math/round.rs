//! `round`, `trunc`, `ceil`, `floor` and `even`.
//!
//! Halves are rounded away from zero. A decimal keeps its precision and, without a number of
//! digits, loses its scale; with one it keeps the scale, and digits become zero.

use super::of_double;
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Error;
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits,
    simple::{self, BigInt, Double, NativeColumn, Physical, Real, Stored, unary},
};
use volley_types::{
    DECIMAL_PRECISION_MAX, Native, PhysicalType, Type, Value, custom::UnsignedInteger,
    implicit_cast_cost, match_integer,
};
use volley_vector::{Encoding, Rows, Vector};

/// Registers the functions that round.
pub(super) fn register(registry: &mut Registry) {
    let text = |name: &str, what: &str, example: (&str, &str)| {
        doc(&format!("{name}(number) -> as the number"), what, "math", &[example])
    };
    let round = doc(
        "round(number[, digits]) -> as the number",
        "The nearest number with `digits` digits after the point (before it if negative); halves \
         are rounded away from zero.",
        "math",
        &[("round(2.5)", "3"), ("round(125, -1)", "130")],
    );
    add(registry, "round", round, Rounding::Nearest);
    let trunc = doc(
        "trunc(number[, digits]) -> as the number",
        "The number without the digits after the given one.",
        "math",
        &[("trunc(-1.9)", "-1")],
    );
    add(registry, "trunc", trunc, Rounding::TowardZero);
    let ceil = text("ceil", "The least whole number not below it.", ("ceil(1.1)", "2"));
    for name in ["ceil", "ceiling"] {
        registry.add_scalar(
            name,
            ceil.clone(),
            Arc::new(|args: &[Type]| bind_whole(args, Rounding::Up)),
        );
    }
    let floor = text("floor", "The greatest whole number not above it.", ("floor(-1.1)", "-2"));
    registry.add_scalar("floor", floor, Arc::new(|args: &[Type]| bind_whole(args, Rounding::Down)));
    let even = doc(
        "even(number) -> double",
        "The next even number, away from zero.",
        "math",
        &[("even(2.1)", "4.0")],
    );
    let next_even = |value: f64| value.signum() * (value.abs() / 2.0).ceil() * 2.0;
    registry.add_scalar("even", even, unary::<Double, Double, _>(next_even));
}

fn add(registry: &mut Registry, name: &str, doc: volley_function::FunctionDoc, rounding: Rounding) {
    let bind = move |args: &[Type]| match args.len() {
        1 => bind_whole(args, rounding),
        2 => bind_digits(args, rounding),
        _ => None,
    };
    registry.add_scalar(name, doc, Arc::new(bind));
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    Nearest,
    TowardZero,
    Up,
    Down,
}

impl Rounding {
    /// `value / divisor`.
    #[inline(always)]
    fn divide(self, value: i128, divisor: i128) -> i128 {
        let (quotient, rest) = (value / divisor, value % divisor);
        let away = match self {
            Rounding::TowardZero => false,
            Rounding::Nearest => {
                rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs()
            }
            Rounding::Up => rest > 0,
            Rounding::Down => rest < 0,
        };
        quotient + if away { rest.signum() } else { 0 }
    }

    #[inline(always)]
    fn float(self, value: f64) -> f64 {
        match self {
            Rounding::Nearest => value.round(),
            Rounding::TowardZero => value.trunc(),
            Rounding::Up => value.ceil(),
            Rounding::Down => value.floor(),
        }
    }

    /// `value * power`, rounded by the exact product: that of floats may be a half where the exact
    /// one is less.
    fn float_scaled(self, value: f64, power: f64) -> f64 {
        let product = value * power;
        let whole = product.trunc();
        let is_half = (product - whole).abs() == 0.5;
        // What the product lacks, without a rounding in between.
        if self == Rounding::Nearest
            && is_half
            && value.mul_add(power, -product) * product.signum() < 0.0
        {
            return whole;
        }
        self.float(product)
    }

    /// To a number of digits after the point.
    fn float_digits(self, value: f64, digits: i64) -> f64 {
        let power = 10f64.powi(digits.unsigned_abs().min(400) as i32);
        if !value.is_finite() {
            return value;
        }
        if digits < 0 {
            let rounded = self.float(value / power) * power;
            return if rounded.is_finite() { rounded } else { 0.0 };
        }
        let rounded = self.float_scaled(value, power) / power;
        // The power of ten is infinite: nothing to round.
        if rounded.is_finite() { rounded } else { value }
    }
}

/// An unscaled integer.
trait Whole: Native + Into<i128> + TryFrom<i128> + Stored<NativeColumn<Self>> {
    fn wrap(value: i128) -> Self;
}

macro_rules! whole {
    ($($native:ty),*) => {
        $(impl Whole for $native {
            #[inline(always)]
            fn wrap(value: i128) -> $native {
                value as $native
            }
        })*
    };
}

whole!(i8, i16, i32, i64, i128);

fn bind_whole(args: &[Type], rounding: Rounding) -> Option<BoundScalar> {
    let [arg] = args else { return None };
    let keeps_integers = matches!(rounding, Rounding::Nearest | Rounding::TowardZero);
    let (arg, result, function) = match arg {
        Type::Real => {
            let f = move |value: f32| rounding.float(value.into()) as f32;
            (Type::Real, Type::Real, simple::function1::<Real, Real, _>(f))
        }
        Type::Decimal { precision, scale } => {
            let result = Type::Decimal { precision: *precision, scale: 0 };
            let divisor = 10i128.pow((*scale).into());
            let function = match_integer!(arg.physical(), T => {
                simple::function1::<Physical<T>, Physical<T>, _>(move |value: T| {
                    T::wrap(rounding.divide(value.into(), divisor))
                })
            }, else return None);
            (arg.clone(), result, function)
        }
        integer if integer.is_integer() && keeps_integers => {
            let same = simple::vectorized(|_, args, _, _| Ok(args[0].clone()));
            (integer.clone(), integer.clone(), same)
        }
        other if let (Some(unsigned), true) = (other.unsigned(), keeps_integers) => {
            let same = simple::vectorized(|_, args, _, _| Ok(args[0].clone()));
            let kept = match (rounding, unsigned) {
                (Rounding::TowardZero, _) => other.clone(),
                (_, UnsignedInteger::UHugeInt) => return None,
                (_, UnsignedInteger::UBigInt) => Type::HugeInt,
                _ => Type::BigInt,
            };
            (kept.clone(), kept, same)
        }
        other => {
            implicit_cast_cost(other, &Type::Double)?;
            // One loop each: the direction is not looked up for every row.
            let function = match rounding {
                Rounding::Nearest => of_double(|it| Rounding::Nearest.float(it)),
                Rounding::TowardZero => of_double(|it| Rounding::TowardZero.float(it)),
                Rounding::Up => of_double(|it| Rounding::Up.float(it)),
                Rounding::Down => of_double(|it| Rounding::Down.float(it)),
            };
            (Type::Double, Type::Double, function)
        }
    };
    let traits = ScalarTraits::INFALLIBLE;
    Some(BoundScalar::new(vec![arg], result, traits, function))
}

fn bind_digits(args: &[Type], rounding: Rounding) -> Option<BoundScalar> {
    let [arg, digits] = args else { return None };
    implicit_cast_cost(digits, &Type::BigInt)?;
    let (arg, result, function) = match arg {
        Type::Real => {
            let f =
                move |value: f32, digits: i64| rounding.float_digits(value.into(), digits) as f32;
            (Type::Real, Type::Real, simple::function2::<Real, BigInt, Real, _>(f))
        }
        Type::Decimal { precision, scale } => {
            // 9.99 becomes 10.00.
            let precision = (precision + 1).min(DECIMAL_PRECISION_MAX);
            let result = Type::Decimal { precision, scale: *scale };
            let function = match_integer!(
                arg.physical(), A => digits_of::<A>(rounding, *scale), else return None
            );
            (arg.clone(), result, Arc::new(RoundedDecimal(function)) as _)
        }
        integer if integer.is_integer() => {
            let function = match_integer!(
                integer.physical(), T => digits_of::<T>(rounding, 0), else return None
            );
            (integer.clone(), integer.clone(), function)
        }
        other if matches!(other.unsigned(), Some(it) if it < UnsignedInteger::UHugeInt) => {
            return bind_digits(&[other.unsigned()?.signed(), digits.clone()], rounding);
        }
        other => {
            implicit_cast_cost(other, &Type::Double)?;
            let f = move |value: f64, digits: i64| rounding.float_digits(value, digits);
            (Type::Double, Type::Double, simple::function2::<Double, BigInt, Double, _>(f))
        }
    };
    let (args, traits) = (vec![arg, Type::BigInt], ScalarTraits::DEFAULT);
    Some(BoundScalar::new(args, result, traits, function))
}

/// Integers of units of `10^-scale`, with zeros after the given digit. A caller that knows the
/// number of digits may request a result of a smaller scale.
fn digits_of<A: Whole>(rounding: Rounding, scale: u8) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, to, ctx| {
        let shape = to.decimal_shape().filter(|_| to.is_decimal());
        let (limit, to_scale) = match shape {
            Some((precision, to_scale)) => (10i128.pow(precision.into()), to_scale),
            None => (i128::MAX, 0),
        };
        if size_of::<A>() <= size_of::<i64>()
            && let Some(digits) = constant_digits(&args[1])
            && let Some(fixed) = FixedRounding::new(rounding, scale, digits, to)
        {
            return fixed.map::<A>(rows, args, to, ctx);
        }
        let f = |value: A, digits: i64| -> Result<i128, Error> {
            let rounded =
                round_digits(rounding, value.into(), i64::from(scale).saturating_sub(digits));
            let rescaled = rounded.and_then(|it| rescale(it, scale, to_scale));
            let overflow = || Error::invalid_value(format!("overflow in round of {to}"));
            rescaled.filter(|it| *it < limit && *it > -limit).ok_or_else(overflow)
        };
        match_integer!(to.physical(), B => {
            let f = |value: A, digits: i64| -> Result<B, Error> {
                let overflow = || Error::invalid_value(format!("overflow in round of {to}"));
                f(value, digits).and_then(|it| B::try_from(it).map_err(|_| overflow()))
            };
            simple::map2::<Physical<A>, BigInt, Physical<B>, _>(rows, args, to, ctx, f)
        }, else Err(Error::internal("rounding to a type without digits")))
    })
}

/// The number of digits, if it is the same for all rows.
fn constant_digits(digits: &Vector) -> Option<i64> {
    let Encoding::Constant(base) = digits.encoding() else { return None };
    base.flat_values()?.native::<i64>()?.first().copied().filter(|_| base.null_buffer().is_none())
}

/// Rounding of 64-bit integers to a known digit: a quotient by a unit, times a factor.
#[derive(Clone, Copy, Debug)]
struct FixedRounding {
    rounding: Rounding,
    unit: i64,
    factor: i64,
    /// Values of a decimal are less than this, and greater than its negative.
    limit: Option<i64>,
}

impl FixedRounding {
    /// The rounding of units of `10^-scale` to `digits` after the point, as values of type `to`.
    /// `None` if 64 bits do not suffice.
    fn new(rounding: Rounding, scale: u8, digits: i64, to: &Type) -> Option<FixedRounding> {
        let (limit, to_scale) = match to.decimal_shape().filter(|_| to.is_decimal()) {
            Some((precision, to_scale)) if to.physical() != PhysicalType::I128 => {
                (Some(power_of_ten(precision.into())?), to_scale)
            }
            // Twice the greatest 64-bit decimal is less than 2^63, and than any such limit.
            Some((_, to_scale)) if to_scale <= scale => (None, to_scale),
            None if to.physical() != PhysicalType::I128 => (None, 0),
            _ => return None,
        };
        let dropped = i64::from(scale).checked_sub(digits)?.max(0);
        // Units of the result have this many digits less; those must be among the dropped ones.
        let cut = i64::from(scale) - i64::from(to_scale);
        let (unit, factor) = (power_of_ten(dropped)?, power_of_ten(dropped.checked_sub(cut)?)?);
        Some(FixedRounding { rounding, unit, factor, limit })
    }

    /// The rounded value, and whether it is out of range.
    #[inline(always)]
    fn round(self, value: i64) -> (i64, bool) {
        let (quotient, rest) = (value / self.unit, value % self.unit);
        let is_away = match self.rounding {
            Rounding::TowardZero => false,
            Rounding::Nearest => {
                rest.unsigned_abs() >= self.unit.unsigned_abs() - rest.unsigned_abs()
            }
            Rounding::Up => rest > 0,
            Rounding::Down => rest < 0,
        };
        let quotient = quotient + if is_away { rest.signum() } else { 0 };
        let (rounded, overflows) = quotient.overflowing_mul(self.factor);
        let is_within = self.limit.is_none_or(|it| -it < rounded && rounded < it);
        (rounded, overflows || !is_within)
    }

    /// The rounded values of the first argument.
    fn map<A: Whole>(
        self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector, Error> {
        let error = |_: A| Error::invalid_value(format!("overflow in round of {to}"));
        match_integer!(to.physical(), B => {
            let round = |value: A| {
                let wide: i128 = value.into();
                let (rounded, is_out) = self.round(wide as i64);
                let narrow = B::wrap(rounded.into());
                let kept: i128 = narrow.into();
                (narrow, is_out || kept != i128::from(rounded))
            };
            let value = &args[..1];
            simple::map_checked1::<Physical<A>, Physical<B>, B>(rows, value, to, ctx, round, error)
        }, else Err(Error::internal("rounding to a type without digits")))
    }
}

fn power_of_ten(exponent: i64) -> Option<i64> {
    10i64.checked_pow(u32::try_from(exponent).ok()?)
}

/// Rounds decimals; to a constant number of digits, the result has no more than that after the
/// point.
struct RoundedDecimal(Arc<dyn ScalarFunction>);

impl ScalarFunction for RoundedDecimal {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector, Error> {
        self.0.evaluate(rows, args, result_type, ctx)
    }

    fn result_for(&self, args: &[(&Type, Option<&Value>)]) -> Result<Option<Type>, Error> {
        let [(Type::Decimal { precision, scale }, _), (_, Some(digits))] = args else {
            return Ok(None);
        };
        let (precision, scale) = (*precision, *scale);
        let Some(digits) = digits.as_i128() else { return Ok(None) };
        let digits = digits.clamp(0, i128::from(scale)) as u8;
        // A carry needs a digit more, which the digits that were cut leave room for.
        Ok((digits < scale).then_some(Type::Decimal { precision, scale: digits }))
    }
}

/// `value` with its last `drop` digits zero.
fn round_digits(rounding: Rounding, value: i128, drop: i64) -> Option<i128> {
    if drop <= 0 {
        return Some(value);
    }
    let unit = u32::try_from(drop).ok().and_then(|it| 10i128.checked_pow(it));
    match unit {
        Some(unit) => rounding.divide(value, unit).checked_mul(unit),
        None => Some(0),
    }
}

/// From units of `10^-from` to units of `10^-to`, cutting digits.
fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    let factor = 10i128.pow(from.abs_diff(to).into());
    if to >= from { value.checked_mul(factor) } else { Some(value / factor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: as for digits of each row.
    fn plain(rounding: Rounding, value: i64, scale: u8, digits: i64, to: &Type) -> Option<i128> {
        let shape = to.decimal_shape().filter(|_| to.is_decimal());
        let (limit, to_scale) = match shape {
            Some((precision, to_scale)) => (10i128.pow(precision.into()), to_scale),
            None => (i128::MAX, 0),
        };
        let dropped = i64::from(scale).saturating_sub(digits);
        let rounded = round_digits(rounding, value.into(), dropped)?;
        let rescaled = rescale(rounded, scale, to_scale)?;
        (rescaled < limit && rescaled > -limit && i64::try_from(rescaled).is_ok())
            .then_some(rescaled)
    }

    #[test]
    fn rounding_to_known_digits_equals_the_definition() {
        let roundings = [Rounding::Nearest, Rounding::TowardZero, Rounding::Up, Rounding::Down];
        let values = [0, 1, -1, 4, 5, -5, 49, 50, -50, 99, 995, -995, 123_456_789, 999_999_999_999];
        let values = values.into_iter().chain([i64::MAX, i64::MIN, i64::MIN + 1]);
        let mut fixed_cases = 0;
        for (value, scale) in values.flat_map(|it| [0, 1, 2, 5].map(|scale| (it, scale))) {
            for digits in [-20, -18, -3, -1, 0, 1, 2, 5, 9, i64::MIN, i64::MAX] {
                let types = [0, 1, 2, 5].map(|scale| Type::Decimal { precision: 15, scale });
                for to in types.iter().chain([&Type::BigInt]) {
                    for rounding in roundings {
                        let fixed = FixedRounding::new(rounding, scale, digits, to);
                        let Some(fixed) = fixed else { continue };
                        fixed_cases += 1;
                        let (rounded, is_out) = fixed.round(value);
                        let expected = plain(rounding, value, scale, digits, to);
                        let found = (!is_out).then_some(i128::from(rounded));
                        assert_eq!(found, expected, "{value} {scale} {digits} {to}");
                    }
                }
            }
        }
        assert!(fixed_cases > 5_000, "{fixed_cases}");
    }

    #[test]
    fn what_a_query_rounds_is_rounded_in_64_bits() {
        let to = Type::Decimal { precision: 16, scale: 1 };
        assert!(FixedRounding::new(Rounding::Nearest, 2, 1, &to).is_some());
        assert!(FixedRounding::new(Rounding::Nearest, 0, -2, &Type::BigInt).is_some());
        let wide = Type::Decimal { precision: 19, scale: 1 };
        assert!(FixedRounding::new(Rounding::Nearest, 2, 1, &wide).is_some());
        assert!(FixedRounding::new(Rounding::Nearest, 0, 1, &wide).is_none());
        assert!(FixedRounding::new(Rounding::Nearest, 2, 1, &Type::HugeInt).is_none());
        assert_eq!(constant_digits(&Vector::constant(Type::BigInt, &Value::BigInt(3), 9)), Some(3));
        assert_eq!(constant_digits(&Vector::constant(Type::BigInt, &Value::Null, 9)), None);
    }
}

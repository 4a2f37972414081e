//! Functions of numbers whose result has the type of the number: `sign`, `clamp`, `pmod`.

use super::doc;
use volley_error::Error;
use volley_function::{
    BindScalar, FunctionDoc, Registry,
    simple::{Decimal, Simple, scalar},
};
use volley_types::Type;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_sign(registry);
    register_clamp(registry);
    register_pmod(registry);
}

fn register_sign(registry: &mut Registry) {
    let sign = doc(
        "sign(number) -> as the number",
        "-1, 0 or 1; NaN for NaN. That of a DECIMAL is a DECIMAL(1,0).",
        &[("sign(-5)", "-1"), ("sign(0.25)", "1"), ("sign(nan())", "nan")],
    );
    registry.simple("presto.sign", sign, i64::signum);
    let mut add = |bind| registry.add_scalar("presto.sign", FunctionDoc::default(), bind);
    add(scalar(i8::signum).into_bind());
    add(scalar(i16::signum).into_bind());
    add(scalar(i32::signum).into_bind());
    add(scalar(|x: f32| if x == 0.0 { x } else { x.signum() }).into_bind());
    add(scalar(|x: f64| if x == 0.0 { x } else { x.signum() }).into_bind());
    let of_decimal = scalar(|x: Decimal| Decimal { unscaled: x.unscaled.signum(), scale: 0 });
    add(of_decimals(of_decimal, |_, _| Type::decimal(1, 0)));
}

/// The function for decimals alone, with a result of the type that `result` makes of precision and
/// scale: integers have functions of their own.
pub(super) fn of_decimals(function: Simple, result: fn(u8, u8) -> Type) -> BindScalar {
    function
        .returning(move |args| match args.first() {
            Some(Type::Decimal { precision, scale }) => Some(result(*precision, *scale)),
            _ => None,
        })
        .into_bind()
}

fn register_clamp(registry: &mut Registry) {
    let clamp = doc(
        "clamp(x, low, high) -> as x",
        "x, but at least `low` and at most `high`; `high` where `low` is greater than that. NaN is \
         the greatest number.",
        &[("clamp(15, 0, 10)", "10"), ("clamp(-1.5e0, 0, 10)", "0.0")],
    );
    registry.simple("presto.clamp", clamp, |x: i64, low: i64, high: i64| x.max(low).min(high));
    let mut add = |bind| registry.add_scalar("presto.clamp", FunctionDoc::default(), bind);
    add(scalar(|x: i8, low: i8, high: i8| x.max(low).min(high)).into_bind());
    add(scalar(|x: i16, low: i16, high: i16| x.max(low).min(high)).into_bind());
    add(scalar(|x: i32, low: i32, high: i32| x.max(low).min(high)).into_bind());
    let narrow =
        |x: f32, low: f32, high: f32| clamp_float(x.into(), low.into(), high.into()) as f32;
    add(scalar(narrow).into_bind());
    add(scalar(clamp_float).into_bind());
}

fn clamp_float(x: f64, low: f64, high: f64) -> f64 {
    // What is not less is greater or equal, or NaN.
    let is_less = |a: f64, b: f64| a < b || (b.is_nan() && !a.is_nan());
    let raised = if is_less(x, low) { low } else { x };
    if is_less(high, raised) { high } else { raised }
}

fn register_pmod(registry: &mut Registry) {
    let pmod = doc(
        "pmod(x, y) -> as the operands",
        "The remainder of x divided by y that is not negative for a positive y; null when y is 0.",
        &[("pmod(-7, 3)", "2"), ("pmod(7, 0)", "NULL")],
    );
    registry.simple("presto.pmod", pmod, |x: i64, y: i64| pmod_integer::<i64>(x.into(), y.into()));
    let mut add = |bind| registry.add_scalar("presto.pmod", FunctionDoc::default(), bind);
    add(scalar(|x: i8, y: i8| pmod_integer::<i8>(x.into(), y.into())).into_bind());
    add(scalar(|x: i16, y: i16| pmod_integer::<i16>(x.into(), y.into())).into_bind());
    add(scalar(|x: i32, y: i32| pmod_integer::<i32>(x.into(), y.into())).into_bind());
    let narrow = |x: f32, y: f32| pmod_float(x.into(), y.into()).map(|it| it as f32);
    add(scalar(narrow).into_bind());
    add(scalar(pmod_float).into_bind());
}

fn pmod_integer<T: TryFrom<i128>>(x: i128, y: i128) -> Result<Option<T>, Error> {
    if y == 0 {
        return Ok(None);
    }
    let rest = x % y;
    let rest = if rest > 0 { rest } else { (rest + y) % y };
    // A remainder is smaller than the divisor.
    T::try_from(rest).map(Some).map_err(|_| Error::internal("a remainder that does not fit"))
}

fn pmod_float(x: f64, y: f64) -> Option<f64> {
    let rest = x % y;
    (y != 0.0).then(|| if rest > 0.0 { rest } else { (rest + y) % y })
}

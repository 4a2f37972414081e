//! `abs`, `sign` and the tests for special floats.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Error;
use volley_function::{
    BoundScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{
        self, Boolean, Date, Double, NativeColumn, Physical, Real, Stored, Timestamp, TinyInt,
        unary,
    },
};
use volley_types::{
    Native, Type,
    civil::{is_infinite_date, is_infinite_timestamp},
    match_integer,
    text::push_i128,
};

/// Registers `abs`, `sign`, `isnan`, `isinf` and `isfinite`.
pub(super) fn register(registry: &mut Registry) {
    let abs =
        doc("abs(number) -> as the number", "The absolute value.", "math", &[("abs(-5)", "5")]);
    registry.add_scalar("abs", abs, Arc::new(bind_abs));
    let sign =
        doc("sign(number) -> tinyint", "-1, 0 or 1; 0 for NaN.", "math", &[("sign(-0.5)", "-1")]);
    registry.add_scalar("sign", sign, Arc::new(bind_sign));
    let add = |registry: &mut Registry,
               name: &str,
               text: &str,
               narrow: fn(f32) -> bool,
               wide: fn(f64) -> bool| {
        let call = format!("{name}(1.0::double)");
        let result = wide(1.0).to_string();
        let example = [(call.as_str(), result.as_str())];
        let doc = doc(&format!("{name}(float) -> boolean"), text, "math", &example);
        registry.add_scalar(name, doc.clone(), unary::<Real, Boolean, _>(narrow));
        registry.add_scalar(name, doc, unary::<Double, Boolean, _>(wide));
    };
    add(registry, "isnan", "Whether it is NaN.", f32::is_nan, f64::is_nan);
    add(registry, "isinf", "Whether it is infinite.", f32::is_infinite, f64::is_infinite);
    add(registry, "isfinite", "Whether it is a number.", f32::is_finite, f64::is_finite);
    let none = FunctionDoc::default;
    let date = unary::<Date, Boolean, _>(is_infinite_date);
    registry.add_scalar("isinf", none(), date);
    let date = unary::<Date, Boolean, _>(|it| !is_infinite_date(it));
    registry.add_scalar("isfinite", none(), date);
    let timestamp = unary::<Timestamp, Boolean, _>(is_infinite_timestamp);
    registry.add_scalar("isinf", none(), timestamp);
    let timestamp = unary::<Timestamp, Boolean, _>(|it| !is_infinite_timestamp(it));
    registry.add_scalar("isfinite", none(), timestamp);
}

/// An integer that has an absolute value and a sign.
trait Signed: Native + Into<i128> + Stored<NativeColumn<Self>> {
    fn absolute(self) -> (Self, bool);
    fn sign(self) -> i8;
}

macro_rules! signed {
    ($($native:ty),*) => {
        $(impl Signed for $native {
            #[inline(always)]
            fn absolute(self) -> ($native, bool) {
                (self.wrapping_abs(), self == <$native>::MIN)
            }

            #[inline(always)]
            fn sign(self) -> i8 {
                self.signum() as i8
            }
        })*
    };
}

signed!(i8, i16, i32, i64, i128);

fn bind_abs(args: &[Type]) -> Option<BoundScalar> {
    let [arg] = args else { return None };
    let arg = if *arg == Type::Unknown { Type::BigInt } else { arg.clone() };
    let (function, traits) = match &arg {
        Type::Real => (simple::function1::<Real, Real, _>(f32::abs), ScalarTraits::INFALLIBLE),
        Type::Double => {
            (simple::function1::<Double, Double, _>(f64::abs), ScalarTraits::INFALLIBLE)
        }
        _ if arg.unsigned().is_some() => {
            let same = simple::vectorized(|_, args, _, _| Ok(args[0].clone()));
            (same, ScalarTraits::INFALLIBLE)
        }
        _ if arg.is_integer() || arg.is_decimal() => {
            let function = match_integer!(arg.physical(), T => abs::<T>(), else return None);
            (function, ScalarTraits::DEFAULT)
        }
        _ => return None,
    };
    Some(BoundScalar::new(vec![arg.clone()], arg, traits, function))
}

fn abs<T: Signed>() -> Arc<dyn ScalarFunction> {
    simple::vectorized(|rows, args, to, ctx| {
        let error = |value: T| {
            let mut text = format!("overflow in abs of {to}: ");
            push_i128(&mut text, value.into());
            Error::invalid_value(text)
        };
        simple::map_checked1::<Physical<T>, Physical<T>, T>(rows, args, to, ctx, T::absolute, error)
    })
}

fn bind_sign(args: &[Type]) -> Option<BoundScalar> {
    let [arg] = args else { return None };
    let arg = if *arg == Type::Unknown { Type::BigInt } else { arg.clone() };
    let function = match &arg {
        Type::Real => simple::function1::<Real, TinyInt, _>(|it: f32| sign_of(it.into())),
        Type::Double => simple::function1::<Double, TinyInt, _>(sign_of),
        _ if arg.is_numeric() => match_integer!(arg.physical(), T => {
            simple::function1::<Physical<T>, TinyInt, _>(|it: T| it.sign())
        }, else return None),
        _ => return None,
    };
    let traits = ScalarTraits::INFALLIBLE;
    let result = Type::TinyInt;
    Some(BoundScalar::new(vec![arg], result, traits, function))
}

fn sign_of(value: f64) -> i8 {
    i8::from(value > 0.0) - i8::from(value < 0.0)
}

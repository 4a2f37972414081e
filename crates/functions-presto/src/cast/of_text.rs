//! Texts as Presto reads them.

use super::{invalid_text, settled};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, ScalarFunction, ScalarTraits,
    simple::{self, ResultType, Stored, Varchar, function1, vectorized},
};
use volley_types::{Type, civil::checked_days};

/// The conversion of VARCHAR, where it is not the core's.
pub(super) fn bind(to: &Type) -> Option<BoundScalar> {
    let function = match to {
        Type::Boolean => parsed::<simple::Boolean, bool>(to, boolean),
        Type::TinyInt => parsed::<simple::TinyInt, i8>(to, integer),
        Type::SmallInt => parsed::<simple::SmallInt, i16>(to, integer),
        Type::Integer => parsed::<simple::Integer, i32>(to, integer),
        Type::BigInt => parsed::<simple::BigInt, i64>(to, integer),
        Type::Real => parsed::<simple::Real, f32>(to, real),
        Type::Double => parsed::<simple::Double, f64>(to, double),
        Type::Date => parsed::<simple::Date, i32>(to, date),
        Type::Varbinary => vectorized(|_, args, to, _| Ok(args[0].with_type(to.clone()))),
        _ => return None,
    };
    Some(settled(&Type::Varchar, to, ScalarTraits::DEFAULT, function))
}

fn parsed<R: ResultType, T: Stored<R::Column> + 'static>(
    to: &Type,
    parse: fn(&str) -> Option<T>,
) -> Arc<dyn ScalarFunction> {
    let to = to.clone();
    function1::<Varchar, R, _>(move |text: &str| -> Result<T, Error> {
        parse(text).ok_or_else(|| invalid_text(text, &to))
    })
}

/// `t`, `true`, `1`, `f`, `false` and `0`, in any case.
pub(super) fn boolean(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 3]| words.iter().any(|it| it.eq_ignore_ascii_case(text));
    match (is_one_of(["t", "true", "1"]), is_one_of(["f", "false", "0"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Digits, perhaps with a sign.
pub(super) fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// A decimal number, perhaps with an exponent; `NaN`, `Infinity` and `-Infinity`.
pub(super) fn double(text: &str) -> Option<f64> {
    is_float(text.trim()).then(|| text.trim().parse().ok()).flatten()
}

/// As [`double`].
pub(super) fn real(text: &str) -> Option<f32> {
    is_float(text.trim()).then(|| text.trim().parse().ok()).flatten()
}

/// Whether a text is no other spelling of what is not finite.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = unsigned.starts_with(|it: char| it.is_ascii_digit() || it == '.');
    is_number || matches!(unsigned, "NaN" | "Infinity")
}

/// Year, month and day, with hyphens between them.
pub(crate) fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = unsigned.split('-').map(|it| {
        let is_number = !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        it.parse::<i64>().ok().filter(|_| is_number)
    });
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then(|| checked_days(sign * year, month, day)).flatten()
}

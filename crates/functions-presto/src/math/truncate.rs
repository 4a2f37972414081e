//! `truncate`: digits are dropped, those of the number as it is written.

use super::{doc, number::of_decimals};
use std::fmt::{self, Write};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Decimal, scalar},
};
use volley_types::Type;

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let truncate_doc = doc(
        "truncate(number[, digits]) -> as the number",
        "The number without further digits after the point, or before it when `digits` is \
         negative. A DECIMAL without `digits` gets a scale of 0.",
        &[
            ("truncate(-1.9e0)", "-1.0"),
            ("truncate(12.333, -1)", "10.000"),
            ("truncate(0.29e0, 2)", "0.29"),
            ("truncate(999.45)", "999"),
        ],
    );
    registry.simple("presto.truncate", truncate_doc, f64::trunc);
    let mut add = |bind| registry.add_scalar("presto.truncate", FunctionDoc::default(), bind);
    add(scalar(f32::trunc).into_bind());
    add(scalar(truncate).into_bind());
    add(scalar(truncate_narrow).into_bind());
    let whole =
        |x: Decimal| Decimal { unscaled: x.unscaled / 10i128.pow(x.scale.into()), scale: 0 };
    add(of_decimals(scalar(whole), |precision, scale| {
        Type::decimal((precision - scale).max(1), 0)
    }));
    let digits = |x: Decimal, digits: i32| {
        let drop = i64::from(x.scale) - i64::from(digits);
        let unit = u32::try_from(drop.max(0)).ok().and_then(|it| 10i128.checked_pow(it));
        Decimal { unscaled: unit.map_or(0, |it| x.unscaled - x.unscaled % it), scale: x.scale }
    };
    add(of_decimals(scalar(digits), Type::decimal));
}

fn truncate(value: f64, digits: i32) -> f64 {
    if digits == 0 || !value.is_finite() {
        return value.trunc();
    }
    let mut written = Written::default();
    cut(&mut written, format_args!("{value:e}"), digits).unwrap_or(value)
}

fn truncate_narrow(value: f32, digits: i32) -> f32 {
    if digits == 0 || !value.is_finite() {
        return value.trunc();
    }
    let mut written = Written::default();
    cut(&mut written, format_args!("{value:e}"), digits).unwrap_or(value)
}

/// The number that is written as `number`, such as `-1.25e-3`, without digits after those wanted.
fn cut<T: std::str::FromStr + Default>(
    written: &mut Written,
    number: fmt::Arguments<'_>,
    digits: i32,
) -> Option<T> {
    written.write_fmt(number).ok()?;
    let text = written.text();
    let (mantissa, exponent) = text.split_once('e')?;
    let exponent: i64 = exponent.parse().ok()?;
    // The digits of the mantissa that stay, of which the first one precedes the point.
    let keep = exponent + i64::from(digits) + 1;
    if keep <= 0 {
        return Some(T::default());
    }
    let sign = usize::from(mantissa.starts_with('-'));
    let point = usize::from(keep > 1);
    let len = usize::try_from(keep).unwrap_or(usize::MAX).saturating_add(sign + point);
    if len >= mantissa.len() {
        return text.parse().ok();
    }
    let mut shorter = Written::default();
    write!(shorter, "{}e{exponent}", mantissa.get(..len)?).ok()?;
    shorter.text().parse().ok()
}

/// A short text without an allocation: 17 digits, signs, a point and an exponent.
#[derive(Default)]
struct Written {
    bytes: [u8; 32],
    len: usize,
}

impl Written {
    fn text(&self) -> &str {
        self.bytes.get(..self.len).and_then(|it| str::from_utf8(it).ok()).unwrap_or("")
    }
}

impl Write for Written {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

//! Integers written to some base.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{Registry, simple::StringWriter};
use volley_functions::text::push_digits;

/// Registers `from_base` and `to_base`.
pub(super) fn register(registry: &mut Registry) {
    let from = doc(
        "from_base(varchar, radix) -> bigint",
        "The number that the digits mean to a base from 2 to 36.",
        &[("from_base('ff', 16)", "255"), ("from_base('-101', 2)", "-5")],
    );
    registry.simple("presto.from_base", from, |text: &str, radix: i64| -> Result<i64> {
        let radix = checked(radix)?;
        let invalid = || Error::invalid_value(format!("not a base-{radix} number: '{text}'"));
        i64::from_str_radix(text, radix).map_err(|_| invalid())
    });
    let to = doc(
        "to_base(bigint, radix) -> varchar",
        "The number in digits to a base from 2 to 36.",
        &[("to_base(255, 16)", "ff"), ("to_base(-5, 2)", "-101")],
    );
    registry.simple("presto.to_base", to, write);
}

fn checked(radix: i64) -> Result<u32> {
    let valid = u32::try_from(radix).ok().filter(|it| (2..=36).contains(it));
    valid.ok_or_else(|| Error::invalid_value(format!("radix must be 2 to 36, not {radix}")))
}

fn write(value: i64, radix: i64, out: &mut StringWriter) -> Result<()> {
    let mut digits = Vec::new();
    push_digits(value.unsigned_abs(), radix, &mut digits)?;
    if value < 0 {
        out.push('-');
    }
    out.push_bytes(&digits);
    Ok(())
}

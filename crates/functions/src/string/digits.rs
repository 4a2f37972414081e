//! Numbers and bytes in digits to a base: `to_base`, `unbin`.

use super::string_doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, scalar},
};
use volley_types::Type;

/// The maximum number of digits that zeros fill up to.
const DIGITS_MAX: usize = 1 << 16;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let base = string_doc(
        "to_base(bigint, radix[, least digits]) -> varchar",
        "A number that is not negative in digits to a base from 2 to 36.",
        &[("to_base(255, 16)", "FF"), ("to_base(10, 16, 4)", "000A")],
    );
    registry.simple("to_base", base, |value: i64, radix: i64, out: &mut StringWriter| {
        to_base(value, radix, 0, out)
    });
    registry.simple("to_base", FunctionDoc::default(), to_base);
    for name in ["unbin", "from_binary"] {
        let doc = string_doc(
            &format!("{name}(varchar) -> varbinary"),
            "The bytes that binary digits mean.",
            &[(&format!("{name}('01100001')"), "a")],
        );
        let function = scalar(unbin).returning(|_| Some(Type::Varbinary));
        registry.simple(name, doc, function);
    }
}

fn to_base(value: i64, radix: i64, least: i64, out: &mut StringWriter) -> Result<()> {
    let Ok(number) = u64::try_from(value) else {
        return Err(Error::invalid_value(format!("to_base of a negative number: {value}")));
    };
    let least = usize::try_from(least).ok().filter(|it| *it <= DIGITS_MAX).ok_or_else(|| {
        Error::invalid_value(format!(
            "the least number of digits must be 0 to {DIGITS_MAX}: {least}"
        ))
    })?;
    let mut digits = Vec::new();
    push_digits(number, radix, &mut digits)?;
    (digits.len()..least).for_each(|_| out.push('0'));
    digits.make_ascii_uppercase();
    out.push_bytes(&digits);
    Ok(())
}

/// Appends the digits of a number to a base from 2 to 36, with small letters.
///
/// # Errors
///
/// Another base.
pub fn push_digits(number: u64, radix: i64, out: &mut Vec<u8>) -> Result<()> {
    let radix = u32::try_from(radix)
        .ok()
        .filter(|it| (2..=36).contains(it))
        .ok_or_else(|| Error::invalid_value(format!("radix must be 2 to 36, not {radix}")))?;
    let start = out.len();
    let mut rest = number;
    loop {
        let digit = char::from_digit((rest % u64::from(radix)) as u32, radix);
        out.push(digit.unwrap_or('0') as u8);
        rest /= u64::from(radix);
        if rest == 0 {
            break;
        }
    }
    out[start..].reverse();
    Ok(())
}

fn unbin(text: &str, out: &mut StringWriter) -> Result<()> {
    let mut byte = 0u8;
    for (place, digit) in text.bytes().enumerate() {
        let bit = match digit {
            b'0' => 0,
            b'1' => 1,
            _ => return Err(Error::invalid_value(format!("not binary digits: '{text}'"))),
        };
        byte = byte << 1 | bit;
        if (text.len() - place) % 8 == 1 {
            out.push_bytes(&[byte]);
            byte = 0;
        }
    }
    Ok(())
}

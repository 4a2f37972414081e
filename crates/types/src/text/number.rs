//! Booleans and numbers to text.

use crate::Type;
use std::fmt::{self, Write};

/// The maximum number of digits of a 128-bit integer.
const DIGITS_MAX: usize = 39;

/// Appends `true` or `false`.
pub fn push_boolean(out: &mut String, value: bool) {
    out.push_str(if value { "true" } else { "false" });
}

/// Appends a type's name as SQL shows it.
pub fn push_type_name(out: &mut String, data_type: &Type) {
    // Writing to a string does not fail.
    let _ = write!(out, "{data_type}");
}

/// Appends an integer.
pub fn push_i64(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    let mut digits = [0; DIGITS_MAX];
    out.push_str(digits_of_u64(value.unsigned_abs(), 1, &mut digits));
}

/// Appends an integer.
pub fn push_i128(out: &mut String, value: i128) {
    if value < 0 {
        out.push('-');
    }
    let mut digits = [0; DIGITS_MAX];
    out.push_str(digits_of(value.unsigned_abs(), 1, &mut digits));
}

/// Appends an unsigned integer.
pub fn push_u128(out: &mut String, value: u128) {
    let mut digits = [0; DIGITS_MAX];
    out.push_str(digits_of(value, 1, &mut digits));
}

/// Appends an unsigned number with at least `width` digits, zeros in front.
pub(super) fn push_padded(out: &mut String, value: u64, width: usize) {
    match (width, value) {
        (2, ..100) => return out.push_str(two_digits(value)),
        (4, ..10_000) => {
            out.push_str(two_digits(value / 100));
            return out.push_str(two_digits(value % 100));
        }
        _ => {}
    }
    let mut digits = [0; DIGITS_MAX];
    out.push_str(digits_of_u64(value, width, &mut digits));
}

/// The two digits of a number less than 100.
fn two_digits(value: u64) -> &'static str {
    const ALL: &str = "\
        0001020304050607080910111213141516171819\
        2021222324252627282930313233343536373839\
        4041424344454647484950515253545556575859\
        6061626364656667686970717273747576777879\
        8081828384858687888990919293949596979899";
    let start = value as usize * 2;
    ALL.get(start..start + 2).unwrap_or("")
}

/// Appends a decimal with all digits of its scale. Like DuckDB, a type without room for a digit
/// before the point shows none: `.50` for DECIMAL(2,2).
pub fn push_decimal(out: &mut String, unscaled: i128, precision: u8, scale: u8) {
    if unscaled < 0 {
        out.push('-');
    }
    let integer_digits = usize::from(precision > scale || scale == 0);
    let scale = usize::from(scale);
    let mut buffer = [0; DIGITS_MAX];
    let digits = digits_of(unscaled.unsigned_abs(), scale + integer_digits, &mut buffer);
    let (integer, fraction) = digits.split_at(digits.len() - scale);
    out.push_str(integer);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
}

/// Appends the shortest text that reads back as the same number: `1.0`, `0.1`, `1e+20`, `-inf`.
pub fn push_f64(out: &mut String, value: f64) {
    if push_special(out, value) {
        return;
    }
    let mut text = Stack::default();
    let _ = write!(text, "{value:e}");
    push_scientific(out, text.as_str());
}

/// Like [`push_f64`], with the digits that a 32-bit float needs.
pub fn push_f32(out: &mut String, value: f32) {
    if push_special(out, value.into()) {
        return;
    }
    let mut text = Stack::default();
    let _ = write!(text, "{value:e}");
    push_scientific(out, text.as_str());
}

/// Appends what has no digits and answers whether it did. The sign of NaN does not show.
fn push_special(out: &mut String, value: f64) -> bool {
    if value.is_nan() {
        out.push_str("nan");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    !value.is_finite()
}

/// Lays out `-d.ddde-x` in plain form for exponents from -4 to 15, else with a signed exponent of
/// at least two digits.
fn push_scientific(out: &mut String, text: &str) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = match mantissa.strip_prefix('-') {
        Some(rest) => {
            out.push('-');
            rest
        }
        None => mantissa,
    };
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !(-4..16).contains(&exponent) {
        out.push_str(mantissa);
        out.push_str(if exponent < 0 { "e-" } else { "e+" });
        push_padded(out, exponent.unsigned_abs().into(), 2);
        return;
    }
    if exponent < 0 {
        out.push_str("0.");
        push_zeros(out, exponent.unsigned_abs() as usize - 1);
        out.push_str(first);
        out.push_str(rest);
        return;
    }
    let exponent = exponent as usize;
    out.push_str(first);
    let (integer, fraction) = rest.split_at(exponent.min(rest.len()));
    out.push_str(integer);
    push_zeros(out, exponent - integer.len());
    out.push('.');
    out.push_str(if fraction.is_empty() { "0" } else { fraction });
}

fn push_zeros(out: &mut String, count: usize) {
    (0..count).for_each(|_| out.push('0'));
}

/// The digits of `value`, at least `width` of them, at the end of `buffer`.
fn digits_of(value: u128, width: usize, buffer: &mut [u8; DIGITS_MAX]) -> &str {
    if let Ok(value) = u64::try_from(value) {
        return digits_of_u64(value, width, buffer);
    }
    let mut rest = value;
    let mut start = DIGITS_MAX;
    while rest != 0 || DIGITS_MAX - start < width {
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    std::str::from_utf8(&buffer[start..]).unwrap_or("")
}

fn digits_of_u64(value: u64, width: usize, buffer: &mut [u8; DIGITS_MAX]) -> &str {
    let mut rest = value;
    let mut start = DIGITS_MAX;
    while rest != 0 || DIGITS_MAX - start < width {
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    std::str::from_utf8(&buffer[start..]).unwrap_or("")
}

/// A short text on the stack: a float in scientific form has at most 24 bytes.
#[derive(Default)]
struct Stack {
    bytes: [u8; 32],
    len: usize,
}

impl Stack {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Stack {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

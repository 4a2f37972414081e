//! Text to booleans and numbers.

/// Digits beyond this many cannot change a 128-bit result.
const DIGITS_KEPT: u32 = 38;

/// Reads `true`, `t`, `yes`, `y`, `1` and their opposites, in any case.
pub fn parse_boolean(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 5]| words.iter().any(|it| text.eq_ignore_ascii_case(it));
    if is_one_of(["true", "t", "yes", "y", "1"]) {
        return Some(true);
    }
    is_one_of(["false", "f", "no", "n", "0"]).then_some(false)
}

/// Reads an integer: digits with a sign, `_` between digits, `0x1F`, `0b11`; a fraction or an
/// exponent is rounded half away from zero. `None` also beyond 128 bits.
pub fn parse_integer(text: &str) -> Option<i128> {
    let text = text.trim_ascii();
    parse_short(text.as_bytes())
        .map(i128::from)
        .or_else(|| parse_radix(text)?.try_into().ok())
        .or_else(|| parse_decimal(text, 0))
}

/// Like [`parse_integer`], for unsigned integers of up to 128 bits: `None` for what rounds to less
/// than zero.
pub fn parse_unsigned(text: &str) -> Option<u128> {
    let text = text.trim_ascii();
    if let Some(short) = parse_short(text.as_bytes()) {
        return u128::try_from(short).ok();
    }
    parse_radix(text).or_else(|| {
        let (is_negative, magnitude) = parse_magnitude(text, 0)?;
        (!is_negative || magnitude == 0).then_some(magnitude)
    })
}

/// Up to 18 plain digits: nearly every integer.
fn parse_short(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(if negative { -value } else { value })
}

fn parse_radix(text: &str) -> Option<u128> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        _ => return None,
    };
    if !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(digits, radix).ok()
}

/// Reads a number as an integer of units of `10^-scale`, rounded half away from zero. `None` also
/// beyond 128 bits; the caller checks the precision.
pub fn parse_decimal(text: &str, scale: u8) -> Option<i128> {
    let (negative, value) = parse_magnitude(text, scale)?;
    if negative { 0i128.checked_sub_unsigned(value) } else { i128::try_from(value).ok() }
}

/// Whether there is a minus sign, and the rounded units of `10^-scale`.
fn parse_magnitude(text: &str, scale: u8) -> Option<(bool, u128)> {
    let (negative, unsigned) = split_sign(text.trim_ascii().as_bytes());
    let (number, exponent) = split_exponent(unsigned)?;
    let digits = read_digits(number)?;
    let shift = i32::from(scale) - digits.fraction_digits + exponent;
    Some((negative, scale_by(&digits, shift)?))
}

/// The digits of a number, without the point.
struct Digits {
    value: u128,
    /// How many of them are after the point.
    fraction_digits: i32,
    /// Whether digits of the fraction were left out for lack of room.
    dropped: bool,
    /// Whether they are half of the last digit or more.
    rounds_up: bool,
}

fn read_digits(text: &[u8]) -> Option<Digits> {
    let mut digits = Digits { value: 0, fraction_digits: 0, dropped: false, rounds_up: false };
    let (mut seen_digit, mut seen_point) = (false, false);
    for (index, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                seen_digit = true;
                let digit = u128::from(byte - b'0');
                let has_room = !digits.dropped && digits.value < 10u128.pow(DIGITS_KEPT);
                let longer = digits.value.checked_mul(10).and_then(|it| it.checked_add(digit));
                match longer {
                    Some(value) if !seen_point || has_room => {
                        digits.value = value;
                        digits.fraction_digits += i32::from(seen_point);
                    }
                    _ if seen_point => {
                        digits.rounds_up |= !digits.dropped && digit >= 5;
                        digits.dropped = true;
                    }
                    _ => return None,
                }
            }
            b'.' if !seen_point => seen_point = true,
            b'_' if is_between_digits(text, index) => {}
            _ => return None,
        }
    }
    seen_digit.then_some(digits)
}

fn is_between_digits(text: &[u8], index: usize) -> bool {
    let is_digit = |it: Option<&u8>| it.is_some_and(u8::is_ascii_digit);
    index > 0 && is_digit(text.get(index - 1)) && is_digit(text.get(index + 1))
}

fn split_exponent(text: &[u8]) -> Option<(&[u8], i32)> {
    let Some(at) = text.iter().position(|it| matches!(it, b'e' | b'E')) else {
        return Some((text, 0));
    };
    let (negative, digits) = split_sign(&text[at + 1..]);
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
    Some((&text[..at], if negative { -value } else { value }))
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// The digits as an integer times `10^shift`, rounded half up.
fn scale_by(digits: &Digits, shift: i32) -> Option<u128> {
    let Digits { value, dropped, rounds_up, .. } = *digits;
    if value == 0 {
        return Some(0);
    }
    if shift >= 0 {
        if shift > 0 && dropped {
            return None;
        }
        let value = value.checked_add(rounds_up.into())?;
        return value.checked_mul(10u128.checked_pow(shift.unsigned_abs())?);
    }
    // More places than digits: rounds to zero.
    let Some(divisor) = 10u128.checked_pow(shift.unsigned_abs()) else { return Some(0) };
    let quotient = value / divisor;
    let remainder = value % divisor;
    Some(quotient + u128::from(remainder >= divisor - remainder))
}

/// Reads a 64-bit float: decimal or scientific, `inf`, `infinity`, `nan`; too large is infinite.
pub fn parse_f64(text: &str) -> Option<f64> {
    parse_float(text)
}

/// Like [`parse_f64`], rounded once to 32 bits.
pub fn parse_f32(text: &str) -> Option<f32> {
    parse_float(text)
}

fn parse_float<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim_ascii();
    if !text.contains('_') {
        return text.parse().ok();
    }
    let bytes = text.as_bytes();
    let well_placed =
        (0..bytes.len()).all(|index| bytes[index] != b'_' || is_between_digits(bytes, index));
    well_placed.then(|| text.replace('_', "").parse().ok())?
}

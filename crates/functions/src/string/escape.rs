//! Texts in other writings: for URLs and patterns, without accents, normalized; sizes and bars.

use super::string_doc;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Scratch, StringWriter},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_writings(registry);
    register_urls(registry);
    register_sizes(registry);
    let bar_doc = string_doc(
        "bar(x, least, greatest[, width]) -> varchar",
        "A bar as long as x lies between the two others, of `width` characters (80 when left out).",
        &[("bar(5, 0, 20, 8)", "██      ")],
    );
    registry.simple("bar", bar_doc, |x: f64, least: f64, greatest: f64, out: &mut StringWriter| {
        bar((x, least, greatest), 80.0, out)
    });
    registry.simple(
        "bar",
        FunctionDoc::default(),
        |x: f64, least: f64, greatest: f64, width: f64, out: &mut StringWriter| {
            bar((x, least, greatest), width, out)
        },
    );
}

fn register_writings(registry: &mut Registry) {
    let strip = string_doc(
        "strip_accents(varchar) -> varchar",
        "The text with letters in place of those with accents.",
        &[("strip_accents('mühle é')", "muhle e")],
    );
    registry.simple("strip_accents", strip, |text: &str, out: &mut StringWriter| {
        if text.is_ascii() {
            return out.push_str(text);
        }
        text.nfd().filter(|it| !is_combining_mark(*it)).nfc().for_each(|it| out.push(it));
    });
    let normalize = string_doc(
        "nfc_normalize(varchar) -> varchar",
        "The text in Unicode's normalization form C: letters and their accents as one character.",
        &[("length(nfc_normalize('e' || chr(769)))", "1")],
    );
    registry.simple("nfc_normalize", normalize, |text: &str, out: &mut StringWriter| {
        if text.is_ascii() {
            return out.push_str(text);
        }
        text.nfc().for_each(|it| out.push(it));
    });
    let pattern = string_doc(
        "regexp_escape(varchar) -> varchar",
        "A pattern that matches the text itself.",
        &[("regexp_escape('a.b*')", "a\\.b\\*")],
    );
    registry.simple("regexp_escape", pattern, |text: &str, out: &mut StringWriter| {
        for character in text.chars() {
            let is_plain = !character.is_ascii() || character.is_ascii_alphanumeric();
            if !is_plain && character != '_' {
                out.push('\\');
            }
            out.push(character);
        }
    });
}

fn register_urls(registry: &mut Registry) {
    let encode = string_doc(
        "url_encode(varchar) -> varchar",
        "The text as a part of a URL: ASCII letters, digits, `.`, `-`, `_` and `~` stay, each \
         other byte of UTF-8 becomes `%` and two digits.",
        &[("url_encode('a b/é')", "a%20b%2F%C3%A9")],
    );
    registry.simple("url_encode", encode, |text: &str, out: &mut StringWriter| {
        for byte in text.bytes() {
            match byte {
                b'.' | b'-' | b'_' | b'~' => out.push(byte.into()),
                _ if byte.is_ascii_alphanumeric() => out.push(byte.into()),
                _ => push_percent(byte, out),
            }
        }
    });
    let decode = string_doc(
        "url_decode(varchar) -> varchar",
        "What url_encode has made the text of; a `%` without two digits stays.",
        &[("url_decode('a%20b%2F%C3%A9')", "a b/é")],
    );
    registry.simple("url_decode", decode, |text: &str, out: &mut StringWriter| -> Result<()> {
        let Some(_scratch) = Scratch::of(text.len()) else { return Ok(()) };
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((byte, behind)) = rest.split_first() {
            let escaped = escaped_byte(rest);
            bytes.push(escaped.unwrap_or(*byte));
            rest = if escaped.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
        }
        match std::str::from_utf8(&bytes) {
            Ok(decoded) => out.push_str(decoded),
            Err(_) => {
                let message = format!("what the URL says is no UTF-8: '{text}'");
                return Err(Error::invalid_value(message));
            }
        }
        Ok(())
    });
}

/// Appends `%` and the two digits of a byte.
pub fn push_percent(byte: u8, out: &mut StringWriter) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(DIGITS[usize::from(byte >> 4)].into());
    out.push(DIGITS[usize::from(byte & 15)].into());
}

/// The byte that `%` and two digits at the beginning mean.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |it: &u8| char::from(*it).to_digit(16);
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

fn register_sizes(registry: &mut Registry) {
    for name in ["format_bytes", "formatreadablesize"] {
        let doc = string_doc(
            &format!("{name}(bigint) -> varchar"),
            "A number of bytes in the largest unit, a power of 1024, of which there is one.",
            &[(&format!("{name}(1536)"), "1.5 KiB")],
        );
        registry.simple(name, doc, |bytes: i64, out: &mut StringWriter| {
            out.push_str(&readable(bytes, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"]));
        });
    }
    let decimal = string_doc(
        "formatreadabledecimalsize(bigint) -> varchar",
        "A number of bytes in the largest unit, a power of 1000, of which there is one.",
        &[("formatreadabledecimalsize(1500)", "1.5 kB")],
    );
    let write = |bytes: i64, out: &mut StringWriter| {
        out.push_str(&readable(bytes, 1000, ["kB", "MB", "GB", "TB", "PB"]));
    };
    registry.simple("formatreadabledecimalsize", decimal, write);
}

/// With one digit after the point, not rounded.
fn readable(bytes: i64, base: u64, units: [&str; 5]) -> String {
    let size = bytes.unsigned_abs();
    let sign = if bytes < 0 { "-" } else { "" };
    let mut power = base;
    let mut found = None;
    for unit in units {
        if size >= power {
            found = Some((unit, power));
        }
        power = power.saturating_mul(base);
    }
    match found {
        None if size == 1 => format!("{sign}1 byte"),
        None => format!("{sign}{size} bytes"),
        Some((unit, power)) => {
            let tenths = u128::from(size % power) * 10 / u128::from(power);
            format!("{sign}{}.{tenths} {unit}", size / power)
        }
    }
}

/// The maximum number of characters of a bar.
const BAR_WIDTH_MAX: f64 = 1000.0;

fn bar((x, least, greatest): (f64, f64, f64), width: f64, out: &mut StringWriter) -> Result<()> {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !(1.0..=BAR_WIDTH_MAX).contains(&width) {
        let message = format!("the width of a bar must be from 1 to {BAR_WIDTH_MAX}: {width}");
        return Err(Error::invalid_value(message));
    }
    let filled = match x {
        _ if x.is_nan() || x < least => 0.0,
        _ if x >= greatest => width,
        _ => (x - least) / (greatest - least) * width,
    };
    // In eighths of a character.
    let eighths = (filled * 8.0) as usize;
    let (whole, part) = (eighths / 8, PARTS[eighths % 8]);
    let missing = (width as usize).saturating_sub(whole + usize::from(!part.is_empty()));
    (0..whole.min(width as usize)).for_each(|_| out.push('█'));
    // A width with a fraction has room for a part of a character behind the whole ones.
    out.push_str(part);
    (0..missing).for_each(|_| out.push(' '));
    Ok(())
}

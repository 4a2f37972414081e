//! `from_utf8` and `normalize`.

use super::doc;
use unicode_normalization::UnicodeNormalization;
use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry, simple::StringWriter};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let from = doc(
        "from_utf8(varbinary[, replacement]) -> varchar",
        "The text that the bytes are in UTF-8. Each invalid sequence becomes U+FFFD, or the \
         replacement: a code point as text or by its number, or nothing.",
        &[("from_utf8(X'616263')", "abc"), ("from_utf8(X'61FF62', '?')", "a?b")],
    );
    registry.simple("presto.from_utf8", from, |bytes: &[u8], out: &mut StringWriter| {
        decode(bytes, Some(char::REPLACEMENT_CHARACTER), out);
    });
    let by_text = |bytes: &[u8], replacement: &str, out: &mut StringWriter| -> Result<()> {
        let mut characters = replacement.chars();
        let first = characters.next();
        if characters.next().is_some() {
            let message = format!("replacement must be one character or none: '{replacement}'");
            return Err(Error::invalid_value(message));
        }
        decode(bytes, first, out);
        Ok(())
    };
    registry.simple("presto.from_utf8", FunctionDoc::default(), by_text);
    let by_number = |bytes: &[u8], replacement: i64, out: &mut StringWriter| -> Result<()> {
        let character = u32::try_from(replacement).ok().and_then(char::from_u32);
        let invalid = || Error::invalid_value(format!("not a code point: {replacement}"));
        decode(bytes, Some(character.ok_or_else(invalid)?), out);
        Ok(())
    };
    registry.simple("presto.from_utf8", FunctionDoc::default(), by_number);
    let normalize = doc(
        "normalize(varchar[, form]) -> varchar",
        "The text in a normalization form of Unicode: 'NFC', which is the default, 'NFD', 'NFKC' \
         or 'NFKD'.",
        &[("length(normalize('e' || chr(769)))", "1"), ("normalize('ﬁ', 'NFKC')", "fi")],
    );
    registry.simple("presto.normalize", normalize, |text: &str, out: &mut StringWriter| {
        text.nfc().for_each(|it| out.push(it));
    });
    registry.simple("presto.normalize", FunctionDoc::default(), write_form);
}

fn write_form(text: &str, form: &str, out: &mut StringWriter) -> Result<()> {
    match form {
        "NFC" => text.nfc().for_each(|it| out.push(it)),
        "NFD" => text.nfd().for_each(|it| out.push(it)),
        "NFKC" => text.nfkc().for_each(|it| out.push(it)),
        "NFKD" => text.nfkd().for_each(|it| out.push(it)),
        _ => {
            let message = format!("normalization form must be NFC, NFD, NFKC or NFKD: '{form}'");
            return Err(Error::invalid_value(message));
        }
    }
    Ok(())
}

fn decode(bytes: &[u8], replacement: Option<char>, out: &mut StringWriter) {
    let mut rest = bytes;
    loop {
        match str::from_utf8(rest) {
            Ok(text) => return out.push_str(text),
            Err(error) => {
                let (valid, invalid) = rest.split_at(error.valid_up_to());
                out.push_bytes(valid);
                if let Some(replacement) = replacement {
                    out.push(replacement);
                }
                rest = invalid.get(invalid_len(invalid)..).unwrap_or_default();
            }
        }
    }
}

/// How long the invalid sequence is that the bytes begin with: what its first byte announces, as
/// far as continuation bytes follow. So code points that are too long or surrogates are one
/// sequence.
fn invalid_len(bytes: &[u8]) -> usize {
    let announced = match bytes.first() {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        Some(0xF8..=0xFB) => 5,
        Some(0xFC..=0xFD) => 6,
        _ => 1,
    };
    let follow = bytes.iter().skip(1).take(announced - 1);
    1 + follow.take_while(|it| *it & 0xC0 == 0x80).count()
}

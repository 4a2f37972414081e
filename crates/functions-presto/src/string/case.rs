//! `upper`, `chr` and `codepoint`.

use super::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{StringWriter, with_ascii_writing},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let upper = doc(
        "upper(varchar) -> varchar",
        "The text in upper case, code point by code point: what has no upper case of one code \
         point stays.",
        &[("upper('größe')", "GRÖßE")],
    );
    let function = with_ascii_writing(
        |text: &str, out: &mut StringWriter| text.chars().for_each(|it| out.push(upper_of(it))),
        |text: &str, out: &mut StringWriter| {
            out.push_mapped(text.as_bytes(), |it| it.to_ascii_uppercase());
        },
    );
    registry.simple("presto.upper", upper, function.preserving_ascii());
    let chr = doc(
        "chr(bigint) -> varchar",
        "The code point of this number.",
        &[("chr(8364)", "€"), ("try(chr(-1))", "NULL")],
    );
    registry.simple("presto.chr", chr, |code: i64, out: &mut StringWriter| {
        let character = u32::try_from(code).ok().and_then(char::from_u32);
        let invalid = || Error::invalid_value(format!("not a Unicode code point: {code}"));
        character.map(|it| out.push(it)).ok_or_else(invalid)
    });
    let codepoint = doc(
        "codepoint(varchar) -> integer",
        "The number of the only code point of the text.",
        &[("codepoint('€')", "8364")],
    );
    registry.simple("presto.codepoint", codepoint, |text: &str| -> Result<i32, Error> {
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(only), None) => Ok(u32::from(only) as i32),
            _ => Err(Error::invalid_value(format!("not a single code point: '{text}'"))),
        }
    });
}

/// The simple upper case of Unicode's character database.
fn upper_of(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(only), None) => only,
        _ => title_of(character),
    }
}

/// Greek letters with iota subscript have several code points in upper case, and one, that of title
/// case, by the simple rules.
fn title_of(character: char) -> char {
    let distance = match character {
        '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => 8,
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => 9,
        _ => 0,
    };
    char::from_u32(u32::from(character) + distance).unwrap_or(character)
}

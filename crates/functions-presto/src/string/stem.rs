//! `word_stem`, by the Snowball algorithms.

use super::doc;
use rust_stemmers::{Algorithm, Stemmer};
use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry, simple::StringWriter};

/// Languages by their names.
const LANGUAGES: [(&str, Algorithm); 15] = [
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nl", Algorithm::Dutch),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("tr", Algorithm::Turkish),
];

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let stem = doc(
        "word_stem(varchar[, language]) -> varchar",
        "The stem of a word in lower case: English, or da, de, en, es, fi, fr, hu, it, nl, no, pt, \
         ro, ru, sv or tr.",
        &[("word_stem('authorized')", "author"), ("word_stem('continuité', 'fr')", "continu")],
    );
    registry.simple("presto.word_stem", stem, |word: &str, out: &mut StringWriter| {
        out.push_str(&Stemmer::create(Algorithm::English).stem(word));
    });
    let of_language = |word: &str, language: &str, out: &mut StringWriter| -> Result<()> {
        let known = LANGUAGES.into_iter().find(|it| it.0 == language);
        let unknown = || {
            let names = LANGUAGES.map(|it| it.0).join(", ");
            let message = format!("no stemmer for the language '{language}'");
            Error::invalid_value(message).hint(format!("languages are {names}"))
        };
        let (_, algorithm) = known.ok_or_else(unknown)?;
        out.push_str(&Stemmer::create(algorithm).stem(word));
        Ok(())
    };
    registry.simple("presto.word_stem", FunctionDoc::default(), of_language);
}

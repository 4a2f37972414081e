//! `word_stem`, by the Snowball algorithms.

use super::doc;
use rust_stemmers::{Algorithm as Early, Stemmer};
use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry, simple::StringWriter};
use waken_snowball::Algorithm as Late;

/// The algorithm of a language. Those that have changed since Presto took them over are of the
/// early kind.
#[derive(Clone, Copy)]
enum Algorithm {
    Early(Early),
    Late(Late),
}

/// Languages by their names.
const LANGUAGES: [(&str, Algorithm); 20] = [
    ("ca", Algorithm::Late(Late::Catalan)),
    ("da", Algorithm::Early(Early::Danish)),
    ("de", Algorithm::Early(Early::German)),
    ("en", Algorithm::Early(Early::English)),
    ("es", Algorithm::Early(Early::Spanish)),
    ("eu", Algorithm::Late(Late::Basque)),
    ("fi", Algorithm::Early(Early::Finnish)),
    ("fr", Algorithm::Early(Early::French)),
    ("ga", Algorithm::Late(Late::Irish)),
    ("hu", Algorithm::Early(Early::Hungarian)),
    ("hy", Algorithm::Late(Late::Armenian)),
    ("it", Algorithm::Early(Early::Italian)),
    ("lt", Algorithm::Late(Late::Lithuanian)),
    ("nl", Algorithm::Early(Early::Dutch)),
    ("no", Algorithm::Early(Early::Norwegian)),
    ("pt", Algorithm::Early(Early::Portuguese)),
    ("ro", Algorithm::Early(Early::Romanian)),
    ("ru", Algorithm::Early(Early::Russian)),
    ("sv", Algorithm::Early(Early::Swedish)),
    ("tr", Algorithm::Early(Early::Turkish)),
];

impl Algorithm {
    fn stem(self, word: &str, out: &mut StringWriter) {
        match self {
            Algorithm::Early(it) => out.push_str(&Stemmer::create(it).stem(word)),
            Algorithm::Late(it) => out.push_str(&waken_snowball::stem(it, word)),
        }
    }
}

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let stem = doc(
        "word_stem(varchar[, language]) -> varchar",
        "The stem of a word in lower case: English, or ca, da, de, en, es, eu, fi, fr, ga, hu, hy, \
         it, lt, nl, no, pt, ro, ru, sv or tr.",
        &[("word_stem('authorized')", "author"), ("word_stem('continuité', 'fr')", "continu")],
    );
    registry.simple("presto.word_stem", stem, |word: &str, out: &mut StringWriter| {
        Algorithm::Early(Early::English).stem(word, out);
    });
    let of_language = |word: &str, language: &str, out: &mut StringWriter| -> Result<()> {
        let known = LANGUAGES.into_iter().find(|it| it.0 == language);
        let unknown = || {
            let names = LANGUAGES.map(|it| it.0).join(", ");
            let message = format!("no stemmer for the language '{language}'");
            Error::invalid_value(message).hint(format!("languages are {names}"))
        };
        let (_, algorithm) = known.ok_or_else(unknown)?;
        algorithm.stem(word, out);
        Ok(())
    };
    registry.simple("presto.word_stem", FunctionDoc::default(), of_language);
}

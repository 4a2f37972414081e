//! Collations: text that is compared ignoring case or accents.
//!
//! The key of a text is the text in lower case, or without its accents: after Unicode's canonical
//! decomposition (UAX #15) without combining marks. Text that is compared byte by byte, as by the
//! collations C, POSIX and BINARY, is plain VARCHAR.

use super::{ComparisonKey, Custom, CustomType};
use crate::{Type, Value};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// What the names of all these types begin with.
const NAME_START: &str = "VARCHAR COLLATE ";

/// VARCHAR with a collation. Stored as VARCHAR.
#[derive(Debug)]
pub struct Collation {
    name: String,
    ignores_case: bool,
    ignores_accents: bool,
}

impl Collation {
    /// VARCHAR with the collation of this name, whatever its case: NOCASE, NOACCENT, both with a
    /// dot between them, or one of those that compare bytes. `None` if it does not exist.
    pub fn data_type(name: &str) -> Option<Type> {
        let (mut ignores_case, mut ignores_accents) = (false, false);
        for part in name.split('.') {
            match part.to_ascii_uppercase().as_str() {
                "NOCASE" => ignores_case = true,
                "NOACCENT" => ignores_accents = true,
                "C" | "POSIX" | "BINARY" => {}
                _ => return None,
            }
        }
        let name = match (ignores_case, ignores_accents) {
            (false, false) => return Some(Type::Varchar),
            (true, false) => "NOCASE",
            (false, true) => "NOACCENT",
            (true, true) => "NOCASE.NOACCENT",
        };
        let name = format!("{NAME_START}{name}");
        Some(Type::Custom(Custom::new(Collation { name, ignores_case, ignores_accents })))
    }

    /// The type of this name, as [`CustomType::name`] gives it; `None` when it is none of these.
    pub fn named(name: &str) -> Option<Type> {
        Collation::data_type(name.strip_prefix(NAME_START)?)
    }
}

impl CustomType for Collation {
    fn name(&self) -> &str {
        &self.name
    }

    fn storage(&self) -> &Type {
        &Type::Varchar
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(stored.as_str().unwrap_or_default());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Some(Value::text(text))
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }

    fn absorbs(&self, other: &Type) -> bool {
        *other == Type::Varchar
    }

    fn is_storage(&self) -> bool {
        true
    }
}

impl ComparisonKey for Collation {
    fn data_type(&self) -> &Type {
        &Type::Varchar
    }

    fn key(&self, stored: &Value) -> Value {
        let text = stored.as_str().unwrap_or_default();
        let lower = if self.ignores_case { text.to_lowercase() } else { text.to_owned() };
        if !self.ignores_accents || lower.is_ascii() {
            return Value::text(lower);
        }
        let plain: String = lower.nfd().filter(|it| !is_combining_mark(*it)).nfc().collect();
        Value::text(plain)
    }
}

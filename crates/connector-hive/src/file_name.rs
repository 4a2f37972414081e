//! Names of the files of a folder that is written.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};
use volley_error::{Error, Result};

/// How files are called; the default leaves it to the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileNames {
    /// With `{i}` for a number, and `{uuid}`, `{uuidv4}` or `{uuidv7}` for an identifier.
    pattern: Option<String>,
    /// Without its dot.
    extension: Option<String>,
}

impl FileNames {
    /// Sets the pattern; the number is added to one without placeholders.
    ///
    /// # Errors
    ///
    /// Invalid value: an empty one, or one with a slash.
    pub fn set_pattern(&mut self, pattern: &str) -> Result<()> {
        check("filename_pattern", pattern)?;
        let has_placeholder = ["{i}", "{uuid}", "{uuidv4}", "{uuidv7}"];
        let has_placeholder = has_placeholder.iter().any(|it| pattern.contains(it));
        let number = if has_placeholder { "" } else { "{i}" };
        self.pattern = Some(format!("{pattern}{number}"));
        Ok(())
    }

    /// Sets the ending, with or without its dot.
    ///
    /// # Errors
    ///
    /// As [`FileNames::set_pattern`].
    pub fn set_extension(&mut self, extension: &str) -> Result<()> {
        let extension = extension.strip_prefix('.').unwrap_or(extension);
        check("file_extension", extension)?;
        self.extension = Some(extension.to_owned());
        Ok(())
    }

    /// The name of file `number`, of a pattern and an ending unless others were set.
    pub fn name(&self, pattern: &str, number: u64, extension: &str) -> String {
        let pattern = self.pattern.as_deref().unwrap_or(pattern);
        let mut name = pattern.replace("{i}", &number.to_string());
        for placeholder in ["{uuid}", "{uuidv4}"] {
            if name.contains(placeholder) {
                name = name.replace(placeholder, &uuid(random_bits(), 4));
            }
        }
        if name.contains("{uuidv7}") {
            let millis = SystemTime::now().duration_since(UNIX_EPOCH);
            let millis = millis.map(|it| it.as_millis()).unwrap_or_default();
            name = name.replace("{uuidv7}", &uuid(millis << 80 | random_bits() >> 48, 7));
        }
        format!("{name}.{}", self.extension.as_deref().unwrap_or(extension))
    }
}

fn check(option: &str, text: &str) -> Result<()> {
    if text.is_empty() || text.contains(['/', '\\', '\0']) {
        let message = format!("COPY option {option} is part of a file's name: '{text}'");
        return Err(Error::invalid_value(message).hint("it has no slash and is not empty"));
    }
    Ok(())
}

/// Bits that the standard library takes from the operating system's source of random numbers.
fn random_bits() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

/// Bits with a version and a variant, as RFC 9562 writes them.
fn uuid(bits: u128, version: u128) -> String {
    let bits = bits & !(0xf << 76) | version << 76;
    let bits = bits & !(0x3 << 62) | 0x2 << 62;
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced() {
        let mut names = FileNames::default();
        assert_eq!(names.name("data_{i}", 7, "csv"), "data_7.csv");
        names.set_pattern("x").unwrap();
        names.set_extension(".txt").unwrap();
        assert_eq!(names.name("data_{i}", 7, "csv"), "x7.txt");
        names.set_pattern("a{i}b{uuidv7}").unwrap();
        let name = names.name("", 1, "");
        assert_eq!((name.len(), &name[..3], &name[17..18]), (43, "a1b", "7"), "{name}");
    }

    #[test]
    fn identifiers_have_version_and_variant() {
        assert_eq!(uuid(0, 4), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX, 7), "ffffffff-ffff-7fff-bfff-ffffffffffff");
        assert_ne!(random_bits(), random_bits());
    }

    #[test]
    fn names_stay_in_their_folder() {
        let mut names = FileNames::default();
        assert!(names.set_pattern("a/b").is_err() && names.set_pattern("").is_err());
        assert!(names.set_extension("../x").is_err());
    }
}

//! Names of files within a store.

use std::fmt;
use volley_error::{Error, Result};

/// The longest name, in bytes.
const BYTES_MAX: usize = 512;

/// Folders and a file, separated by `/`: parts of letters, digits, `-`, `_` and `.`, as
/// all stores allow. The empty name is the store's own folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name of `text`.
    ///
    /// # Errors
    ///
    /// Invalid value: another character, an empty part, `.` or `..`, too long.
    pub fn new(text: impl Into<String>) -> Result<Name> {
        let text = text.into();
        let is_valid = text.is_empty() || text.split('/').all(is_part);
        if is_valid && text.len() <= BYTES_MAX {
            return Ok(Name(text));
        }
        let message = format!("not a name of a file in a database: {text:?}");
        Err(Error::invalid_value(message).hint("use letters, digits, '-', '_', '.'"))
    }

    /// A file or folder in this folder.
    ///
    /// # Errors
    ///
    /// As [`Name::new`].
    pub fn join(&self, part: &str) -> Result<Name> {
        if self.0.is_empty() {
            return Name::new(part);
        }
        Name::new(format!("{self}/{part}"))
    }

    /// The folder that it is in.
    pub fn folder(&self) -> Name {
        Name(self.0.rsplit_once('/').map_or(String::new(), |it| it.0.to_owned()))
    }

    /// The last part.
    pub fn file(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |it| it.1)
    }

    /// Whether it is in `folder`, or in one below it.
    pub fn is_below(&self, folder: &Name) -> bool {
        let rest = self.0.strip_prefix(&folder.0);
        folder.0.is_empty() || rest.is_some_and(|it| it.starts_with('/'))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_part(part: &str) -> bool {
    let is_allowed =
        |it: u8| matches!(it, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    !part.is_empty() && part.bytes().all(is_allowed) && part.bytes().any(|it| it != b'.')
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        let name = Name::new("data/3/17.blocks").unwrap();
        assert_eq!((name.folder().as_str(), name.file()), ("data/3", "17.blocks"));
        assert_eq!(name.folder().join("18").unwrap().as_str(), "data/3/18");
        assert_eq!(Name::default().join("CURRENT").unwrap().as_str(), "CURRENT");
        assert!(name.is_below(&Name::default()) && name.is_below(&Name::new("data").unwrap()));
        assert!(!name.is_below(&Name::new("dat").unwrap()));
        assert!(!name.is_below(&name));
        assert_eq!(Name::new("CURRENT").unwrap().folder(), Name::default());
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        let long = "x".repeat(513);
        let characters = ["a b", "a\\b", "ä", "a\0", &long];
        let parts = ["/", "a/", "/a", "a//b", ".", "..", "a/../b"];
        for text in parts.into_iter().chain(characters) {
            let error = Name::new(text).unwrap_err();
            assert!(error.to_string().contains("not a name of a file"), "{error}");
        }
    }
}

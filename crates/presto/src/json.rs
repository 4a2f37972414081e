//! JSON that is read from the outside in: parts stay texts until they are needed.
//!
//! Plans nest deeper than a recursive parser should go, and each part is needed once. Reading a
//! part checks its own syntax; parts that nothing reads are skipped by their brackets and quotes.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use volley_error::{Error, Result};

/// The text of one JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<'a>(&'a str);

/// The members of an object.
pub(crate) struct Object<'a> {
    /// What the object is, for errors.
    what: &'a str,
    members: Vec<(String, Json<'a>)>,
}

impl<'a> Json<'a> {
    /// `text` as a value.
    pub(crate) fn new(text: &'a str) -> Json<'a> {
        Json(text.trim_matches(is_space))
    }

    /// The value as `T`.
    ///
    /// # Errors
    ///
    /// Invalid value: JSON of another form, which names `what`.
    pub(crate) fn read<T: DeserializeOwned>(self, what: &str) -> Result<T> {
        serde_json::from_str(self.0).map_err(|it| malformed(what, &it.to_string()))
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// The members of an object.
    ///
    /// # Errors
    ///
    /// As [`Json::read`].
    pub(crate) fn object(self, what: &'a str) -> Result<Object<'a>> {
        let members = self.members().ok_or_else(|| malformed(what, "not an object"))?;
        let members = members
            .into_iter()
            .map(|(key, value)| Ok((Json(key).read::<String>(what)?, value)))
            .collect::<Result<_>>()?;
        Ok(Object { what, members })
    }

    /// The elements of an array.
    ///
    /// # Errors
    ///
    /// As [`Json::read`].
    pub(crate) fn elements(self, what: &str) -> Result<Vec<Json<'a>>> {
        let elements = self.parts("[", "]", |rest| {
            let (value, rest) = split_value(rest)?;
            Some((value, rest))
        });
        elements.ok_or_else(|| malformed(what, "not an array"))
    }

    fn members(self) -> Option<Vec<(&'a str, Json<'a>)>> {
        self.parts("{", "}", |rest| {
            let (key, rest) = split_value(rest)?;
            let rest = rest.trim_start_matches(is_space).strip_prefix(':')?;
            let (value, rest) = split_value(rest)?;
            Some(((key.0, value), rest))
        })
    }

    /// What is between two brackets, separated by commas.
    fn parts<T>(
        self,
        open: &str,
        close: &str,
        part: impl Fn(&'a str) -> Option<(T, &'a str)>,
    ) -> Option<Vec<T>> {
        let mut rest = self.0.strip_prefix(open)?.strip_suffix(close)?.trim_matches(is_space);
        let mut parts = Vec::new();
        if rest.is_empty() {
            return Some(parts);
        }
        loop {
            let (value, after) = part(rest)?;
            parts.push(value);
            rest = after.trim_start_matches(is_space);
            if rest.is_empty() {
                return Some(parts);
            }
            rest = rest.strip_prefix(',')?;
        }
    }
}

impl<'a> Object<'a> {
    /// A member; `null` if there is none.
    pub(crate) fn json(&self, name: &str) -> Json<'a> {
        let found = self.members.iter().find(|it| it.0 == name);
        found.map_or(Json("null"), |it| it.1)
    }

    /// A member, unless it is missing or null.
    pub(crate) fn optional(&self, name: &str) -> Option<Json<'a>> {
        Some(self.json(name)).filter(|it| !it.is_null())
    }

    /// A member as `T`; an `Option` for one that may be missing.
    ///
    /// # Errors
    ///
    /// As [`Json::read`].
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        self.json(name).read(name).map_err(|it| it.at("in", self.what))
    }

    /// The elements of a member that is an array.
    ///
    /// # Errors
    ///
    /// As [`Json::read`].
    pub(crate) fn elements(&self, name: &str) -> Result<Vec<Json<'a>>> {
        self.json(name).elements(name).map_err(|it| it.at("in", self.what))
    }

    /// The members of a member that is an object, in their order.
    ///
    /// # Errors
    ///
    /// As [`Json::read`].
    pub(crate) fn members(&self, name: &str) -> Result<Vec<(String, Json<'a>)>> {
        let object = self.json(name).object(self.what);
        Ok(object.map_err(|it| it.at("in", format!("{} of {}", name, self.what)))?.members)
    }
}

fn is_space(it: char) -> bool {
    matches!(it, ' ' | '\t' | '\n' | '\r')
}

/// The value at the start of `text`, and what follows.
fn split_value(text: &str) -> Option<(Json<'_>, &str)> {
    let text = text.trim_start_matches(is_space);
    let bytes = text.as_bytes();
    let end = match bytes.first()? {
        b'"' => string_end(bytes, 0)?,
        b'{' | b'[' => brackets_end(bytes)?,
        _ => {
            let ends = |it: &u8| matches!(it, b',' | b'}' | b']' | b':') || is_space(*it as char);
            bytes.iter().position(ends).unwrap_or(bytes.len())
        }
    };
    let (value, rest) = text.split_at_checked(end)?;
    if value.is_empty() { None } else { Some((Json(value), rest)) }
}

/// Where the string that starts at `start` ends.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut position = start + 1;
    loop {
        match bytes.get(position)? {
            b'"' => return Some(position + 1),
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
}

/// Where the brackets that open at the start close.
fn brackets_end(bytes: &[u8]) -> Option<usize> {
    let (mut position, mut depth) = (0, 0usize);
    loop {
        match bytes.get(position)? {
            b'"' => {
                position = string_end(bytes, position)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        position += 1;
        if depth == 0 {
            return Some(position);
        }
    }
}

fn malformed(what: &str, found: &str) -> Error {
    Error::invalid_value(format!("malformed JSON of {what}: {found}"))
}

//! Cells as JSON.
//!
//! Numbers are numbers (also decimals, digit by digit), NaN and infinities are null, as JSON has
//! none; JSON values are written without white space; values of all other types are text. A
//! [`JsonStyle`] selects the form where dialects differ.

use super::{Cells, Full, PIECE_BYTES, hand_on, pieces};
use crate::Values;
use std::{fmt::Write, ops::Range};
use volley_error::{Error, Result};
use volley_types::{
    Field, Type, Value,
    custom::{CustomType, Json},
    row_field_name,
    text::{push_binary, push_value},
};

/// Appends the key of an entry.
pub type PushKey<'a> = &'a dyn Fn(usize, &mut String) -> Result<()>;

/// How values are written as JSON where that is not the same for all.
pub trait JsonStyle {
    /// Whether a row with these fields is an array; else it is an object.
    fn is_array(&self, _fields: &[Field]) -> bool {
        false
    }

    /// In what order the entries of a map are written; `None`: as they stand.
    ///
    /// # Errors
    ///
    /// What keeps it from being found, which ends the writing.
    fn order(&self, _entries: Range<usize>, _push_key: PushKey<'_>) -> Result<Option<Vec<usize>>> {
        Ok(None)
    }

    /// Appends the text of a key, which is not NULL.
    ///
    /// # Errors
    ///
    /// Internal, when the column has another layout than its type.
    fn push_key(&self, text: &mut String, keys: &Cells, row: usize) -> Result<()> {
        keys.push_text(row, text, &mut |_: &mut String| Ok(()))
    }

    /// Whether a simple value is written without quotes.
    fn is_bare(&self, _value: &Value, data_type: &Type) -> bool {
        data_type.is_number() || *data_type == Type::Boolean
    }

    /// Appends a value without parts, which is no text itself; the quotes around it, and escapes
    /// within them, are added.
    fn push_plain(&self, text: &mut String, value: &Value, data_type: &Type) {
        push_json_plain(text, value, data_type);
    }
}

/// Rows are objects, and maps keep their order: for results and files.
pub struct PlainJson;

impl JsonStyle for PlainJson {}

/// JSON that grows.
struct Out<'a, 'f, S, E> {
    style: &'a S,
    json: &'a mut String,
    full: Full<'f, E>,
}

impl<S, E> Out<'_, '_, S, E> {
    fn push(&mut self, json: &str) {
        self.json.push_str(json);
    }

    /// Hands the JSON on if it has become long enough.
    fn hand_on(&mut self) -> Result<(), E> {
        hand_on(self.json, self.full)
    }
}

impl Cells {
    /// Appends a cell as JSON.
    ///
    /// # Errors
    ///
    /// Those of `full`, and of the style.
    pub fn push_json<E: From<Error>>(
        &self,
        row: usize,
        style: &impl JsonStyle,
        json: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        self.push_json_to(&mut Out { style, json, full }, row)
    }

    fn push_json_to<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        row: usize,
    ) -> Result<(), E> {
        if self.is_null(row) {
            out.push("null");
            return Ok(());
        }
        if let Some(text) = self.text(row) {
            return push_json_text(out, text);
        }
        if let Some(bytes) = self.bytes(row) {
            return push_json_bytes(out, bytes);
        }
        if let Some(json) = self.json(row) {
            // Files and casts from VARCHAR may bring other texts.
            return match Json::is_valid(json) {
                true => push_compact(out, json),
                false => push_json_text(out, json),
            };
        }
        match (self.elements(row), &self.data_type) {
            (Some(entries), Type::Map(_)) => self.push_json_entries(out, entries),
            (Some(elements), _) => self.push_json_elements(out, elements),
            (None, Type::Row(fields)) => self.push_json_fields(out, fields, row),
            _ => self.push_json_value(out, row),
        }
    }

    /// The text of `row`, which is not NULL, in a column of JSON.
    fn json(&self, row: usize) -> Option<&str> {
        match (self.decoded.values(), &self.data_type) {
            (Values::View(texts), Type::Custom(it)) if it.name() == Json.name() => {
                Some(texts.text(self.decoded.index(row)))
            }
            _ => None,
        }
    }

    /// A value without parts, and no text.
    fn push_json_value<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        row: usize,
    ) -> Result<(), E> {
        let value = self.plain(row)?;
        if out.style.is_bare(&value, &self.data_type) {
            out.style.push_plain(out.json, &value, &self.data_type);
            return Ok(());
        }
        out.push("\"");
        let start = out.json.len();
        out.style.push_plain(out.json, &value, &self.data_type);
        escape_from(out.json, start);
        out.push("\"");
        Ok(())
    }

    fn push_json_elements<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        elements: Range<usize>,
    ) -> Result<(), E> {
        out.push("[");
        for (index, element) in elements.enumerate() {
            out.push(if index == 0 { "" } else { "," });
            self.children[0].push_json_to(out, element)?;
            out.hand_on()?;
        }
        out.push("]");
        Ok(())
    }

    fn push_json_entries<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        entries: Range<usize>,
    ) -> Result<(), E> {
        let order = out.style.order(entries.clone(), &|entry, text| match self.key(entry) {
            Some((keys, row)) => out.style.push_key(text, keys, row),
            None => Ok(()),
        })?;
        out.push("{");
        for (index, entry) in entries.enumerate() {
            out.push(if index == 0 { "" } else { "," });
            self.push_json_entry(out, order.as_ref().map_or(entry, |it| it[index]))?;
            out.hand_on()?;
        }
        out.push("}");
        Ok(())
    }

    /// The cells of keys, and which of them `entry` has; `None` for none.
    fn key(&self, entry: usize) -> Option<(&Cells, usize)> {
        self.children[0].field(0, entry).filter(|(keys, row)| !keys.is_null(*row))
    }

    fn push_json_entry<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        entry: usize,
    ) -> Result<(), E> {
        out.push("\"");
        let start = out.json.len();
        match self.key(entry) {
            Some((keys, row)) => out.style.push_key(out.json, keys, row)?,
            None => out.push("NULL"),
        }
        escape_from(out.json, start);
        out.push("\":");
        self.children[0].push_json_field(out, 1, entry)
    }

    fn push_json_fields<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        fields: &[Field],
        row: usize,
    ) -> Result<(), E> {
        let is_array = out.style.is_array(fields);
        out.push(if is_array { "[" } else { "{" });
        for (index, field) in fields.iter().enumerate() {
            out.push(if index == 0 { "" } else { "," });
            if !is_array {
                push_json_string(out.json, &row_field_name(field, index));
                out.push(":");
            }
            self.push_json_field(out, index, row)?;
            out.hand_on()?;
        }
        out.push(if is_array { "]" } else { "}" });
        Ok(())
    }

    fn push_json_field<E: From<Error>>(
        &self,
        out: &mut Out<'_, '_, impl JsonStyle, E>,
        index: usize,
        row: usize,
    ) -> Result<(), E> {
        match self.field(index, row) {
            Some((cells, row)) => cells.push_json_to(out, row),
            None => {
                out.push("null");
                Ok(())
            }
        }
    }
}

fn push_json_text<S, E>(out: &mut Out<'_, '_, S, E>, text: &str) -> Result<(), E> {
    out.push("\"");
    for piece in pieces(text) {
        push_escaped(out.json, piece);
        out.hand_on()?;
    }
    out.push("\"");
    Ok(())
}

/// Bytes as text.
fn push_json_bytes<S, E>(out: &mut Out<'_, '_, S, E>, bytes: &[u8]) -> Result<(), E> {
    out.push("\"");
    for piece in bytes.chunks(PIECE_BYTES) {
        let start = out.json.len();
        push_binary(out.json, piece);
        escape_from(out.json, start);
        out.hand_on()?;
    }
    out.push("\"");
    Ok(())
}

/// JSON, without the white space between its parts.
fn push_compact<S, E>(out: &mut Out<'_, '_, S, E>, json: &str) -> Result<(), E> {
    let (mut is_string, mut is_escaped) = (false, false);
    for piece in pieces(json) {
        let mut start = 0;
        for (at, byte) in piece.bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_string = !is_string,
                b' ' | b'\t' | b'\n' | b'\r' if !is_string => {
                    out.push(&piece[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        out.push(&piece[start..]);
        out.hand_on()?;
    }
    Ok(())
}

/// A value without parts.
fn push_json_plain(json: &mut String, value: &Value, data_type: &Type) {
    match value {
        Value::Null => json.push_str("null"),
        Value::Real(value) if !value.is_finite() => json.push_str("null"),
        Value::Double(value) if !value.is_finite() => json.push_str("null"),
        Value::Decimal(_) => {
            let start = json.len();
            push_value(json, value, data_type);
            // JSON wants a digit before the point.
            match &json.as_bytes()[start..] {
                [b'.', ..] => json.insert(start, '0'),
                [b'-', b'.', ..] => json.insert(start + 1, '0'),
                _ => (),
            }
        }
        _ => push_value(json, value, data_type),
    }
}

/// Appends a text as a JSON string.
pub fn push_json_string(json: &mut String, text: &str) {
    json.push('"');
    push_escaped(json, text);
    json.push('"');
}

/// Escapes what was appended since `start`.
fn escape_from(json: &mut String, start: usize) {
    if json.as_bytes()[start..].iter().any(|it| is_escaped(*it)) {
        let text = json.split_off(start);
        push_escaped(json, &text);
    }
}

fn push_escaped(json: &mut String, text: &str) {
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !is_escaped(byte) {
            continue;
        }
        json.push_str(&text[start..at]);
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            8 => json.push_str("\\b"),
            12 => json.push_str("\\f"),
            // A string takes whatever is written to it.
            control => _ = write!(json, "\\u{control:04X}"),
        }
        start = at + 1;
    }
    json.push_str(&text[start..]);
}

#[inline]
fn is_escaped(byte: u8) -> bool {
    byte < 32 || byte == b'"' || byte == b'\\'
}

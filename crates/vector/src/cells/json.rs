//! Cells as JSON.
//!
//! Numbers are numbers (also decimals, digit by digit), NaN and infinities are null, as JSON has
//! none; everything that JSON does not know is text.

use super::{Cells, Full, PIECE_BYTES, hand_on, pieces, push_piece};
use std::{fmt::Write, ops::Range};
use volley_error::{Error, Result};
use volley_types::{
    Field, Type, Value, row_field_name,
    text::{push_binary, push_value},
};

impl Cells {
    /// Appends a cell as JSON.
    ///
    /// # Errors
    ///
    /// Those of `full`.
    pub fn push_json<E: From<Error>>(
        &self,
        row: usize,
        json: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        if self.is_null(row) {
            json.push_str("null");
            return Ok(());
        }
        if self.text(row).is_some() || self.bytes(row).is_some() {
            return self.push_json_pieces(row, json, full);
        }
        match (self.elements(row), &self.data_type) {
            (Some(entries), Type::Map(_)) => self.push_json_entries(entries, json, full),
            (Some(elements), _) => self.push_json_elements(elements, json, full),
            (None, Type::Row(fields)) => self.push_json_fields(fields, row, json, full),
            _ => {
                push_json_plain(json, &self.plain(row)?, &self.data_type);
                hand_on(json, full)
            }
        }
    }

    /// Text, and bytes as text.
    fn push_json_pieces<E: From<Error>>(
        &self,
        row: usize,
        json: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        json.push('"');
        for piece in self.text(row).into_iter().flat_map(pieces) {
            push_piece(json, full, |json| push_escaped(json, piece))?;
        }
        for piece in self.bytes(row).into_iter().flat_map(|it| it.chunks(PIECE_BYTES)) {
            let start = json.len();
            push_binary(json, piece);
            escape_from(json, start);
            hand_on(json, full)?;
        }
        json.push('"');
        Ok(())
    }

    fn push_json_elements<E: From<Error>>(
        &self,
        elements: Range<usize>,
        json: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        json.push('[');
        for (index, element) in elements.enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            self.children[0].push_json(element, json, full)?;
        }
        json.push(']');
        Ok(())
    }

    fn push_json_entries<E: From<Error>>(
        &self,
        entries: Range<usize>,
        json: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        json.push('{');
        for (index, entry) in entries.enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            match self.children[0].field(0, entry) {
                Some((keys, row)) => keys.push_json_key(row, json)?,
                None => json.push_str("\"NULL\""),
            }
            json.push(':');
            match self.children[0].field(1, entry) {
                Some((cells, row)) => cells.push_json(row, json, full)?,
                None => json.push_str("null"),
            }
        }
        json.push('}');
        Ok(())
    }

    /// A key is text, whatever its type.
    fn push_json_key(&self, row: usize, json: &mut String) -> Result<()> {
        json.push('"');
        let start = json.len();
        self.push_text(row, json, &mut |_: &mut String| Ok::<(), Error>(()))?;
        escape_from(json, start);
        json.push('"');
        Ok(())
    }

    fn push_json_fields<E: From<Error>>(
        &self,
        fields: &[Field],
        row: usize,
        json: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        json.push('{');
        for (index, field) in fields.iter().enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            push_json_string(json, &row_field_name(field, index));
            json.push(':');
            match self.field(index, row) {
                Some((cells, row)) => cells.push_json(row, json, full)?,
                None => json.push_str("null"),
            }
        }
        json.push('}');
        Ok(())
    }
}

/// A value that is not nested.
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
        Value::Boolean(_) => push_value(json, value, data_type),
        _ if data_type.is_numeric() => push_value(json, value, data_type),
        _ => {
            json.push('"');
            let start = json.len();
            push_value(json, value, data_type);
            escape_from(json, start);
            json.push('"');
        }
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
            control => _ = write!(json, "\\u{control:04x}"),
        }
        start = at + 1;
    }
    json.push_str(&text[start..]);
}

#[inline]
fn is_escaped(byte: u8) -> bool {
    byte < 32 || byte == b'"' || byte == b'\\'
}

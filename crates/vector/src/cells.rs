//! Rows as text, for results and files: cell by cell, and large cells in chunks.
//!
//! ```text
//! Cells       a column, decoded, with the cells of its elements, entries or fields below it
//! push_text   a cell as CAST to VARCHAR writes it
//! push_json   a cell as JSON has it
//! ```
//!
//! No encoding is expanded, and no nested value is built as a whole: printing an array of a million
//! elements, or the same one for a thousand rows, holds one chunk of its text. Both functions
//! append to a text and pass it to `full` once it has the length of a chunk; `full` consumes the
//! text.

mod json;
#[cfg(test)]
mod tests;

pub use json::{JsonStyle, PlainJson, PushKey, push_json_string};

use crate::{Batch, Decoded, Indices, Values, Vector, scalar::plain_value};
use std::ops::Range;
use volley_error::{Error, Result};
use volley_types::{
    Field, Schema, Type, Value,
    text::{
        has_own_quotes, push_binary, push_date, push_decimal, push_f64, push_field_name, push_i64,
        push_quoted_where_needed, push_timestamp, push_value,
    },
};

/// The number of bytes from which on text is passed to `full`.
pub const PIECE_BYTES: usize = 64 << 10;

/// Takes text that has become long enough, and empties it.
pub type Full<'a, E> = &'a mut dyn FnMut(&mut String) -> Result<(), E>;

/// The cells of a column.
pub struct Cells {
    /// What they are, also when the storage is that of another type.
    data_type: Type,
    decoded: Decoded<'static>,
    /// Of elements, or of entries: one. Of fields: one for each.
    children: Vec<Cells>,
    /// The element, or the row of the base, that the children begin with.
    start: usize,
}

impl Batch {
    /// The cells of all columns, which are those of `schema`.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn cells(&self, schema: &Schema) -> Result<Vec<Cells>> {
        self.columns().iter().zip(schema.types()).map(|(it, of)| Cells::new(it, of)).collect()
    }
}

impl Cells {
    /// The cells of a column of `data_type`.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn new(column: &Vector, data_type: &Type) -> Result<Cells> {
        let decoded = Decoded::new(column)?.into_owned();
        let (vectors, range): (&[Vector], _) = match decoded.values() {
            Values::Array(nested) | Values::Map(nested) => {
                let range = used(&decoded, |it| nested.range(it));
                (std::slice::from_ref(nested.elements.as_ref()), range)
            }
            Values::FixedArray(arrays) => {
                let range = used(&decoded, |it| arrays.range(it));
                (std::slice::from_ref(arrays.elements.as_ref()), range)
            }
            Values::Row { children, .. } => (children, used(&decoded, |it| it..it + 1)),
            _ => (&[], 0..0),
        };
        let types = child_types(data_type);
        let children = vectors.iter().enumerate().map(|(index, vector)| {
            let data_type = types.get(index).unwrap_or(vector.data_type());
            Cells::new(&vector.loaded()?.slice(range.start, range.len()), data_type)
        });
        let children = children.collect::<Result<_>>()?;
        Ok(Cells { data_type: data_type.clone(), start: range.start, children, decoded })
    }

    /// What they are.
    pub fn data_type(&self) -> &Type {
        &self.data_type
    }

    /// Whether the cell of `row` is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.decoded.is_null(row)
    }

    /// The text of `row`, which is not NULL, in a column of VARCHAR.
    #[inline]
    pub fn text(&self, row: usize) -> Option<&str> {
        match (self.decoded.values(), &self.data_type) {
            (Values::View(strings), Type::Varchar) => Some(strings.text(self.decoded.index(row))),
            _ => None,
        }
    }

    /// The bytes of `row`, which is not NULL, in a column of VARBINARY.
    fn bytes(&self, row: usize) -> Option<&[u8]> {
        match (self.decoded.values(), &self.data_type) {
            (Values::View(strings), Type::Varbinary) => {
                Some(strings.bytes(self.decoded.index(row)))
            }
            _ => None,
        }
    }

    /// Appends a cell as CAST to VARCHAR writes it; NULL as `NULL`.
    ///
    /// # Errors
    ///
    /// Those of `full`.
    pub fn push_text<E: From<Error>>(
        &self,
        row: usize,
        text: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        if self.is_null(row) {
            text.push_str("NULL");
            return Ok(());
        }
        if let Some(long) = self.text(row) {
            return pieces(long)
                .try_for_each(|it| push_piece(text, full, |text| text.push_str(it)));
        }
        if let Some(bytes) = self.bytes(row) {
            let mut pieces = bytes.chunks(PIECE_BYTES);
            return pieces.try_for_each(|it| push_piece(text, full, |text| push_binary(text, it)));
        }
        match (self.elements(row), &self.data_type) {
            (Some(entries), Type::Map(_)) => self.push_entries(entries, text, full),
            (Some(elements), _) => self.push_elements(elements, text, full),
            (None, Type::Row(fields)) => self.push_fields(fields, row, text, full),
            _ => Ok(self.push_plain(row, text)?),
        }
    }

    fn push_elements<E: From<Error>>(
        &self,
        elements: Range<usize>,
        text: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        text.push('[');
        let is_bare = has_own_quotes(&self.children[0].data_type);
        for (index, element) in elements.enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            match is_bare {
                true => self.children[0].push_text(element, text, full)?,
                false => self.children[0].push_inner(element, text, full)?,
            }
            hand_on(text, full)?;
        }
        text.push(']');
        Ok(())
    }

    fn push_entries<E: From<Error>>(
        &self,
        entries: Range<usize>,
        text: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        text.push('{');
        for (index, entry) in entries.enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            for (field, separator) in ["", "="].into_iter().enumerate() {
                text.push_str(separator);
                match self.children[0].field(field, entry) {
                    Some((cells, row)) => cells.push_inner(row, text, full)?,
                    None => text.push_str("NULL"),
                }
            }
            hand_on(text, full)?;
        }
        text.push('}');
        Ok(())
    }

    fn push_fields<E: From<Error>>(
        &self,
        fields: &[Field],
        row: usize,
        text: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        let is_named = fields.iter().any(|it| !it.name.is_empty());
        text.push(if is_named { '{' } else { '(' });
        for (index, field) in fields.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            if is_named {
                push_field_name(text, &field.name);
            }
            match self.field(index, row) {
                Some((cells, row)) => cells.push_inner(row, text, full)?,
                None => text.push_str("NULL"),
            }
            hand_on(text, full)?;
        }
        text.push(if is_named { '}' } else { ')' });
        Ok(())
    }

    /// Appends a cell within an array, map or row: text is quoted where it would be misread.
    fn push_inner<E: From<Error>>(
        &self,
        row: usize,
        text: &mut String,
        full: Full<'_, E>,
    ) -> Result<(), E> {
        if self.is_null(row) || self.data_type.is_nested() {
            return self.push_text(row, text, full);
        }
        if let Some(long) = self.text(row).filter(|it| it.len() > PIECE_BYTES) {
            return push_long_inner(long, text, full);
        }
        let start = text.len();
        self.push_plain(row, text)?;
        if !self.data_type.is_number() {
            push_quoted_where_needed(text, start);
        }
        Ok(())
    }

    /// Appends a cell that is neither NULL nor nested, whole.
    fn push_plain(&self, row: usize, text: &mut String) -> Result<()> {
        if self.push_typed(row, text) {
            return Ok(());
        }
        match (self.text(row), self.bytes(row)) {
            (Some(it), _) => text.push_str(it),
            (_, Some(it)) => push_binary(text, it),
            _ => push_value(text, &self.plain(row)?, &self.data_type),
        }
        Ok(())
    }

    /// Appends a cell of the most frequent types without a [`Value`] in between; false for others.
    fn push_typed(&self, row: usize, text: &mut String) -> bool {
        let index = self.decoded.index(row);
        match (self.decoded.values(), &self.data_type) {
            (Values::I64(values), Type::BigInt) => push_i64(text, values[index]),
            (Values::I32(values), Type::Integer) => push_i64(text, values[index].into()),
            (Values::F64(values), Type::Double) => push_f64(text, values[index]),
            (Values::I64(values), Type::Decimal { precision, scale }) => {
                push_decimal(text, values[index].into(), *precision, *scale);
            }
            (Values::I32(values), Type::Date) => push_date(text, values[index]),
            (Values::I64(values), Type::Timestamp) => push_timestamp(text, values[index]),
            _ => return false,
        }
        true
    }

    /// Whether cells are written from letters, digits, signs, points, colons and blanks within, so
    /// that no quote is needed next to other delimiters.
    pub fn is_number_or_time(&self) -> bool {
        self.data_type.is_numeric()
            || matches!(self.data_type, Type::Date | Type::Time | Type::Timestamp | Type::Boolean)
    }

    /// The value of a cell that is not nested.
    ///
    /// # Errors
    ///
    /// Internal, when the column has another layout than its type.
    pub fn plain(&self, row: usize) -> Result<Value> {
        plain_value(&self.decoded, row)
    }

    /// Which rows of the child are the elements or entries of `row`, which is not NULL.
    fn elements(&self, row: usize) -> Option<Range<usize>> {
        let index = self.decoded.index(row);
        let range = match self.decoded.values() {
            Values::Array(nested) | Values::Map(nested) => nested.range(index),
            Values::FixedArray(arrays) => arrays.range(index),
            _ => return None,
        };
        Some(if range.is_empty() { 0..0 } else { range.start - self.start..range.end - self.start })
    }

    /// The cells of field `index`, and which of them belongs to `row`; `None` when that is NULL.
    fn field(&self, index: usize, row: usize) -> Option<(&Cells, usize)> {
        let cells = self.children.get(index).filter(|_| !self.is_null(row))?;
        Some((cells, self.decoded.index(row) - self.start))
    }
}

/// The elements, or rows of the base, that rows which are not null use: from the first to the last.
fn used(decoded: &Decoded<'_>, range_of: impl Fn(usize) -> Range<usize>) -> Range<usize> {
    // A constant below a dictionary may have rows that are null, the first one among them.
    let rows = match decoded.indices() {
        Indices::Constant(_) => 1,
        _ => decoded.len(),
    };
    let valid = (0..decoded.len()).filter(|it| !decoded.is_null(*it)).take(rows);
    let ranges = valid.map(|it| range_of(decoded.index(it))).filter(|it| !it.is_empty());
    ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
}

/// The types of what a nested type is made of; one for entries.
fn child_types(data_type: &Type) -> Vec<Type> {
    match data_type {
        Type::Array(element) => vec![element.as_ref().clone()],
        Type::FixedArray(array) => vec![array.0.clone()],
        Type::Map(_) => vec![data_type.entry_type()],
        Type::Row(fields) => fields.iter().map(|it| it.data_type.clone()).collect(),
        _ => Vec::new(),
    }
}

/// A text in pieces of at most [`PIECE_BYTES`].
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = PIECE_BYTES.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Appends text within an array, map or row as [`push_quoted_where_needed`] does, in pieces.
fn push_long_inner<E>(long: &str, text: &mut String, full: Full<'_, E>) -> Result<(), E> {
    let is_blank = |it: char| it.is_ascii_whitespace();
    let has_special = |piece: &str| {
        // Blanks are no reason between other characters.
        let mut probe = format!("_{piece}_");
        let len = probe.len();
        push_quoted_where_needed(&mut probe, 0);
        probe.len() > len
    };
    let is_quoted =
        long.starts_with(is_blank) || long.ends_with(is_blank) || pieces(long).any(has_special);
    if !is_quoted {
        return pieces(long).try_for_each(|it| push_piece(text, full, |text| text.push_str(it)));
    }
    text.push('\'');
    for piece in pieces(long) {
        for char in piece.chars() {
            if matches!(char, '\'' | '\\') {
                text.push('\\');
            }
            text.push(char);
        }
        hand_on(text, full)?;
    }
    text.push('\'');
    Ok(())
}

fn push_piece<E>(
    text: &mut String,
    full: Full<'_, E>,
    push: impl FnOnce(&mut String),
) -> Result<(), E> {
    push(text);
    hand_on(text, full)
}

/// Hands the text on if it has become long enough.
fn hand_on<E>(text: &mut String, full: Full<'_, E>) -> Result<(), E> {
    if text.len() < PIECE_BYTES { Ok(()) } else { full(text) }
}

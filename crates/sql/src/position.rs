//! Converts the parser's lines and columns to byte offsets.

use sqlparser::tokenizer::{Location, Span as Lines};
use volley_error::Span;

/// Where lines and characters of a text begin.
#[derive(Debug)]
pub(crate) struct Positions {
    /// Per line: its first character, counted in characters from the text's start.
    lines: Vec<u32>,
    /// Per character: its first byte; the text's end at the end. `None`: one byte each.
    bytes: Option<Vec<u32>>,
    /// Bytes of the text.
    len: u32,
}

impl Positions {
    /// Reads `text` once.
    pub(crate) fn new(text: &str) -> Positions {
        let mut lines = vec![0];
        let mut index = 0;
        for ch in text.chars() {
            index += 1;
            if ch == '\n' {
                lines.push(index);
            }
        }
        let offsets = || text.char_indices().map(|it| it.0 as u32).collect();
        let bytes = (!text.is_ascii()).then(offsets);
        Positions { lines, bytes, len: text.len() as u32 }
    }

    /// The byte at which the character at `location` begins; `None` for an empty location.
    pub(crate) fn offset(&self, location: Location) -> Option<u32> {
        let line = usize::try_from(location.line.checked_sub(1)?).ok()?;
        let column = u32::try_from(location.column.checked_sub(1)?).ok()?;
        let index = self.lines.get(line)?.checked_add(column)?;
        let offset = match &self.bytes {
            Some(bytes) => bytes.get(index as usize).copied().unwrap_or(self.len),
            None => index,
        };
        Some(offset.min(self.len))
    }

    /// The bytes of the parser's span, whose end is the location after its last character.
    pub(crate) fn span(&self, lines: Lines) -> Option<Span> {
        let start = self.offset(lines.start)?;
        let end = self.offset(lines.end)?;
        Some(Span { start, end: end.max(start) })
    }

    /// The end of the text.
    pub(crate) fn end(&self) -> Span {
        Span { start: self.len, end: self.len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(text: &str, line: u64, column: u64) -> Option<u32> {
        Positions::new(text).offset(Location { line, column })
    }

    #[test]
    fn lines_and_columns_become_bytes() {
        assert_eq!(offset("select 1\nfrom x", 2, 6), Some(14));
        assert_eq!(offset("sélect\nfröm x", 2, 6), Some(14));
        assert_eq!(offset("abc", 1, 4), Some(3));
        assert_eq!(offset("é", 1, 2), Some(2));
        assert_eq!(offset("abc", 0, 0), None);
    }
}

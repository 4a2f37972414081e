//! Splits SQL text that may be unfinished into pieces, for colors and completion.

use std::ops::Range;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or an unquoted name.
    Word,
    /// A number.
    Number,
    /// `'...'`.
    Text,
    /// `"..."`.
    QuotedName,
    /// `-- ...` or `/* ... */`.
    Comment,
    /// Everything else, blanks included.
    Other,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: Kind,
    /// Its bytes.
    pub range: Range<usize>,
    /// Whether its end was found: false for a quote or comment that stays open.
    pub closed: bool,
}

/// The pieces of `text`, without gaps.
pub fn scan(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (kind, len, closed) = match first {
            '\'' => quoted(rest, '\'', Kind::Text),
            '"' => quoted(rest, '"', Kind::QuotedName),
            '-' if rest.starts_with("--") => match rest.find('\n') {
                Some(end) => (Kind::Comment, end, true),
                None => (Kind::Comment, rest.len(), false),
            },
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(end) => (Kind::Comment, end + 4, true),
                None => (Kind::Comment, rest.len(), false),
            },
            it if it.is_ascii_digit() => (Kind::Number, len_while(rest, is_number), true),
            it if is_word(it) => (Kind::Word, len_while(rest, is_word), true),
            it => (Kind::Other, it.len_utf8(), true),
        };
        pieces.push(Piece { kind, range: start..start + len, closed });
        start += len;
    }
    pieces
}

fn quoted(rest: &str, quote: char, kind: Kind) -> (Kind, usize, bool) {
    match rest[1..].find(quote) {
        Some(end) => (kind, end + 2, true),
        None => (kind, rest.len(), false),
    }
}

fn is_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

fn is_number(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '.' || it == '_'
}

fn len_while(text: &str, keep: impl Fn(char) -> bool) -> usize {
    text.find(|it| !keep(it)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_text_whatever_it_is() {
        for text in ["SELECT 'a''b' -- x\n, \"Ü\" /* open", "1.5e3+ä", "", "'", "--", "/*/"] {
            let pieces = scan(text);
            let whole: String = pieces.iter().map(|it| &text[it.range.clone()]).collect();
            assert_eq!(whole, text);
        }
    }
}

//! Arrays, maps and rows as text: quoting when written, splitting when read.

/// Quotes what was appended to `out` since `start` where it would be misread within an array, map
/// or row: empty, `NULL`, blanks at an end, or characters that separate.
pub fn push_quoted_where_needed(out: &mut String, start: usize) {
    let text = &out[start..];
    let needs_quotes = text.is_empty()
        || text.eq_ignore_ascii_case("null")
        || text.starts_with(|it: char| it.is_ascii_whitespace())
        || text.ends_with(|it: char| it.is_ascii_whitespace())
        || text.bytes().any(is_special);
    if needs_quotes {
        let text = out.split_off(start);
        out.push('\'');
        push_escaped(out, &text);
        out.push('\'');
    }
}

/// Appends `text` with a backslash before quotes and backslashes.
pub(super) fn push_escaped(out: &mut String, text: &str) {
    for char in text.chars() {
        if matches!(char, '\'' | '\\') {
            out.push('\\');
        }
        out.push(char);
    }
}

fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b'[' | b']' | b'{' | b'}' | b'(' | b')' | b',' | b'\'' | b'"' | b'\\' | b'=' | b':' | b';'
    )
}

/// One element of a nested text: the text before the separator (for maps and rows) and the value;
/// `None` is an unquoted NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnested {
    /// The key of a map or the name of a field; empty for elements of an array.
    pub key: Option<String>,
    /// The value.
    pub value: Option<String>,
}

/// Splits the text of an array (`[a, b]`, no `separator`), a map (`{k=v}`, separator `=`) or a row
/// (`{'a': 1}`, separator `:`) into its parts; `None` when it is not well formed.
pub fn unnest(
    text: &str,
    open: char,
    close: char,
    separator: Option<char>,
) -> Option<Vec<Unnested>> {
    let inner = text.trim_ascii().strip_prefix(open)?.strip_suffix(close)?;
    let mut reader = Reader { rest: inner };
    let mut parts = Vec::new();
    if inner.trim_ascii().is_empty() {
        return Some(parts);
    }
    loop {
        let key = match separator {
            Some(separator) => {
                let key = reader.part(|it| it == separator)?;
                reader.rest = reader.rest.strip_prefix(separator)?;
                key
            }
            None => Some(String::new()),
        };
        let value = reader.part(|it| it == ',')?;
        parts.push(Unnested { key, value });
        match reader.rest.strip_prefix(',') {
            Some(rest) => reader.rest = rest,
            None => return reader.rest.is_empty().then_some(parts),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Reads up to a character for which `ends` holds outside of quotes and brackets, or to the
    /// end. The outer `None` is malformed text, the inner one NULL.
    fn part(&mut self, ends: impl Fn(char) -> bool) -> Option<Option<String>> {
        let mut depth = 0usize;
        let mut quote = None;
        let mut escaped = false;
        let mut end = self.rest.len();
        for (index, char) in self.rest.char_indices() {
            match (quote, char) {
                _ if escaped => escaped = false,
                (_, '\\') => escaped = true,
                (Some(open), _) if char == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(char),
                (None, '[' | '{' | '(') => depth += 1,
                (None, ']' | '}' | ')') => depth = depth.checked_sub(1)?,
                (None, _) if depth == 0 && ends(char) => {
                    end = index;
                    break;
                }
                (None, _) => {}
            }
        }
        if quote.is_some() || escaped || depth != 0 {
            return None;
        }
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(unquoted(part.trim_ascii()))
    }
}

/// The value that a part means: NULL, a quoted text, a nested text as it is, or plain text.
fn unquoted(part: &str) -> Option<String> {
    if part.eq_ignore_ascii_case("null") {
        return None;
    }
    if part.starts_with(['[', '{', '(']) {
        return Some(part.to_owned());
    }
    let inner = ['\'', '"']
        .iter()
        .find_map(|quote| part.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(part);
    let mut text = String::with_capacity(inner.len());
    let mut escaped = false;
    for char in inner.chars() {
        if char == '\\' && !escaped {
            escaped = true;
            continue;
        }
        escaped = false;
        text.push(char);
    }
    Some(text)
}

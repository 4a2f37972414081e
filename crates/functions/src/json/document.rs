//! A JSON text as a list of its values, in the order in which they begin.
//!
//! ```text
//! text    {"a": [1, true], "b": ""}
//! nodes   0 object  1 "a"  2 array  3 number  4 true  5 "b"  6 ""
//! next    7         2      5        4         5       6      7
//! ```
//!
//! `next` is the node after a value and all within it: the next element, or the end of the list
//! that it is in. Names of members are nodes of their own.

use volley_function::simple::Scratch;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// null.
    Null,
    /// true.
    True,
    /// false.
    False,
    /// A number with neither fraction nor exponent.
    Integer,
    /// Another number.
    Number,
    /// With its quotes.
    Text,
    /// `[...]`.
    Array,
    /// `{...}`.
    Object,
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    start: usize,
    end: usize,
    next: usize,
}

/// The values of a text.
pub struct Document<'a> {
    text: &'a str,
    nodes: Vec<Node>,
    /// For the nodes.
    _scratch: Scratch,
}

/// What may occur next.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Value,
    /// A value, or the end of an array.
    ValueOrEnd,
    Name,
    /// The name of a member, or the end of an object.
    NameOrEnd,
    /// A comma, or the end of the innermost array or object.
    Separator,
}

impl<'a> Document<'a> {
    /// The values of a text that is one JSON value (RFC 8259); `None` when it is none, and when the
    /// call that asks has no memory for them, and fails for that.
    pub fn parse(text: &'a str) -> Option<Document<'a>> {
        let (nodes, scratch) = (Vec::new(), Scratch::default());
        let mut parser = Parser { text: text.as_bytes(), at: 0, nodes, scratch };
        parser.values()?;
        Some(Document { text, nodes: parser.nodes, _scratch: parser.scratch })
    }

    /// The position of the whole value.
    pub fn root(&self) -> usize {
        0
    }

    /// The value at a position that this document gave; null at any other.
    pub fn node(&self, at: usize) -> Node {
        let nothing = Node { kind: Kind::Null, start: 0, end: 0, next: at + 1 };
        self.nodes.get(at).copied().unwrap_or(nothing)
    }

    /// What a value is.
    pub fn kind(&self, at: usize) -> Kind {
        self.node(at).kind
    }

    /// The position after a value and all within it.
    pub fn next(&self, at: usize) -> usize {
        self.node(at).next
    }

    /// A value as it is written.
    pub fn source(&self, at: usize) -> &'a str {
        let node = self.node(at);
        self.text.get(node.start..node.end).unwrap_or_default()
    }

    /// The elements of an array; none of other values.
    pub fn elements(&self, at: usize) -> impl Iterator<Item = usize> {
        self.list(at, Kind::Array)
    }

    /// The names and values of an object's members; none of other values.
    pub fn members(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        // A name is one node, so its value directly follows.
        self.list(at, Kind::Object).step_by(2).map(|name| (name, name + 1))
    }

    /// The value and all within it, outermost first.
    pub fn within(&self, at: usize) -> Vec<usize> {
        let (mut found, mut rest) = (Vec::new(), vec![at]);
        while let Some(at) = rest.pop() {
            found.push(at);
            let known = rest.len();
            rest.extend(self.elements(at));
            rest.extend(self.members(at).map(|it| it.1));
            rest[known..].reverse();
        }
        found
    }

    /// The values of the members called `name`: one at most, except for careless writers.
    pub fn members_called(&self, at: usize, name: &str) -> impl Iterator<Item = usize> {
        self.members(at).filter(move |it| self.is_text(it.0, name)).map(|it| it.1)
    }

    /// A text without its quotes and escapes; a half of a surrogate pair becomes U+FFFD.
    pub fn push_text(&self, at: usize, out: &mut String) {
        let source = self.source(at);
        let inner = source.get(1..source.len().saturating_sub(1)).unwrap_or_default();
        let mut rest = inner;
        while let Some(escape) = rest.find('\\') {
            out.push_str(&rest[..escape]);
            let (character, behind) = escaped(&rest[escape + 1..]);
            out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = behind;
        }
        out.push_str(rest);
    }

    /// Whether a value is this text.
    pub fn is_text(&self, at: usize, text: &str) -> bool {
        let source = self.source(at);
        if !source.contains('\\') {
            return source.get(1..source.len().saturating_sub(1)) == Some(text);
        }
        let mut own = String::new();
        self.push_text(at, &mut own);
        own == text
    }

    fn list(&self, at: usize, kind: Kind) -> impl Iterator<Item = usize> {
        let node = self.node(at);
        let end = if node.kind == kind { node.next } else { at + 1 };
        let first = Some(at + 1).filter(|it| *it < end);
        std::iter::successors(first, move |it| Some(self.node(*it).next).filter(|it| *it < end))
    }
}

/// The character that an escape after its backslash means, and the rest. `None`: half of a
/// surrogate pair.
pub fn escaped(text: &str) -> (Option<char>, &str) {
    let Some(first) = text.chars().next() else { return (None, text) };
    let rest = &text[first.len_utf8()..];
    let character = match first {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(rest),
        other => other,
    };
    (Some(character), rest)
}

fn unicode_escape(text: &str) -> (Option<char>, &str) {
    let Some((first, rest)) = hex_digits(text) else { return (None, "") };
    if let Some(character) = char::from_u32(first) {
        return (Some(character), rest);
    }
    let second = rest.strip_prefix("\\u").and_then(hex_digits);
    match second {
        Some((second, behind))
            if (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second) =>
        {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            (char::from_u32(code), behind)
        }
        _ => (None, rest),
    }
}

/// The number that four digits are, and the rest.
fn hex_digits(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    scratch: Scratch,
}

impl Parser<'_> {
    fn values(&mut self) -> Option<()> {
        let mut open: Vec<usize> = Vec::new();
        let mut expected = Expected::Value;
        loop {
            self.skip_space();
            let byte = self.text.get(self.at).copied();
            expected = match (byte?, expected) {
                (b'}', Expected::NameOrEnd | Expected::Separator)
                | (b']', Expected::ValueOrEnd | Expected::Separator) => {
                    self.close(open.pop()?, byte?)?;
                    Expected::Separator
                }
                (b',', Expected::Separator) => {
                    self.at += 1;
                    match self.nodes.get(*open.last()?)?.kind {
                        Kind::Object => Expected::Name,
                        _ => Expected::Value,
                    }
                }
                (b'"', Expected::Name | Expected::NameOrEnd) => {
                    self.string()?;
                    self.skip_space();
                    self.byte(b':')?;
                    Expected::Value
                }
                (b'{' | b'[', Expected::Value | Expected::ValueOrEnd) => {
                    open.push(self.nodes.len());
                    let (kind, expected) = match byte? {
                        b'{' => (Kind::Object, Expected::NameOrEnd),
                        _ => (Kind::Array, Expected::ValueOrEnd),
                    };
                    self.add(Node { kind, start: self.at, end: self.at, next: 0 })?;
                    self.at += 1;
                    expected
                }
                (byte, Expected::Value | Expected::ValueOrEnd) => {
                    self.scalar(byte)?;
                    Expected::Separator
                }
                _ => return None,
            };
            if open.is_empty() && expected == Expected::Separator {
                self.skip_space();
                return (self.at == self.text.len()).then_some(());
            }
        }
    }

    /// Ends the array or object at position `open`.
    fn close(&mut self, open: usize, byte: u8) -> Option<()> {
        self.at += 1;
        let (end, next) = (self.at, self.nodes.len());
        let node = self.nodes.get_mut(open)?;
        let fits = (node.kind == Kind::Object) == (byte == b'}');
        (node.end, node.next) = (end, next);
        fits.then_some(())
    }

    fn scalar(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.string(),
            b'n' => self.word("null", Kind::Null),
            b't' => self.word("true", Kind::True),
            b'f' => self.word("false", Kind::False),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, kind: Kind) -> Option<()> {
        let start = self.at;
        let end = start + word.len();
        if self.text.get(start..end)? != word.as_bytes() {
            return None;
        }
        self.at = end;
        self.push(kind, start)
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let mut kind = Kind::Integer;
        let _ = self.byte(b'-');
        if self.byte(b'0').is_none() {
            self.digits()?;
        }
        if self.byte(b'.').is_some() {
            kind = Kind::Number;
            self.digits()?;
        }
        if self.byte(b'e').or_else(|| self.byte(b'E')).is_some() {
            kind = Kind::Number;
            let _ = self.byte(b'+').or_else(|| self.byte(b'-'));
            self.digits()?;
        }
        self.push(kind, start)
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.text.get(self.at..)?;
        let count = rest.iter().take_while(|it| it.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    fn string(&mut self) -> Option<()> {
        let start = self.at;
        self.at += 1;
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => self.escape()?,
                ..0x20 => return None,
                _ => {}
            }
        }
        self.push(Kind::Text, start)
    }

    fn escape(&mut self) -> Option<()> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn push(&mut self, kind: Kind, start: usize) -> Option<()> {
        let next = self.nodes.len() + 1;
        self.add(Node { kind, start, end: self.at, next })
    }

    fn add(&mut self, node: Node) -> Option<()> {
        if self.nodes.len() == self.nodes.capacity() {
            // While the list is made twice as large, the old one is there, too.
            let bytes = self.nodes.len().saturating_mul(3 * size_of::<Node>());
            self.scratch.raise(bytes).then_some(())?;
        }
        self.nodes.push(node);
        Some(())
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        let is_next = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next.then_some(())
    }

    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
}

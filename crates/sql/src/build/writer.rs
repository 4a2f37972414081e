//! Writes the text of a built query: quotes, indents, marks.

use volley_error::Span;

/// Names the call of a front end that made a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark(pub u32);

/// The text so far.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
    pub(super) marks: Vec<(Span, Mark)>,
    indent: usize,
}

impl Writer {
    /// Appends words and punctuation of SQL.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends a name in double quotes.
    pub(super) fn name(&mut self, name: &str) {
        self.text.push('"');
        self.text.push_str(&name.replace('"', "\"\""));
        self.text.push('"');
    }

    /// Appends a name, in quotes only where it needs them.
    pub(super) fn short_name(&mut self, name: &str) {
        let mut chars = name.chars();
        let first = chars.next().is_some_and(|it| it.is_ascii_lowercase() || it == '_');
        let is_plain = first
            && chars.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
            && !is_word(name);
        if is_plain { self.push(name) } else { self.name(name) }
    }

    /// Appends a text literal.
    pub(super) fn string(&mut self, text: &str) {
        self.text.push('\'');
        self.text.push_str(&text.replace('\'', "''"));
        self.text.push('\'');
    }

    /// Begins a line.
    pub(super) fn line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', self.indent * 2));
    }

    /// Writes lines that are indented by one more step.
    pub(super) fn indented(&mut self, write: impl FnOnce(&mut Writer)) {
        self.indent += 1;
        write(self);
        self.indent -= 1;
    }

    /// Writes items with commas between them.
    pub(super) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Writer, T),
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            write(self, item);
        }
    }

    /// Writes a part that carries a mark.
    pub(super) fn marked(&mut self, mark: Option<Mark>, write: impl FnOnce(&mut Writer)) {
        let start = self.position();
        write(self);
        if let Some(mark) = mark {
            self.marks.push((Span { start, end: self.position() }, mark));
        }
    }

    fn position(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }
}

/// Whether a name may be a word of SQL. Names that are no words are quoted for nothing, which does
/// no harm.
fn is_word(name: &str) -> bool {
    sqlparser::keywords::ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok()
}

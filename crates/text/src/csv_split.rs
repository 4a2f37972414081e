//! Splits lines of CSV into fields.
//!
//! ```text
//!            quote                    quote            quote: a quote itself
//!   Start ──────────> Quoted <──────────────> Closed ─────────> Quoted
//!     │ other            │ escape                │ delimiter: Start; end of line
//!     v                  v                       v other: wrong, or Plain when not strict
//!   Plain             Escaped ── any ──> Quoted
//!     │ delimiter: Start; end of line
//!   from Start, Plain, Closed: comment ──> Comment, up to the end of the line
//! ```
//!
//! Input arrives in buffers of any size; runs of ordinary bytes are copied at once. Complete
//! regular lines take a fast path: see `csv_lines.rs`.

use crate::csv_options::{CsvForm, NewLine};

/// Takes bytes, and returns a [`Record`] for each line.
#[derive(Debug)]
pub(crate) struct Splitter {
    form: CsvForm,
    delimiter: u8,
    /// The bytes that have a meaning outside of quotes.
    stops: Box<[bool; 256]>,
    state: State,
    record: Record,
    is_complete: bool,
    /// The number of the line that comes next, from 1 on.
    line: u64,
    /// Whether a `\n` that comes next belongs to the end of the line before it.
    is_after_return: bool,
    /// The last byte of the line so far.
    last: u8,
}

/// The fields of a line.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The number of its first line.
    pub line: u64,
    /// All fields, one behind the other.
    text: Vec<u8>,
    /// For each field, where it ends in the text.
    ends: Vec<usize>,
    /// For each field, whether it was in quotes.
    quoted: Vec<bool>,
    /// What is wrong with the line; its fields mean nothing then.
    pub wrong: Option<&'static str>,
    /// Bytes of the line so far.
    bytes: u64,
}

/// Where the splitter is in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte of a field.
    Start,
    Plain,
    Quoted,
    /// Behind the escape within quotes.
    Escaped,
    /// Behind a closing quote.
    Closed,
    Comment,
}

impl Record {
    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field, and whether it was in quotes.
    pub fn field(&self, index: usize) -> Option<(&[u8], bool)> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        Some((self.text.get(start..end)?, *self.quoted.get(index)?))
    }

    /// All fields.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], bool)> {
        (0..self.len()).filter_map(|it| self.field(it))
    }

    /// Whether nothing stands on the line.
    pub fn is_blank(&self) -> bool {
        self.wrong.is_none() && self.text.is_empty() && self.quoted == [false]
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.quoted.clear();
        (self.wrong, self.bytes) = (None, 0);
    }

    fn is_untouched(&self) -> bool {
        self.ends.is_empty() && self.text.is_empty() && self.wrong.is_none()
    }

    /// Ends the field; `is_quoted`: it was in quotes.
    fn end_field(&mut self, is_quoted: bool) {
        self.ends.push(self.text.len());
        self.quoted.push(is_quoted);
    }

    /// Adds to the field. The fields of an invalid line are ignored.
    fn push(&mut self, bytes: &[u8]) {
        if self.wrong.is_none() {
            self.text.extend_from_slice(bytes);
        }
    }
}

impl Splitter {
    /// Begins at line number `line`.
    pub fn new(form: &CsvForm, delimiter: u8, line: u64) -> Splitter {
        let mut stops = Box::new([false; 256]);
        let ends: &[u8] = match form.new_line {
            NewLine::Any => b"\r\n",
            NewLine::Lf | NewLine::CrLf => b"\n",
            NewLine::Cr => b"\r",
        };
        let meaning = ends.iter().copied().chain(Some(delimiter)).chain(form.comment);
        for byte in meaning {
            if let Some(stop) = stops.get_mut(usize::from(byte)) {
                *stop = true;
            }
        }
        let record = Record { line, ..Record::default() };
        Splitter {
            form: form.clone(),
            delimiter,
            stops,
            state: State::Start,
            record,
            is_complete: false,
            line,
            is_after_return: false,
            last: 0,
        }
    }

    /// Takes bytes up to the end of a line; how many, and whether a line is complete.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, bool) {
        if std::mem::take(&mut self.is_complete) {
            self.begin_line();
        }
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            if std::mem::take(&mut self.is_after_return) && *byte == b'\n' {
                rest = behind;
                continue;
            }
            let run = self.run(rest);
            if run > 0 {
                let (taken, behind) = rest.split_at(run);
                self.pass(taken);
                rest = behind;
                continue;
            }
            rest = behind;
            self.count(1);
            if self.take(*byte) {
                self.is_complete = true;
                return (bytes.len() - rest.len(), true);
            }
            self.last = *byte;
        }
        (bytes.len(), false)
    }

    /// Takes the end of the file; whether a line is complete by that.
    pub fn finish(&mut self) -> bool {
        if self.is_complete || self.record.is_untouched() && self.state == State::Start {
            return false;
        }
        if matches!(self.state, State::Quoted | State::Escaped) {
            self.complain("quote that is not closed");
            self.state = State::Closed;
        }
        self.is_complete = self.end_line();
        self.is_complete
    }

    /// Whether the next byte begins a line.
    pub fn is_at_line(&self) -> bool {
        let is_untouched = self.record.is_untouched() && self.state == State::Start;
        (self.is_complete || is_untouched) && !self.is_after_return
    }

    /// Whether a line is complete.
    pub fn has_line(&self) -> bool {
        self.is_complete
    }

    /// The number of the line that comes next.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Passes to the line of another number, before its first byte.
    pub fn pass_to_line(&mut self, line: u64) {
        self.line = line;
        self.begin_line();
        (self.is_complete, self.is_after_return) = (false, false);
    }

    /// Whether a `\n` that comes next belongs to the end of the line before it.
    pub fn is_after_return(&self) -> bool {
        self.is_after_return
    }

    /// The line that is complete.
    pub fn record(&self) -> &Record {
        &self.record
    }

    fn begin_line(&mut self) {
        self.record.clear();
        self.record.line = self.line;
        (self.state, self.last) = (State::Start, 0);
    }

    /// How many of the next bytes have no meaning where they stand.
    fn run(&self, bytes: &[u8]) -> usize {
        let (quote, escape) = (self.form.quote, self.form.escape);
        let run = match self.state {
            State::Start if quote.is_some() && bytes.first().copied() == quote => Some(0),
            State::Start | State::Plain => {
                bytes.iter().position(|it| self.stops.get(usize::from(*it)) == Some(&true))
            }
            State::Quoted => bytes.iter().position(|it| Some(*it) == quote || Some(*it) == escape),
            State::Comment => bytes.iter().position(|it| self.ends_line(*it)),
            State::Escaped | State::Closed => Some(0),
        };
        run.unwrap_or(bytes.len())
    }

    /// Takes bytes without a meaning.
    fn pass(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.last = bytes.last().copied().unwrap_or(self.last);
        match self.state {
            State::Comment => return,
            State::Start => self.state = State::Plain,
            State::Quoted => {
                self.line += bytes.iter().filter(|it| **it == b'\n').count() as u64;
            }
            _ => {}
        }
        self.record.push(bytes);
    }

    /// Counts bytes of the line.
    fn count(&mut self, bytes: usize) {
        self.record.bytes = self.record.bytes.saturating_add(bytes as u64);
        if self.record.bytes > self.form.line_bytes_max {
            self.record.wrong.get_or_insert("line is longer than max_line_size");
        }
    }

    fn complain(&mut self, wrong: &'static str) {
        if self.form.is_strict {
            self.record.wrong.get_or_insert(wrong);
        }
    }

    fn ends_line(&self, byte: u8) -> bool {
        match self.form.new_line {
            NewLine::Any => matches!(byte, b'\n' | b'\r'),
            NewLine::Lf | NewLine::CrLf => byte == b'\n',
            NewLine::Cr => byte == b'\r',
        }
    }

    /// Takes one byte that has a meaning; whether a line is complete.
    fn take(&mut self, byte: u8) -> bool {
        let (quote, escape) = (self.form.quote, self.form.escape);
        let (is_quote, is_escape) = (Some(byte) == quote, Some(byte) == escape);
        match self.state {
            State::Quoted if is_escape && escape != quote => self.state = State::Escaped,
            State::Quoted => self.state = State::Closed,
            State::Escaped => {
                if !is_quote && !is_escape {
                    self.record.push(escape.as_slice());
                }
                self.record.push(&[byte]);
                self.state = State::Quoted;
            }
            State::Closed if is_quote && (escape.is_none() || escape == quote) => {
                self.record.push(&[byte]);
                self.state = State::Quoted;
            }
            State::Start if is_quote => self.state = State::Quoted,
            _ if self.ends_line(byte) => return self.take_end(byte),
            State::Comment => {}
            _ if byte == self.delimiter => {
                self.record.end_field(self.state == State::Closed);
                self.state = State::Start;
            }
            _ if Some(byte) == self.form.comment => {
                if !(self.record.is_untouched() && self.state == State::Start) {
                    self.record.end_field(self.state == State::Closed);
                }
                self.state = State::Comment;
            }
            State::Closed if byte == b'\r' && self.form.new_line == NewLine::CrLf => {}
            State::Closed => {
                self.complain("text behind a closing quote");
                self.record.push(&[byte]);
                self.state = State::Plain;
            }
            State::Start | State::Plain => self.record.push(&[byte]),
        }
        false
    }

    /// Takes a byte that may end the line; whether a line is complete.
    fn take_end(&mut self, byte: u8) -> bool {
        if self.form.new_line == NewLine::CrLf && self.state == State::Plain {
            if self.last != b'\r' {
                self.record.push(&[byte]);
                self.line += 1;
                return false;
            }
            // Of a wrong line, the text is not all there.
            self.record.text.pop();
        }
        self.is_after_return = byte == b'\r' && self.form.new_line == NewLine::Any;
        self.line += 1;
        self.end_line()
    }

    /// Ends the line; whether it is one, not just a comment.
    fn end_line(&mut self) -> bool {
        match self.state {
            State::Comment if self.record.ends.is_empty() => {
                self.begin_line();
                return false;
            }
            State::Comment => {}
            state => self.record.end_field(state == State::Closed),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as `number:field|field`, with fields that were in quotes in `'`.
    #[track_caller]
    fn check(form: &CsvForm, text: &str, expected: &[&str]) {
        for piece in [1, 2, 3, usize::MAX] {
            let mut splitter = Splitter::new(form, b',', 1);
            let mut lines = Vec::new();
            let shown = |record: &Record| {
                if let Some(wrong) = record.wrong {
                    return format!("{}:{wrong}", record.line);
                }
                let fields = record.fields().map(|(field, is_quoted)| {
                    let field = String::from_utf8_lossy(field);
                    if is_quoted { format!("'{field}'") } else { field.into_owned() }
                });
                format!("{}:{}", record.line, fields.collect::<Vec<_>>().join("|"))
            };
            for mut bytes in text.as_bytes().chunks(piece.min(text.len().max(1))) {
                while !bytes.is_empty() {
                    let (taken, is_complete) = splitter.push(bytes);
                    bytes = &bytes[taken..];
                    if is_complete {
                        lines.push(shown(splitter.record()));
                    }
                }
            }
            if splitter.finish() {
                lines.push(shown(splitter.record()));
            }
            assert_eq!(lines, expected, "{text:?} in pieces of {piece}");
        }
    }

    #[test]
    fn lines_are_taken_apart() {
        let form = CsvForm::default();
        check(&form, "1,\"a,\"\"b\"\"\nc\"\r\n2,\r3,\"\"", &["1:1|'a,\"b\"\nc'", "3:2|", "4:3|''"]);
        check(&form, "a\n\nb\n", &["1:a", "2:", "3:b"]);
        check(&form, "5\" pipe,x\"y\n", &["1:5\" pipe|x\"y"]);
        check(&form, "\"a\"b,c\nd,e", &["1:text behind a closing quote", "2:d|e"]);
        check(&form, "a,\"b", &["1:quote that is not closed"]);
        check(&form, "", &[]);
        check(&form, ",", &["1:|"]);
    }

    #[test]
    fn options_change_what_bytes_mean() {
        let form = CsvForm { is_strict: false, ..CsvForm::default() };
        check(&form, "\"a\"b,\"c", &["1:ab|'c'"]);
        let form = CsvForm { quote: Some(b'\''), escape: Some(b'\\'), ..CsvForm::default() };
        check(&form, "'it\\'s','a\\b\\\\'\n", &["1:'it's'|'a\\b\\'"]);
        let form = CsvForm { quote: None, ..CsvForm::default() };
        check(&form, "\"a,b\"\n", &["1:\"a|b\""]);
        let form = CsvForm { comment: Some(b'#'), ..CsvForm::default() };
        check(&form, "# x\n1,2 # y\n\"#\"#\n#", &["2:1|2 ", "3:'#'"]);
        let form = CsvForm { line_bytes_max: 4, ..CsvForm::default() };
        check(&form, "a,b\nabc,d\n", &["1:a|b", "2:line is longer than max_line_size"]);
    }

    #[test]
    fn lines_end_as_told() {
        let form = |new_line| CsvForm { new_line, ..CsvForm::default() };
        check(&form(NewLine::Lf), "a\r\nb\n", &["1:a\r", "2:b"]);
        check(&form(NewLine::Cr), "a\nb\rc", &["1:a\nb", "2:c"]);
        check(&form(NewLine::CrLf), "a\nb\r\n\"c\"\r\nd", &["1:a\nb", "3:'c'", "4:d"]);
    }
}

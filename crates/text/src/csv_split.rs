//! Takes the lines of CSV apart.
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
//! Bytes come in pieces of any size; runs of bytes without a meaning are copied at once. A line
//! that is there as a whole, without quotes and comments, is not walked through: see
//! `take_plain_line`.

use crate::csv_options::{CsvForm, NewLine};

/// Takes bytes, and puts out a [`Record`] for each line.
pub(crate) struct Splitter {
    form: CsvForm,
    delimiter: u8,
    /// The bytes that have a meaning outside of quotes.
    stops: Box<[bool; 256]>,
    place: Place,
    record: Record,
    is_complete: bool,
    /// The number of the line that comes next, from 1 on.
    line: u64,
    /// Whether a `\n` that comes next belongs to the end of the line before it.
    is_after_return: bool,
    /// The last byte of the line so far.
    last: u8,
    /// How many lines were taken whole.
    #[cfg(test)]
    plain_lines: usize,
}

/// The fields of a line.
#[derive(Default)]
pub(crate) struct Record {
    /// The number of its first line.
    pub line: u64,
    /// All fields, one behind the other; there may be delimiters between them.
    text: Vec<u8>,
    /// For each field, where it begins in the text.
    starts: Vec<usize>,
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
enum Place {
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
        let (start, end) = (*self.starts.get(index)?, *self.ends.get(index)?);
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

    /// Whether each field is UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.text.is_ascii() || self.fields().all(|it| str::from_utf8(it.0).is_ok())
    }

    fn clear(&mut self) {
        self.text.clear();
        self.starts.clear();
        self.ends.clear();
        self.quoted.clear();
        (self.wrong, self.bytes) = (None, 0);
    }

    fn is_untouched(&self) -> bool {
        self.ends.is_empty() && self.text.is_empty() && self.wrong.is_none()
    }

    /// Ends the field; `is_quoted`: it was in quotes.
    fn end_field(&mut self, is_quoted: bool) {
        self.starts.push(self.ends.last().copied().unwrap_or(0));
        self.ends.push(self.text.len());
        self.quoted.push(is_quoted);
    }

    /// Takes the whole line, in which only delimiters have a meaning.
    fn take_all(&mut self, line: &[u8], delimiter: u8) {
        self.text.extend_from_slice(line);
        let mut start = 0;
        for end in memchr::memchr_iter(delimiter, line).chain([line.len()]) {
            self.starts.push(start);
            self.ends.push(end);
            start = end + 1;
        }
        self.quoted.resize(self.ends.len(), false);
    }

    /// Adds to the field. Nobody looks at the fields of a wrong line.
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
            place: Place::Start,
            record,
            is_complete: false,
            line,
            is_after_return: false,
            last: 0,
            #[cfg(test)]
            plain_lines: 0,
        }
    }

    /// Takes bytes up to the end of a line; how many, and whether a line is complete.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, bool) {
        if std::mem::take(&mut self.is_complete) {
            self.begin_line();
        }
        if let Some(taken) = self.take_plain_line(bytes) {
            self.is_complete = true;
            return (taken, true);
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

    /// Takes a line of which all bytes are here, and in which only delimiters have a meaning; how
    /// many bytes it took with its end.
    fn take_plain_line(&mut self, bytes: &[u8]) -> Option<usize> {
        let form = &self.form;
        let is_return_an_end = match form.new_line {
            NewLine::Any => true,
            NewLine::Lf => false,
            NewLine::Cr | NewLine::CrLf => return None,
        };
        let is_begun = self.place != Place::Start || !self.record.is_untouched();
        if is_begun || self.is_after_return {
            return None;
        }
        let end = memchr::memchr(b'\n', bytes)?;
        let line = bytes.get(..end)?;
        let line = line.strip_suffix(b"\r").filter(|_| is_return_an_end).unwrap_or(line);
        let has = |byte: u8| memchr::memchr(byte, line).is_some();
        let has_meaning = form.quote.is_some_and(has)
            || form.comment.is_some_and(has)
            || is_return_an_end && has(b'\r');
        if has_meaning || end as u64 >= form.line_bytes_max {
            return None;
        }
        self.record.take_all(line, self.delimiter);
        self.line += 1;
        #[cfg(test)]
        (self.plain_lines += 1);
        Some(end + 1)
    }

    /// Takes the end of the file; whether a line is complete by that.
    pub fn finish(&mut self) -> bool {
        if self.is_complete || self.record.is_untouched() && self.place == Place::Start {
            return false;
        }
        if matches!(self.place, Place::Quoted | Place::Escaped) {
            self.complain("quote that is not closed");
            self.place = Place::Closed;
        }
        self.is_complete = self.end_line();
        self.is_complete
    }

    /// The line that is complete.
    pub fn record(&self) -> &Record {
        &self.record
    }

    fn begin_line(&mut self) {
        self.record.clear();
        self.record.line = self.line;
        (self.place, self.last) = (Place::Start, 0);
    }

    /// How many of the next bytes have no meaning where they stand.
    fn run(&self, bytes: &[u8]) -> usize {
        let (quote, escape) = (self.form.quote, self.form.escape);
        let run = match self.place {
            Place::Start if quote.is_some() && bytes.first().copied() == quote => Some(0),
            Place::Start | Place::Plain => {
                bytes.iter().position(|it| self.stops.get(usize::from(*it)) == Some(&true))
            }
            Place::Quoted => bytes.iter().position(|it| Some(*it) == quote || Some(*it) == escape),
            Place::Comment => bytes.iter().position(|it| self.ends_line(*it)),
            Place::Escaped | Place::Closed => Some(0),
        };
        run.unwrap_or(bytes.len())
    }

    /// Takes bytes without a meaning.
    fn pass(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.last = bytes.last().copied().unwrap_or(self.last);
        match self.place {
            Place::Comment => return,
            Place::Start => self.place = Place::Plain,
            Place::Quoted => {
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
        match self.place {
            Place::Quoted if is_escape && escape != quote => self.place = Place::Escaped,
            Place::Quoted => self.place = Place::Closed,
            Place::Escaped => {
                if !is_quote && !is_escape {
                    self.record.push(escape.as_slice());
                }
                self.record.push(&[byte]);
                self.place = Place::Quoted;
            }
            Place::Closed if is_quote && (escape.is_none() || escape == quote) => {
                self.record.push(&[byte]);
                self.place = Place::Quoted;
            }
            Place::Start if is_quote => self.place = Place::Quoted,
            _ if self.ends_line(byte) => return self.take_end(byte),
            Place::Comment => {}
            _ if byte == self.delimiter => {
                self.record.end_field(self.place == Place::Closed);
                self.place = Place::Start;
            }
            _ if Some(byte) == self.form.comment => {
                if !(self.record.is_untouched() && self.place == Place::Start) {
                    self.record.end_field(self.place == Place::Closed);
                }
                self.place = Place::Comment;
            }
            Place::Closed if byte == b'\r' && self.form.new_line == NewLine::CrLf => {}
            Place::Closed => {
                self.complain("text behind a closing quote");
                self.record.push(&[byte]);
                self.place = Place::Plain;
            }
            Place::Start | Place::Plain => self.record.push(&[byte]),
        }
        false
    }

    /// Takes a byte that may end the line; whether a line is complete.
    fn take_end(&mut self, byte: u8) -> bool {
        if self.form.new_line == NewLine::CrLf && self.place == Place::Plain {
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
        match self.place {
            Place::Comment if self.record.ends.is_empty() => {
                self.begin_line();
                return false;
            }
            Place::Comment => {}
            place => self.record.end_field(place == Place::Closed),
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

    /// The lines of `text` that comes in pieces, and how many were taken whole.
    fn lines_of(form: &CsvForm, text: &[u8], piece: usize) -> (Vec<String>, usize) {
        let mut splitter = Splitter::new(form, b',', 1);
        let mut lines = Vec::new();
        let shown = |it: &Record| {
            let fields: Vec<_> = it.fields().collect();
            let fields = it.wrong.is_none().then_some(fields);
            format!("{} {:?} {fields:?} {}", it.line, it.wrong, it.is_blank())
        };
        for mut bytes in text.chunks(piece) {
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
        (lines, splitter.plain_lines)
    }

    #[test]
    fn whole_lines_are_what_their_bytes_are() {
        let mut random = fastrand::Rng::with_seed(1);
        let alphabet = [
            &b"a"[..],
            b"bc",
            b",",
            b",",
            b"\n",
            b"\n",
            b"\r\n",
            b"\r",
            b"\"",
            b"#",
            "ä".as_bytes(),
        ];
        let mut whole = 0;
        for round in 0..4000 {
            let count = random.usize(..40);
            // Quotes and the like are rare enough for plain lines between them.
            let known = if round % 2 == 0 { alphabet.len() } else { 7 };
            let text: Vec<u8> =
                (0..count).flat_map(|_| alphabet[random.usize(..known)].to_vec()).collect();
            let new_lines = [NewLine::Any, NewLine::Lf, NewLine::Cr, NewLine::CrLf];
            let form = CsvForm {
                new_line: new_lines[random.usize(..4)],
                quote: random.bool().then_some(b'"'),
                comment: random.bool().then_some(b'#'),
                is_strict: random.bool(),
                line_bytes_max: if random.bool() { 6 } else { 1 << 20 },
                ..CsvForm::default()
            };
            // A line of one byte at a time is never there as a whole, but for empty ones.
            let (expected, _) = lines_of(&form, &text, 1);
            let (lines, plain) = lines_of(&form, &text, usize::MAX);
            assert_eq!(lines, expected, "{:?} {form:?}", String::from_utf8_lossy(&text));
            whole += plain;
        }
        assert!(whole > 1000, "{whole}");
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

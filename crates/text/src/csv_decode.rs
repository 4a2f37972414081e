//! Columns of text from the bytes of a CSV file.

use crate::{
    csv_delimiter::{is_utf8, with_delimiters},
    csv_lines::{Counted, Line, LineFinder},
    csv_options::CsvReadOptions,
    csv_split::{Record, Splitter},
    rejects::{RejectKind, Rejects},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_kernels::text::is_ascii;
use volley_vector::{BooleanBuffer, NullBuffer};

/// Takes bytes, and returns columns of some lines.
pub(crate) struct CsvDecoder {
    splitter: Splitter,
    /// Takes the regular lines; `None`: all are for the splitter.
    finder: Option<LineFinder>,
    rows: Rows,
}

/// What is made of lines.
struct Rows {
    options: Arc<CsvReadOptions>,
    /// How many columns the file has.
    width: usize,
    /// The columns that are wanted.
    places: Vec<usize>,
    rows_max: usize,
    /// Whether the header comes next.
    is_before_header: bool,
    /// Rows without columns that were counted since the last call; they are not in `lines`.
    counted: usize,
    lines: Vec<i64>,
    columns: Vec<TextColumn>,
    /// The text of each line, if lines that do not fit are collected.
    texts: Vec<String>,
    /// Lines that were left out since the last call.
    rejected: Vec<Rejected>,
    /// How many lines the finder found, and counted.
    #[cfg(test)]
    regular_lines: usize,
    #[cfg(test)]
    counted_lines: usize,
}

/// What is known of a line without its fields.
struct LineShape {
    number: u64,
    fields: usize,
    is_blank: bool,
    wrong: Option<&'static str>,
}

/// A line that was left out, of a file that the reader knows.
pub(crate) struct Rejected {
    pub line: u64,
    pub kind: RejectKind,
    pub message: String,
    pub text: String,
}

/// Some lines.
#[derive(Debug)]
pub(crate) struct TextRows {
    /// How many there are.
    pub count: usize,
    /// The number of each line, from 1 on; of rows without columns, not all.
    pub lines: Vec<i64>,
    pub columns: Vec<TextColumn>,
    /// The place of each column in the file.
    pub places: Vec<usize>,
    /// The text of each line, if lines that do not fit are collected.
    pub texts: Vec<String>,
}

/// A column of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextColumn {
    /// All values, one behind the other.
    pub text: Vec<u8>,
    /// Where each value begins, and where the last one ends.
    pub offsets: Vec<i32>,
    valid: Vec<bool>,
}

impl TextColumn {
    /// One that is likely to have room for as much.
    fn as_large_as(other: &TextColumn) -> TextColumn {
        TextColumn {
            text: Vec::with_capacity(other.text.len() + other.text.len() / 8),
            offsets: Vec::with_capacity(other.offsets.len()),
            valid: Vec::with_capacity(other.valid.len()),
        }
    }

    fn push(&mut self, field: Option<&[u8]>) -> Result<()> {
        self.text.extend_from_slice(field.unwrap_or_default());
        let end = i32::try_from(self.text.len());
        let end = end.map_err(|_| Error::unsupported("lines of a batch are too long"))?;
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.offsets.push(end);
        self.valid.push(field.is_some());
        Ok(())
    }

    /// Which values are not null.
    pub fn nulls(&self) -> Option<NullBuffer> {
        let nulls = NullBuffer::new(BooleanBuffer::from(self.valid.as_slice()));
        Some(nulls).filter(|it| it.null_count() > 0)
    }
}

impl CsvDecoder {
    /// Reads the columns at `places` of files of `width` columns, which begin at a line.
    pub fn new(
        options: Arc<CsvReadOptions>,
        shape: CsvShape,
        places: Vec<usize>,
        rows_max: usize,
    ) -> CsvDecoder {
        let (form, line) = (&options.form, options.skip_lines + 1);
        CsvDecoder {
            splitter: Splitter::new(form, shape.delimiter, line),
            finder: LineFinder::new(form, shape.delimiter),
            rows: Rows {
                width: shape.width,
                is_before_header: shape.has_header,
                counted: 0,
                lines: Vec::new(),
                columns: vec![TextColumn::default(); places.len()],
                texts: Vec::new(),
                rejected: Vec::new(),
                options,
                places,
                rows_max,
                #[cfg(test)]
                regular_lines: 0,
                #[cfg(test)]
                counted_lines: 0,
            },
        }
    }

    /// Continues after the header, with the next line.
    pub fn pass_to_line(&mut self, line: u64) {
        self.rows.is_before_header = false;
        self.splitter.pass_to_line(line);
    }

    /// How many values it holds.
    pub fn values(&self) -> usize {
        self.rows.lines.len().saturating_mul(self.rows.columns.len())
    }

    /// How many fields the line has that it splits.
    pub fn line_fields(&self) -> usize {
        self.splitter.record().len()
    }

    /// Takes bytes until it is full; how many.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() && !self.is_full() {
            taken += self.decode_regular(bytes.get(taken..).unwrap_or_default())?;
            if self.is_full() {
                break;
            }
            let (count, is_complete) = self.splitter.push(bytes.get(taken..).unwrap_or_default());
            taken += count;
            if is_complete {
                self.rows.take_record(self.splitter.record())?;
            }
        }
        Ok(taken)
    }

    /// Takes regular lines; how many bytes.
    fn decode_regular(&mut self, bytes: &[u8]) -> Result<usize> {
        let Some(finder) = self.finder.as_mut().filter(|_| self.splitter.is_at_line()) else {
            return Ok(0);
        };
        let rows = &mut self.rows;
        if rows.are_counted() {
            let rows_max = rows.rows_max - rows.len();
            let Counted { rows: count, found } =
                finder.count(bytes, self.splitter.line(), rows.width, rows_max);
            let counted = bytes.get(..found.bytes).unwrap_or_default();
            // What is not UTF-8 is an error with its line.
            if is_ascii(counted) || is_utf8(counted, None) {
                self.splitter.pass_to_line(found.line);
                rows.count(count);
                return Ok(found.bytes);
            }
        }
        let found = finder.find(bytes, self.splitter.line(), |line| {
            rows.take_line(line)?;
            Ok(!rows.is_full())
        })?;
        if found.bytes > 0 {
            self.splitter.pass_to_line(found.line);
        }
        Ok(found.bytes)
    }

    /// Takes the end of the file.
    pub fn finish(&mut self) -> Result<()> {
        if self.splitter.finish() { self.rows.take_record(self.splitter.record()) } else { Ok(()) }
    }

    /// Makes batches of this number of lines.
    pub fn set_rows_max(&mut self, rows_max: usize) {
        self.rows.rows_max = rows_max.max(1);
    }

    /// Whether there are as many lines as a batch has.
    pub fn is_full(&self) -> bool {
        self.rows.is_full()
    }

    /// What collects lines that do not fit.
    pub fn rejects(&self) -> Option<Arc<Rejects>> {
        self.rows.options.rejects.clone()
    }

    /// The lines that were left out since the last call.
    pub fn take_rejected(&mut self) -> Vec<Rejected> {
        std::mem::take(&mut self.rows.rejected)
    }

    /// The lines so far; `None` when there are none.
    pub fn flush(&mut self) -> Option<TextRows> {
        let count = self.rows.len();
        if count == 0 {
            return None;
        }
        self.rows.counted = 0;
        let lines = std::mem::take(&mut self.rows.lines);
        let take = |it: &mut TextColumn| {
            let next = TextColumn::as_large_as(it);
            std::mem::replace(it, next)
        };
        let columns = self.rows.columns.iter_mut().map(take).collect();
        let (places, texts) = (self.rows.places.clone(), std::mem::take(&mut self.rows.texts));
        Some(TextRows { count, lines, columns, places, texts })
    }
}

impl Rows {
    fn len(&self) -> usize {
        self.lines.len() + self.counted
    }

    fn is_full(&self) -> bool {
        self.len() >= self.rows_max
    }

    /// Whether nothing is wanted of the next lines but their number, and each that does not fit is
    /// an error.
    fn are_counted(&self) -> bool {
        let CsvReadOptions { form, ignore_errors, null_padding, .. } = &*self.options;
        self.places.is_empty()
            && !self.is_before_header
            && !ignore_errors
            && !null_padding
            && form.is_strict
            && self.options.delimiter_text.is_none()
            && self.options.rejects.is_none()
    }

    fn count(&mut self, rows: usize) {
        self.counted += rows;
        #[cfg(test)]
        (self.counted_lines += rows);
    }

    fn take_line(&mut self, line: &Line<'_>) -> Result<()> {
        #[cfg(test)]
        (self.regular_lines += 1);
        let bytes = line.bytes();
        let delimiter = self.options.delimiter_text.clone();
        let delimiter = delimiter.as_deref();
        let fits = || is_ascii(bytes) || is_utf8(bytes, delimiter);
        let text = || String::from_utf8_lossy(&with_delimiters(bytes, delimiter)).into_owned();
        let shape = LineShape {
            number: line.number,
            fields: line.len(),
            is_blank: bytes.is_empty(),
            wrong: None,
        };
        if !self.is_row(&shape, fits, text)? {
            return Ok(());
        }
        for (place, column) in self.places.iter().zip(&mut self.columns) {
            let field = line.field(*place);
            let field = field.as_ref().map(|it| (it.0.as_ref(), it.1));
            column.push(self.options.value(field).as_deref())?;
        }
        if self.options.rejects.is_some() {
            self.texts.push(text());
        }
        self.lines.push(i64::try_from(line.number).unwrap_or(i64::MAX));
        Ok(())
    }

    fn take_record(&mut self, record: &Record) -> Result<()> {
        let shape = LineShape {
            number: record.line,
            fields: record.len(),
            is_blank: record.is_blank(),
            wrong: record.wrong,
        };
        let options = Arc::clone(&self.options);
        let delimiter = options.delimiter_text.as_deref();
        let fits = || record.fields().all(|it| is_utf8(it.0, delimiter));
        let text = || text_of(record, delimiter, options.delimiter);
        if !self.is_row(&shape, fits, text)? {
            return Ok(());
        }
        for (place, column) in self.places.iter().zip(&mut self.columns) {
            column.push(options.value(record.field(*place)).as_deref())?;
        }
        if options.rejects.is_some() {
            self.texts.push(text());
        }
        self.lines.push(i64::try_from(record.line).unwrap_or(i64::MAX));
        Ok(())
    }

    /// Whether a line is a row.
    fn is_row(
        &mut self,
        line: &LineShape,
        is_utf8: impl FnOnce() -> bool,
        text: impl FnOnce() -> String,
    ) -> Result<bool> {
        // Of one column, an empty line is a row.
        if line.is_blank && (self.width > 1 || self.is_before_header) {
            return Ok(false);
        }
        if std::mem::take(&mut self.is_before_header) {
            return Ok(false);
        }
        match self.misfit(line, is_utf8) {
            Some((kind, message)) if self.options.ignore_errors => {
                if self.options.rejects.is_some() {
                    let (line, text) = (line.number, text());
                    self.rejected.push(Rejected { line, kind, message, text });
                }
                Ok(false)
            }
            Some((_, wrong)) => Err(Error::corruption(wrong).at("line", line.number)),
            None => Ok(true),
        }
    }

    /// What is wrong with a line.
    fn misfit(
        &self,
        line: &LineShape,
        is_utf8: impl FnOnce() -> bool,
    ) -> Option<(RejectKind, String)> {
        if let Some(wrong) = line.wrong {
            let is_quote = wrong.contains("quote");
            let kind = if is_quote { RejectKind::UnquotedValue } else { RejectKind::LineSize };
            return Some((kind, wrong.to_owned()));
        }
        let (found, wanted) = (line.fields, self.width);
        let is_right = found == wanted
            || found < wanted && self.options.null_padding
            || found > wanted && !self.options.form.is_strict;
        if !is_right {
            let plural = if found == 1 { "field" } else { "fields" };
            let is_short = found < wanted;
            let kind =
                if is_short { RejectKind::MissingColumns } else { RejectKind::TooManyColumns };
            return Some((kind, format!("line has {found} {plural}, not {wanted}")));
        }
        (!is_utf8()).then(|| (RejectKind::InvalidEncoding, "text that is not UTF-8".to_owned()))
    }
}

/// The fields of a line with their delimiters; what was in quotes is again.
fn text_of(record: &Record, delimiter: Option<&str>, byte: Option<u8>) -> String {
    let byte = [byte.filter(u8::is_ascii).unwrap_or(b',')];
    let between = delimiter.or_else(|| str::from_utf8(&byte).ok()).unwrap_or(",");
    let mut line = String::new();
    for (index, (field, is_quoted)) in record.fields().enumerate() {
        line.push_str(if index > 0 { between } else { "" });
        let field = with_delimiters(field, delimiter);
        let field = String::from_utf8_lossy(&field);
        match is_quoted {
            true => line.extend(["\"", &field.replace('"', "\"\""), "\""]),
            false => line.push_str(&field),
        }
    }
    // A quote that is not closed takes the rest of the file.
    if record.wrong.is_some() {
        let closed = line.strip_suffix('"').unwrap_or(&line);
        line = closed.trim_end_matches(['\n', '\r']).to_owned();
    }
    line
}

/// What was detected about a file, or is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CsvShape {
    pub delimiter: u8,
    pub has_header: bool,
    /// How many columns there are.
    pub width: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CsvForm, NewLine};

    /// Decodes `text`, which comes in pieces; `put` takes what the decoder has, when it is full and
    /// at the end. What is wrong.
    fn in_pieces(
        decoder: &mut CsvDecoder,
        text: &[u8],
        piece: usize,
        mut put: impl FnMut(&mut CsvDecoder),
    ) -> Result<()> {
        let mut end = Ok(());
        'pieces: for mut bytes in text.chunks(piece) {
            while !bytes.is_empty() {
                match decoder.decode(bytes) {
                    Ok(taken) => bytes = &bytes[taken..],
                    Err(error) => {
                        end = Err(error);
                        break 'pieces;
                    }
                }
                if decoder.is_full() {
                    put(decoder);
                }
            }
        }
        if end.is_ok() {
            end = decoder.finish();
        }
        put(decoder);
        end
    }

    /// The rows of `text` that comes in pieces, or what is wrong, and how many were regular lines.
    fn rows_of(
        options: &CsvReadOptions,
        text: &[u8],
        piece: usize,
        is_plain: bool,
    ) -> (Vec<String>, usize) {
        let shape = CsvShape { delimiter: b',', has_header: false, width: 2 };
        let mut decoder = CsvDecoder::new(Arc::new(options.clone()), shape, vec![0, 1, 2], 3);
        if is_plain {
            decoder.finder = None;
        }
        let mut rows = Vec::new();
        let put = |decoder: &mut CsvDecoder| {
            let Some(batch) = decoder.flush() else { return };
            for (row, line) in batch.lines.iter().enumerate() {
                let fields = batch.columns.iter().map(|it| {
                    let bounds = it.offsets[row] as usize..it.offsets[row + 1] as usize;
                    it.valid[row].then(|| String::from_utf8_lossy(&it.text[bounds]).into_owned())
                });
                rows.push(format!("{line} {:?}", fields.collect::<Vec<_>>()));
            }
        };
        let end = in_pieces(&mut decoder, text, piece, put);
        rows.push(format!("{end:?}"));
        (rows, decoder.rows.regular_lines)
    }

    /// The number of rows of each batch of `text`, which comes in pieces, what is wrong, and how
    /// many were counted as regular lines.
    fn counts_of(
        options: &CsvReadOptions,
        shape: CsvShape,
        (text, piece): (&[u8], usize),
        finder: Option<LineFinder>,
    ) -> (Vec<usize>, Result<()>, usize) {
        let mut decoder = CsvDecoder::new(Arc::new(options.clone()), shape, Vec::new(), 3);
        decoder.finder = finder;
        let mut batches = Vec::new();
        let put = |it: &mut CsvDecoder| batches.extend(it.flush().map(|it| it.count));
        let end = in_pieces(&mut decoder, text, piece, put);
        (batches, end, decoder.rows.counted_lines)
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let mut random = fastrand::Rng::with_seed(3);
        let lines: [&[u8]; 12] = [
            b"a,b\n",
            b"12,\n",
            b"abcd,efghijklmn\r\n",
            b"\n",
            b"\"x\n,\",\"y\"\"\"\n",
            "\u{e4},\u{1d11e}\n".as_bytes(),
            b"x,y\r",
            b"#,1\n",
            b"a,\"b\"c\n",
            b"one\n",
            b"1,2,3\n",
            b"\xe4,\xe4\n",
        ];
        let (mut counted, mut errors) = (0, 0);
        for round in 0..20_000 {
            // Mostly without lines that are errors.
            let known = [8, 8, 5, 3, lines.len()][round % 5];
            let count = random.usize(..40);
            let mut text: Vec<u8> =
                (0..count).flat_map(|_| lines[random.usize(..known)].to_vec()).collect();
            // The last line may have no end.
            text.truncate(text.len() - random.usize(..2).min(text.len()));
            let form = CsvForm {
                new_line: if random.bool() { NewLine::Any } else { NewLine::Lf },
                quote: (random.u8(..4) > 0).then_some(b'"'),
                comment: (random.u8(..8) == 0).then_some(b'#'),
                is_strict: random.u8(..8) > 0,
                line_bytes_max: if random.u8(..8) == 0 { 10 } else { 1 << 20 },
                ..CsvForm::default()
            };
            let options = CsvReadOptions {
                form,
                ignore_errors: random.u8(..8) == 0,
                null_padding: random.u8(..8) == 0,
                ..CsvReadOptions::default()
            };
            let width = [2, 2, 2, 1, 3][random.usize(..5)];
            let delimiter = if random.u8(..8) == 0 { b';' } else { b',' };
            let shape = CsvShape { delimiter, has_header: random.bool(), width };
            let (rows, end, none) = counts_of(&options, shape, (&text, usize::MAX), None);
            assert_eq!(none, 0);
            errors += usize::from(end.is_err());
            for piece in [usize::MAX, 1, 70] {
                let finder = LineFinder::new(&options.form, shape.delimiter);
                let (fast, fast_end, here) = counts_of(&options, shape, (&text, piece), finder);
                let text = String::from_utf8_lossy(&text);
                assert_eq!(fast, rows, "{text:?} {options:?} {shape:?}");
                assert_eq!(format!("{fast_end:?}"), format!("{end:?}"), "{text:?} {options:?}");
                counted += here;
            }
        }
        assert!(counted > 50_000 && errors > 1000, "{counted} {errors}");
    }

    #[test]
    fn regular_lines_are_what_their_bytes_are() {
        let mut random = fastrand::Rng::with_seed(1);
        let words: [&[u8]; 13] = [
            b"a",
            b"bc",
            b",",
            b",",
            b"\n",
            b"\n",
            b"\r\n",
            b"\r",
            b"\"q,\n\"",
            b"\"\"",
            b"\"",
            b"#",
            "\u{e4}".as_bytes(),
        ];
        let mut regular = 0;
        for round in 0..20_000 {
            let count = random.usize(..120);
            // What is irregular is rare enough for regular lines between.
            let known = [words.len(), 10, 7][round % 3];
            let text = (0..count).flat_map(|_| words[random.usize(..known)].to_vec());
            let text: Vec<u8> = text.collect();
            let new_lines = [NewLine::Any, NewLine::Any, NewLine::Lf, NewLine::Cr, NewLine::CrLf];
            let form = CsvForm {
                new_line: new_lines[random.usize(..5)],
                quote: (random.u8(..4) > 0).then_some(b'"'),
                escape: [None, Some(b'"'), Some(b'#')][random.usize(..3)],
                comment: (random.u8(..4) == 0).then_some(b'#'),
                is_strict: random.bool(),
                line_bytes_max: if random.bool() { 60 } else { 1 << 20 },
            };
            let options = CsvReadOptions {
                form,
                ignore_errors: random.u8(..4) > 0,
                null_padding: random.bool(),
                allow_quoted_nulls: random.bool(),
                ..CsvReadOptions::default()
            };
            let (expected, _) = rows_of(&options, &text, usize::MAX, true);
            for piece in [usize::MAX, 1, 70] {
                let (rows, found) = rows_of(&options, &text, piece, false);
                assert_eq!(rows, expected, "{:?} {options:?}", String::from_utf8_lossy(&text));
                regular += found;
            }
        }
        assert!(regular > 50_000, "{regular}");
    }
}

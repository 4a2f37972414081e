//! The beginning of a CSV file, split by the most likely delimiter.

use crate::{
    csv_delimiter::with_delimiters,
    csv_options::{CsvReadOptions, SAMPLE_ROWS},
    csv_split::{Record, Splitter},
    input::FileStream,
};
use volley_error::{Error, Result};
use volley_memory::{Reservation, check_cancelled};

/// What delimiter and header are detected from; where memory is short, at least some of it.
const SAMPLE_BYTES: usize = 4 << 20;
const SAMPLE_BYTES_MIN: usize = 64 << 10;

/// What is read of it first: mostly it has as many lines as are looked at.
const FIRST_BYTES: usize = 1 << 20;
const SAMPLE_ROWS_MIN: usize = 16;

/// What a byte of it takes: the text may have room for as much again, and is split by one delimiter
/// while the fields of another are kept.
const TEXT_BYTES_PER_BYTE: usize = 4;

/// The part of the memory limit that the text may take, and the fields by one delimiter.
const LIMIT_SHARE: usize = 8;

/// In the order of preference.
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];

/// The beginning of a file.
pub(crate) struct Sample {
    text: Vec<u8>,
    /// Whether it is all of the file.
    pub is_whole: bool,
    /// How many bytes are read if fewer do not have as many lines as are looked at.
    bytes_max: usize,
}

/// Fields of a line: their text, and whether they are NULL.
pub(crate) type Fields = Vec<(String, bool)>;

/// What a field of a sample takes besides its text.
const FIELD_BYTES: usize = size_of::<(String, bool)>() + 16;

/// The lines of a sample, by one delimiter.
pub(crate) struct Lines {
    /// Those that are right and not blank.
    pub rows: Vec<Fields>,
    are_right: bool,
    /// Whether more of the file would not change them, nor those by other delimiters.
    are_enough: bool,
    /// Whether there is none at all, right or wrong.
    pub is_none: bool,
    /// What is charged for the rows.
    bytes: usize,
}

/// That part, in bytes.
fn share(charge: &Reservation) -> usize {
    charge.pool().limit_bytes() / LIMIT_SHARE
}

impl Sample {
    /// As much as mostly is enough.
    pub fn read(stream: &mut FileStream, charge: &mut Reservation) -> Result<Sample> {
        let most = SAMPLE_BYTES.min(share(charge) / TEXT_BYTES_PER_BYTE).max(SAMPLE_BYTES_MIN);
        let mut sample = Sample { text: Vec::new(), is_whole: false, bytes_max: most };
        sample.read_until(stream, most.min(FIRST_BYTES), charge)?;
        Ok(sample)
    }

    /// Whether nothing stands there.
    pub fn is_blank(&self) -> bool {
        self.text.iter().all(u8::is_ascii_whitespace)
    }

    /// The likeliest delimiter, and the lines that it makes. Reads on until there are enough lines.
    ///
    /// # Errors
    ///
    /// I/O. Out of memory: a line is too long. Cancelled.
    pub fn lines_of(
        &mut self,
        stream: &mut FileStream,
        options: &CsvReadOptions,
        charge: &mut Reservation,
    ) -> Result<(u8, Lines)> {
        let mut found = self.split(options, charge)?;
        if !self.is_whole && !found.1.are_enough && self.text.len() < self.bytes_max {
            drop(found);
            self.read_until(stream, self.bytes_max, charge)?;
            found = self.split(options, charge)?;
        }
        // The first line may be longer than a sample is.
        while found.1.is_none && !self.is_whole {
            self.read_until(stream, self.text.len().saturating_mul(2), charge)?;
            found = self.split(options, charge)?;
        }
        Ok(found)
    }

    /// Reads until it has this number of bytes.
    fn read_until(
        &mut self,
        stream: &mut FileStream,
        bytes: usize,
        charge: &mut Reservation,
    ) -> Result<()> {
        loop {
            check_cancelled()?;
            let next = stream.fill()?;
            self.is_whole = next.is_empty();
            if self.is_whole || self.text.len() >= bytes {
                return Ok(());
            }
            let count = next.len().min(bytes - self.text.len()).min(SAMPLE_BYTES_MIN);
            charge.resize(self.text_bytes(count))?;
            self.text.extend_from_slice(next.get(..count).unwrap_or_default());
            stream.consume(count);
        }
    }

    /// What it takes with `more` bytes.
    fn text_bytes(&self, more: usize) -> usize {
        self.text.len().saturating_add(more).saturating_mul(TEXT_BYTES_PER_BYTE)
    }

    /// The likeliest delimiter, and the lines that it makes of what was read.
    fn split(&self, options: &CsvReadOptions, charge: &mut Reservation) -> Result<(u8, Lines)> {
        let mut candidates = DELIMITERS.to_vec();
        // What has a meaning is no delimiter.
        let form = &options.form;
        let comma = options.formats.has_decimal_comma.then_some(b',');
        let taken = [form.quote, form.escape, form.comment, comma];
        candidates.retain(|it| !taken.contains(&Some(*it)));
        if let Some(delimiter) = options.delimiter {
            candidates = vec![delimiter];
        }
        // One that is not there makes lines of one field, which only the first one may.
        let first = candidates.first().copied();
        candidates.retain(|it| Some(*it) == first || memchr::memchr(*it, &self.text).is_some());
        let is_lenient = options.null_padding || options.ignore_errors || !options.form.is_strict;
        let mut best: Option<(usize, u8, Lines)> = None;
        let mut are_enough = true;
        for delimiter in candidates {
            let lines = self.lines(delimiter, options, charge)?;
            are_enough &= lines.are_enough;
            let first = lines.rows.first().map_or(0, Vec::len);
            let is_even = lines.are_right && lines.rows.iter().all(|it| it.len() == first);
            let width = if first > 1 && (is_even || is_lenient) { first } else { 0 };
            let lost = match &mut best {
                Some(best) if width <= best.0 => Some(lines),
                best => best.replace((width, delimiter, lines)).map(|it| it.2),
            };
            charge.shrink(lost.map_or(0, |it| it.bytes));
        }
        let (_, delimiter, lines) = best.ok_or_else(|| Error::internal("no delimiter"))?;
        Ok((delimiter, Lines { are_enough, ..lines }))
    }

    /// Its lines; the last one is left out when it may be cut.
    fn lines(
        &self,
        delimiter: u8,
        options: &CsvReadOptions,
        charge: &mut Reservation,
    ) -> Result<Lines> {
        let mut splitter = Splitter::new(&options.form, delimiter, 1);
        let (are_right, are_enough, is_none) = (true, false, true);
        let mut lines = Lines { rows: Vec::new(), are_right, are_enough, is_none, bytes: 0 };
        let mut rest = self.text.as_slice();
        let rows_max = options.sample_rows.clamp(1, SAMPLE_ROWS);
        while (lines.rows.len() as u64) < rows_max {
            let (taken, mut is_complete) = splitter.push(rest);
            rest = rest.get(taken..).unwrap_or_default();
            if !is_complete {
                is_complete = self.is_whole && splitter.finish();
            }
            if !is_complete {
                break;
            }
            let record = splitter.record();
            lines.is_none = false;
            lines.are_right &= record.wrong.is_none();
            if record.wrong.is_none() && !record.is_blank() {
                let bytes = record.len().saturating_mul(FIELD_BYTES);
                if lines.bytes > share(charge) && lines.rows.len() >= SAMPLE_ROWS_MIN {
                    break;
                }
                charge.grow(bytes)?;
                lines.bytes += bytes;
                lines.rows.push(fields_of(record, options));
            }
        }
        lines.are_enough = lines.rows.len() as u64 >= rows_max;
        Ok(lines)
    }
}

/// The fields of a line.
fn fields_of(record: &Record, options: &CsvReadOptions) -> Fields {
    let field = |(text, is_quoted): (&[u8], bool)| {
        let is_null = options.is_null(text, is_quoted);
        let text = with_delimiters(text, options.delimiter_text.as_deref());
        (String::from_utf8_lossy(&text).into_owned(), is_null)
    };
    record.fields().map(field).collect()
}

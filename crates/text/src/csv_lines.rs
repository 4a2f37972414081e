//! Finds the fields of regular lines without visiting every byte. In regular lines, quotes enclose
//! whole fields.

use crate::{
    csv_marks::{Marker, lower_bits},
    csv_options::CsvForm,
};
use std::{borrow::Cow, ops::ControlFlow};
use volley_error::Result;

/// Finds lines whose bytes are all there; the others are for the splitter.
pub(crate) struct LineFinder {
    marker: Marker,
    line_bytes_max: u64,
    /// Where the fields of a line end.
    ends: Vec<usize>,
}

/// A regular line.
pub(crate) struct Line<'a> {
    /// Its number.
    pub number: u64,
    bytes: &'a [u8],
    begin: usize,
    ends: &'a [usize],
    quote: Option<u8>,
}

/// How far lines were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of them.
    pub bytes: usize,
    /// The number of the line that comes next.
    pub line: u64,
}

/// Lines that were counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Those that are not blank.
    pub rows: usize,
    pub found: Found,
}

impl<'a> Line<'a> {
    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field, and whether it was in quotes.
    #[inline]
    pub fn field(&self, index: usize) -> Option<(Cow<'a, [u8]>, bool)> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)? + 1,
            None => self.begin,
        };
        let field = self.bytes.get(start..end)?;
        let Some(quote) = self.quote.filter(|it| field.first() == Some(it)) else {
            return Some((field.into(), false));
        };
        let inner = field.get(1..field.len().checked_sub(1)?)?;
        Some((single_quotes(inner, quote), true))
    }

    /// All of it, without its end.
    pub fn bytes(&self) -> &'a [u8] {
        let end = self.ends.last().copied().unwrap_or(self.begin);
        self.bytes.get(self.begin..end).unwrap_or_default()
    }
}

/// The text with one quote for two.
fn single_quotes(text: &[u8], quote: u8) -> Cow<'_, [u8]> {
    if memchr::memchr(quote, text).is_none() {
        return text.into();
    }
    let mut single = Vec::with_capacity(text.len());
    let mut is_second = false;
    for byte in text {
        is_second = *byte == quote && !is_second;
        if !is_second {
            single.push(*byte);
        }
    }
    single.into()
}

impl LineFinder {
    /// Finds lines of this form, if there are regular ones.
    pub fn new(form: &CsvForm, delimiter: u8) -> Option<LineFinder> {
        let marker = Marker::new(form, delimiter)?;
        Some(LineFinder { marker, line_bytes_max: form.line_bytes_max, ends: Vec::new() })
    }

    /// Gives the lines of `bytes`, which begin with line number `number`, to `take`, up to one
    /// that is not regular or whose end is not there, or until `take` has enough.
    pub fn find(
        &mut self,
        bytes: &[u8],
        number: u64,
        mut take: impl FnMut(&Line<'_>) -> Result<bool>,
    ) -> Result<Found> {
        self.marker.restart();
        self.ends.clear();
        let (quote, ends) = (self.marker.quote(), &mut self.ends);
        let mut found = Found { bytes: 0, line: number };
        // Ends of lines in quotes, of the line that is looked at.
        let mut inner_ends = 0;
        let end = self.marker.for_each(bytes, |begin, marks| {
            let mut stops = marks.stops & lower_bits(marks.odd);
            let mut inner = marks.inner_newlines;
            while stops != 0 {
                let bit = stops.trailing_zeros();
                let at = begin + bit as usize;
                stops &= stops - 1;
                if (marks.newlines | marks.returns) >> bit & 1 == 0 {
                    ends.push(at);
                    continue;
                }
                if at < found.bytes {
                    // The second byte of an end.
                    continue;
                }
                let mut next = at + 1;
                if marks.returns >> bit & 1 == 1 {
                    match bytes.get(next) {
                        Some(b'\n') => next += 1,
                        Some(_) => {}
                        None => return ControlFlow::Break(Ok(())),
                    }
                }
                if (at - found.bytes) as u64 >= self.line_bytes_max {
                    return ControlFlow::Break(Ok(()));
                }
                ends.push(at);
                let begin = found.bytes;
                let line = Line { number: found.line, bytes, begin, ends, quote };
                let goes_on = match take(&line) {
                    Ok(goes_on) => goes_on,
                    Err(error) => return ControlFlow::Break(Err(error)),
                };
                ends.clear();
                let passed = inner & ((1 << bit) - 1);
                inner &= !passed;
                let lines = 1 + std::mem::take(&mut inner_ends) + u64::from(passed.count_ones());
                found = Found { bytes: next, line: found.line + lines };
                if !goes_on {
                    return ControlFlow::Break(Ok(()));
                }
            }
            inner_ends += u64::from(inner.count_ones());
            if marks.odd == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(Ok(())) }
        });
        end.unwrap_or(Ok(()))?;
        Ok(found)
    }

    /// Counts the lines of `bytes` that have `width` fields, `rows_max` at most, up to a line that
    /// is not regular, has another number of fields, ends with a `\r` alone or may be too long, or
    /// whose end is not there. Blank lines are passed: `width` is at least 2.
    pub fn count(&mut self, bytes: &[u8], number: u64, width: usize, rows_max: usize) -> Counted {
        self.marker.restart();
        let mut counted = Counted { rows: 0, found: Found { bytes: 0, line: number } };
        // Delimiters of the line that is looked at, and ends of lines in quotes there.
        let (mut delimiters, mut inner_ends) = (0, 0);
        let line_bytes_max = self.line_bytes_max;
        let ends_with_return = self.marker.ends_with_return();
        self.marker.for_each(bytes, |begin, marks| {
            // A `\r` alone ends a line, too; of one that is the last byte, it is not known.
            let mut alone = marks.returns & !(marks.newlines >> 1);
            if bytes.get(begin + marks.count) == Some(&b'\n') {
                alone &= !(1 << (marks.count - 1));
            }
            let regular = lower_bits(marks.odd) & lower_bits(alone);
            let between = marks.stops & !(marks.newlines | marks.returns);
            let (mut newlines, mut passed) = (marks.newlines & regular, 0_u64);
            while newlines != 0 {
                let bit = newlines.trailing_zeros();
                newlines &= newlines - 1;
                // The bits of the line that ends here.
                let here = (u64::MAX >> (63 - bit)) & !passed;
                passed |= here;
                delimiters += (between & here).count_ones() as usize;
                inner_ends += u64::from((marks.inner_newlines & here).count_ones());
                let (at, line) = (begin + bit as usize, counted.found.bytes);
                let text = bytes.get(line..at).unwrap_or_default();
                let is_blank = text.is_empty() || text == b"\r" && ends_with_return;
                let fits = delimiters + 1 == width && (text.len() as u64) < line_bytes_max;
                if !(fits || is_blank) || counted.rows == rows_max {
                    return ControlFlow::Break(());
                }
                counted.rows += usize::from(!is_blank);
                counted.found = Found { bytes: at + 1, line: counted.found.line + 1 + inner_ends };
                (delimiters, inner_ends) = (0, 0);
            }
            delimiters += (between & !passed).count_ones() as usize;
            inner_ends += u64::from((marks.inner_newlines & !passed).count_ones());
            match regular == u64::MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        counted
    }
}

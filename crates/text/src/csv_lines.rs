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

/// How many rows lines have, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// How many rows there are.
    pub rows: usize,
    /// Their lines, and blank ones.
    pub found: Found,
}

/// How far lines were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of them.
    pub bytes: usize,
    /// The number of the line that comes next.
    pub line: u64,
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
                let is_return = marks.returns >> bit & 1 == 1;
                let Some(next) = behind_end(bytes, at, is_return) else {
                    return ControlFlow::Break(Ok(()));
                };
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

    /// Counts the rows of `bytes`, which begin with line number `number`: lines of `width` fields,
    /// at most `rows_max`. Passes over blank lines, unless they are rows of one field. Ends before
    /// a line of another number of fields, or one where [`LineFinder::find`] ends.
    pub fn count(&mut self, bytes: &[u8], number: u64, width: usize, rows_max: usize) -> Counted {
        self.marker.restart();
        let mut counted = Counted { rows: 0, found: Found { bytes: 0, line: number } };
        let line_bytes_max = self.line_bytes_max;
        // Delimiters, and ends of lines in quotes, of the line that is looked at.
        let (mut delimiters, mut inner_ends) = (0, 0);
        self.marker.for_each(bytes, |begin, marks| {
            let Counted { rows, found } = &mut counted;
            let all_ends = marks.newlines | marks.returns;
            let (mut left, mut inner) = (marks.stops & !all_ends, marks.inner_newlines);
            let mut ends = all_ends & lower_bits(marks.odd);
            while ends != 0 {
                let bit = ends.trailing_zeros();
                let at = begin + bit as usize;
                ends &= ends - 1;
                if at < found.bytes {
                    // The second byte of an end.
                    continue;
                }
                let is_return = marks.returns >> bit & 1 == 1;
                let Some(next) = behind_end(bytes, at, is_return) else {
                    return ControlFlow::Break(());
                };
                let before = (1 << bit) - 1;
                delimiters += (left & before).count_ones() as usize;
                let (is_blank, length) = (at == found.bytes, (at - found.bytes) as u64);
                let is_row = delimiters + 1 == width;
                if !(is_row || is_blank) || length >= line_bytes_max {
                    return ControlFlow::Break(());
                }
                *rows += usize::from(is_row);
                inner_ends += u64::from((inner & before).count_ones());
                *found = Found { bytes: next, line: found.line + 1 + inner_ends };
                (left, inner) = (left & !before, inner & !before);
                (delimiters, inner_ends) = (0, 0);
                if *rows == rows_max {
                    return ControlFlow::Break(());
                }
            }
            delimiters += left.count_ones() as usize;
            inner_ends += u64::from(inner.count_ones());
            if marks.odd == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        counted
    }
}
/// Where the next line begins, behind an end at `at`: `\n`, `\r` or both; `None` if what follows a
/// `\r` is not there.
#[inline]
fn behind_end(bytes: &[u8], at: usize, is_return: bool) -> Option<usize> {
    let next = at + 1;
    if !is_return {
        return Some(next);
    }
    bytes.get(next).map(|it| next + usize::from(*it == b'\n'))
}

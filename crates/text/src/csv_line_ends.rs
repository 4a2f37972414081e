//! Finds the ends of CSV lines without splitting the lines: by the last `\n` if there are no
//! quotes, else by the quoted ranges, and byte by byte after an irregular line.

use crate::{
    csv_marks::{Marker, lower_bits},
    csv_options::CsvForm,
    csv_split::Splitter,
};
use bytes::Bytes;
use memchr::{memchr, memchr_iter, memrchr};
use std::ops::ControlFlow;

/// Finds the last end of a line of each piece of a file.
#[derive(Debug)]
pub(crate) struct LineEnds {
    form: CsvForm,
    delimiter: u8,
    marker: Marker,
    /// The number of the line that comes next.
    line: u64,
    /// Ends of lines in quotes, behind the last end that was found.
    inner: u64,
    /// Whether a `\r` came last, which is an end if no `\n` follows.
    is_after_return: bool,
    /// Goes through an irregular line.
    splitter: Option<Splitter>,
}

/// What a piece has.
enum Scan {
    /// Behind the last end of a line.
    Cut(usize),
    /// No end.
    Nothing,
    /// An irregular line, before any end.
    Irregular,
}

impl LineEnds {
    /// For lines of this form; `None`: where they end cannot be told without splitting them.
    pub fn new(form: &CsvForm, delimiter: u8) -> Option<LineEnds> {
        Some(LineEnds {
            marker: Marker::new(form, delimiter)?,
            form: form.clone(),
            delimiter,
            line: 1,
            inner: 0,
            is_after_return: false,
            splitter: None,
        })
    }

    /// Begins with line number `line`.
    pub fn begin(&mut self, line: u64) {
        self.line = line;
        self.begin_line();
    }

    /// The number of the line behind the last end that was found.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Where the last end of a line in `piece` is, behind its last byte. `before`: the pieces since
    /// the last end that was found; what is behind it comes next.
    pub fn find<'b>(
        &mut self,
        before: impl IntoIterator<Item = &'b Bytes>,
        piece: &[u8],
    ) -> Option<usize> {
        if self.splitter.is_none() {
            match self.scan(piece) {
                Scan::Cut(end) => {
                    self.begin_line();
                    return Some(end);
                }
                Scan::Nothing => return None,
                Scan::Irregular => {}
            }
        }
        self.split(before, piece)
    }

    fn begin_line(&mut self) {
        self.marker.restart();
        (self.inner, self.is_after_return, self.splitter) = (0, false, None);
    }

    /// Goes through the bytes one by one.
    fn split<'b>(
        &mut self,
        before: impl IntoIterator<Item = &'b Bytes>,
        piece: &[u8],
    ) -> Option<usize> {
        let splitter = self.splitter.get_or_insert_with(|| {
            let mut splitter = Splitter::new(&self.form, self.delimiter, self.line);
            for bytes in before {
                // No line ends there, but by a `\r`, which counts as one when it is known.
                let mut rest = &**bytes;
                while !rest.is_empty() {
                    let (count, _) = splitter.push(rest);
                    rest = rest.get(count..).unwrap_or_default();
                }
            }
            splitter
        });
        let (mut at, mut cut) = (0, None);
        while at < piece.len() {
            at += splitter.push(piece.get(at..).unwrap_or_default()).0;
            let mut end = at;
            if splitter.is_after_return() {
                match piece.get(at) {
                    Some(b'\n') => end += 1,
                    Some(_) => {}
                    None => break,
                }
            }
            if splitter.has_line() {
                cut = Some((end, splitter.line()));
            }
        }
        let (end, line) = cut?;
        self.line = line;
        self.begin_line();
        Some(end)
    }

    fn scan(&mut self, piece: &[u8]) -> Scan {
        let marker = &mut self.marker;
        let has_quote = marker.quote().is_some_and(|it| memchr(it, piece).is_some());
        let has_return = marker.ends_with_return() && memchr(b'\r', piece).is_some();
        if has_quote || has_return || self.is_after_return || !marker.is_outside() {
            return self.scan_marks(piece);
        }
        marker.pass(piece.last().copied().unwrap_or_default());
        let Some(last) = memrchr(b'\n', piece) else { return Scan::Nothing };
        let ends = memchr_iter(b'\n', piece.get(..=last).unwrap_or_default()).count();
        self.line += self.inner + ends as u64;
        Scan::Cut(last + 1)
    }

    fn scan_marks(&mut self, piece: &[u8]) -> Scan {
        // Ends of lines that are passed, and up to the last cut.
        let (mut passed, mut cut) = (self.inner, None);
        if std::mem::take(&mut self.is_after_return) {
            let is_one = piece.first() == Some(&b'\n');
            passed += u64::from(!is_one);
        }
        let mut is_irregular = false;
        let is_after_return = &mut self.is_after_return;
        self.marker.for_each(piece, |begin, marks| {
            let mut ends = marks.newlines | marks.returns & !(marks.newlines >> 1);
            let last = marks.count - 1;
            if marks.returns >> last & 1 == 1 {
                let next = piece.get(begin + marks.count);
                *is_after_return = next.is_none();
                if next.is_none_or(|it| *it == b'\n') {
                    ends &= !(1 << last);
                }
            }
            ends &= lower_bits(marks.odd);
            let all = ends | marks.inner_newlines;
            if let Some(bit) = ends.checked_ilog2() {
                let here = all & (u64::MAX >> (63 - bit));
                cut = Some((begin + bit as usize + 1, passed + u64::from(here.count_ones())));
            }
            passed += u64::from(all.count_ones());
            is_irregular = marks.odd != 0;
            if is_irregular { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Some((end, lines)) = cut else {
            self.inner = passed;
            return if is_irregular { Scan::Irregular } else { Scan::Nothing };
        };
        self.line += lines;
        Scan::Cut(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewLine;

    /// The lines of pieces that begin with a line, with their numbers.
    fn lines_of<'p>(
        form: &CsvForm,
        line: u64,
        pieces: impl IntoIterator<Item = &'p Bytes>,
    ) -> Vec<String> {
        let mut splitter = Splitter::new(form, b',', 1);
        splitter.pass_to_line(line);
        let mut lines = Vec::new();
        let shown = |it: &Splitter| {
            let record = it.record();
            let fields: Vec<_> = record.fields().collect();
            format!("{} {:?} {fields:?}", record.line, record.wrong)
        };
        for piece in pieces {
            let mut rest = &**piece;
            while !rest.is_empty() {
                let (count, is_complete) = splitter.push(rest);
                rest = &rest[count..];
                lines.extend(is_complete.then(|| shown(&splitter)));
            }
        }
        lines.extend(splitter.finish().then(|| shown(&splitter)));
        lines
    }

    #[test]
    fn chunks_have_the_lines_of_the_file() {
        let mut random = fastrand::Rng::with_seed(2);
        let words: [&[u8]; 11] =
            [b"a", b"bc", b",", b"\n", b"\n", b"\r\n", b"\r", b"\"q,\n\"", b"\"\"", b"\"", b"#"];
        let (mut cuts, mut irregular) = (0, 0);
        for round in 0..20_000 {
            let known = [words.len(), 9, 5][round % 3];
            let text = (0..random.usize(..150)).flat_map(|_| words[random.usize(..known)].to_vec());
            let text: Vec<u8> = text.collect();
            let form = CsvForm {
                new_line: if random.bool() { NewLine::Any } else { NewLine::Lf },
                quote: (random.u8(..4) > 0).then_some(b'"'),
                ..CsvForm::default()
            };
            let whole = Bytes::from(text);
            let expected = lines_of(&form, 1, [&whole]);
            let size = [1, 2, 7, 64, 100, 200][random.usize(..6)];
            let mut pieces = whole.chunks(size).map(Bytes::copy_from_slice);
            let mut ends = LineEnds::new(&form, b',').unwrap();
            let (mut lines, mut chunk, mut rest) = (Vec::new(), Vec::new(), Bytes::new());
            loop {
                let line = ends.line();
                let next = Some(rest.split_off(0)).filter(|it| !it.is_empty());
                let Some(mut piece) = next.or_else(|| pieces.next()) else {
                    lines.extend(lines_of(&form, line, &chunk));
                    break;
                };
                let cut = ends.find(&chunk, &piece);
                irregular += usize::from(ends.splitter.is_some());
                if let Some(end) = cut {
                    rest = piece.split_off(end);
                }
                chunk.push(piece);
                if cut.is_some() {
                    cuts += 1;
                    lines.extend(lines_of(&form, line, &chunk));
                    chunk.clear();
                }
            }
            assert_eq!(lines, expected, "{:?} {form:?} {size}", String::from_utf8_lossy(&whole));
        }
        assert!(cuts > 100_000 && irregular > 1000, "{cuts} {irregular}");
    }
}

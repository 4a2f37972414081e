//! Bitmaps of delimiters, quotes and line ends, 64 bytes at a time.

use crate::csv_options::{CsvForm, NewLine};
use std::ops::ControlFlow;
use volley_kernels::bytes::{find_bytes, odd_bits};

/// Bytes that are marked together.
const BLOCK: usize = 64;

/// Blocks in which bytes are searched together.
const BATCH: usize = 32;

/// Goes over bytes that begin with a line, block by block.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    delimiter: u8,
    quote: Option<u8>,
    ends_with_return: bool,
    /// All bits when the next byte is in quotes.
    inside: u64,
    /// Whether the next byte begins a field.
    is_start: bool,
    /// Whether the next byte is behind a closing quote.
    is_closed: bool,
}

/// What the bytes of a block mean; a bit for each, the lowest one for the first.
pub(crate) struct Marks {
    /// How many bytes there are.
    pub count: usize,
    /// Delimiters and ends of lines.
    pub stops: u64,
    /// `\n` that end lines.
    pub newlines: u64,
    /// `\r` that end lines, alone or with a `\n`.
    pub returns: u64,
    /// `\n` in quotes.
    pub inner_newlines: u64,
    /// Where quotes are not around a field, so that what follows may mean something else.
    pub odd: u64,
}

impl Marker {
    /// Marks lines of this form; `None`: they take a closer look, byte for byte.
    pub fn new(form: &CsvForm, delimiter: u8) -> Option<Marker> {
        let is_plain =
            form.comment.is_none() && (form.escape.is_none() || form.escape == form.quote);
        let ends_with_return = match form.new_line {
            NewLine::Any => true,
            NewLine::Lf => false,
            NewLine::Cr | NewLine::CrLf => return None,
        };
        let has_meaning = |it: u8| matches!(it, b'\n' | b'\r') || Some(it) == form.quote;
        let is_clear =
            !has_meaning(delimiter) && form.quote.is_none_or(|it| !matches!(it, b'\n' | b'\r'));
        (is_plain && is_clear).then_some(Marker {
            delimiter,
            quote: form.quote,
            ends_with_return,
            inside: 0,
            is_start: true,
            is_closed: false,
        })
    }

    /// What stands around fields.
    pub fn quote(&self) -> Option<u8> {
        self.quote
    }

    /// Whether `\r` ends lines, too.
    pub fn ends_with_return(&self) -> bool {
        self.ends_with_return
    }

    /// Whether the next byte is not in quotes.
    pub fn is_outside(&self) -> bool {
        self.inside == 0
    }

    /// Begins a line.
    pub fn restart(&mut self) {
        (self.inside, self.is_start, self.is_closed) = (0, true, false);
    }

    /// Passes over bytes of which none is a quote, and the last one is `last`.
    pub fn pass(&mut self, last: u8) {
        let is_end = last == b'\n' || last == b'\r' && self.ends_with_return;
        self.is_start = last == self.delimiter || is_end;
        self.is_closed = false;
    }

    /// Gives the marks of each block of `bytes`, and where it begins, to `take`, until that breaks;
    /// what it breaks with. What `take` does not see has to be passed again, from the beginning
    /// of a
    /// line on.
    #[inline]
    pub fn for_each<B>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(usize, Marks) -> ControlFlow<B>,
    ) -> Option<B> {
        let wanted = [b'\n', self.delimiter, b'\r', self.quote.unwrap_or(b'\n')];
        let mut found = [[0; 4]; BATCH];
        let (blocks, tail) = bytes.as_chunks::<BLOCK>();
        let mut begin = 0;
        for batch in blocks.chunks(BATCH) {
            find_bytes(batch, &wanted, &mut found);
            for found in found.iter().take(batch.len()) {
                if let ControlFlow::Break(end) = take(begin, self.mark(found, BLOCK)) {
                    return Some(end);
                }
                begin += BLOCK;
            }
        }
        if tail.is_empty() {
            return None;
        }
        let mut block = [0; BLOCK];
        block.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        find_bytes(&[block], &wanted, &mut found);
        take(begin, self.mark(&found[0], tail.len())).break_value()
    }

    /// Takes what was found in the first `count` bytes of a block, at least one.
    #[inline]
    fn mark(&mut self, found: &[u64; 4], count: usize) -> Marks {
        let last = count.clamp(1, BLOCK) - 1;
        let here = u64::MAX >> (BLOCK - 1 - last);
        let [newlines, delimiters, returns, quotes] = found.map(|it| it & here);
        let returns = if self.ends_with_return { returns } else { 0 };
        let quotes = if self.quote.is_some() { quotes } else { 0 };
        let inside = odd_bits(quotes) ^ self.inside;
        let stops = (newlines | delimiters | returns) & !inside;
        let (opening, closing) = (quotes & inside, quotes & !inside);
        let starts = stops << 1 | u64::from(self.is_start);
        let closed = closing << 1 | u64::from(self.is_closed);
        // A quote that opens right behind one that closes is one of two that stand for a quote.
        let odd = opening & !(starts | closed) | closed & here & !(stops | opening);
        self.is_start = stops >> last & 1 == 1;
        self.is_closed = closing >> last & 1 == 1;
        self.inside = if inside >> last & 1 == 1 { u64::MAX } else { 0 };
        Marks {
            count: last + 1,
            stops,
            newlines: newlines & !inside,
            returns: returns & !inside,
            inner_newlines: newlines & inside,
            odd,
        }
    }
}

/// The bits below the lowest one of `bits`; all when there is none.
pub(crate) fn lower_bits(bits: u64) -> u64 {
    (bits & bits.wrapping_neg()).wrapping_sub(1)
}

//! Bits of rows.

use super::{ALL, BITS, CLEAR, NONE, RUNS, SET};
use crate::{
    VECTOR_ROWS,
    input::{Input, corruption},
    vectors::{rows_of, split},
};
use arrow_buffer::{BooleanBuffer, Buffer};
use std::ops::Range;
use volley_error::Result;

const WORDS: usize = VECTOR_ROWS / 64;

/// Bits of a column.
pub(crate) struct Bits {
    rows: usize,
    vectors: Vec<VectorBits>,
}

struct VectorBits {
    form: u8,
    bytes: Buffer,
}

impl Bits {
    /// Reads the bits of `rows` rows and checks them.
    pub(crate) fn open(input: &mut Input, rows: usize) -> Result<Bits> {
        let count = rows.div_ceil(VECTOR_ROWS);
        let forms = input.take(count)?;
        let lengths = input.integers::<u16>(count)?;
        let mut vectors = Vec::with_capacity(count);
        for (index, (form, length)) in forms.iter().zip(lengths).enumerate() {
            let len = rows_of(index, rows);
            let bytes = match *form {
                NONE | ALL => 0,
                BITS => len.div_ceil(8),
                _ => usize::from(length) * size_of::<u16>(),
            };
            let vector = VectorBits { form: *form, bytes: input.take(bytes)? };
            vector.check(len, usize::from(length))?;
            vectors.push(vector);
        }
        Ok(Bits { rows, vectors })
    }

    /// Whether every bit of the rows is set, as far as that is known without looking at bits.
    pub(crate) fn is_all(&self, rows: Range<usize>) -> bool {
        split(rows).all(|(index, _)| self.vectors.get(index).is_some_and(|it| it.form == ALL))
    }

    /// The bits of rows, or of positions in them.
    pub(crate) fn read(&self, rows: Range<usize>, pick: Option<&[u32]>) -> BooleanBuffer {
        let first = rows.start / VECTOR_ROWS * VECTOR_ROWS;
        let mut words = Vec::with_capacity(rows.len() / 64 + WORDS);
        for (index, _) in split(rows.clone()) {
            let len = rows_of(index, self.rows);
            words.extend(self.vectors.get(index).map_or([0; WORDS], |it| it.words(len)));
        }
        if rows.is_empty() {
            return BooleanBuffer::new_unset(0);
        }
        let bits = BooleanBuffer::new(Buffer::from_vec(words), rows.start - first, rows.len());
        match pick {
            None => bits,
            Some(pick) => {
                BooleanBuffer::collect_bool(pick.len(), |at| bits.value(pick[at] as usize))
            }
        }
    }
}

impl VectorBits {
    fn check(&self, len: usize, length: usize) -> Result<()> {
        let ascends = |may_end: bool| {
            let beyond = if may_end { len + 1 } else { len };
            self.numbers().is_sorted_by(|a, b| a < b) && self.numbers().all(|it| it < beyond)
        };
        let is_valid = match self.form {
            NONE | ALL | BITS => length == 0,
            SET | CLEAR => ascends(false),
            RUNS => ascends(true) && self.numbers().last() == Some(len),
            _ => false,
        };
        if is_valid { Ok(()) } else { Err(corruption("bits of a vector")) }
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.bytes.as_chunks().0.iter().map(|it| usize::from(u16::from_le_bytes(*it)))
    }

    fn words(&self, len: usize) -> [u64; WORDS] {
        match self.form {
            NONE => [0; WORDS],
            ALL => ones(0..len),
            SET => self.positions(),
            CLEAR => {
                let (mut words, clear) = (ones(0..len), self.positions());
                words.iter_mut().zip(clear).for_each(|(word, clear)| *word &= !clear);
                words
            }
            BITS => self.bits(len),
            _ => self.runs(),
        }
    }

    fn positions(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        self.numbers().for_each(|row| words[row / 64 % WORDS] |= 1 << (row % 64));
        words
    }

    fn bits(&self, len: usize) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(self.bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded);
        }
        words.iter_mut().zip(ones(0..len)).for_each(|(word, valid)| *word &= valid);
        words
    }

    fn runs(&self) -> [u64; WORDS] {
        let (mut words, mut start, mut is_set) = ([0; WORDS], 0, false);
        for end in self.numbers() {
            if is_set {
                words.iter_mut().zip(ones(start..end)).for_each(|(word, run)| *word |= run);
            }
            (start, is_set) = (end, !is_set);
        }
        words
    }
}

/// Words whose bits are set in a range.
fn ones(range: Range<usize>) -> [u64; WORDS] {
    let below = |end: usize, word: usize| match end.saturating_sub(word * 64) {
        0 => 0,
        bits @ 1..64 => (1u64 << bits) - 1,
        _ => u64::MAX,
    };
    std::array::from_fn(|word| below(range.end, word) & !below(range.start, word))
}

//! A set of rows: the active rows of an expression or function.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use std::sync::Arc;
use volley_kernels::gather::{SET_BITS_ROOM, set_bits};

/// A subset of the rows `0..len`.
///
/// A bitmap with the range that holds all set bits; when all rows in that range are selected,
/// loops run over the plain range. Clones share the bitmap until one is changed.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Bit `i % 64` of word `i / 64` is row `i`. Bits outside `begin..end` are clear.
    words: Arc<Vec<u64>>,
    len: usize,
    begin: usize,
    end: usize,
    /// Set bits.
    count: usize,
}

impl Rows {
    /// All rows of `0..len`.
    pub fn all(len: usize) -> Rows {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if !len.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = (1 << (len % 64)) - 1;
        }
        Rows { words: words.into(), len, begin: 0, end: len, count: len }
    }

    /// None of the rows of `0..len`.
    pub fn none(len: usize) -> Rows {
        Rows { words: vec![0; len.div_ceil(64)].into(), len, begin: 0, end: 0, count: 0 }
    }

    /// The given rows.
    ///
    /// # Panics
    ///
    /// If one is not below `len`.
    pub fn from_indices(len: usize, rows: impl IntoIterator<Item = usize>) -> Rows {
        let mut words = vec![0; len.div_ceil(64)];
        for row in rows {
            assert!(row < len, "row beyond the set");
            words[row / 64] |= 1 << (row % 64);
        }
        Rows::from_words(words, len)
    }

    /// The rows whose bit is set.
    pub fn from_bits(bits: &BooleanBuffer) -> Rows {
        let mut words: Vec<u64> = bits.bit_chunks().iter_padded().collect();
        words.truncate(bits.len().div_ceil(64));
        Rows::from_words(words, bits.len())
    }

    /// The rows of a bitmap of 64-bit words; bits from `len` on must be clear.
    pub fn from_words(words: Vec<u64>, len: usize) -> Rows {
        debug_assert_eq!(words.len(), len.div_ceil(64));
        let mut rows = Rows { words: words.into(), len, begin: 0, end: 0, count: 0 };
        rows.recount();
        rows
    }

    /// The words, apart from those of clones.
    fn words_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        Arc::make_mut(&mut self.words).iter_mut()
    }

    fn recount(&mut self) {
        self.count = self.words.iter().map(|it| it.count_ones() as usize).sum();
        let first = self.words.iter().position(|it| *it != 0);
        let last = self.words.iter().rposition(|it| *it != 0);
        (self.begin, self.end) = match (first, last) {
            (Some(first), Some(last)) => (
                first * 64 + self.words[first].trailing_zeros() as usize,
                last * 64 + 64 - self.words[last].leading_zeros() as usize,
            ),
            _ => (0, 0),
        };
    }

    /// The number of rows that could be selected.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of selected rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether every row of `0..len` is selected.
    pub fn is_all(&self) -> bool {
        self.count == self.len
    }

    /// The first selected row.
    pub fn begin(&self) -> usize {
        self.begin
    }

    /// One past the last selected row.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The bitmap.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether `row` is selected.
    #[inline]
    pub fn contains(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// Calls `f` for each selected row, ascending.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(usize)) {
        if self.count == self.end - self.begin {
            for row in self.begin..self.end {
                f(row);
            }
            return;
        }
        for (index, &word) in self.words.iter().enumerate() {
            if word == u64::MAX {
                for row in index * 64..index * 64 + 64 {
                    f(row);
                }
                continue;
            }
            let mut rest = word;
            while rest != 0 {
                f(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// Calls `f` for each selected row, ascending, until it fails.
    #[inline]
    pub fn try_for_each<E>(&self, mut f: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        if self.count == self.end - self.begin {
            for row in self.begin..self.end {
                f(row)?;
            }
            return Ok(());
        }
        for (index, &word) in self.words.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                f(index * 64 + rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
            }
        }
        Ok(())
    }

    /// The selected rows, ascending, as indices.
    pub fn to_indices(&self) -> Vec<u32> {
        if self.count == self.end - self.begin {
            return (self.begin as u32..self.end as u32).collect();
        }
        let mut indices = Vec::with_capacity(self.count + SET_BITS_ROOM);
        set_bits(&self.words, &mut indices);
        indices
    }

    /// The set as a bitmap of `len` bits.
    pub fn to_bits(&self) -> BooleanBuffer {
        BooleanBuffer::new(Buffer::from_vec(self.words.to_vec()), 0, self.len)
    }

    /// Keeps the rows that are in `other`, too.
    pub fn intersect(&mut self, other: &Rows) {
        debug_assert_eq!(self.len, other.len);
        self.words_mut().zip(&*other.words).for_each(|(a, b)| *a &= b);
        self.recount();
    }

    /// Adds the rows of `other`.
    pub fn union(&mut self, other: &Rows) {
        debug_assert_eq!(self.len, other.len);
        self.words_mut().zip(&*other.words).for_each(|(a, b)| *a |= b);
        self.recount();
    }

    /// Drops the rows of `other`.
    pub fn subtract(&mut self, other: &Rows) {
        debug_assert_eq!(self.len, other.len);
        self.words_mut().zip(&*other.words).for_each(|(a, b)| *a &= !b);
        self.recount();
    }

    /// Drops the rows that `nulls` marks null.
    pub fn subtract_nulls(&mut self, nulls: &NullBuffer) {
        debug_assert_eq!(self.len, nulls.len());
        let valid = nulls.inner().bit_chunks();
        self.words_mut().zip(valid.iter_padded()).for_each(|(a, b)| *a &= b);
        self.recount();
    }
}

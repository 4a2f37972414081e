//! From keys to words.
//!
//! ```text
//! exact   all keys are integers whose ranges multiply to at most 2^64:
//!         word = (key1 - min1) + range1 * ((key2 - min2) + range2 * ...)
//!         with null as one more value where nulls are equal
//! hash    word = hash of all keys; equal words must be compared
//! ```

use super::key_range::KeyRange;
use volley_error::Result;
use volley_types::match_integer;
use volley_vector::{Decoded, NullBuffer, Values, Vector, hash_columns};

/// How keys become words.
#[derive(Debug)]
pub(super) enum KeyWords {
    /// Different keys have different words.
    Exact {
        columns: Vec<ExactColumn>,
        /// Words are below this.
        words: u128,
    },
    /// Words are hashes, of which these bits count.
    Hash { mask: u64 },
}

/// One key of an exact word.
#[derive(Debug)]
pub(super) struct ExactColumn {
    min: i64,
    /// How many values it may have, without null.
    values: u64,
    /// What one step of its value adds to the word.
    stride: u64,
    nulls_equal: bool,
}

/// The words of the rows of a batch that may match.
#[derive(Debug, Default)]
pub struct Words {
    /// One per row of `rows`.
    pub(super) words: Vec<u64>,
    /// Ascending.
    pub(super) rows: Vec<u32>,
    /// Scratch: whether a row may match.
    may_match: Vec<bool>,
}

impl KeyWords {
    /// Chooses how keys become words. `ranges`: one per key, `None` where it has none; `mask`: the
    /// bits of hashes that count.
    pub(super) fn choose(ranges: &[Option<KeyRange>], nulls_equal: &[bool], mask: u64) -> KeyWords {
        let hash = KeyWords::Hash { mask };
        let mut columns = Vec::new();
        let mut words = 1u128;
        for (range, nulls_equal) in ranges.iter().zip(nulls_equal) {
            let Some(range) = range else { return hash };
            let stride = words as u64;
            let Ok(values) = u64::try_from(range.len()) else { return hash };
            let count = u128::from(values) + u128::from(*nulls_equal);
            words = match words.checked_mul(count.max(1)) {
                Some(words) if words <= u128::from(u64::MAX) => words,
                _ => return hash,
            };
            columns.push(ExactColumn { min: range.min, values, stride, nulls_equal: *nulls_equal });
        }
        KeyWords::Exact { columns, words }
    }

    /// The number of different words, when they are exact.
    pub(super) fn count(&self) -> Option<u128> {
        match self {
            KeyWords::Exact { words, .. } => Some(*words),
            KeyWords::Hash { .. } => None,
        }
    }

    /// Whether rows with equal words have equal keys.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, KeyWords::Exact { .. })
    }

    /// Computes the words of `rows` rows. Rows that cannot match are left out: a null key where
    /// nulls are not equal, or a value outside the ranges.
    ///
    /// # Errors
    ///
    /// What a lazy key's loader reports.
    pub(super) fn words(
        &self,
        keys: &[Vector],
        nulls_equal: &[bool],
        rows: usize,
        out: &mut Words,
    ) -> Result<()> {
        out.words.clear();
        out.words.resize(rows, 0);
        out.may_match.clear();
        out.may_match.resize(rows, true);
        match self {
            KeyWords::Exact { columns, .. } => {
                for (column, key) in columns.iter().zip(keys) {
                    column.add(&Decoded::new(key)?, &mut out.words, &mut out.may_match);
                }
            }
            KeyWords::Hash { mask } => {
                hash_words(keys, &mut out.words, *mask)?;
                for (key, _) in keys.iter().zip(nulls_equal).filter(|(_, equal)| !**equal) {
                    if let Some(nulls) = Decoded::new(key)?.nulls() {
                        exclude_nulls(&nulls, &mut out.may_match);
                    }
                }
            }
        }
        out.compact();
        Ok(())
    }
}

/// Writes the hash of each row's keys to `words`, the bits of `mask` alone.
///
/// # Errors
///
/// What a lazy key's loader reports.
pub(super) fn hash_words(keys: &[Vector], words: &mut [u64], mask: u64) -> Result<()> {
    hash_columns(keys, words)?;
    if mask != u64::MAX {
        words.iter_mut().for_each(|it| *it &= mask);
    }
    Ok(())
}

impl ExactColumn {
    /// Adds the column's part to the words of its rows, and clears `may_match` for values outside
    /// the range.
    pub(super) fn add(&self, key: &Decoded, words: &mut [u64], may_match: &mut [bool]) {
        match key.values() {
            Values::Null(_) => {
                may_match.iter_mut().for_each(|it| *it &= self.nulls_equal);
                let null = self.values.wrapping_mul(self.stride);
                words.iter_mut().for_each(|it| *it = it.wrapping_add(null));
            }
            Values::Boolean(bits) => {
                self.add_values(key, words, may_match, |index| i64::from(bits.value(index)));
            }
            values => match_integer!(values.physical(), T => {
                let values = values.native::<T>().unwrap_or(&[]);
                self.add_values(key, words, may_match, |index| values[index] as i64);
            }, else may_match.fill(false)),
        }
    }

    #[inline]
    fn add_values(
        &self,
        key: &Decoded,
        words: &mut [u64],
        may_match: &mut [bool],
        value: impl Fn(usize) -> i64,
    ) {
        let add = |(word, may_match): (&mut u64, &mut bool), value: i64| {
            let distance = (value as u64).wrapping_sub(self.min as u64);
            *may_match &= distance < self.values;
            *word = word.wrapping_add(distance.wrapping_mul(self.stride));
        };
        let pairs = words.iter_mut().zip(may_match.iter_mut());
        if let Some(nulls) = key.nulls() {
            for (row, (word, may_match)) in pairs.enumerate() {
                if nulls.is_valid(row) {
                    add((word, may_match), value(key.index(row)));
                } else {
                    *may_match &= self.nulls_equal;
                    *word = word.wrapping_add(self.values.wrapping_mul(self.stride));
                }
            }
            return;
        }
        match key.indices() {
            volley_vector::Indices::Identity => {
                pairs.enumerate().for_each(|(row, pair)| add(pair, value(row)));
            }
            volley_vector::Indices::Constant(index) => {
                let value = value(*index as usize);
                pairs.for_each(|pair| add(pair, value));
            }
            volley_vector::Indices::Codes(codes) => {
                pairs.zip(codes.iter()).for_each(|(pair, code)| add(pair, value(*code as usize)));
            }
        }
    }
}

impl Words {
    /// Drops the rows that cannot match.
    fn compact(&mut self) {
        self.rows.resize(self.words.len(), 0);
        let mut count = 0;
        for row in 0..self.words.len() {
            self.rows[count] = row as u32;
            self.words[count] = self.words[row];
            count += usize::from(self.may_match[row]);
        }
        self.rows.truncate(count);
        self.words.truncate(count);
    }
}

fn exclude_nulls(nulls: &NullBuffer, may_match: &mut [bool]) {
    for (row, may_match) in may_match.iter_mut().enumerate() {
        *may_match &= nulls.is_valid(row);
    }
}

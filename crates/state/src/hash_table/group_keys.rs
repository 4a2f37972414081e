//! From the keys of groups to words, chosen and changed as data comes.
//!
//! ```text
//! exact   keys are integers, or strings of which there are few: those become ids
//! hash    other types, too large ranges, or too many strings
//! ```
//!
//! Ranges begin as those of the first batch. When a batch leaves them they grow, by half of their
//! length to either side, so that they are changed a logarithmic number of times; each time all
//! words change.

use super::{
    key_range::KeyRange,
    key_words::{KeyWords, hash_words},
    string_ids::{StringIds, TooMany},
};
use crate::StateSizes;
use volley_error::Result;
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Ids for strings have at least this range.
const STRING_IDS_MIN: usize = 16;

/// How the keys of a set of groups become words.
#[derive(Debug)]
pub(super) struct GroupKeys {
    keys: KeyWords,
    /// Meaningful while words are exact.
    columns: Vec<KeyColumn>,
    /// Scratch of the words' computation.
    in_range: Vec<bool>,
    /// Whether ids of strings were given up.
    has_many_strings: bool,
    sizes: StateSizes,
}

#[derive(Debug)]
struct KeyColumn {
    range: KeyRange,
    strings: Option<StringIds>,
}

/// What a batch did to the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordsChange {
    /// Nothing.
    Same,
    /// All words are different now.
    All,
}

impl GroupKeys {
    /// For keys of `types`, as compared.
    pub(super) fn new(types: &[Type], sizes: StateSizes) -> GroupKeys {
        let is_possible = |it: &Type| it.is_string() || KeyRange::is_known_for(it.physical());
        let mut keys = GroupKeys::hashed(sizes);
        if types.iter().all(is_possible) {
            keys.columns = types.iter().map(|it| KeyColumn::new(it, sizes)).collect();
            keys.choose();
        }
        keys
    }

    fn hashed(sizes: StateSizes) -> GroupKeys {
        let (columns, in_range) = (Vec::new(), Vec::new());
        let keys = KeyWords::Hash { mask: sizes.hash_mask };
        GroupKeys { keys, columns, in_range, has_many_strings: false, sizes }
    }

    /// For another set of groups of the same keys, of `types`.
    pub(super) fn anew(&self, types: &[Type]) -> GroupKeys {
        match self.has_many_strings {
            true => GroupKeys { has_many_strings: true, ..GroupKeys::hashed(self.sizes) },
            false => GroupKeys::new(types, self.sizes),
        }
    }

    /// Whether groups with equal words have equal keys.
    pub(super) fn is_exact(&self) -> bool {
        self.keys.is_exact()
    }

    /// The number of different words, when they are exact.
    pub(super) fn count(&self) -> Option<u128> {
        self.keys.count()
    }

    /// Makes room for the keys of a batch and computes their words.
    ///
    /// # Errors
    ///
    /// What a lazy key's loader reports.
    pub(super) fn words(
        &mut self,
        keys: &[Vector],
        words: &mut Vec<u64>,
        rows: usize,
    ) -> Result<WordsChange> {
        words.clear();
        words.resize(rows, 0);
        let mut change = WordsChange::Same;
        if self.keys.is_exact() {
            change = self.exact_words(keys, words)?;
        }
        if !self.keys.is_exact() {
            hash_words(keys, words, self.sizes.hash_mask)?;
        }
        Ok(change)
    }

    /// Computes exact words, or gives them up.
    fn exact_words(&mut self, keys: &[Vector], words: &mut [u64]) -> Result<WordsChange> {
        let mut ids = Vec::with_capacity(keys.len());
        let mut fits = true;
        for (column, key) in self.columns.iter_mut().zip(keys) {
            match column.integers_of(key)? {
                Ok(integers) => ids.push(integers),
                Err(TooMany) => {
                    self.keys = KeyWords::Hash { mask: self.sizes.hash_mask };
                    self.has_many_strings = true;
                    return Ok(WordsChange::All);
                }
            }
        }
        let ids = ids.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        for (column, ids) in self.columns.iter_mut().zip(&ids) {
            fits &= column.make_room(ids);
        }
        let change = if fits { WordsChange::Same } else { WordsChange::All };
        if !fits {
            self.choose();
        }
        if let KeyWords::Exact { columns, .. } = &self.keys {
            self.in_range.clear();
            self.in_range.resize(words.len(), true);
            for (column, ids) in columns.iter().zip(&ids) {
                column.add(ids, words, &mut self.in_range);
            }
            debug_assert!(self.in_range.iter().all(|it| *it), "room was made");
        }
        Ok(change)
    }

    fn choose(&mut self) {
        let ranges: Vec<_> = self.columns.iter().map(|it| Some(it.range)).collect();
        self.keys = KeyWords::choose(&ranges, &vec![true; ranges.len()], self.sizes.hash_mask);
    }
}

impl KeyColumn {
    fn new(data_type: &Type, sizes: StateSizes) -> KeyColumn {
        let strings = || StringIds::new(sizes.key_strings);
        KeyColumn { range: KeyRange::EMPTY, strings: data_type.is_string().then(strings) }
    }

    /// The column as integers: itself, or the ids of its strings.
    fn integers_of(&mut self, key: &Vector) -> Result<Result<Vector, TooMany>> {
        match &mut self.strings {
            Some(strings) => Ok(strings.ids_of(key, &Decoded::new(key)?)),
            None => Ok(Ok(key.clone())),
        }
    }

    /// Whether all values are within the range; makes it larger when not.
    fn make_room(&mut self, integers: &Decoded) -> bool {
        if let Some(strings) = &self.strings {
            let fits = (strings.len() as i64) <= self.range.max.saturating_add(1).max(0);
            if !fits || self.range == KeyRange::EMPTY {
                let room = strings.len().max(STRING_IDS_MIN).next_power_of_two();
                self.range = KeyRange { min: 0, max: room as i64 - 1 };
                return false;
            }
            return true;
        }
        let range = KeyRange::of(integers);
        if self.range.contains(range) {
            return true;
        }
        let is_first = self.range == KeyRange::EMPTY;
        self.range = self.range.union(range);
        if !is_first {
            self.range = self.range.padded();
        }
        false
    }
}

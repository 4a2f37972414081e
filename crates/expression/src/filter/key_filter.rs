//! Sets of integers that tests of many rows are fast on.
//!
//! ```text
//! range    min <= key <= max, where almost all of the range are keys
//! bitmap   one bit per value of the range, where that takes at most 8 bytes per key
//! Bloom    a few bits of one word per key, otherwise
//! ```
//!
//! Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007), describe
//! the blocks: all bits of a key are in one word, so that a test takes one access.

mod transfer;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use volley_error::Result;
use volley_kernels::{lookup::look_up, membership::distances};
use volley_types::{PhysicalType, match_integer};
use volley_vector::{Decoded, Encoding, Indices, Rows, Vector};

/// A bitmap has at most this many bits per key, or [`BITS_FREE`].
const BITMAP_BITS_PER_KEY: u128 = 256;

/// A bitmap of this many bits (512 KiB, within a core's caches) is always worth it.
const BITS_FREE: u128 = 1 << 22;

/// A bitmap of more bits (64 MiB) is not made: one driver clears it, and copies it, in a step.
const BITMAP_BITS_MAX: u128 = 1 << 29;

/// Bits of a Bloom filter per key; 5 are set for each.
const BLOOM_BITS_PER_KEY: usize = 16;

/// With this multiple of the keys that it has room for, a Bloom filter passes two of three other
/// keys: its tests do not pay.
const BLOOM_FULL: usize = 8;

/// Values that are added at a time.
const INSERTED_VALUES: usize = 64;

/// The range alone is enough when this share of its values may be keys: 7 of 8.
const DENSE_SHARE: (u128, u128) = (7, 8);

/// Values are looked for in bitmaps of at most this many words: some microseconds.
const WORDS_SEARCHED: usize = 1 << 16;

/// The maximum number of dictionary values per row of a batch for which the whole dictionary is
/// tested: the next batches share it.
const BASE_ROWS_PER_ROW: usize = 4;

/// A set of integers, and maybe more.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFilter {
    min: i64,
    /// Less than `min` when the set is empty.
    max: i64,
    members: Members,
}

#[derive(Clone, Debug, PartialEq)]
enum Members {
    Range,
    Bitmap(Vec<u64>),
    Bloom(Vec<u64>),
}

/// A filter that threads add keys to.
#[derive(Debug)]
pub struct KeyFilterBuilder {
    min: i64,
    max: i64,
    shape: Shape,
    words: Vec<AtomicU64>,
}

/// What a filter found in the dictionary of a column, for the batches that share it.
#[derive(Debug, Default)]
pub struct KeyFilterMemo(Option<(Arc<Vector>, Vec<u64>)>);

impl KeyFilter {
    /// Whether columns of this layout can be filtered.
    pub fn is_possible_for(physical: PhysicalType) -> bool {
        matches!(
            physical,
            PhysicalType::I8 | PhysicalType::I16 | PhysicalType::I32 | PhysicalType::I64
        )
    }

    /// A filter of all values from `min` to `max`.
    pub fn range(min: i64, max: i64) -> KeyFilter {
        KeyFilter { min, max, members: Members::Range }
    }

    /// Exactly the values whose bits are set: bit 0 of the first word is that of `min`.
    pub fn bitmap(min: i64, words: Vec<u64>) -> KeyFilter {
        let max = i128::from(min) + words.len() as i128 * 64 - 1;
        KeyFilter { min, max: max.min(i64::MAX.into()) as i64, members: Members::Bitmap(words) }
    }

    /// Whether a value from `min` to `max` may be in the set.
    pub fn may_contain(&self, min: i64, max: i64) -> bool {
        let (min, max) = (min.max(self.min), max.min(self.max));
        if min > max {
            return false;
        }
        let Members::Bitmap(words) = &self.members else { return true };
        let (first, last) = (distance(self.min, min), distance(self.min, max));
        let words = words.get((first >> 6) as usize..=(last >> 6) as usize).unwrap_or_default();
        let end = words.len().saturating_sub(1);
        words.iter().enumerate().any(|(place, word)| {
            let from = if place == 0 { u64::MAX << (first & 63) } else { u64::MAX };
            let to = if place == end { u64::MAX >> (63 - (last & 63)) } else { u64::MAX };
            word & from & to != 0
        })
    }

    /// The values of the set, ascending, if it is easily known that they are at most `most`.
    pub fn few_values(&self, most: usize) -> Option<Vec<i64>> {
        if self.min > self.max {
            return Some(Vec::new());
        }
        match &self.members {
            Members::Range => {
                let is_small = distance(self.min, self.max) < most as u64;
                is_small.then(|| (self.min..=self.max).collect())
            }
            Members::Bitmap(words) if words.len() <= WORDS_SEARCHED => {
                let ones = |(place, word): (usize, &u64)| {
                    let (first, word) = (self.min.wrapping_add((place * 64) as i64), *word);
                    (0..64).filter(move |it| word >> it & 1 == 1).map(move |it| first + it)
                };
                let set = words.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(ones);
                let values: Vec<i64> = set.take(most + 1).collect();
                Some(values).filter(|it| it.len() <= most)
            }
            Members::Bitmap(_) | Members::Bloom(_) => None,
        }
    }

    /// The rows of `rows` whose value may be in the set; null is in none.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn select(&self, column: &Vector, rows: &Rows, memo: &mut KeyFilterMemo) -> Result<Rows> {
        let column = column.loaded()?;
        match column.data_type().physical() {
            PhysicalType::Null => return Ok(Rows::none(rows.len())),
            physical if !KeyFilter::is_possible_for(physical) => return Ok(rows.clone()),
            _ => {}
        }
        let mut words = vec![0; rows.words().len()];
        let decoded = Decoded::new(&column)?;
        match memo.table(self, &column)? {
            Some((codes, table)) => look_up(codes, table, rows.words(), &mut words),
            None => self.test(&decoded, rows.words(), &mut words),
        }
        let mut selected = Rows::from_words(words, rows.len());
        if let Some(nulls) = decoded.nulls() {
            selected.subtract_nulls(&nulls);
        }
        Ok(selected)
    }

    /// Sets the bits of the wanted rows whose value may be in the set; those of null are
    /// unspecified.
    fn test(&self, column: &Decoded, wanted: &[u64], bits: &mut [u64]) {
        match_integer!(column.values().physical(), T => {
            let values = column.values().native::<T>().unwrap_or_default();
            let gathered: Vec<T>;
            let values = match column.indices() {
                Indices::Identity => values,
                Indices::Constant(index) => {
                    let value = values.get(*index as usize).copied().unwrap_or_default();
                    gathered = vec![value; column.len()];
                    &gathered
                }
                Indices::Codes(codes) => {
                    let value = |code: &u32| values.get(*code as usize).copied();
                    gathered = codes.iter().map(|it| value(it).unwrap_or_default()).collect();
                    &gathered
                }
            };
            self.test_values(values, |it| it as i64, wanted, bits);
        }, else bits.copy_from_slice(wanted));
    }

    fn test_values<T: Copy>(
        &self,
        values: &[T],
        number: impl Fn(T) -> i64 + Copy,
        wanted: &[u64],
        bits: &mut [u64],
    ) {
        match &self.members {
            Members::Bitmap(table) => {
                // Distances beyond 32 bits become the greatest, which is beyond every bitmap.
                let mut codes = vec![0; values.len()];
                distances(values, number, self.min, &mut codes);
                look_up(&codes, table, wanted, bits);
            }
            Members::Range => {
                let in_range = |it: T| (self.min..=self.max).contains(&number(it));
                test_each(values, in_range, wanted, bits);
            }
            Members::Bloom(words) => {
                let may_contain = |it: T| {
                    let (place, mask) = bloom_place(number(it), words.len());
                    let word = words.get(place).copied().unwrap_or_default();
                    (self.min..=self.max).contains(&number(it)) & (word & mask == mask)
                };
                test_each(values, may_contain, wanted, bits);
            }
        }
    }
}

impl KeyFilterMemo {
    /// The codes of a column over a dictionary, and whether each value of that may be in `filter`;
    /// `None` where values are better tested row by row. The memo is of one filter.
    fn table<'a>(
        &'a mut self,
        filter: &KeyFilter,
        column: &'a Vector,
    ) -> Result<Option<(&'a [u32], &'a [u64])>> {
        let Encoding::Dictionary { codes, base } = column.encoding() else { return Ok(None) };
        let is_known = matches!(&self.0, Some((known, _)) if Arc::ptr_eq(known, base));
        if !is_known {
            if base.len() > codes.len() * BASE_ROWS_PER_ROW {
                return Ok(None);
            }
            let wanted = Rows::all(base.len());
            let mut table = vec![0; wanted.words().len()];
            filter.test(&Decoded::new(base)?, wanted.words(), &mut table);
            self.0 = Some((Arc::clone(base), table));
        }
        Ok(self.0.as_ref().map(|(_, table)| (&**codes, table.as_slice())))
    }
}

impl KeyFilterBuilder {
    /// The bytes that a filter of `keys` values from `min` to `max` takes while it is built.
    pub fn bytes_for(min: i64, max: i64, keys: usize) -> usize {
        // The words, and their copy.
        Shape::of(min, max, keys).words() * size_of::<u64>() * 2
    }

    /// A filter of at most `keys` different values from `min` to `max`; of none if `min > max`.
    pub fn new(min: i64, max: i64, keys: usize) -> KeyFilterBuilder {
        let shape = Shape::of(min, max, keys);
        let words = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
        KeyFilterBuilder { min, max, shape, words }
    }

    /// A filter of all values from `min` to `max`.
    pub fn range(min: i64, max: i64) -> KeyFilterBuilder {
        KeyFilterBuilder { min, max, shape: Shape::Range, words: Vec::new() }
    }

    /// The bytes that a [`KeyFilterBuilder::bloom`] takes, and its filter again.
    pub fn bytes_for_bloom(keys: usize) -> usize {
        Shape::bloom(keys).words() * size_of::<u64>()
    }

    /// The number of keys that fit in this number of bytes.
    pub fn bloom_keys_in(bytes: usize) -> usize {
        bytes / (BLOOM_BITS_PER_KEY / 8)
    }

    /// A filter of values of which nothing is known yet, with room for about `keys` of them.
    pub fn bloom(keys: usize) -> KeyFilterBuilder {
        let shape = Shape::bloom(keys);
        let words = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
        KeyFilterBuilder { min: i64::MIN, max: i64::MAX, shape, words }
    }

    /// The filter of a [`KeyFilterBuilder::bloom`] to which `keys` values were added, of which it
    /// has turned out that they are from `min` to `max`.
    pub fn finish_bloom(&self, min: i64, max: i64, keys: usize) -> KeyFilter {
        let is_full = keys / BLOOM_FULL > self.words.len() * 64 / BLOOM_BITS_PER_KEY;
        match Shape::of(min, max, keys) {
            Shape::Bitmap(_) | Shape::Bloom(_) if !is_full => {
                KeyFilter { min, max, ..self.finish() }
            }
            _ => KeyFilter::range(min, max),
        }
    }

    /// Adds the values of `keys`, nulls apart. Any number of threads may do so at a time.
    pub fn insert(&self, keys: &Decoded) {
        if matches!(self.shape, Shape::Range) {
            return;
        }
        let nulls = keys.nulls();
        let rows = (0..keys.len()).filter(|row| nulls.as_ref().is_none_or(|it| it.is_valid(*row)));
        match_integer!(keys.values().physical(), T => {
            let values = keys.values().native::<T>().unwrap_or_default();
            self.insert_values(rows.map(|row| values[keys.index(row)] as i64));
        }, else {});
    }

    /// Adds values, some at a time: first their words are looked at, so that many cache misses are
    /// in flight, and then those are changed that must be, of which each waits for the one before.
    fn insert_values(&self, mut values: impl Iterator<Item = i64>) {
        let mut changes = [(0, 0); INSERTED_VALUES];
        loop {
            let (mut count, mut is_end) = (0, true);
            for value in values.by_ref().take(INSERTED_VALUES) {
                let (place, mask) = self.place_of(value);
                let word = self.words.get(place).map_or(!0, |it| it.load(Ordering::Relaxed));
                changes[count] = (place, mask);
                count += usize::from(word & mask != mask);
                is_end = false;
            }
            for (place, mask) in &changes[..count] {
                self.words[*place].fetch_or(*mask, Ordering::Relaxed);
            }
            if is_end {
                return;
            }
        }
    }

    /// The word of a value, and its bits in there.
    #[inline]
    fn place_of(&self, value: i64) -> (usize, u64) {
        match self.shape {
            Shape::Range => (0, 0),
            Shape::Bitmap(_) => {
                let distance = distance(self.min, value);
                ((distance >> 6) as usize, 1 << (distance & 63))
            }
            Shape::Bloom(_) => bloom_place(value, self.words.len()),
        }
    }

    /// The filter of all values that were added.
    pub fn finish(&self) -> KeyFilter {
        let words = || self.words.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        let members = match self.shape {
            Shape::Range => Members::Range,
            Shape::Bitmap(_) => Members::Bitmap(words()),
            Shape::Bloom(_) => Members::Bloom(words()),
        };
        KeyFilter { min: self.min, max: self.max, members }
    }
}

/// What a filter is made of; with the number of its words.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Range,
    Bitmap(usize),
    Bloom(usize),
}

impl Shape {
    fn of(min: i64, max: i64, keys: usize) -> Shape {
        if min > max {
            return Shape::Range;
        }
        let (values, keys) = ((i128::from(max) - i128::from(min)) as u128 + 1, keys as u128);
        if keys * DENSE_SHARE.1 >= values * DENSE_SHARE.0 {
            Shape::Range
        } else if values <= (keys * BITMAP_BITS_PER_KEY).clamp(BITS_FREE, BITMAP_BITS_MAX) {
            Shape::Bitmap(values.div_ceil(64) as usize)
        } else {
            Shape::bloom(keys as usize)
        }
    }

    fn bloom(keys: usize) -> Shape {
        Shape::Bloom((keys.max(1) * BLOOM_BITS_PER_KEY).div_ceil(64))
    }

    fn words(self) -> usize {
        match self {
            Shape::Range => 0,
            Shape::Bitmap(words) | Shape::Bloom(words) => words,
        }
    }
}

/// How far a value is from the least; large for what is less.
#[inline]
fn distance(min: i64, value: i64) -> u64 {
    (value as u64).wrapping_sub(min as u64)
}

/// The word of a value among `words`, and its bits in there.
#[inline]
fn bloom_place(value: i64, words: usize) -> (usize, u64) {
    // Multiply and fold; the upper half says where, the lower one which bits.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = (value as u64 ^ value as u64 >> 32).wrapping_mul(ODD);
    let hash = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let place = ((hash >> 32) * words as u64 >> 32) as usize;
    let bit = |shift: u32| 1u64 << (hash >> shift & 63);
    (place, bit(0) | bit(6) | bit(12) | bit(18) | bit(24))
}

/// Sets the bits of the wanted values that pass `test`.
fn test_each<T: Copy>(
    values: &[T],
    test: impl Fn(T) -> bool + Copy,
    wanted: &[u64],
    bits: &mut [u64],
) {
    for ((values, wanted), bits) in values.chunks(64).zip(wanted).zip(bits) {
        if *wanted != 0 {
            *bits = volley_kernels::bits::word(values.len(), |row| test(values[row])) & wanted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use volley_types::{Type, Value};

    fn column(values: &[Option<i64>]) -> Vector {
        let values: Vec<Value> =
            values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
        Vector::from_values(Type::BigInt, &values)
    }

    /// A filter of `keys`, and whether it is exact.
    fn filter(keys: &[i64]) -> (KeyFilter, bool) {
        let (min, max) = (keys.iter().min(), keys.iter().max());
        let builder = KeyFilterBuilder::new(
            min.copied().unwrap_or(i64::MAX),
            max.copied().unwrap_or(i64::MIN),
            keys.len(),
        );
        let values: Vec<Option<i64>> = keys.iter().copied().map(Some).chain([None]).collect();
        builder.insert(&Decoded::new(&column(&values)).unwrap());
        let filter = builder.finish();
        let is_exact = matches!(filter.members, Members::Bitmap(_)) || keys.is_empty();
        (filter, is_exact)
    }

    #[test]
    fn a_filter_that_knew_nothing_of_its_keys_lets_them_pass_and_few_others() {
        for (expected, step) in [(1000, 1_000_003), (300, 1_000_003), (1, 1_000_003), (1000, 1)] {
            let keys: Vec<Option<i64>> = (0..1000).map(|it| Some(it * step - 7)).collect();
            let builder = KeyFilterBuilder::bloom(expected);
            builder.insert(&Decoded::new(&column(&keys)).unwrap());
            let filter = builder.finish_bloom(-7, 999 * step - 7, keys.len());
            let passed = |values: &[Option<i64>]| {
                let rows = Rows::all(values.len());
                let selected = filter.select(&column(values), &rows, &mut Default::default());
                selected.unwrap().to_indices().len()
            };
            assert_eq!(passed(&keys), 1000);
            let others: Vec<_> = keys.iter().map(|it| it.map(|it| it + 500_000)).collect();
            let most = match (expected, step) {
                (1000, 1_000_003) => 20,
                (300, _) => 200,
                _ => 1000,
            };
            assert!(passed(&others) <= most, "{} of {expected}, {step}", passed(&others));
            assert_eq!(passed(&[Some(-8), Some(999 * step - 6)]), 0);
        }
    }

    #[test]
    fn keys_pass_and_others_do_not() {
        let dense: Vec<i64> = (-50..1000).collect();
        let sparse: Vec<i64> = (0..1000).map(|it| it * 37 - 500).collect();
        let wide: Vec<i64> = (0..1000).map(|it| it * 1_000_000_007_001).collect();
        let ends = vec![i64::MIN, 0, i64::MAX];
        for keys in [dense, sparse, wide, ends, vec![5], vec![]] {
            let (filter, is_exact) = filter(&keys);
            let set: BTreeSet<i64> = keys.iter().copied().collect();
            let near = keys.iter().flat_map(|it| [-1, 0, 1].map(|near| it.wrapping_add(near)));
            let mut tested: Vec<Option<i64>> = near.map(Some).collect();
            tested.extend([None, Some(i64::MIN), Some(i64::MAX), Some(63), Some(64)]);
            let rows = Rows::from_indices(tested.len(), (0..tested.len()).filter(|it| it % 5 != 3));
            let memo = &mut KeyFilterMemo::default();
            let selected = filter.select(&column(&tested), &rows, memo).unwrap();
            let mut passed = 0;
            for (row, value) in tested.iter().enumerate() {
                let is_key = value.is_some_and(|it| set.contains(&it));
                let may_pass = value.is_some() && rows.contains(row);
                assert!(selected.contains(row) || !is_key || !rows.contains(row), "{value:?}");
                assert!(!selected.contains(row) || may_pass, "{value:?}");
                assert!(!is_exact || selected.contains(row) == (is_key && may_pass), "{value:?}");
                passed += usize::from(selected.contains(row) && !is_key);
            }
            assert!(passed <= tested.len() / 20 + 2, "{passed} of {} others pass", tested.len());
        }
    }

    #[test]
    fn every_encoding_is_tested_alike() {
        let (filter, _) = filter(&[3, 700, 2000]);
        let select = |vector: &Vector| {
            let rows = Rows::all(vector.len());
            filter.select(vector, &rows, &mut KeyFilterMemo::default()).unwrap().to_indices()
        };
        let base = Arc::new(column(&[Some(3), None, Some(4), Some(2000)]));
        let dictionary = Vector::dictionary(vec![3, 1, 0, 2, 0].into(), base, None);
        assert_eq!(select(&dictionary), [0, 2, 4]);
        assert_eq!(select(&dictionary.slice(2, 1)), [0]);
        for (value, expected) in [(Value::BigInt(700), 5), (Value::BigInt(4), 0), (Value::Null, 0)]
        {
            assert_eq!(select(&Vector::constant(Type::BigInt, &value, 5)).len(), expected);
        }
        assert_eq!(select(&Vector::from_values(Type::SmallInt, &[3, 4].map(Value::SmallInt))), [0]);
        assert_eq!(select(&Vector::from_values(Type::Varchar, &[Value::text("3")])), [0]);
    }

    #[test]
    fn a_dictionary_is_tested_once() {
        let (filter, _) = filter(&[3, 700, 2000]);
        let base = Arc::new(column(&[Some(3), None, Some(4), Some(2000)]));
        let mut memo = KeyFilterMemo::default();
        for codes in [vec![3, 1, 0, 2, 0], vec![2], vec![0, 3]] {
            let batch = Vector::dictionary(codes.clone().into(), Arc::clone(&base), None);
            let expected: Vec<u32> =
                (0..).zip(&codes).filter(|(_, it)| matches!(it, 0 | 3)).map(|it| it.0).collect();
            let rows = Rows::all(codes.len());
            let selected = filter.select(&batch, &rows, &mut memo).unwrap();
            assert_eq!(selected.to_indices(), expected);
        }
        // What a later filter would say of the same dictionary is not asked any more.
        let other = KeyFilter::range(4, 4);
        let batch = Vector::dictionary(vec![0, 2].into(), Arc::clone(&base), None);
        assert_eq!(other.select(&batch, &Rows::all(2), &mut memo).unwrap().to_indices(), [0]);
        let fresh = &mut KeyFilterMemo::default();
        assert_eq!(other.select(&batch, &Rows::all(2), fresh).unwrap().to_indices(), [1]);
    }

    #[test]
    fn few_values_are_told() {
        for keys in [vec![5], vec![-100, 5, 64, 10_000], vec![3, 4, 5, 6], vec![]] {
            let (filter, _) = filter(&keys);
            assert_eq!(filter.few_values(4), Some(keys.clone()));
            assert_eq!(filter.few_values(keys.len().saturating_sub(1)).is_none(), !keys.is_empty());
        }
        assert_eq!(KeyFilter::range(i64::MIN, i64::MAX).few_values(1000), None);
        let ends = KeyFilter::range(i64::MAX - 1, i64::MAX);
        assert_eq!(ends.few_values(2), Some(vec![i64::MAX - 1, i64::MAX]));
        assert_eq!(filter(&[i64::MIN, 0, i64::MAX]).0.few_values(10), None);
    }

    #[test]
    fn ranges_without_a_key_are_ruled_out() {
        let (filter, is_exact) = filter(&[-100, 5, 64, 10_000]);
        assert!(is_exact);
        for (min, max, expected) in [
            (-100, -100, true),
            (-99, 4, false),
            (5, 5, true),
            (6, 63, false),
            (6, 64, true),
            (65, 9_999, false),
            (10_001, i64::MAX, false),
            (i64::MIN, -101, false),
            (i64::MIN, i64::MAX, true),
        ] {
            assert_eq!(filter.may_contain(min, max), expected, "{min} to {max}");
        }
        assert!(!KeyFilterBuilder::new(1, 0, 0).finish().may_contain(i64::MIN, i64::MAX));
    }
}

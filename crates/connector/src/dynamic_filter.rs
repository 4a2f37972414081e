//! Filters that joins make for scans while a query runs.
//!
//! ```text
//! build side ── keys ──> KeyFilter ── DynamicFilter ──> Conjuncts of a scan on the probe side
//!
//! range    min <= key <= max, where almost all of the range are keys
//! bitmap   one bit per value of the range, where that takes at most 8 bytes per key
//! Bloom    a few bits of one word per key, otherwise
//! ```
//!
//! A row whose key is not in the filter matches nothing; one whose key is in it may match. Hence a
//! source may use the filters of a request, or leave them alone.
//!
//! Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007), describe
//! the blocks: all bits of a key are in one word, so that a test takes one access.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};
use volley_error::Result;
use volley_types::{PhysicalType, match_integer};
use volley_vector::{Decoded, Indices, Rows, Vector};

/// A bitmap has at most this many bits per key, or [`BITS_FREE`].
const BITMAP_BITS_PER_KEY: u128 = 64;

/// A bitmap of this many bits (512 KiB, within a core's caches) is always worth it.
const BITS_FREE: u128 = 1 << 22;

/// Bits of a Bloom filter per key: with 5 bits set for each, 1 of 100 others passes.
const BLOOM_BITS_PER_KEY: usize = 16;

/// The range alone is enough when this share of its values may be keys: 7 of 8.
const DENSE_SHARE: (u128, u128) = (7, 8);

/// A filter that is known once the build side of a join is complete.
#[derive(Debug, Default)]
pub struct DynamicFilter(OnceLock<Option<Arc<KeyFilter>>>);

/// A column of a table and the filter of its values.
#[derive(Clone, Debug)]
pub struct ColumnFilter {
    /// The column, by position in the table; of a type that [`KeyFilter::is_possible_for`].
    pub column: usize,
    /// What its values must be in.
    pub filter: Arc<DynamicFilter>,
}

/// A set of integers, and maybe more.
#[derive(Debug)]
pub struct KeyFilter {
    min: i64,
    /// Less than `min` when the set is empty.
    max: i64,
    members: Members,
}

#[derive(Debug)]
enum Members {
    Range,
    Bitmap(Box<[AtomicU64]>),
    Bloom(Box<[AtomicU64]>),
}

impl DynamicFilter {
    /// The filter, once it is known; `None` also when there will be none.
    pub fn get(&self) -> Option<&Arc<KeyFilter>> {
        self.0.get().and_then(Option::as_ref)
    }

    /// Makes the filter known, or that there is none. Later calls do nothing.
    pub fn set(&self, filter: Option<Arc<KeyFilter>>) {
        // Whoever comes first decides.
        let _ = self.0.set(filter);
    }
}

impl KeyFilter {
    /// Whether columns of this layout can be filtered.
    pub fn is_possible_for(physical: PhysicalType) -> bool {
        matches!(
            physical,
            PhysicalType::I8 | PhysicalType::I16 | PhysicalType::I32 | PhysicalType::I64
        )
    }

    /// The bytes that a filter of `keys` values from `min` to `max` takes.
    pub fn bytes_for(min: i64, max: i64, keys: usize) -> usize {
        Shape::of(min, max, keys).words() * size_of::<u64>()
    }

    /// A filter of at most `keys` different values from `min` to `max`, to which they are added by
    /// [`KeyFilter::insert`]; of none if `min > max`.
    pub fn new(min: i64, max: i64, keys: usize) -> KeyFilter {
        let shape = Shape::of(min, max, keys);
        let words = (0..shape.words()).map(|_| AtomicU64::new(0));
        let members = match shape {
            Shape::Range => Members::Range,
            Shape::Bitmap(_) => Members::Bitmap(words.collect()),
            Shape::Bloom(_) => Members::Bloom(words.collect()),
        };
        KeyFilter { min, max, members }
    }

    /// A filter of all values from `min` to `max`.
    pub fn range(min: i64, max: i64) -> KeyFilter {
        KeyFilter { min, max, members: Members::Range }
    }

    /// Adds the values of `keys`, nulls apart. Any number of threads may do so at a time.
    pub fn insert(&self, keys: &Decoded) {
        if matches!(self.members, Members::Range) {
            return;
        }
        let nulls = keys.nulls();
        let rows = (0..keys.len()).filter(|row| nulls.as_ref().is_none_or(|it| it.is_valid(*row)));
        match_integer!(keys.values().physical(), T => {
            let values = keys.values().native::<T>().unwrap_or_default();
            rows.for_each(|row| self.insert_value(values[keys.index(row)] as i64));
        }, else {});
    }

    #[inline]
    fn insert_value(&self, value: i64) {
        let (words, place, mask) = match &self.members {
            Members::Range => return,
            Members::Bitmap(words) => {
                let distance = self.distance(value);
                (words, (distance >> 6) as usize, 1 << (distance & 63))
            }
            Members::Bloom(words) => {
                let (place, mask) = bloom_place(value, words.len());
                (words, place, mask)
            }
        };
        if let Some(word) = words.get(place)
            && word.load(Ordering::Relaxed) & mask != mask
        {
            word.fetch_or(mask, Ordering::Relaxed);
        }
    }

    /// Whether a value from `min` to `max` may be in the set.
    pub fn may_contain(&self, min: i64, max: i64) -> bool {
        let (min, max) = (min.max(self.min), max.min(self.max));
        if min > max {
            return false;
        }
        let Members::Bitmap(words) = &self.members else { return true };
        let (first, last) = (self.distance(min), self.distance(max));
        let words = words.get((first >> 6) as usize..=(last >> 6) as usize).unwrap_or_default();
        let end = words.len().saturating_sub(1);
        words.iter().enumerate().any(|(place, word)| {
            let from = if place == 0 { u64::MAX << (first & 63) } else { u64::MAX };
            let to = if place == end { u64::MAX >> (63 - (last & 63)) } else { u64::MAX };
            word.load(Ordering::Relaxed) & from & to != 0
        })
    }

    /// The rows of `rows` whose value may be in the set; null is in none.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn select(&self, column: &Vector, rows: &Rows) -> Result<Rows> {
        let decoded = Decoded::new(column)?;
        match decoded.values().physical() {
            PhysicalType::Null => return Ok(Rows::none(rows.len())),
            physical if !KeyFilter::is_possible_for(physical) => return Ok(rows.clone()),
            _ => {}
        }
        let mut selected = match_integer!(decoded.values().physical(), T => {
            let values = decoded.values().native::<T>().unwrap_or_default();
            self.select_values(values, |it| it as i64, decoded.indices(), rows)
        }, else rows.clone());
        if let Some(nulls) = decoded.nulls() {
            selected.subtract_nulls(&nulls);
        }
        Ok(selected)
    }

    fn select_values<T: Copy>(
        &self,
        values: &[T],
        key: impl Fn(T) -> i64 + Copy,
        indices: &Indices,
        rows: &Rows,
    ) -> Rows {
        let (min, max) = (self.min, self.max);
        let in_range = |it: T| (min..=max).contains(&key(it));
        match &self.members {
            Members::Range => select_rows(values, indices, rows, in_range),
            Members::Bitmap(words) => select_rows(values, indices, rows, |it| {
                let distance = self.distance(key(it));
                let word = words.get((distance >> 6) as usize);
                // Distances of values beyond the range may still be in the last word.
                word.is_some_and(|it| it.load(Ordering::Relaxed) >> (distance & 63) & 1 == 1)
            }),
            Members::Bloom(words) => select_rows(values, indices, rows, |it| {
                let (place, mask) = bloom_place(key(it), words.len());
                let word = words.get(place).map_or(0, |it| it.load(Ordering::Relaxed));
                in_range(it) & (word & mask == mask)
            }),
        }
    }

    /// How far a value is from the least; large for what is less.
    #[inline]
    fn distance(&self, value: i64) -> u64 {
        (value as u64).wrapping_sub(self.min as u64)
    }
}

/// What a filter is made of; with the number of its words.
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
        } else if values <= (keys * BITMAP_BITS_PER_KEY).max(BITS_FREE) {
            Shape::Bitmap(values.div_ceil(64) as usize)
        } else {
            Shape::Bloom((keys as usize * BLOOM_BITS_PER_KEY).div_ceil(64))
        }
    }

    fn words(&self) -> usize {
        match self {
            Shape::Range => 0,
            Shape::Bitmap(words) | Shape::Bloom(words) => *words,
        }
    }
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

/// The rows whose value passes `test`.
#[inline]
fn select_rows<T: Copy>(
    values: &[T],
    indices: &Indices,
    rows: &Rows,
    test: impl Fn(T) -> bool + Copy,
) -> Rows {
    match indices {
        Indices::Identity => select_each(rows, |row| values.get(row).copied(), test),
        Indices::Codes(codes) => {
            let value = |row: usize| values.get(*codes.get(row)? as usize).copied();
            select_each(rows, value, test)
        }
        Indices::Constant(index) => match values.get(*index as usize) {
            Some(value) if test(*value) => rows.clone(),
            _ => Rows::none(rows.len()),
        },
    }
}

#[inline]
fn select_each<T: Copy>(
    rows: &Rows,
    value: impl Fn(usize) -> Option<T>,
    test: impl Fn(T) -> bool,
) -> Rows {
    let word = |(place, word): (usize, &u64)| {
        let start = place * 64;
        if *word == 0 {
            return 0;
        }
        let count = (rows.len() - start).min(64);
        let bit = |row: usize| u64::from(value(start + row).is_some_and(&test)) << row;
        (0..count).fold(0, |bits, row| bits | bit(row)) & word
    };
    Rows::from_words(rows.words().iter().enumerate().map(word).collect(), rows.len())
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
        let filter = KeyFilter::new(
            min.copied().unwrap_or(i64::MAX),
            max.copied().unwrap_or(i64::MIN),
            keys.len(),
        );
        let values: Vec<Option<i64>> = keys.iter().copied().map(Some).chain([None]).collect();
        filter.insert(&Decoded::new(&column(&values)).unwrap());
        let is_exact = matches!(filter.members, Members::Bitmap(_)) || keys.is_empty();
        (filter, is_exact)
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
            let selected = filter.select(&column(&tested), &rows).unwrap();
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
        let base = Arc::new(column(&[Some(3), None, Some(4), Some(2000)]));
        let dictionary = Vector::dictionary(vec![3, 1, 0, 2, 0].into(), base, None);
        let rows = filter.select(&dictionary, &Rows::all(5)).unwrap();
        assert_eq!(rows.to_indices(), [0, 2, 4]);
        for (value, expected) in [(Value::BigInt(700), 5), (Value::BigInt(4), 0), (Value::Null, 0)]
        {
            let constant = Vector::constant(Type::BigInt, &value, 5);
            assert_eq!(filter.select(&constant, &Rows::all(5)).unwrap().count(), expected);
        }
        let small = Vector::from_values(Type::SmallInt, &[3, 4].map(Value::SmallInt));
        assert_eq!(filter.select(&small, &Rows::all(2)).unwrap().to_indices(), [0]);
        let text = Vector::from_values(Type::Varchar, &[Value::text("3")]);
        assert_eq!(filter.select(&text, &Rows::all(1)).unwrap().count(), 1);
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
        assert!(!KeyFilter::new(1, 0, 0).may_contain(i64::MIN, i64::MAX));
    }
}

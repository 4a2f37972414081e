//! Filters of several tasks: their union, and filters as bytes.
//!
//! ```text
//! bytes   i64 min, i64 max, u8 members (0 range, 1 bitmap, 2 Bloom), u64 of each word;
//!         little-endian
//! ```

use super::{KeyFilter, Members, distance};
use volley_error::{Error, Result};

/// Bytes before the words.
const HEADER_BYTES: usize = 17;

impl KeyFilter {
    /// A filter that every value of both filters passes. It has no other values than theirs where
    /// both are ranges or bitmaps, and their bitmap takes at most `bytes_max` bytes.
    pub fn union(&self, other: &KeyFilter, bytes_max: usize) -> KeyFilter {
        if self.is_empty() {
            return other.limited(bytes_max);
        }
        if other.is_empty() {
            return self.limited(bytes_max);
        }
        let (min, max) = (self.min.min(other.min), self.max.max(other.max));
        let members = match (&self.members, &other.members) {
            (Members::Bloom(own), Members::Bloom(others)) if own.len() == others.len() => {
                Members::Bloom(own.iter().zip(others).map(|(own, other)| own | other).collect())
            }
            (Members::Bloom(_), _) | (_, Members::Bloom(_)) => Members::Range,
            (Members::Range, Members::Range) if self.touches(other) => Members::Range,
            _ => {
                let words = (u128::from(distance(min, max)) + 1).div_ceil(64);
                if words * 8 > bytes_max as u128 {
                    return KeyFilter::range(min, max);
                }
                let mut words = vec![0; words as usize];
                self.mark(min, &mut words);
                other.mark(min, &mut words);
                Members::Bitmap(words)
            }
        };
        KeyFilter { min, max, members }.limited(bytes_max)
    }

    /// The bytes that the members take.
    pub fn bytes(&self) -> usize {
        match &self.members {
            Members::Range => 0,
            Members::Bitmap(words) | Members::Bloom(words) => size_of_val(words.as_slice()),
        }
    }

    /// The filter as bytes; see the module's drawing.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, words) = match &self.members {
            Members::Range => (0, &[][..]),
            Members::Bitmap(words) => (1, words.as_slice()),
            Members::Bloom(words) => (2, words.as_slice()),
        };
        let mut bytes = Vec::with_capacity(HEADER_BYTES + words.len() * 8);
        bytes.extend_from_slice(&self.min.to_le_bytes());
        bytes.extend_from_slice(&self.max.to_le_bytes());
        bytes.push(kind);
        words.iter().for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()));
        bytes
    }

    /// The filter of [`KeyFilter::to_bytes`].
    ///
    /// # Errors
    ///
    /// Corruption: other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<KeyFilter> {
        let damaged = || Error::corruption("damaged filter of keys");
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(damaged)?;
        let number = |at: usize| header.get(at..).and_then(<[u8]>::first_chunk).copied();
        let (min, max) = number(0).zip(number(8)).ok_or_else(damaged)?;
        let (min, max) = (i64::from_le_bytes(min), i64::from_le_bytes(max));
        let (words, []) = rest.as_chunks::<8>() else { return Err(damaged()) };
        let words: Vec<u64> = words.iter().map(|it| u64::from_le_bytes(*it)).collect();
        let values = if min > max { 0 } else { u128::from(distance(min, max)) + 1 };
        let members = match header.last() {
            Some(0) if words.is_empty() => Members::Range,
            Some(1) if words.len() as u128 == values.div_ceil(64) => Members::Bitmap(words),
            Some(2) if !words.is_empty() => Members::Bloom(words),
            _ => return Err(damaged()),
        };
        Ok(KeyFilter { min, max, members })
    }

    fn is_empty(&self) -> bool {
        self.min > self.max
    }

    /// The filter, or its range if its members take more bytes.
    fn limited(&self, bytes_max: usize) -> KeyFilter {
        if self.bytes() > bytes_max { KeyFilter::range(self.min, self.max) } else { self.clone() }
    }

    /// Whether no value is between the two ranges.
    fn touches(&self, other: &KeyFilter) -> bool {
        self.min <= other.max.saturating_add(1) && other.min <= self.max.saturating_add(1)
    }

    /// Sets the bits of the values in a bitmap that begins at `min`, which is not more than the
    /// least value.
    fn mark(&self, min: i64, words: &mut [u64]) {
        let first = distance(min, self.min);
        let (start, shift) = ((first >> 6) as usize, (first & 63) as u32);
        let own: &[u64] = match &self.members {
            Members::Bitmap(own) => own,
            Members::Range | Members::Bloom(_) => {
                let last = distance(min, self.max);
                let end = (last >> 6) as usize;
                for (place, word) in words.iter_mut().enumerate().take(end + 1).skip(start) {
                    let from = if place == start { u64::MAX << shift } else { u64::MAX };
                    let to = if place == end { u64::MAX >> (63 - (last & 63)) } else { u64::MAX };
                    *word |= from & to;
                }
                return;
            }
        };
        for (place, bits) in own.iter().enumerate() {
            if let Some(word) = words.get_mut(start + place) {
                *word |= bits << shift;
            }
            // A shift by 64 bits leaves nothing.
            let high = bits.checked_shr(64 - shift).unwrap_or(0);
            if let Some(word) = words.get_mut(start + place + 1) {
                *word |= high;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeyFilterBuilder, KeyFilterMemo};
    use super::*;
    use std::collections::BTreeSet;
    use volley_types::{Type, Value};
    use volley_vector::{Decoded, Rows, Vector};

    const BYTES_MAX: usize = 1 << 20;

    fn filter(keys: &[i64]) -> KeyFilter {
        let (min, max) = (keys.iter().min().copied(), keys.iter().max().copied());
        let (min, max) = (min.unwrap_or(i64::MAX), max.unwrap_or(i64::MIN));
        let builder = KeyFilterBuilder::new(min, max, keys.len());
        builder.insert(&Decoded::new(&column(keys)).unwrap());
        builder.finish()
    }

    fn column(keys: &[i64]) -> Vector {
        let values: Vec<Value> = keys.iter().copied().map(Value::BigInt).collect();
        Vector::from_values(Type::BigInt, &values)
    }

    fn passing(filter: &KeyFilter, values: &[i64]) -> BTreeSet<i64> {
        let rows = Rows::all(values.len());
        let selected = filter.select(&column(values), &rows, &mut KeyFilterMemo::default());
        selected.unwrap().to_indices().iter().map(|it| values[*it as usize]).collect()
    }

    fn sets() -> Vec<Vec<i64>> {
        vec![
            vec![],
            vec![5],
            (-50..1000).collect(),
            (1000..1100).collect(),
            (0..1000).map(|it| it * 37 - 500).collect(),
            (0..900).map(|it| it * 41 + 13).collect(),
            (0..1000).map(|it| it * 1_000_000_007_001).collect(),
            (0..1000).map(|it| it * 1_000_000_007_003 + 9).collect(),
            vec![i64::MIN, 0, i64::MAX],
            vec![i64::MAX - 64, i64::MAX],
        ]
    }

    #[test]
    fn a_union_passes_what_either_passes() {
        for (one, other) in sets().iter().flat_map(|it| sets().into_iter().map(move |o| (it, o))) {
            let tested: Vec<i64> = one.iter().chain(&other).copied().collect();
            let near = tested.iter().flat_map(|it| [-1, 0, 1].map(|near| it.wrapping_add(near)));
            let near: Vec<i64> = near.collect();
            for bytes_max in [BYTES_MAX, 0] {
                let both = filter(one).union(&filter(&other), bytes_max);
                assert!(both.bytes() <= bytes_max);
                let passed = passing(&both, &near);
                assert!(tested.iter().all(|it| passed.contains(it)), "{one:?} {other:?}");
                let reversed = filter(&other).union(&filter(one), bytes_max);
                assert_eq!(passing(&reversed, &near), passed);
            }
            let either = |it: &KeyFilter| !matches!(it.members, Members::Bloom(_));
            let both = filter(one).union(&filter(&other), BYTES_MAX);
            if either(&filter(one)) && either(&filter(&other)) && both.bytes() > 0 {
                let mut passed = passing(&filter(one), &near);
                passed.extend(passing(&filter(&other), &near));
                assert_eq!(passing(&both, &near), passed, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn blooms_of_one_size_are_united() {
        let sets = sets();
        let both = filter(&sets[6]).union(&filter(&sets[7]), BYTES_MAX);
        assert!(both.bytes() > 0 && matches!(both.members, Members::Bloom(_)));
        let others: Vec<i64> = sets[6].iter().map(|it| it + 500).collect();
        assert!(passing(&both, &others).len() < 50);
    }

    #[test]
    fn filters_come_back_from_bytes_and_damaged_ones_do_not() {
        for keys in sets() {
            let bytes = filter(&keys).to_bytes();
            assert_eq!(KeyFilter::from_bytes(&bytes).unwrap(), filter(&keys));
            for end in [0, 8, 16, bytes.len() - 1] {
                assert!(KeyFilter::from_bytes(&bytes[..end]).is_err());
            }
            let mut other = bytes.clone();
            other[16] = 3;
            assert!(KeyFilter::from_bytes(&other).is_err());
        }
        let mut short = filter(&[0, 100, 200]).to_bytes();
        short.truncate(short.len() - 8);
        assert!(KeyFilter::from_bytes(&short).is_err());
    }
}

//! Tests whether values are in a set: a few members, a bitmap of a range, or buckets of a hash
//! table.

use crate::{
    bits,
    cpu::{self, Kernel},
};

/// Members per bucket: a cache line of 64-bit keys.
pub const BUCKET: usize = 8;

/// Rows whose buckets are asked for before the first one is looked at.
const ROWS_AHEAD: usize = 64;

/// Members that are compared with a value at once.
pub const GROUP: usize = 4;

/// What a set is made of.
pub trait Key: Copy + Eq + Send + Sync + 'static {
    /// Up to this many members are compared with each value, which is faster than buckets or a
    /// bitmap then.
    const FEW: usize;

    /// 64 bits of which the upper ones are well mixed.
    fn mixed(self) -> u64;
}

impl Key for u64 {
    const FEW: usize = 16;

    #[inline(always)]
    fn mixed(self) -> u64 {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        // Keys that differ in upper bits only (doubles) would meet in few buckets.
        (self ^ (self >> 32)).wrapping_mul(ODD)
    }
}

impl Key for u128 {
    const FEW: usize = 8;

    #[inline(always)]
    fn mixed(self) -> u64 {
        const ODD: u64 = 0xD6E8_FEB8_6659_FD93;
        (self as u64 ^ ((self >> 64) as u64).wrapping_mul(ODD)).mixed()
    }
}

/// A hash table of buckets without marks of what is empty: empty slots hold `filler`, which is a
/// member, so that any equal slot means membership. A bucket whose last slot is another member may
/// go on in the next bucket.
#[derive(Clone, Copy, Debug)]
pub struct Buckets<'a, K> {
    /// A power of two of them.
    pub slots: &'a [[K; BUCKET]],
    /// What empty slots hold: some member.
    pub filler: K,
}

impl<K: Key> Buckets<'_, K> {
    /// The bucket where a key's search begins.
    #[inline(always)]
    pub fn first(slots: usize, key: K) -> usize {
        // The upper bits of the product of two halves: no shift by 64 for a single bucket.
        (u128::from(key.mixed()) * slots as u128 >> 64) as usize
    }

    /// Whether `key` is a member.
    #[inline(always)]
    pub fn contains(&self, key: K) -> bool {
        self.contains_from(Self::first(self.slots.len(), key), key)
    }

    #[inline(always)]
    fn contains_from(&self, first: usize, key: K) -> bool {
        let bucket = &self.slots[first];
        let found = bucket.iter().fold(false, |found, it| found | (*it == key));
        if found || bucket[BUCKET - 1] == self.filler {
            return found;
        }
        self.contains_beyond(first, key)
    }

    #[cold]
    fn contains_beyond(&self, first: usize, key: K) -> bool {
        let mask = self.slots.len() - 1;
        for step in 1..self.slots.len() {
            let bucket = &self.slots[(first + step) & mask];
            if bucket.contains(&key) {
                return true;
            }
            if bucket[BUCKET - 1] == self.filler {
                return false;
            }
        }
        false
    }
}

/// Sets bit `i` of `bits` when the key of `values[i]` is one of a few members, in groups; one that
/// fills a group up may stand there several times.
///
/// # Panics
///
/// If `bits` does not have one word per 64 values.
pub fn find_few<T: Copy, K: Key>(
    values: &[T],
    key: impl Fn(T) -> K + Copy,
    groups: &[[K; GROUP]],
    bits: &mut [u64],
) {
    cpu::dispatch(Words { values, bits, search: Few { key, groups } });
}

/// Sets bit `i` of `bits` when `number(values[i]) - min` is a set bit of `bitmap`.
///
/// # Panics
///
/// If `bits` does not have one word per 64 values, or `bitmap` is empty.
pub fn find_in_bitmap<T: Copy>(
    values: &[T],
    number: impl Fn(T) -> i64 + Copy,
    min: i64,
    bitmap: &[u64],
    bits: &mut [u64],
) {
    cpu::dispatch(Words { values, bits, search: InBitmap { number, min, bitmap } });
}

/// How far each number is from `min`, as codes for [`crate::lookup::look_up`]: what is less, or
/// farther than 32 bits reach, gets the greatest code.
///
/// # Panics
///
/// If `codes` is not as long as `values`.
pub fn distances<T: Copy>(
    values: &[T],
    number: impl Fn(T) -> i64 + Copy,
    min: i64,
    codes: &mut [u32],
) {
    assert_eq!(values.len(), codes.len(), "one code per value");
    cpu::dispatch(Distances { values, number, min, codes });
}

/// Sets bit `i` of `bits` when the key of `values[i]` is in `buckets`. The buckets of many rows are
/// on their way from memory at once.
///
/// # Panics
///
/// If `bits` does not have one word per 64 values.
pub fn find_in_buckets<T: Copy, K: Key>(
    values: &[T],
    key: impl Fn(T) -> K + Copy,
    buckets: Buckets<'_, K>,
    bits: &mut [u64],
) {
    cpu::dispatch(Words { values, bits, search: InBuckets { key, buckets } });
}

/// A way to search the keys of at most 64 values.
trait Search<T> {
    /// The bits of `values`.
    fn word(&self, values: &[T]) -> u64;
}

/// A search of all values.
struct Words<'a, T, S> {
    values: &'a [T],
    bits: &'a mut [u64],
    search: S,
}

impl<T, S: Search<T>> Kernel for Words<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        bits::fill_words(self.values, self.bits, |values| self.search.word(values));
    }
}

struct Distances<'a, T, F> {
    values: &'a [T],
    number: F,
    min: i64,
    codes: &'a mut [u32],
}

impl<T: Copy, F: Fn(T) -> i64> Kernel for Distances<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (value, code) in self.values.iter().zip(self.codes) {
            let distance = (self.number)(*value).wrapping_sub(self.min) as u64;
            *code = distance.min(u64::from(u32::MAX)) as u32;
        }
    }
}

struct Few<'a, K, F> {
    key: F,
    groups: &'a [[K; GROUP]],
}

impl<T: Copy, K: Key, F: Fn(T) -> K> Search<T> for Few<'_, K, F> {
    #[inline(always)]
    fn word(&self, values: &[T]) -> u64 {
        // All values with one group before the next: in vector registers.
        self.groups.iter().fold(0, |word, group| {
            word | bits::word(values.len(), |row| {
                let key = (self.key)(values[row]);
                group.iter().fold(false, |found, it| found | (*it == key))
            })
        })
    }
}

struct InBitmap<'a, F> {
    number: F,
    min: i64,
    bitmap: &'a [u64],
}

impl<T: Copy, F: Fn(T) -> i64> Search<T> for InBitmap<'_, F> {
    #[inline(always)]
    fn word(&self, values: &[T]) -> u64 {
        let len = self.bitmap.len() as u64 * 64;
        bits::word(values.len(), |row| {
            let place = (self.number)(values[row]).wrapping_sub(self.min) as u64;
            let inside = place < len;
            let place = if inside { place } else { 0 };
            inside & (self.bitmap[(place / 64) as usize] >> (place % 64) & 1 == 1)
        })
    }
}

struct InBuckets<'a, K, F> {
    key: F,
    buckets: Buckets<'a, K>,
}

impl<T: Copy, K: Key, F: Fn(T) -> K> Search<T> for InBuckets<'_, K, F> {
    #[inline(always)]
    fn word(&self, values: &[T]) -> u64 {
        let slots = self.buckets.slots;
        let mut firsts = [0usize; ROWS_AHEAD];
        for (first, value) in firsts.iter_mut().zip(values) {
            *first = Buckets::<K>::first(slots.len(), (self.key)(*value));
        }
        firsts[..values.len()].iter().for_each(|first| cpu::prefetch(slots, *first));
        let key = |row: usize| (self.key)(values[row]);
        bits::word(values.len(), |row| self.buckets.contains_from(firsts[row], key(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Puts every member into its bucket or the next one with room.
    fn table(members: &[u64], slots: usize) -> Vec<[u64; BUCKET]> {
        let filler = members[0];
        let mut table = vec![[filler; BUCKET]; slots];
        for member in &members[1..] {
            let mut at = Buckets::<u64>::first(slots, *member);
            loop {
                if let Some(slot) = table[at].iter_mut().find(|it| **it == filler) {
                    *slot = *member;
                    break;
                }
                at = (at + 1) & (slots - 1);
            }
        }
        table
    }

    #[test]
    fn buckets_agree_with_a_set_however_full_they_are() {
        for (members, slots) in [(1, 1), (9, 2), (15, 2), (100, 16), (120, 16), (5000, 1024)] {
            let members: Vec<u64> = (0..members).map(|it: u64| it * it * 7919).collect();
            let set: HashSet<u64> = members.iter().copied().collect();
            let table = table(&members, slots);
            let buckets = Buckets { slots: &table, filler: members[0] };
            let values: Vec<u64> = (0..1000).map(|it| it * 7919 / 3).chain(members).collect();
            let mut bits = vec![0; values.len().div_ceil(64)];
            find_in_buckets(&values, |it| it, buckets, &mut bits);
            for (row, value) in values.iter().enumerate() {
                assert_eq!(bits[row / 64] >> (row % 64) & 1 == 1, set.contains(value));
                assert_eq!(buckets.contains(*value), set.contains(value));
            }
        }
    }

    #[test]
    fn bitmaps_and_few_members_agree_with_a_search() {
        let members = [i64::MIN, -3, 0, 5, 70, i64::MAX];
        let values: Vec<i64> = (-100..100).chain(members).chain([i64::MIN + 1]).collect();
        let is_set = |bits: &[u64], row: usize| bits[row / 64] >> (row % 64) & 1 == 1;
        let mut bits = vec![0; values.len().div_ceil(64)];
        let [a, b, c, d, e, f] = members.map(|it| it as u64);
        find_few(&values, |it| it as u64, &[[a, b, c, d], [e, f, f, f]], &mut bits);
        for (row, value) in values.iter().enumerate() {
            assert_eq!(is_set(&bits, row), members.contains(value), "{value}");
        }
        let mut bitmap = [0u64; 2];
        for member in [-3i64, 0, 5, 70] {
            let place = (member + 3) as usize;
            bitmap[place / 64] |= 1 << (place % 64);
        }
        find_in_bitmap(&values, |it| it, -3, &bitmap, &mut bits);
        for (row, value) in values.iter().enumerate() {
            assert_eq!(is_set(&bits, row), [-3, 0, 5, 70].contains(value), "{value}");
        }
    }
}

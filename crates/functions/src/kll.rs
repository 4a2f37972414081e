//! KLL: a sketch of the distribution of numbers, from which quantiles and ranks can be derived
//! (Karnin, Lang, Liberty: "Optimal quantile approximation in streams", 2016).
//!
//! ```text
//! level 0    items of weight 1
//! level 1    items of weight 2
//! level h    items of weight 2^h
//! ```
//!
//! A level that is full is sorted, and every other item goes up to the next one. With `k` items on
//! the top level a rank is wrong by at most about `2.296 / k^0.9723` of the number of items (99 %).
//! While there are at most `k` items, all are kept and answers are exact.
//!
//! ```text
//! byte 0     1, the version          1  0: integers, 1: doubles      2..4  k
//! 4..12      the sum of the weights  12..20, 20..28  the least and greatest item, if there are any
//! then       the number of levels (1 byte); of each the number of items (4 bytes) and, sorted, the
//!            items
//! ```
//!
//! All numbers are little-endian; items have 8 bytes.

use crate::value_aggregate::mix;
use std::cmp::Ordering;

/// `k` where nothing else is asked for: ranks are wrong by at most 1.33 %.
pub const DEFAULT_K: u16 = 200;

/// The least `k`.
pub const K_MIN: u16 = 8;

/// The least capacity of a level.
const LEVEL_MIN: usize = 8;

/// Weights are below 2^63.
const LEVELS_MAX: usize = 62;

/// An item of a sketch.
pub trait Item: Clone + Default + Send + Sync + 'static {
    /// The order: NaN is the greatest.
    fn compare(&self, other: &Self) -> Ordering;

    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// An item of 8 bytes.
pub trait NumberItem: Item + Copy {
    /// Distinguishes sketches of integers and doubles.
    const TAG: u8;

    /// The 8 bytes of the item.
    fn to_bytes(self) -> [u8; 8];

    /// The item of 8 bytes.
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

impl Item for i64 {
    fn compare(&self, other: &i64) -> Ordering {
        self.cmp(other)
    }
}

impl NumberItem for i64 {
    const TAG: u8 = 0;

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> i64 {
        i64::from_le_bytes(bytes)
    }
}

impl Item for f64 {
    fn compare(&self, other: &f64) -> Ordering {
        // As DataSketches and Java have it: -0.0 before 0.0, NaN last.
        match (self.is_nan(), other.is_nan()) {
            (false, false) => self.total_cmp(other),
            (left, right) => left.cmp(&right),
        }
    }
}

impl Item for bool {
    fn compare(&self, other: &bool) -> Ordering {
        self.cmp(other)
    }
}

impl Item for String {
    fn compare(&self, other: &String) -> Ordering {
        self.cmp(other)
    }

    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}

impl NumberItem for f64 {
    const TAG: u8 = 1;

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> f64 {
        f64::from_le_bytes(bytes)
    }
}

/// A sketch of items.
#[derive(Clone, Debug)]
pub struct Kll<T> {
    k: u16,
    /// The sum of the weights.
    count: u64,
    least: T,
    greatest: T,
    levels: Vec<Vec<T>>,
    /// Levels that were compacted: what coins are drawn from.
    compactions: u64,
}

impl<T: Item> Kll<T> {
    /// An empty sketch.
    pub fn new(k: u16) -> Kll<T> {
        Kll {
            k: k.max(K_MIN),
            count: 0,
            least: T::default(),
            greatest: T::default(),
            levels: Vec::new(),
            compactions: 0,
        }
    }

    /// The `k` for which ranks are wrong by at most `error`, between 0 and 1.
    pub fn k_of_error(error: f64) -> u16 {
        let k = (1.0285 * (2.296 / error).ln()).exp().ceil();
        k.clamp(K_MIN.into(), u16::MAX.into()) as u16
    }

    /// A sketch of items by level, whose least and greatest item were
    /// `bounds`; `None` when the weights leave 63 bits or there are no items.
    pub fn from_levels(k: u16, bounds: (T, T), levels: Vec<Vec<T>>) -> Option<Kll<T>> {
        let mut sketch = Kll::new(k);
        for (level, items) in levels.iter().enumerate() {
            let weight = 1u64.checked_shl(u32::try_from(level).ok()?)?;
            let added = u64::try_from(items.len()).ok()?.checked_mul(weight)?;
            sketch.count = sketch.count.checked_add(added).filter(|it| *it < 1 << LEVELS_MAX)?;
        }
        (sketch.least, sketch.greatest) = bounds;
        sketch.levels = levels;
        (sketch.count > 0).then_some(sketch)
    }

    /// The capacity of the top level.
    pub fn k(&self) -> u16 {
        self.k
    }

    /// The items of each level, those of level `h` with a weight of 2^h.
    pub fn levels(&self) -> &[Vec<T>] {
        &self.levels
    }

    /// The least and the greatest item that were added; the defaults of an empty sketch.
    pub fn bounds(&self) -> (T, T) {
        (self.least.clone(), self.greatest.clone())
    }

    /// The sum of the weights.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds an item of a weight; false, with nothing done, when the weights leave 63 bits.
    #[must_use]
    pub fn add(&mut self, item: T, weight: u64) -> bool {
        let count = self.count.checked_add(weight).filter(|it| *it < 1 << LEVELS_MAX);
        let Some(count) = count else { return false };
        if weight == 0 {
            return true;
        }
        self.see(&item, &item);
        self.count = count;
        if weight == 1 {
            self.push(0, item);
            return true;
        }
        (0..LEVELS_MAX).filter(|level| weight >> level & 1 == 1).for_each(|it| {
            self.push(it, item.clone());
        });
        true
    }

    /// Adds what another sketch holds; as [`Kll::add`].
    #[must_use]
    pub fn merge(&mut self, other: &Kll<T>) -> bool {
        let count = self.count.checked_add(other.count).filter(|it| *it < 1 << LEVELS_MAX);
        let Some(count) = count else { return false };
        if other.count == 0 {
            return true;
        }
        self.see(&other.least, &other.greatest);
        self.count = count;
        for (level, items) in other.levels.iter().enumerate() {
            items.iter().for_each(|it| self.push(level, it.clone()));
        }
        true
    }

    fn see(&mut self, least: &T, greatest: &T) {
        if self.count == 0 || least.compare(&self.least).is_lt() {
            self.least = least.clone();
        }
        if self.count == 0 || greatest.compare(&self.greatest).is_gt() {
            self.greatest = greatest.clone();
        }
    }

    fn push(&mut self, level: usize, item: T) {
        while self.levels.len() <= level {
            self.levels.reserve_exact(1);
            self.levels.push(Vec::new());
        }
        self.levels[level].push(item);
        // Each level goes up at most once: what it gives is half of what it had.
        let mut level = level;
        while self.levels[level].len() >= self.capacity(level) && level + 1 < LEVELS_MAX {
            self.compact(level);
            level += 1;
        }
    }

    /// `k` on the top level, and two thirds of the one above on the others.
    fn capacity(&self, level: usize) -> usize {
        let below_top = (self.levels.len() - 1 - level) as i32;
        let capacity = f64::from(self.k) * (2.0f64 / 3.0).powi(below_top);
        // The first level holds all of a small set.
        if self.levels.len() == 1 {
            usize::from(self.k) + 1
        } else {
            LEVEL_MIN.max(capacity as usize)
        }
    }

    fn compact(&mut self, level: usize) {
        if self.levels.len() == level + 1 {
            self.levels.reserve_exact(1);
            self.levels.push(Vec::new());
        }
        let mut items = std::mem::take(&mut self.levels[level]);
        items.sort_unstable_by(T::compare);
        self.compactions += 1;
        let coin = mix(self.compactions ^ self.count << 20);
        // One of an odd number stays: the first or the last.
        let kept = match (items.len() % 2, coin & 2) {
            (0, _) => None,
            (_, 0) => items.pop(),
            _ => Some(items.remove(0)),
        };
        let odd = (coin & 1) as usize;
        let promoted = items.iter().skip(odd).step_by(2).cloned();
        self.levels[level + 1].extend(promoted);
        items.clear();
        items.extend(kept);
        // It held more while it was the top.
        items.shrink_to(self.capacity(level) + 1);
        self.levels[level] = items;
    }

    /// All items in order, with the sum of the weights up to and with each.
    pub fn ranked(&self) -> Vec<(T, u64)> {
        let mut items: Vec<(T, u64)> = Vec::new();
        for (level, of_level) in self.levels.iter().enumerate() {
            items.extend(of_level.iter().map(|it| (it.clone(), 1u64 << level)));
        }
        items.sort_by(|left, right| left.0.compare(&right.0));
        let mut sum = 0;
        for item in &mut items {
            sum += item.1;
            item.1 = sum;
        }
        items
    }

    /// The items at `fractions` of the number of items, from 0 to 1, by nearest rank: the first
    /// item with at least that fraction at or below it. `None` of an empty sketch.
    pub fn quantiles(&self, fractions: &[f64]) -> Option<Vec<T>> {
        if self.count == 0 {
            return None;
        }
        let ranked = self.ranked();
        Some(fractions.iter().map(|it| self.quantile_of(&ranked, *it, true)).collect())
    }

    /// The item at a fraction, as [`Kll::quantiles`]; when not `inclusive` the first one with more
    /// than that fraction at or below it.
    pub fn quantile(&self, fraction: f64, inclusive: bool) -> Option<T> {
        (self.count > 0).then(|| self.quantile_of(&self.ranked(), fraction, inclusive))
    }

    fn quantile_of(&self, ranked: &[(T, u64)], fraction: f64, inclusive: bool) -> T {
        if fraction <= 0.0 {
            return self.least.clone();
        }
        if fraction >= 1.0 {
            return self.greatest.clone();
        }
        let wanted = fraction * self.count as f64;
        let is_before = |sum: f64| sum < wanted || (sum == wanted && !inclusive);
        let at = ranked.partition_point(|it| is_before(it.1 as f64));
        ranked.get(at).map_or_else(|| self.greatest.clone(), |it| it.0.clone())
    }

    /// The share of items below `item`, or at or below it when `inclusive`; `None` of an empty
    /// sketch.
    pub fn rank(&self, item: &T, inclusive: bool) -> Option<f64> {
        let counts = |it: &T| match it.compare(item) {
            Ordering::Less => true,
            Ordering::Equal => inclusive,
            Ordering::Greater => false,
        };
        let levels = self.levels.iter().enumerate();
        let below = levels
            .map(|(level, items)| (items.iter().filter(|it| counts(it)).count() as u64) << level);
        (self.count > 0).then(|| below.sum::<u64>() as f64 / self.count as f64)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let items: usize = self.levels.iter().map(Vec::capacity).sum();
        // Items of one type take heap memory or do not: numbers are not visited.
        let inner: usize = match std::mem::needs_drop::<T>() {
            true => self.levels.iter().flatten().map(Item::heap_bytes).sum(),
            false => 0,
        };
        items * size_of::<T>() + inner + self.levels.capacity() * size_of::<Vec<T>>()
    }
}

impl<T: NumberItem> Kll<T> {
    /// The sketch as bytes: the same ones for the same items.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![1, T::TAG];
        bytes.extend(self.k.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        if self.count > 0 {
            bytes.extend(self.least.to_bytes());
            bytes.extend(self.greatest.to_bytes());
        }
        bytes.push(self.levels.len() as u8);
        for items in &self.levels {
            bytes.extend((items.len() as u32).to_le_bytes());
            let mut items = items.clone();
            items.sort_unstable_by(T::compare);
            items.into_iter().for_each(|it| bytes.extend(it.to_bytes()));
        }
        bytes
    }

    /// The sketch that bytes are; `None` when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Kll<T>> {
        let (head, mut rest) = bytes.split_first_chunk::<4>()?;
        let [1, tag, k_low, k_high] = *head else { return None };
        let k = u16::from_le_bytes([k_low, k_high]);
        let count = u64::from_le_bytes(take(&mut rest)?);
        if tag != T::TAG || k < K_MIN || count >= 1 << LEVELS_MAX {
            return None;
        }
        let mut sketch = Kll::new(k);
        sketch.count = count;
        if count > 0 {
            sketch.least = T::from_bytes(take(&mut rest)?);
            sketch.greatest = T::from_bytes(take(&mut rest)?);
        }
        let [levels] = take(&mut rest)?;
        if usize::from(levels) > LEVELS_MAX {
            return None;
        }
        let mut sum = 0u64;
        for level in 0..u32::from(levels) {
            let len = u32::from_le_bytes(take(&mut rest)?);
            let (items, behind) = rest.split_at_checked((len as usize).checked_mul(8)?)?;
            rest = behind;
            sum = sum.checked_add(u64::from(len).checked_mul(1 << level)?)?;
            let items = items.chunks_exact(8).filter_map(|it| it.try_into().ok());
            sketch.levels.push(items.map(T::from_bytes).collect());
        }
        (sum == count && rest.is_empty()).then_some(sketch)
    }
}

/// The first bytes, which are taken away.
pub fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

//! KLL sketches in the bytes of Apache DataSketches' `KllItemsSketch`, which Presto stores.
//!
//! ```text
//! bytes 0..8    5 | 1 | 15, the family | flags | k: u16 | 8, the least capacity of a level | 0
//! 8..20         items that were added: u64 | least k: u16 | levels: u8 | 0
//! then          where each level begins: i32 each | the least and the greatest item | the items
//!               of level 0, the newest first, of level 1 ...
//! one item      2 | 2 | 15 | flags | k | 8 | 0 | the item
//! no items      2 | 1 | 15 | flags | k | 8 | 0
//! ```
//!
//! Positions of levels count from the start of an array of the capacity of all levels; the items
//! fill its end.
//! Numbers are little-endian; items have 8 bytes. Flags: 1 no items, 2 level 0 is sorted, 4 one
//! item.

use volley_functions::kll::{Item, K_MIN, Kll, take};

const FAMILY: u8 = 15;
const LEVEL_MIN: u8 = 8;

/// The preamble in units of 4 bytes, and the version, by what is stored.
const FULL: [u8; 2] = [5, 1];
const ONE_ITEM: [u8; 2] = [2, 2];
const NO_ITEMS: [u8; 2] = [2, 1];

const FLAG_EMPTY: u8 = 1;
const FLAG_ONE_ITEM: u8 = 4;

/// The most levels: weights are below 2^61.
const LEVELS_MAX: usize = 60;

/// The sketch as bytes.
pub fn write<T: Item>(sketch: &Kll<T>) -> Vec<u8> {
    let levels: Vec<&[T]> = sketch.levels().iter().map(Vec::as_slice).collect();
    let (kind, flags) = match sketch.count() {
        0 => (NO_ITEMS, FLAG_EMPTY),
        1 => (ONE_ITEM, FLAG_ONE_ITEM),
        _ => (FULL, 0),
    };
    let mut bytes = kind.to_vec();
    bytes.extend([FAMILY, flags]);
    bytes.extend(sketch.k().to_le_bytes());
    bytes.extend([LEVEL_MIN, 0]);
    if kind != FULL {
        levels.iter().copied().flatten().for_each(|it| bytes.extend(it.to_bytes()));
        return bytes;
    }
    let items: usize = levels.iter().map(|it| it.len()).sum();
    let mut count = levels.len();
    while capacity(sketch.k(), count) < items && count < LEVELS_MAX {
        count += 1;
    }
    bytes.extend(sketch.count().to_le_bytes());
    bytes.extend(sketch.k().to_le_bytes());
    bytes.extend([count as u8, 0]);
    let mut begin = capacity(sketch.k(), count).saturating_sub(items);
    for level in 0..count {
        bytes.extend((begin as i32).to_le_bytes());
        begin += levels.get(level).map_or(0, |it| it.len());
    }
    let (least, greatest) = sketch.bounds();
    bytes.extend(least.to_bytes());
    bytes.extend(greatest.to_bytes());
    for (level, items) in levels.into_iter().enumerate() {
        let mut items = items.to_vec();
        match level {
            0 => items.reverse(),
            _ => items.sort_unstable_by(T::compare),
        }
        items.into_iter().for_each(|it| bytes.extend(it.to_bytes()));
    }
    bytes
}

/// The sketch that bytes are; `None` when they are none.
pub fn read<T: Item>(bytes: &[u8]) -> Option<Kll<T>> {
    let mut rest = bytes;
    let [preamble, version, family, _flags, k_low, k_high, least_capacity, _] = take(&mut rest)?;
    let k = u16::from_le_bytes([k_low, k_high]);
    if family != FAMILY || least_capacity != LEVEL_MIN || k < K_MIN {
        return None;
    }
    match [preamble, version] {
        NO_ITEMS => rest.is_empty().then(|| Kll::new(k)),
        ONE_ITEM => {
            let item = T::from_bytes(take(&mut rest)?);
            rest.is_empty().then(|| Kll::from_levels(k, (item, item), vec![vec![item]]))?
        }
        FULL => {
            let count = u64::from_le_bytes(take(&mut rest)?);
            let _least_k: [u8; 2] = take(&mut rest)?;
            let [levels, _] = take(&mut rest)?;
            let sketch = read_levels(k, levels.into(), rest)?;
            (sketch.count() == count && count > 1).then_some(sketch)
        }
        _ => None,
    }
}

fn read_levels<T: Item>(k: u16, levels: usize, mut rest: &[u8]) -> Option<Kll<T>> {
    if !(1..=LEVELS_MAX).contains(&levels) {
        return None;
    }
    let mut begins = Vec::with_capacity(levels + 1);
    for _ in 0..levels {
        begins.push(usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?);
    }
    begins.push(capacity(k, levels));
    let bounds = (T::from_bytes(take(&mut rest)?), T::from_bytes(take(&mut rest)?));
    let mut found = Vec::with_capacity(levels);
    for (level, begin) in begins.windows(2).enumerate() {
        let [begin, end] = begin else { return None };
        let (items, behind) = rest.split_at_checked(end.checked_sub(*begin)?.checked_mul(8)?)?;
        rest = behind;
        let items = items.as_chunks::<8>().0.iter().map(|it| T::from_bytes(*it));
        found.push(match level {
            0 => items.rev().collect(),
            _ => items.collect::<Vec<T>>(),
        });
    }
    rest.is_empty().then(|| Kll::from_levels(k, bounds, found))?
}

/// The items of all levels: `k` of the top one, two thirds of the one above of each other, rounded,
/// and at least 8.
fn capacity(k: u16, levels: usize) -> usize {
    let of_level = |depth: usize| {
        let twice = (f64::from(k) * 2.0 * (2.0f64 / 3.0).powi(depth as i32)).floor() as usize;
        twice.div_ceil(2).max(LEVEL_MIN.into())
    };
    (0..levels).map(of_level).sum()
}

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
//! Numbers are little-endian. Items that are numbers have 8 bytes; a text has its length, 4 bytes,
//! and its bytes; 8 truth values have a byte, the first in its lowest bit. Flags: 1 no items, 2
//! level 0 is sorted, 4 one item.

use volley_functions::kll::{Item, K_MIN, Kll, NumberItem, take};
use volley_types::Value;

/// An item that is stored.
pub trait StoredItem: Item {
    /// The item that a value is.
    fn of_value(value: &Value) -> Option<Self>;

    /// The item as a value.
    fn into_value(self) -> Value;

    /// Appends the bytes of items.
    fn push_all(items: &[Self], bytes: &mut Vec<u8>);

    /// Takes `count` items from the start of `bytes`.
    fn take_all(bytes: &mut &[u8], count: usize) -> Option<Vec<Self>>;
}

impl StoredItem for i64 {
    fn of_value(value: &Value) -> Option<i64> {
        value.as_i128().and_then(|it| it.try_into().ok())
    }

    fn into_value(self) -> Value {
        Value::BigInt(self)
    }

    fn push_all(items: &[i64], bytes: &mut Vec<u8>) {
        push_numbers(items, bytes);
    }

    fn take_all(bytes: &mut &[u8], count: usize) -> Option<Vec<i64>> {
        take_numbers(bytes, count)
    }
}

impl StoredItem for f64 {
    fn of_value(value: &Value) -> Option<f64> {
        match value {
            Value::Real(value) => Some((*value).into()),
            Value::Double(value) => Some(*value),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Double(self)
    }

    fn push_all(items: &[f64], bytes: &mut Vec<u8>) {
        push_numbers(items, bytes);
    }

    fn take_all(bytes: &mut &[u8], count: usize) -> Option<Vec<f64>> {
        take_numbers(bytes, count)
    }
}

impl StoredItem for bool {
    fn of_value(value: &Value) -> Option<bool> {
        value.as_bool()
    }

    fn into_value(self) -> Value {
        Value::Boolean(self)
    }

    fn push_all(items: &[bool], bytes: &mut Vec<u8>) {
        for eight in items.chunks(8) {
            bytes.push(eight.iter().zip(0..).map(|(it, bit)| u8::from(*it) << bit).sum());
        }
    }

    fn take_all(bytes: &mut &[u8], count: usize) -> Option<Vec<bool>> {
        let (bits, rest) = bytes.split_at_checked(count.div_ceil(8))?;
        *bytes = rest;
        Some((0..count).map(|it| bits[it / 8] >> (it % 8) & 1 == 1).collect())
    }
}

impl StoredItem for String {
    fn of_value(value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned)
    }

    fn into_value(self) -> Value {
        Value::text(self)
    }

    fn push_all(items: &[String], bytes: &mut Vec<u8>) {
        for item in items {
            bytes.extend((item.len() as u32).to_le_bytes());
            bytes.extend(item.as_bytes());
        }
    }

    fn take_all(bytes: &mut &[u8], count: usize) -> Option<Vec<String>> {
        let one = |_| {
            let len = u32::from_le_bytes(take(bytes)?);
            let (text, rest) = bytes.split_at_checked(len as usize)?;
            *bytes = rest;
            std::str::from_utf8(text).ok().map(str::to_owned)
        };
        // As many as there are bytes at most.
        (0..count).map(one).collect()
    }
}

fn push_numbers<T: NumberItem>(items: &[T], bytes: &mut Vec<u8>) {
    items.iter().for_each(|it| bytes.extend(it.to_bytes()));
}

fn take_numbers<T: NumberItem>(bytes: &mut &[u8], count: usize) -> Option<Vec<T>> {
    let (items, rest) = bytes.split_at_checked(count.checked_mul(8)?)?;
    *bytes = rest;
    Some(items.as_chunks::<8>().0.iter().map(|it| T::from_bytes(*it)).collect())
}

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
pub fn write<T: StoredItem>(sketch: &Kll<T>) -> Vec<u8> {
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
        levels.iter().for_each(|it| T::push_all(it, &mut bytes));
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
    T::push_all(&[least], &mut bytes);
    T::push_all(&[greatest], &mut bytes);
    let mut all = Vec::with_capacity(items);
    for (level, items) in levels.into_iter().enumerate() {
        let mut items = items.to_vec();
        match level {
            0 => items.reverse(),
            _ => items.sort_unstable_by(T::compare),
        }
        all.append(&mut items);
    }
    T::push_all(&all, &mut bytes);
    bytes
}

/// The sketch that bytes are; `None` when they are none.
pub fn read<T: StoredItem>(bytes: &[u8]) -> Option<Kll<T>> {
    let mut rest = bytes;
    let [preamble, version, family, _flags, k_low, k_high, least_capacity, _] = take(&mut rest)?;
    let k = u16::from_le_bytes([k_low, k_high]);
    if family != FAMILY || least_capacity != LEVEL_MIN || k < K_MIN {
        return None;
    }
    match [preamble, version] {
        NO_ITEMS => rest.is_empty().then(|| Kll::new(k)),
        ONE_ITEM => {
            let item = T::take_all(&mut rest, 1)?.pop()?;
            let bounds = (item.clone(), item.clone());
            rest.is_empty().then(|| Kll::from_levels(k, bounds, vec![vec![item]]))?
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

fn read_levels<T: StoredItem>(k: u16, levels: usize, mut rest: &[u8]) -> Option<Kll<T>> {
    if !(1..=LEVELS_MAX).contains(&levels) {
        return None;
    }
    let mut begins = Vec::with_capacity(levels + 1);
    for _ in 0..levels {
        begins.push(usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?);
    }
    begins.push(capacity(k, levels));
    let bounds = (T::take_all(&mut rest, 1)?.pop()?, T::take_all(&mut rest, 1)?.pop()?);
    let count = capacity(k, levels).checked_sub(*begins.first()?)?;
    let mut items = T::take_all(&mut rest, count)?.into_iter();
    let mut found = Vec::with_capacity(levels);
    for (level, begin) in begins.windows(2).enumerate() {
        let [begin, end] = begin else { return None };
        let mut of_level: Vec<T> = items.by_ref().take(end.checked_sub(*begin)?).collect();
        if level == 0 {
            of_level.reverse();
        }
        found.push(of_level);
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

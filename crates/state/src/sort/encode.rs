//! Sort keys as bytes whose order (`memcmp`) is the rows' order.
//!
//! ```text
//! per key   [null byte]   only if the column has nulls: 0 null (first), 1 value, 2 null (last)
//!           value bytes   integers: distance from the least, big-endian, as many bytes as the
//!                         greatest distance needs (HUGEINT: sign bit flipped); floats: as
//!                         integers of their bits, negative ones inverted, one NaN, one zero;
//!                         intervals: their length; strings: zero-padded to the longest, then
//!                         the length; long strings: a prefix; descending: all bits flipped
//! ```
//!
//! All rows have the same width. Long strings, nested values and keys beyond the maximal width are
//! not decided by bytes: rows that are equal up to there are compared by value, from that key on.

use std::ops::Range;
use volley_types::{PhysicalType, SortKey, Type};
use volley_vector::{Decoded, StringValues, StringView, Values, Vector, interval_nanos};

/// Bytes per row, at most.
const WIDTH_MAX: usize = 32;

/// Strings up to this length are encoded whole.
const STRING_WHOLE_BYTES_MAX: usize = 16;

/// What is encoded of longer strings.
const STRING_PREFIX_BYTES: usize = 12;

/// The maximum bytes per row that a [`super::RowSorter`] reserves for rows of `types`.
pub fn sort_bytes_per_row(types: &[Type], keys: &[SortKey]) -> usize {
    let key_bytes = |key: &SortKey| match types.get(key.column).map(Type::physical) {
        Some(PhysicalType::Null | PhysicalType::Boolean | PhysicalType::I8) => 2,
        Some(PhysicalType::I16) => 3,
        Some(PhysicalType::I32 | PhysicalType::F32) => 5,
        Some(PhysicalType::I64 | PhysicalType::F64) => 9,
        _ => STRING_WHOLE_BYTES_MAX + 2,
    };
    keys.iter().map(key_bytes).sum::<usize>().min(WIDTH_MAX) + 2 * size_of::<u128>()
}

/// Where each key stands in a row's bytes.
pub(super) struct KeyLayout {
    slots: Vec<Slot>,
    width: usize,
    /// Keys to compare by value when the bytes are equal.
    ties: Range<usize>,
}

struct Slot {
    key: SortKey,
    offset: usize,
    has_nulls: bool,
    /// Bytes of the value.
    bytes: usize,
    /// Whether they are the whole value.
    whole: bool,
    /// The least value of integers.
    least: i64,
}

/// How the values of a column are encoded.
struct Shape {
    bytes: usize,
    whole: bool,
    least: i64,
}

impl KeyLayout {
    /// The layout for flat `columns`, one per key.
    pub(super) fn new(columns: &[Vector], keys: &[SortKey]) -> KeyLayout {
        let mut layout = KeyLayout { slots: Vec::new(), width: 0, ties: keys.len()..keys.len() };
        for (index, (column, key)) in columns.iter().zip(keys).enumerate() {
            let Shape { bytes, whole, least } = shape(column);
            let has_nulls = column.null_buffer().is_some();
            let end = layout.width + bytes + usize::from(has_nulls);
            if end > WIDTH_MAX {
                layout.ties.start = index;
                break;
            }
            let (key, offset) = (*key, layout.width);
            layout.slots.push(Slot { key, offset, has_nulls, bytes, whole, least });
            layout.width = end;
            if !whole {
                layout.ties.start = index;
                break;
            }
        }
        layout
    }

    /// Bytes per row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// How many keys are encoded.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The bytes that tell which rows agree in the first `keys` keys, if bytes do.
    pub(super) fn settled_bytes(&self, keys: usize) -> Option<usize> {
        if keys > self.ties.start || keys > self.slots.len() {
            return None;
        }
        Some(self.slots.get(keys).map_or(self.width, |it| it.offset))
    }

    /// The keys that rows with equal bytes are compared by.
    pub(super) fn ties(&self) -> Range<usize> {
        self.ties.clone()
    }

    /// How many bytes of the strings of key `key` are encoded, if not all are.
    pub(super) fn encoded_bytes(&self, key: usize) -> usize {
        self.slots.get(key).map_or(0, |it| it.bytes)
    }

    /// Writes key `slot` of `rows`, whose bytes are `bytes`.
    pub(super) fn encode(
        &self,
        slot: usize,
        columns: &[Vector],
        rows: Range<usize>,
        bytes: &mut [u8],
    ) {
        let (slot, column) = (&self.slots[slot], columns[slot].slice(rows.start, rows.len()));
        if self.width == 0 {
            return;
        }
        let mut offset = slot.offset;
        if slot.has_nulls {
            offset += 1;
        }
        let target = Target {
            bytes,
            width: self.width,
            offset,
            len: slot.bytes,
            whole: slot.whole,
            least: slot.least,
        };
        if let Some(values) = column.flat_values() {
            encode_values(values, slot.key.descending, target);
        }
        if slot.has_nulls {
            mark_nulls(&column, slot, self.width, bytes);
        }
    }
}

/// Writes the null bytes, and zeros as the values of null rows.
fn mark_nulls(column: &Vector, slot: &Slot, width: usize, bytes: &mut [u8]) {
    let null = if slot.key.nulls_first { 0 } else { 2 };
    let nulls = column.null_buffer();
    for (row, key) in bytes.chunks_exact_mut(width).enumerate() {
        let key = &mut key[slot.offset..slot.offset + 1 + slot.bytes];
        if nulls.is_some_and(|it| it.is_null(row)) {
            key.fill(0);
            key[0] = null;
        } else {
            key[0] = 1;
        }
    }
}

/// How a flat column is encoded.
fn shape(column: &Vector) -> Shape {
    let whole = |bytes: usize| Shape { bytes, whole: true, least: 0 };
    let Some(values) = column.flat_values() else { return Shape { whole: false, ..whole(0) } };
    match values {
        Values::Null(_) => whole(0),
        Values::Boolean(_) | Values::I8(_) => whole(1),
        Values::I16(it) => narrowed(it),
        Values::I32(it) => narrowed(it),
        Values::I64(it) => narrowed(it),
        Values::F32(_) => whole(4),
        Values::F64(_) => whole(8),
        Values::I128(_) | Values::Interval(_) => whole(16),
        Values::View(strings) => {
            let longest = strings.views.iter().map(|it| StringView::len_of(*it)).max().unwrap_or(0);
            if longest <= STRING_WHOLE_BYTES_MAX {
                whole(longest + 1)
            } else {
                Shape { whole: false, ..whole(STRING_PREFIX_BYTES) }
            }
        }
        Values::Array(_)
        | Values::FixedArray(_)
        | Values::Map(_)
        | Values::Row { .. }
        | Values::Object(_) => Shape { whole: false, ..whole(0) },
    }
}

/// Integers take as many bytes as their range does, whatever stands in the place of nulls.
fn narrowed<T: Copy + Ord + Into<i64>>(values: &[T]) -> Shape {
    let Some(first) = values.first() else { return Shape { bytes: 0, whole: true, least: 0 } };
    let bounds = |(least, most): (T, T), it: &T| (least.min(*it), most.max(*it));
    let (least, most) = values.iter().fold((*first, *first), bounds);
    let (least, most): (i64, i64) = (least.into(), most.into());
    let bits = u64::BITS - most.wrapping_sub(least).cast_unsigned().leading_zeros();
    Shape { bytes: bits.div_ceil(8) as usize, whole: true, least }
}

/// Where the values of one key go.
struct Target<'a> {
    bytes: &'a mut [u8],
    width: usize,
    offset: usize,
    len: usize,
    whole: bool,
    least: i64,
}

impl Target<'_> {
    /// Writes the distances of integers from the least one.
    fn fill_integers<T: Copy + Into<i64>>(self, descending: bool, values: &[T]) {
        match self.len {
            0 => {}
            1 => self.fill_low::<1, T>(descending, values),
            2 => self.fill_low::<2, T>(descending, values),
            3 => self.fill_low::<3, T>(descending, values),
            4 => self.fill_low::<4, T>(descending, values),
            5 => self.fill_low::<5, T>(descending, values),
            6 => self.fill_low::<6, T>(descending, values),
            7 => self.fill_low::<7, T>(descending, values),
            _ => self.fill_low::<8, T>(descending, values),
        }
    }

    fn fill_low<const N: usize, T: Copy + Into<i64>>(self, descending: bool, values: &[T]) {
        let least = self.least;
        self.fill(descending, |row| {
            let value: i64 = values[row].into();
            let bytes = value.wrapping_sub(least).to_be_bytes();
            std::array::from_fn::<u8, N, _>(|index| bytes[8 - N + index])
        });
    }

    /// Writes `value(row)` to every row, inverted when the order descends.
    #[inline(always)]
    fn fill<const N: usize>(self, descending: bool, value: impl Fn(usize) -> [u8; N]) {
        let flip = if descending { 0xff } else { 0 };
        for (row, key) in self.bytes.chunks_exact_mut(self.width).enumerate() {
            let value = value(row).map(|it| it ^ flip);
            key[self.offset..self.offset + N].copy_from_slice(&value);
        }
    }
}

fn encode_values(values: &Values, descending: bool, target: Target) {
    match values {
        Values::Boolean(bits) => target.fill(descending, |row| [u8::from(bits.value(row))]),
        Values::I8(it) => target.fill(descending, |row| (it[row] ^ i8::MIN).to_be_bytes()),
        Values::I16(it) => target.fill_integers(descending, it),
        Values::I32(it) => target.fill_integers(descending, it),
        Values::I64(it) => target.fill_integers(descending, it),
        Values::I128(it) => target.fill(descending, |row| (it[row] ^ i128::MIN).to_be_bytes()),
        Values::F32(it) => target.fill(descending, |row| ordered_f32(it[row]).to_be_bytes()),
        Values::F64(it) => target.fill(descending, |row| ordered_f64(it[row]).to_be_bytes()),
        Values::Interval(it) => {
            target.fill(descending, |row| (interval_nanos(it[row]) ^ i128::MIN).to_be_bytes());
        }
        Values::View(strings) => encode_strings(strings, descending, target),
        Values::Null(_)
        | Values::Array(_)
        | Values::FixedArray(_)
        | Values::Map(_)
        | Values::Row { .. }
        | Values::Object(_) => {}
    }
}

/// Zero-padded bytes, and the length where the whole string is encoded.
fn encode_strings(strings: &StringValues, descending: bool, target: Target) {
    let room = if target.whole { target.len - 1 } else { target.len };
    let flip = if descending { 0xff } else { 0 };
    for (row, key) in target.bytes.chunks_exact_mut(target.width).enumerate() {
        let key = &mut key[target.offset..target.offset + target.len];
        let string = strings.bytes(row);
        let taken = string.len().min(room);
        key.fill(0);
        key[..taken].copy_from_slice(&string[..taken]);
        if target.whole {
            key[room] = string.len() as u8;
        }
        key.iter_mut().for_each(|it| *it ^= flip);
    }
}

/// Bits whose unsigned order is the floats' order: NaN greatest, -0.0 as 0.0.
fn ordered_f64(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

/// As [`ordered_f64`].
fn ordered_f32(value: f32) -> u32 {
    let value = if value.is_nan() { f32::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits();
    bits ^ (((bits as i32 >> 31) as u32) | 1 << 31)
}

/// For each row a number that never decreases in the order of `key`: a smaller number means an
/// earlier row, equal numbers mean nothing.
pub fn key_prefixes(column: &Decoded, key: SortKey) -> Vec<u64> {
    let rows = column.len();
    let flip = if key.descending { u64::MAX } else { 0 };
    let mut prefixes: Vec<u64> = match column.values() {
        Values::Boolean(bits) => prefix(column, |index| u64::from(bits.value(index))),
        Values::I8(it) => prefix(column, |index| ordered_i64(it[index].into())),
        Values::I16(it) => prefix(column, |index| ordered_i64(it[index].into())),
        Values::I32(it) => prefix(column, |index| ordered_i64(it[index].into())),
        Values::I64(it) => prefix(column, |index| ordered_i64(it[index])),
        Values::I128(it) => prefix(column, |index| ordered_i64(saturated(it[index]))),
        Values::F32(it) => prefix(column, |index| ordered_f32(it[index]).into()),
        Values::F64(it) => prefix(column, |index| ordered_f64(it[index])),
        Values::Interval(it) => {
            prefix(column, |index| ordered_i64(saturated(interval_nanos(it[index]))))
        }
        Values::View(strings) => prefix(column, |index| {
            let (bytes, mut first) = (strings.bytes(index), [0; 8]);
            let taken = bytes.len().min(8);
            first[..taken].copy_from_slice(&bytes[..taken]);
            u64::from_be_bytes(first)
        }),
        _ => return vec![0; rows],
    };
    prefixes.iter_mut().for_each(|it| *it ^= flip);
    if let Some(nulls) = column.nulls() {
        let null = if key.nulls_first { 0 } else { u64::MAX };
        for (row, prefix) in prefixes.iter_mut().enumerate() {
            *prefix = if nulls.is_null(row) { null } else { *prefix };
        }
    }
    prefixes
}

#[inline(always)]
fn prefix(column: &Decoded, value: impl Fn(usize) -> u64) -> Vec<u64> {
    (0..column.len()).map(|row| value(column.index(row))).collect()
}

fn ordered_i64(value: i64) -> u64 {
    (value ^ i64::MIN) as u64
}

fn saturated(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

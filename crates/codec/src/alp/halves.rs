//! ALP-RD: the upper bits of floats as codes of a few entries, the lower ones packed.

use crate::{
    VECTOR_ROWS,
    column::{Body, Fixed},
    input::{Input, corruption, put, put_all},
    order::Order,
    pfor::{self, Packed, Plan, Writer},
    vectors::{Decode, rows_of},
};
use arrow_buffer::ArrowNativeType;
use std::collections::HashMap;
use volley_error::Result;
use volley_kernels::{
    alp::{Float, UPPER_ENTRIES, join_halves},
    pack::Lane,
};
use volley_types::PhysicalType;

/// The most upper bits.
const UPPER_BITS_MAX: usize = 16;

/// The most entries: codes of 3 bits.
const ENTRIES_MAX: usize = UPPER_ENTRIES;

/// Values that are looked at to choose the width.
const SAMPLE: usize = 4096;

/// Bits of a row whose upper bits are not an entry: position and upper bits.
const PATCH_BITS: usize = 32;

/// Appends `values`.
pub(crate) fn encode_halves<T: Float>(values: &[T], out: &mut Vec<u8>) {
    let width = lower_bits(values);
    let upper: Vec<u16> =
        values.iter().map(|it| (it.bits() >> width as u32).wide() as u16).collect();
    let entries = most_frequent(upper.iter().copied());
    put(out, width as u8);
    put(out, entries.len() as u8);
    put_all(out, &entries);
    let code = |it: &u16| entries.iter().position(|entry| entry == it);
    let codes: Vec<u8> = upper.iter().map(|it| code(it).unwrap_or(0) as u8).collect();
    pfor::encode(&codes, Order::Unsigned, out);
    let (mut counts, mut patches) = (Vec::<u16>::new(), Vec::<u16>::new());
    for vector in upper.chunks(VECTOR_ROWS) {
        let missing = vector.iter().enumerate().filter(|it| code(it.1).is_none());
        let before = patches.len();
        patches.extend(missing.flat_map(|(row, upper)| [row as u16, *upper]));
        counts.push(((patches.len() - before) / 2) as u16);
    }
    put_all(out, &counts);
    put_all(out, &patches);
    let mut writer = Writer::default();
    let mask = T::Bits::mask(width);
    for vector in values.chunks(VECTOR_ROWS) {
        let lower: Vec<T::Bits> = vector.iter().map(|it| it.bits() & mask).collect();
        writer.push(&lower, Plan::whole(width), |_, _| None);
    }
    writer.finish(out);
}

/// The number of lower bits with the fewest bits in all.
fn lower_bits<T: Float>(values: &[T]) -> usize {
    let step = (values.len() / SAMPLE).max(1);
    let sample: Vec<T> = values.iter().step_by(step).copied().collect();
    let bits = |width: &usize| {
        let upper = || sample.iter().map(|it| (it.bits() >> *width as u32).wide() as u16);
        let entries = most_frequent(upper());
        let missing = upper().filter(|it| !entries.contains(it)).count();
        let code_bits = entries.len().max(1).next_power_of_two().ilog2() as usize;
        sample.len() * (width + code_bits) + missing * PATCH_BITS
    };
    let widths = T::Bits::BITS - UPPER_BITS_MAX..T::Bits::BITS;
    widths.min_by_key(bits).unwrap_or(T::Bits::BITS - UPPER_BITS_MAX)
}

/// The most frequent of the upper bits, the most frequent first.
fn most_frequent(upper: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut counts: HashMap<u16, usize> = HashMap::new();
    upper.for_each(|it| *counts.entry(it).or_default() += 1);
    let mut entries: Vec<(u16, usize)> = counts.into_iter().collect();
    entries.sort_unstable_by_key(|it| (std::cmp::Reverse(it.1), it.0));
    entries.into_iter().take(ENTRIES_MAX).map(|it| it.0).collect()
}

pub(crate) fn open_halves<T: Float + ArrowNativeType>(
    input: &mut Input,
    physical: PhysicalType,
    rows: usize,
) -> Result<Box<dyn Body>> {
    let width = usize::from(input.integer::<u8>()?);
    let count = usize::from(input.integer::<u8>()?);
    if !(T::Bits::BITS - UPPER_BITS_MAX..T::Bits::BITS).contains(&width) || count > ENTRIES_MAX {
        return Err(corruption("halves of floats"));
    }
    let mut entries = [T::Bits::default(); ENTRIES_MAX];
    for (entry, upper) in entries.iter_mut().zip(input.integers::<u16>(count)?) {
        *entry = shifted::<T>(upper, width);
    }
    let codes = Packed::open(input, rows)?;
    let counts = input.integers::<u16>(rows.div_ceil(VECTOR_ROWS))?;
    let mut patches = Vec::with_capacity(counts.len());
    for (index, count) in counts.into_iter().enumerate() {
        let numbers = input.integers::<u16>(2 * usize::from(count))?;
        let patch = |it: &[u16; 2]| (it[0], shifted::<T>(it[1], width));
        let of_vector: Vec<(u16, T::Bits)> = numbers.as_chunks().0.iter().map(patch).collect();
        let is_beyond = |it: &(u16, T::Bits)| usize::from(it.0) >= rows_of(index, rows);
        if !of_vector.is_sorted_by(|a, b| a.0 < b.0) || of_vector.last().is_some_and(is_beyond) {
            return Err(corruption("positions of upper bits"));
        }
        patches.push(of_vector);
    }
    let column = Halves::<T> { entries, codes, patches, lower: Packed::open(input, rows)? };
    Ok(Box::new(Fixed { column, physical, values: std::marker::PhantomData }))
}

/// Upper bits where they belong.
fn shifted<T: Float>(upper: u16, width: usize) -> T::Bits {
    T::Bits::narrow(u64::from(upper)) << width as u32
}

struct Halves<T: Float> {
    /// Upper bits, shifted.
    entries: [T::Bits; ENTRIES_MAX],
    codes: Packed<u8>,
    /// By vector.
    patches: Vec<Vec<(u16, T::Bits)>>,
    lower: Packed<T::Bits>,
}

impl<T: Float> Halves<T> {
    fn upper(&self, code: u8) -> T::Bits {
        self.entries[usize::from(code) % ENTRIES_MAX]
    }
}

impl<T: Float> Decode<T> for Halves<T> {
    fn rows(&self) -> usize {
        self.codes.rows()
    }

    fn vector(&self, index: usize, out: &mut Vec<T>) -> Result<()> {
        let (mut codes, mut lower) = (Vec::new(), Vec::new());
        self.codes.vector(index, &mut codes)?;
        self.lower.vector(index, &mut lower)?;
        let start = out.len();
        if codes.len() != lower.len() {
            return Err(corruption("halves of floats"));
        }
        join_halves(&lower, &codes, &self.entries, out);
        for (row, upper) in self.patches.get(index).into_iter().flatten() {
            let row = usize::from(*row);
            if let (Some(value), Some(lower)) = (out.get_mut(start + row), lower.get(row)) {
                *value = T::from_bits(*upper | *lower);
            }
        }
        Ok(())
    }

    fn single(&self, index: usize, row: usize) -> Option<T> {
        let lower = self.lower.single(index, row)?;
        let patches = self.patches.get(index)?;
        let patch = patches.iter().find(|it| usize::from(it.0) == row);
        let upper = match patch {
            Some((_, upper)) => *upper,
            None => self.upper(self.codes.single(index, row)?),
        };
        Some(T::from_bits(upper | lower))
    }
}

//! Ranges of values, tested on the codes.

use super::Packed;
use crate::{
    VECTOR_ROWS,
    marks::{self, Mark},
    order::Order,
    vectors::{Decode, rows_of},
};
use std::ops::RangeInclusive;
use volley_error::Result;
use volley_kernels::{
    pack::{Lane, unpack_short_one},
    select_packed::{PackedRange, VECTOR_WORDS, select_ranges},
};

/// Which rows of vector `index` have a value within one of `ranges`.
pub(crate) fn select<T: Lane>(
    packed: &Packed<T>,
    index: usize,
    ranges: &[RangeInclusive<i128>],
    order: Order,
    scratch: &mut Vec<T>,
) -> Result<[u64; VECTOR_WORDS]> {
    let vector = packed.bytes_of(index)?;
    let (base, mask) = (order.value(vector.base), T::mask(vector.width));
    let codes: Vec<PackedRange<T>> =
        ranges.iter().filter_map(|it| packed_range(it, base, mask)).collect();
    let len = rows_of(index, packed.rows());
    let mut bits = if codes.is_empty() {
        marks::hit(Mark::BoundsTest);
        [0; VECTOR_WORDS]
    } else if codes.iter().any(|it| it.first == T::default() && it.span == mask) {
        marks::hit(Mark::BoundsTest);
        [u64::MAX; VECTOR_WORDS]
    } else if len == VECTOR_ROWS {
        marks::hit(Mark::PackedTest);
        select_ranges(vector.codes, vector.width, &codes, scratch)
    } else {
        let holds = |row| {
            let code = unpack_short_one::<T>(vector.codes, vector.width, row);
            codes.iter().any(|it| it.contains(code))
        };
        bits_of((0..len).filter(|row| holds(*row)))
    };
    for (position, value) in vector.exceptions() {
        let holds = ranges.iter().any(|it| it.contains(&order.value(value)));
        let (word, bit) = (&mut bits[position / 64 % VECTOR_WORDS], 1 << (position % 64));
        *word = if holds { *word | bit } else { *word & !bit };
    }
    Ok(bits)
}

fn bits_of(rows: impl Iterator<Item = usize>) -> [u64; VECTOR_WORDS] {
    let mut bits = [0; VECTOR_WORDS];
    rows.for_each(|row| bits[row / 64 % VECTOR_WORDS] |= 1 << (row % 64));
    bits
}

/// The codes of a range of values; `None` when it has none.
fn packed_range<T: Lane>(
    range: &RangeInclusive<i128>,
    base: i128,
    mask: T,
) -> Option<PackedRange<T>> {
    let first = range.start().saturating_sub(base).max(0);
    let last = range.end().saturating_sub(base).min(i128::from(mask.wide()));
    let narrow = |it: i128| T::narrow(it as u64);
    (first <= last).then(|| PackedRange { first: narrow(first), span: narrow(last - first) })
}

//! Comparisons of columns into bitmaps.

use crate::{
    bits::word,
    cpu::{self, Kernel},
    order::Ordered,
};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with its sides exchanged.
    pub fn flipped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    /// Whether it holds for values in this order.
    #[inline(always)]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Sets bit `i` of `bits` when `left[i]` and `constant` compare so; bits beyond are clear.
///
/// # Panics
///
/// If `bits` does not have one word per 64 values.
pub fn compare_constant<T: Ordered>(
    comparison: Comparison,
    left: &[T],
    constant: T,
    bits: &mut [u64],
) {
    assert_eq!(bits.len(), left.len().div_ceil(64), "one bit per value");
    match comparison {
        Comparison::Equal => run_constant(left, constant, bits, T::same),
        Comparison::NotEqual => run_constant(left, constant, bits, |a, b| !a.same(b)),
        Comparison::Less => run_constant(left, constant, bits, T::less),
        Comparison::LessOrEqual => run_constant(left, constant, bits, |a, b| !b.less(a)),
        Comparison::Greater => run_constant(left, constant, bits, |a, b| b.less(a)),
        Comparison::GreaterOrEqual => run_constant(left, constant, bits, |a, b| !a.less(b)),
    }
}

/// Sets bit `i` of `bits` when `left[i]` and `right[i]` compare so; bits beyond are clear.
///
/// # Panics
///
/// If the slices differ in length, or `bits` does not have one word per 64 values.
pub fn compare_columns<T: Ordered>(
    comparison: Comparison,
    left: &[T],
    right: &[T],
    bits: &mut [u64],
) {
    assert_eq!(left.len(), right.len(), "columns of one length");
    assert_eq!(bits.len(), left.len().div_ceil(64), "one bit per value");
    match comparison {
        Comparison::Equal => run_columns(left, right, bits, T::same),
        Comparison::NotEqual => run_columns(left, right, bits, |a, b| !a.same(b)),
        Comparison::Less => run_columns(left, right, bits, T::less),
        Comparison::LessOrEqual => run_columns(left, right, bits, |a, b| !b.less(a)),
        Comparison::Greater => run_columns(left, right, bits, |a, b| b.less(a)),
        Comparison::GreaterOrEqual => run_columns(left, right, bits, |a, b| !a.less(b)),
    }
}

fn run_constant<T: Ordered>(
    left: &[T],
    constant: T,
    bits: &mut [u64],
    holds: impl Fn(T, T) -> bool,
) {
    cpu::dispatch(WithConstant { left, constant, bits, holds });
}

fn run_columns<T: Ordered>(
    left: &[T],
    right: &[T],
    bits: &mut [u64],
    holds: impl Fn(T, T) -> bool,
) {
    cpu::dispatch(OfColumns { left, right, bits, holds });
}

/// Compares each value with the same one.
struct WithConstant<'a, T, F> {
    left: &'a [T],
    constant: T,
    bits: &'a mut [u64],
    holds: F,
}

impl<T: Ordered, F: Fn(T, T) -> bool> Kernel for WithConstant<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let WithConstant { left, constant, bits, holds } = self;
        let (chunks, rest) = left.as_chunks::<64>();
        for (chunk, bits) in chunks.iter().zip(bits.iter_mut()) {
            *bits = word(64, |row| holds(chunk[row], constant));
        }
        if let (false, Some(bits)) = (rest.is_empty(), bits.last_mut()) {
            *bits = word(rest.len(), |row| holds(rest[row], constant));
        }
    }
}

/// Compares values row by row.
struct OfColumns<'a, T, F> {
    left: &'a [T],
    right: &'a [T],
    bits: &'a mut [u64],
    holds: F,
}

impl<T: Ordered, F: Fn(T, T) -> bool> Kernel for OfColumns<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let OfColumns { left, right, bits, holds } = self;
        let (chunks, rest) = left.as_chunks::<64>();
        let (others, other_rest) = right.as_chunks::<64>();
        for ((chunk, other), bits) in chunks.iter().zip(others).zip(bits.iter_mut()) {
            *bits = word(64, |row| holds(chunk[row], other[row]));
        }
        if let (false, Some(bits)) = (rest.is_empty(), bits.last_mut()) {
            *bits = word(rest.len(), |row| holds(rest[row], other_rest[row]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    fn check<T: Ordered>(left: &[T], right: &[T]) {
        for comparison in ALL {
            for len in 0..=left.len() {
                let (left, right) = (&left[..len], &right[..len]);
                let mut bits = vec![u64::MAX; len.div_ceil(64)];
                compare_columns(comparison, left, right, &mut bits);
                let naive = |row: usize| comparison.holds(left[row].order(right[row]));
                assert!((0..bits.len() * 64).all(|row| {
                    (bits[row / 64] >> (row % 64) & 1 == 1) == (row < len && naive(row))
                }));
                let Some(&constant) = right.first() else { continue };
                compare_constant(comparison, left, constant, &mut bits);
                let naive = |row: usize| comparison.holds(left[row].order(constant));
                assert!((0..bits.len() * 64).all(|row| {
                    (bits[row / 64] >> (row % 64) & 1 == 1) == (row < len && naive(row))
                }));
                assert!(comparison.flipped().flipped() == comparison);
            }
        }
    }

    #[test]
    fn every_length_and_type_matches_the_naive_loop() {
        let left: Vec<i64> = (0..200).map(|it| it * 7919 % 13 - 6).collect();
        let right: Vec<i64> = (0..200).map(|it| it * 104_729 % 11 - 5).collect();
        check(&left, &right);
        let convert = |it: &[i64]| it.iter().map(|it| *it as i32).collect::<Vec<_>>();
        check(&convert(&left), &convert(&right));
        let convert = |it: &[i64]| it.iter().map(|it| *it as i8).collect::<Vec<_>>();
        check(&convert(&left), &convert(&right));
        let convert = |it: &[i64]| it.iter().map(|it| i128::from(*it) << 70).collect::<Vec<_>>();
        check(&convert(&left), &convert(&right));
        let floats = [f64::NAN, f64::INFINITY, -0.0, 0.0, 1.0, -1.0];
        let convert = |it: &[i64]| {
            it.iter().map(|it| floats[it.unsigned_abs() as usize % 6]).collect::<Vec<_>>()
        };
        check(&convert(&left), &convert(&right));
    }
}

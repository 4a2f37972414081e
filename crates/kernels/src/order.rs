//! The order of fixed-width values: NaN equals itself and is the greatest, -0.0 equals 0.0.

use crate::cpu::{self, Kernel};
use std::cmp::Ordering;

/// A value with SQL's order.
pub trait Ordered: Copy + Send + Sync + 'static {
    /// Whether both are the same value.
    fn same(self, other: Self) -> bool;

    /// Whether this one comes first.
    fn less(self, other: Self) -> bool;

    /// The order.
    #[inline(always)]
    fn order(self, other: Self) -> Ordering {
        if self.less(other) {
            Ordering::Less
        } else if self.same(other) {
            Ordering::Equal
        } else {
            Ordering::Greater
        }
    }

    /// Bits that are equal for the same values, widened or folded to 64.
    fn key_bits(self) -> u64;
}

/// The greatest of the values; 0 without any.
pub fn max_u32(values: &[u32]) -> u32 {
    cpu::dispatch(Max(values))
}

struct Max<'a>(&'a [u32]);

impl Kernel for Max<'_> {
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        self.0.iter().fold(0, |max, it| max.max(*it))
    }
}

macro_rules! ordered_integers {
    ($($integer:ty),*) => {
        $(impl Ordered for $integer {
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self == other
            }

            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn key_bits(self) -> u64 {
                self as i64 as u64
            }
        })*
    };
}

ordered_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Ordered for i128 {
    #[inline(always)]
    fn same(self, other: Self) -> bool {
        self == other
    }

    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }

    /// Values that fit 64 bits have the bits of the narrower integers.
    #[inline(always)]
    fn key_bits(self) -> u64 {
        let (low, high) = (self as u64, (self >> 64) as i64);
        let extension = high ^ ((low as i64) >> 63);
        low ^ (extension as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

macro_rules! ordered_floats {
    ($($float:ty),*) => {
        $(impl Ordered for $float {
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }

            #[inline(always)]
            fn less(self, other: Self) -> bool {
                (self < other) | (!self.is_nan() & other.is_nan())
            }

            #[inline(always)]
            fn key_bits(self) -> u64 {
                let value = f64::from(self) + 0.0;
                if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
            }
        })*
    };
}

ordered_floats!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_a_total_order() {
        let sorted = [f64::NEG_INFINITY, -1.0, 0.0, 1.5, f64::INFINITY, f64::NAN];
        for (i, a) in sorted.into_iter().enumerate() {
            for (j, b) in sorted.into_iter().enumerate() {
                assert_eq!(a.order(b), i.cmp(&j), "{a} {b}");
                assert_eq!(a.key_bits() == b.key_bits(), i == j);
            }
        }
        assert_eq!((-0.0f64).order(0.0), Ordering::Equal);
        assert_eq!((-0.0f64).key_bits(), 0.0f64.key_bits());
        assert_eq!((-f64::NAN).key_bits(), f64::NAN.key_bits());
    }

    #[test]
    fn the_greatest_is_found_at_every_place() {
        for len in [1, 15, 16, 17, 64, 100, 300] {
            for place in 0..len {
                let mut values = vec![3; len];
                values[place] = u32::MAX - 1;
                assert_eq!(max_u32(&values), u32::MAX - 1);
            }
        }
        assert_eq!(max_u32(&[]), 0);
    }

    #[test]
    fn wide_integers_have_the_bits_of_narrow_ones() {
        for value in [0i64, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(i128::from(value).key_bits(), value.key_bits());
        }
        assert_ne!((1i128 << 64).key_bits(), 0i128.key_bits());
    }
}

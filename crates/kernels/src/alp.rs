//! Floats that are decimals, as integers (ALP: Afroozeh, Kuffo and Boncz, SIGMOD 2024).
//!
//! ```text
//! encode   integer = round(value * 10^exponent * 10^-factor)
//! decode   value   = integer * 10^factor * 10^-exponent
//! ```
//!
//! Which floats come back to the last bit depends on the powers of ten used here: they are part of
//! the format.

use crate::{
    cpu::{self, Kernel},
    pack::Lane,
};
use std::mem::MaybeUninit;

/// A float with its bits and the integers that stand for it.
pub trait Float: Copy + PartialEq + Default + Send + Sync + 'static {
    /// The bits: as wide as the float.
    type Bits: Lane;

    /// The greatest exponent.
    const EXPONENT_MAX: usize;

    /// The bits of the float.
    fn bits(self) -> Self::Bits;

    /// The float of these bits.
    fn from_bits(bits: Self::Bits) -> Self;

    /// The integer that stands for the float; any integer where none does.
    fn encode(self, scale: Scale) -> Self::Bits;

    /// The float that an integer stands for.
    fn decode(integer: Self::Bits, scale: Scale) -> Self;
}

/// By which powers of ten floats are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scale {
    /// At most [`Float::EXPONENT_MAX`].
    pub exponent: u8,
    /// At most `exponent`.
    pub factor: u8,
}

const POWERS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

const INVERSES: [f64; 19] = [
    1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18,
];

const POWERS_F32: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

const INVERSES_F32: [f32; 11] = [1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

/// Adding and subtracting it rounds to a whole number: 1.5 * 2^52.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// As [`ROUNDING`]: 1.5 * 2^23.
const ROUNDING_F32: f32 = 12_582_912.0;

impl Float for f64 {
    type Bits = u64;

    const EXPONENT_MAX: usize = POWERS.len() - 1;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn encode(self, scale: Scale) -> u64 {
        let (up, down) = (POWERS[scale.exponent as usize], INVERSES[scale.factor as usize]);
        (self * up * down + ROUNDING - ROUNDING) as i64 as u64
    }

    #[inline(always)]
    fn decode(integer: u64, scale: Scale) -> f64 {
        let (up, down) = (POWERS[scale.factor as usize], INVERSES[scale.exponent as usize]);
        integer as i64 as f64 * up * down
    }
}

impl Float for f32 {
    type Bits = u32;

    const EXPONENT_MAX: usize = POWERS_F32.len() - 1;

    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> f32 {
        f32::from_bits(bits)
    }

    #[inline(always)]
    fn encode(self, scale: Scale) -> u32 {
        let up = POWERS_F32[scale.exponent as usize];
        let down = INVERSES_F32[scale.factor as usize];
        (self * up * down + ROUNDING_F32 - ROUNDING_F32) as i32 as u32
    }

    #[inline(always)]
    fn decode(integer: u32, scale: Scale) -> f32 {
        let up = POWERS_F32[scale.factor as usize];
        let down = INVERSES_F32[scale.exponent as usize];
        integer as i32 as f32 * up * down
    }
}

/// Upper halves of floats that have codes.
pub const UPPER_ENTRIES: usize = 8;

/// Appends the floats whose lower bits are `lower` and whose upper bits, shifted, are the entry of
/// `codes` (modulo [`UPPER_ENTRIES`]).
///
/// # Panics
///
/// If there is not one code per lower half.
pub fn join_halves<T: Float>(
    lower: &[T::Bits],
    codes: &[u8],
    entries: &[T::Bits; UPPER_ENTRIES],
    out: &mut Vec<T>,
) {
    assert_eq!(lower.len(), codes.len(), "one code per lower half");
    out.reserve(lower.len());
    let room = &mut out.spare_capacity_mut()[..lower.len()];
    cpu::dispatch(JoinHalves::<T> { lower, codes, entries, room });
    let len = out.len() + lower.len();
    // SAFETY: the kernel has filled the room up to here.
    unsafe { out.set_len(len) };
}

struct JoinHalves<'a, T: Float> {
    lower: &'a [T::Bits],
    codes: &'a [u8],
    entries: &'a [T::Bits; UPPER_ENTRIES],
    room: &'a mut [MaybeUninit<T>],
}

impl<T: Float> Kernel for JoinHalves<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // A copy, which the room is surely not part of.
        let entries = *self.entries;
        for ((lower, code), out) in self.lower.iter().zip(self.codes).zip(self.room) {
            out.write(T::from_bits(entries[usize::from(*code) % UPPER_ENTRIES] | *lower));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_come_back_to_the_last_bit() {
        let scale = Scale { exponent: 14, factor: 12 };
        for cents in -100_000i32..100_000 {
            let value = f64::from(cents) / 100.0;
            let integer = value.encode(scale);
            assert_eq!(integer as i64, i64::from(cents));
            // -0.0 is the one value that an integer cannot stand for.
            assert_eq!(f64::decode(integer, scale).to_bits(), value.to_bits());
        }
        // A float of 24 bits has no power of ten that is right for all decimals.
        let exact = |exponent: u8| {
            let scale = Scale { exponent, factor: exponent - 1 };
            let is_exact = |tenths: &i32| {
                let value = *tenths as f32 / 10.0;
                f32::decode(value.encode(scale), scale).to_bits() == value.to_bits()
            };
            (-1000i32..1000).filter(is_exact).count()
        };
        assert!((1..=10).map(exact).max() > Some(1500));
    }

    #[test]
    fn any_float_encodes_to_something() {
        let scale = Scale { exponent: 18, factor: 0 };
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -0.0, 5e-324] {
            let back = f64::decode(value.encode(scale), scale);
            assert_ne!(back.to_bits(), value.to_bits());
        }
        assert_eq!(f64::from_bits(1.5f64.bits()), 1.5);
        assert_eq!(<f32 as Float>::from_bits(1.5f32.bits()), 1.5);
    }

    #[test]
    fn halves_join_to_the_floats_that_they_are_of() {
        let values: Vec<f64> = (0..1000).map(|it| f64::from(it) * 0.37 + 1.0).collect();
        let mut entries = [0u64; UPPER_ENTRIES];
        let (mut codes, mut lower) = (Vec::new(), Vec::new());
        for (index, value) in values.iter().enumerate() {
            let code = index % UPPER_ENTRIES;
            entries[code] = (code as u64 + 1) << 52;
            codes.push(code as u8);
            lower.push(value.to_bits() & ((1 << 52) - 1));
        }
        let expected: Vec<u64> = (0..1000).map(|it| entries[it % 8] | lower[it]).collect();
        for len in [0, 1, 7, 16, 1000] {
            let mut out = vec![1.5f64];
            join_halves(&lower[..len], &codes[..len], &entries, &mut out);
            assert_eq!(out[0], 1.5);
            let bits: Vec<u64> = out[1..].iter().map(|it| it.to_bits()).collect();
            assert_eq!(bits, expected[..len]);
        }
    }
}

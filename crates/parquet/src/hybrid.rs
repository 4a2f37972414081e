//! The hybrid of runs and bit-packed groups that stores levels, dictionary codes and booleans.
//!
//! ```text
//! run:    varint (length << 1)        value in ceil(width / 8) bytes
//! packed: varint (groups << 1 | 1)    groups * width bytes: 8 values per group
//! ```

use crate::{error::corrupt, validity::Validity};
use bytes::Bytes;
use std::ops::Range;
use volley_error::Result;
use volley_kernels::unpack::unpack_u32;

/// Values that are compared at once.
const COMPARED_MAX: usize = 1024;

/// Reads a hybrid, forward only.
#[derive(Clone, Debug)]
pub(crate) struct Hybrid {
    data: Bytes,
    /// The next run's header.
    at: usize,
    width: usize,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
enum Run {
    /// The same value, `left` times.
    Repeat { value: u32, left: usize },
    /// Values packed from byte `start` on; the next one is number `next`, `left` are left.
    Packed { start: usize, next: usize, left: usize },
}

impl Hybrid {
    /// A hybrid of values of `width` bits.
    pub fn new(data: Bytes, width: usize) -> Result<Hybrid> {
        if width > 32 {
            return Err(corrupt(format!("values of {width} bits")));
        }
        // Nothing needs to be stored of values of no bits.
        let left = if width == 0 { usize::MAX } else { 0 };
        Ok(Hybrid { data, at: 0, width, run: Run::Repeat { value: 0, left } })
    }

    /// Plain bits: one packed run of all of `data`.
    pub fn bits(data: Bytes) -> Hybrid {
        let (at, left) = (data.len(), data.len().saturating_mul(8));
        Hybrid { data, at, width: 1, run: Run::Packed { start: 0, next: 0, left } }
    }

    /// Appends the next `count` values.
    pub fn read(&mut self, mut count: usize, out: &mut Vec<u32>) -> Result<()> {
        while count > 0 {
            let taken = self.available()?.min(count);
            match &self.run {
                Run::Repeat { value, .. } => out.resize(out.len() + taken, *value),
                Run::Packed { start, next, .. } => {
                    let data = self.data.get(*start..).unwrap_or_default();
                    out.reserve(taken);
                    unpack_u32(data, self.width, *next, taken, out);
                }
            }
            self.advance(taken);
            count -= taken;
        }
        Ok(())
    }

    /// Passes over the next `count` values.
    pub fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            let taken = self.available()?.min(count);
            self.advance(taken);
            count -= taken;
        }
        Ok(())
    }

    /// Appends the next `count` values as validity: those equal to `max` are valid. Returns how
    /// many are.
    pub fn read_valid(&mut self, mut count: usize, max: u32, out: &mut Validity) -> Result<usize> {
        let mut valid = 0;
        while count > 0 {
            let mut taken = self.available()?.min(count);
            valid += match self.run {
                Run::Repeat { value, .. } if value == max => out.append_valid(taken),
                Run::Repeat { .. } => out.append_nulls(taken),
                Run::Packed { start, next, .. } => {
                    let data = self.data.get(start..).unwrap_or_default();
                    if self.width == 1 && max == 1 {
                        out.append_bits(data, next..next + taken)
                    } else {
                        taken = taken.min(COMPARED_MAX);
                        let mut bits = [0; COMPARED_MAX / 8];
                        compare(data, self.width, next..next + taken, max, &mut bits);
                        out.append_bits(&bits, 0..taken)
                    }
                }
            };
            self.advance(taken);
            count -= taken;
        }
        Ok(valid)
    }

    /// Values left in the current run; begins the next run when there is none.
    fn available(&mut self) -> Result<usize> {
        loop {
            match self.run {
                Run::Repeat { left: 0, .. } | Run::Packed { left: 0, .. } => self.next_run()?,
                Run::Repeat { left, .. } | Run::Packed { left, .. } => return Ok(left),
            }
        }
    }

    fn advance(&mut self, count: usize) {
        match &mut self.run {
            Run::Repeat { left, .. } => *left -= count,
            Run::Packed { next, left, .. } => {
                *next += count;
                *left -= count;
            }
        }
    }

    fn next_run(&mut self) -> Result<()> {
        let header = self.varint()?;
        let len = (header >> 1) as usize;
        if header & 1 == 0 {
            let value = self.value()?;
            self.run = Run::Repeat { value, left: len };
            return Ok(());
        }
        let start = self.at;
        let bytes = len.checked_mul(self.width).ok_or_else(|| corrupt("run too long"))?;
        // Some writers cut the last group short.
        let present = bytes.min(self.data.len().saturating_sub(start));
        let left = (present * 8).checked_div(self.width).unwrap_or(len * 8);
        self.at = start + present;
        self.run = Run::Packed { start, next: 0, left };
        Ok(())
    }

    fn varint(&mut self) -> Result<u32> {
        let mut value = 0;
        for shift in (0..32).step_by(7) {
            let byte = *self.data.get(self.at).ok_or_else(|| corrupt("page ends early"))?;
            self.at += 1;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("invalid run length"))
    }

    /// The value of a run.
    fn value(&mut self) -> Result<u32> {
        let len = self.width.div_ceil(8);
        let bytes = self.data.get(self.at..self.at + len);
        let bytes = bytes.ok_or_else(|| corrupt("page ends early"))?;
        self.at += len;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }
}

/// Sets the bits of those values at `range`, of `width` bits each, that equal `wanted`.
fn compare(
    data: &[u8],
    width: usize,
    range: Range<usize>,
    wanted: u32,
    bits: &mut [u8; COMPARED_MAX / 8],
) {
    let mut values = Vec::with_capacity(range.len());
    unpack_u32(data, width, range.start, range.len(), &mut values);
    for (byte, values) in bits.iter_mut().zip(values.chunks(8)) {
        let bit = |byte: u8, (at, value): (usize, &u32)| byte | u8::from(*value == wanted) << at;
        *byte = values.iter().enumerate().fold(0, bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_equal_the_greatest_are_valid() {
        // 5 times 3, then two groups of 3 bits, then 9 times 2.
        let data = [10, 3, 5, 0x88, 0xc6, 0xfa, 0x49, 0x92, 0x24, 18, 2];
        let mut values = Vec::new();
        Hybrid::new(Bytes::copy_from_slice(&data), 3).unwrap().read(30, &mut values).unwrap();
        for max in 0..8 {
            for step in 1..=30 {
                let mut hybrid = Hybrid::new(Bytes::copy_from_slice(&data), 3).unwrap();
                let (mut validity, mut valid) = (Validity::default(), 0);
                while validity.rows() < 30 {
                    let count = step.min(30 - validity.rows());
                    valid += hybrid.read_valid(count, max, &mut validity).unwrap();
                }
                let expected: Vec<bool> = values.iter().map(|it| *it == max).collect();
                let found: Vec<bool> = (0..30).map(|it| validity.is_valid(it)).collect();
                assert_eq!(found, expected, "{max} by {step}");
                assert_eq!(valid, expected.iter().filter(|it| **it).count());
            }
        }
    }

    #[test]
    fn long_packed_runs_are_compared_in_pieces() {
        // 300 groups of 8 values of 2 bits.
        let mut data = vec![0b1101_1001, 0b100];
        data.extend((0..600).map(|it: u32| (it * 37 % 251) as u8));
        let mut values = Vec::new();
        Hybrid::new(Bytes::copy_from_slice(&data), 2).unwrap().read(2400, &mut values).unwrap();
        let mut validity = Validity::default();
        let mut hybrid = Hybrid::new(Bytes::copy_from_slice(&data), 2).unwrap();
        let valid = hybrid.read_valid(2400, 3, &mut validity).unwrap();
        assert_eq!(valid, values.iter().filter(|it| **it == 3).count());
        assert!((0..2400).all(|it| validity.is_valid(it) == (values[it] == 3)));
        assert!(hybrid.read_valid(1, 3, &mut validity).is_err());
    }

    #[test]
    fn runs_and_groups_are_read_in_any_portions() {
        // 5 times 3, then two groups of 3 bits: 0..8 and 8 ones.
        let data = [10, 3, 5, 0x88, 0xc6, 0xfa, 0x49, 0x92, 0x24];
        let mut expected = vec![3; 5];
        expected.extend(0..8);
        expected.extend([1; 8]);
        for step in 1..=21 {
            let mut hybrid = Hybrid::new(Bytes::copy_from_slice(&data), 3).unwrap();
            let mut out = Vec::new();
            while out.len() < 21 {
                hybrid.read(step.min(21 - out.len()), &mut out).unwrap();
            }
            assert_eq!(out, expected);
            let mut skipping = Hybrid::new(Bytes::copy_from_slice(&data), 3).unwrap();
            let mut rest = Vec::new();
            skipping.skip(step).unwrap();
            skipping.read(21 - step, &mut rest).unwrap();
            assert_eq!(rest, expected[step..]);
            assert!(skipping.read(1, &mut rest).is_err());
        }
    }
}

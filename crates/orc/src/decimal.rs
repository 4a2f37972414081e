//! Reads decimals.
//!
//! ```text
//! DATA        the value's digits as an integer of any length: a varint in zigzag encoding
//! SECONDARY   its scale
//! ```
//!
//! Files of the unfinished version 2 of the format store decimals of at most 18 digits as integers
//! of the column's scale, in runs.

use crate::{
    error::{corrupt, out_of_range},
    integer_rle::IntegerRle,
    layout::Layout,
    stream::{ByteStream, Positions},
};
use volley_error::Result;
use volley_types::{PhysicalType, Type};
use volley_vector::Vector;

/// Bytes of the longest varint of 128 bits.
const VARINT_BYTES_MAX: usize = 19;

/// Values are decoded in pieces of as many: memory grows with what is there.
const PIECE: usize = 1 << 16;

/// Reads decimals with a scale of their own.
pub(crate) struct DecimalReader {
    pub values: ByteStream,
    pub scales: IntegerRle,
    pub buffer: Vec<i128>,
    pub scales_buffer: Vec<i64>,
}

impl DecimalReader {
    pub fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        self.buffer.clear();
        let mut left = layout.stored;
        while left > 0 {
            let piece = left.min(PIECE);
            self.buffer.reserve(piece);
            self.read_varints(piece)?;
            left -= piece;
        }
        self.scales.read(layout.stored, &mut self.scales_buffer)?;
        let (_, scale) = data_type.decimal_shape().ok_or_else(out_of_range)?;
        for (value, own) in self.buffer.iter_mut().zip(&self.scales_buffer) {
            if *own != i64::from(scale) {
                *value = rescale(*value, *own, scale.into()).ok_or_else(out_of_range)?;
            }
        }
        decimals(&self.buffer, data_type, layout)
    }

    /// Appends as many values to the buffer.
    fn read_varints(&mut self, count: usize) -> Result<()> {
        let end = self.buffer.len() + count;
        while self.buffer.len() < end {
            let buffer = &mut self.buffer;
            let has_read = self.values.with_block(|block| {
                let mut at = 0;
                while buffer.len() < end {
                    let Some((value, len)) = varint(block.get(at..).unwrap_or_default()) else {
                        break;
                    };
                    buffer.push(value);
                    at += len;
                }
                (at, at > 0)
            })?;
            if !has_read {
                // The next one continues in another block, or is none.
                let value = self.read_joined()?;
                self.buffer.push(value);
            }
        }
        Ok(())
    }

    fn read_joined(&mut self) -> Result<i128> {
        let mut bytes = [0; VARINT_BYTES_MAX];
        for place in bytes.iter_mut() {
            *place = self.values.byte()?;
            if *place < 0x80 {
                break;
            }
        }
        varint(&bytes).map(|it| it.0).ok_or_else(|| corrupt("decimal of more than 128 bits"))
    }

    pub fn skip(&mut self, count: usize) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let passed = self.values.with_block(|block| {
                let ends = block.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
                match ends.take(left).enumerate().last() {
                    Some((index, (place, _))) if index + 1 == left => (place + 1, left),
                    // The last one may continue in the next block.
                    last => (block.len(), last.map_or(0, |(index, _)| index + 1)),
                }
            })?;
            left -= passed;
        }
        self.scales.skip(count)
    }

    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        self.values.seek(positions)?;
        self.scales.seek(positions)
    }
}

/// Reads decimals of the column's scale.
pub(crate) struct Decimal64Reader {
    pub values: IntegerRle,
    pub buffer: Vec<i64>,
}

impl Decimal64Reader {
    pub fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        self.values.read(layout.stored, &mut self.buffer)?;
        let values: Vec<i128> = self.buffer.iter().map(|it| i128::from(*it)).collect();
        decimals(&values, data_type, layout)
    }
}

fn decimals(stored: &[i128], data_type: &Type, layout: &Layout) -> Result<Vector> {
    let (precision, _) = data_type.decimal_shape().ok_or_else(out_of_range)?;
    let limit = 10_u128.pow(precision.into());
    let nulls = layout.nulls.clone();
    if data_type.physical() == PhysicalType::I64 {
        let short = |it: i128| (it.unsigned_abs() < limit).then_some(it as i64);
        let values = layout.gather_checked(stored, short).ok_or_else(out_of_range)?;
        return Ok(Vector::native::<i64>(data_type.clone(), values, nulls));
    }
    let long = |it: i128| (it.unsigned_abs() < limit).then_some(it);
    let values = layout.gather_checked(stored, long).ok_or_else(out_of_range)?;
    Ok(Vector::native::<i128>(data_type.clone(), values, nulls))
}

/// A signed integer at the beginning of `bytes`, and the bytes that it has; `None` if it does not
/// end, or has more than 128 bits.
#[inline]
fn varint(bytes: &[u8]) -> Option<(i128, usize)> {
    // Up to 8 bytes at once: TPC-H's and most others.
    let mut low: u64 = 0;
    for (place, byte) in bytes.iter().take(9).enumerate() {
        low |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            let value = (low >> 1) as i64 ^ -((low & 1) as i64);
            return Some((value.into(), place + 1));
        }
    }
    let mut value = u128::from(low);
    for (place, byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX).skip(9) {
        let bits = u128::from(byte & 0x7f);
        if place == VARINT_BYTES_MAX - 1 && bits > 3 {
            return None;
        }
        value |= bits << (7 * place);
        if *byte < 0x80 {
            return Some(((value >> 1) as i128 ^ -((value & 1) as i128), place + 1));
        }
    }
    None
}

/// The value with another scale, rounded half away from zero as Hive does; `None` beyond 128 bits.
fn rescale(value: i128, from: i64, to: i64) -> Option<i128> {
    let digits = to.checked_sub(from)?;
    let power = 10_i128.checked_pow(u32::try_from(digits.unsigned_abs()).ok()?);
    if digits >= 0 {
        return value.checked_mul(power?);
    }
    // Fewer digits than are cut off leave nothing.
    let Some(power) = power else { return Some(0) };
    let (quotient, rest) = (value / power, value % power);
    let is_up = rest.unsigned_abs() >= power.unsigned_abs().div_ceil(2);
    Some(if is_up { quotient + value.signum() } else { quotient })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(value: i128) -> Vec<u8> {
        let mut rest = (value << 1 ^ value >> 127) as u128;
        let mut bytes = Vec::new();
        loop {
            let low = (rest & 0x7f) as u8;
            rest >>= 7;
            if rest == 0 {
                bytes.push(low);
                return bytes;
            }
            bytes.push(low | 0x80);
        }
    }

    #[test]
    fn integers_of_up_to_128_bits_are_read() {
        for value in [0, -1, 1, 63, -64, 64, i64::MAX.into(), i64::MIN.into(), i128::MAX, i128::MIN]
        {
            let mut bytes = encode(value);
            assert_eq!(varint(&bytes), Some((value, bytes.len())));
            bytes.push(7);
            assert_eq!(varint(&bytes), Some((value, bytes.len() - 1)));
            assert_eq!(varint(bytes.get(..bytes.len() - 2).unwrap()), None);
        }
        assert_eq!(varint(&[0xff; 30]), None);
        let mut wide = [0xff; 19];
        wide[18] = 4;
        assert_eq!(varint(&wide), None);
    }

    #[test]
    fn scales_are_made_those_of_the_column() {
        assert_eq!(rescale(12, 0, 2), Some(1200));
        assert_eq!(rescale(125, 2, 1), Some(13));
        assert_eq!(rescale(-125, 2, 1), Some(-13));
        assert_eq!(rescale(124, 2, 1), Some(12));
        assert_eq!(rescale(i128::MAX, 0, 1), None);
        assert_eq!(rescale(5, 100, 1), Some(0));
        assert_eq!(rescale(5, i64::MIN, 1), None);
    }
}

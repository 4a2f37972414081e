//! Definition and repetition levels.

use crate::{error::corrupt, hybrid::Hybrid, validity::Validity};
use bytes::Bytes;
use parquet::basic::Encoding;
use volley_error::Result;

/// The levels of a page, read forward.
#[derive(Debug)]
pub(crate) enum Levels {
    Hybrid(Hybrid),
    /// Of the older encoding, all decoded.
    Values(std::vec::IntoIter<u32>),
}

impl Levels {
    /// The levels up to `max` in front of a v1 page's values; takes them off `data`.
    pub fn split_off(
        data: &mut Bytes,
        encoding: Encoding,
        max: u16,
        values: usize,
    ) -> Result<Levels> {
        let width = bit_width(max);
        match encoding {
            Encoding::RLE => {
                let len = data.first_chunk::<4>().map(|it| u32::from_le_bytes(*it) as usize);
                let end = len.and_then(|it| it.checked_add(4)).filter(|it| *it <= data.len());
                let end = end.ok_or_else(|| corrupt("levels are longer than their page"))?;
                let levels = data.split_to(end).slice(4..);
                Ok(Levels::Hybrid(Hybrid::new(levels, width)?))
            }
            #[expect(deprecated, reason = "older files have it")]
            Encoding::BIT_PACKED => {
                let len = values.checked_mul(width).map(|it| it.div_ceil(8));
                let len = len.filter(|it| *it <= data.len());
                let len = len.ok_or_else(|| corrupt("levels are longer than their page"))?;
                let levels = unpack_big_endian(&data.split_to(len), width, values);
                Ok(Levels::Values(levels.into_iter()))
            }
            other => Err(corrupt(format!("levels in encoding {other}"))),
        }
    }

    /// The first `len` bytes of `data`, taken off, as levels of a v2 page.
    pub fn split_off_v2(data: &mut Bytes, len: usize, max: u16) -> Result<Levels> {
        if len > data.len() {
            return Err(corrupt("levels are longer than their page"));
        }
        Ok(Levels::Hybrid(Hybrid::new(data.split_to(len), bit_width(max))?))
    }

    /// Appends the next `count` levels.
    pub fn read(&mut self, count: usize, out: &mut Vec<u32>) -> Result<()> {
        match self {
            Levels::Hybrid(hybrid) => hybrid.read(count, out),
            Levels::Values(values) => {
                let before = out.len();
                out.extend(values.by_ref().take(count));
                if out.len() - before < count { Err(corrupt("page ends early")) } else { Ok(()) }
            }
        }
    }

    /// Appends the next `count` levels as validity: those equal to `max`, the greatest one, are
    /// valid. Returns how many are.
    pub fn read_valid(&mut self, count: usize, max: u16, out: &mut Validity) -> Result<usize> {
        match self {
            Levels::Hybrid(hybrid) => hybrid.read_valid(count, max.into(), out),
            Levels::Values(values) => {
                let mut valid = 0;
                for _ in 0..count {
                    let level = values.next().ok_or_else(|| corrupt("page ends early"))?;
                    let is_valid = level == u32::from(max);
                    out.push(is_valid);
                    valid += usize::from(is_valid);
                }
                Ok(valid)
            }
        }
    }
}

/// Bits that hold 0 to `max`.
fn bit_width(max: u16) -> usize {
    (16 - max.leading_zeros()) as usize
}

/// Values packed from the most significant bit on, as the older encoding has them.
fn unpack_big_endian(data: &[u8], width: usize, values: usize) -> Vec<u32> {
    let bit = |at: usize| data.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    let value = |index: usize| {
        (index * width..(index + 1) * width).fold(0, |value, at| value << 1 | u32::from(bit(at)))
    };
    (0..values).map(value).collect()
}

//! Values of one size: converts stored bytes into elements of our layouts.

use crate::{
    error::corrupt,
    leaf::{Conversion, Leaf, Unit},
    validity::Validity,
};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use bytes::Bytes;
use volley_error::Result;
use volley_types::{Interval, Native, PhysicalType, custom::SignFlipped, match_integer};
use volley_vector::Values;

/// Days from the beginning of the Julian calendar to 1970-01-01.
const JULIAN_EPOCH: i64 = 2_440_588;

const DAY_MICROS: i64 = 86_400_000_000;

/// Collects elements of one layout from stored values.
pub(crate) trait FixedSink: Send {
    /// Appends all values of `src`.
    fn append(&mut self, src: &[u8]) -> Result<()>;

    /// Appends the values at `positions` of `src`.
    fn append_at(&mut self, src: &[u8], positions: &[u32]) -> Result<()>;

    /// Spreads the elements from `start` on over the valid ones of the rows from `start` on.
    fn spread(&mut self, start: usize, validity: &Validity);

    /// The elements, taken out.
    fn finish(&mut self) -> Values;
}

/// Moves the values from `start` on to the valid ones of the rows from `start` on, until the rows'
/// end; null rows get the default.
pub(crate) fn spread<T: Copy + Default>(out: &mut Vec<T>, start: usize, validity: &Validity) {
    let (mut from, rows) = (out.len(), validity.rows());
    out.resize(rows, T::default());
    for row in (start..rows).rev() {
        if from == row + 1 {
            // All rows up to here are valid.
            return;
        }
        let valid = validity.is_valid(row);
        let value = if valid { out.get(from.wrapping_sub(1)).copied() } else { None };
        from -= usize::from(valid);
        if let Some(place) = out.get_mut(row) {
            *place = value.unwrap_or_default();
        }
    }
}

/// The sink for a leaf with values of one size.
pub(crate) fn fixed_sink(leaf: &Leaf) -> Result<Box<dyn FixedSink>> {
    let physical = leaf.data_type.physical();
    Ok(match leaf.conversion {
        Conversion::Int32 { unsigned: false, factor: 1 } if physical == PhysicalType::I32 => {
            sink(|it: &[u8; 4]| Some(i32::from_le_bytes(*it)))
        }
        Conversion::Int32 { unsigned: true, .. } => match_integer!(physical, T => {
            sink(|it: &[u8; 4]| {
                let number = u128::from(u32::from_le_bytes(*it));
                Some(T::stored(number.try_into().ok()?))
            })
        }, else return Err(no_layout(leaf))),
        Conversion::Int32 { unsigned: false, factor } => match_integer!(physical, T => {
            sink(move |it: &[u8; 4]| {
                let value = i64::from(i32::from_le_bytes(*it));
                T::try_from(value.checked_mul(factor)?).ok()
            })
        }, else return Err(no_layout(leaf))),
        Conversion::Int64 { unsigned: false, unit } if physical == PhysicalType::I64 => {
            match unit {
                Unit::Same => sink(|it: &[u8; 8]| Some(i64::from_le_bytes(*it))),
                Unit::Thousands => sink(|it: &[u8; 8]| i64::from_le_bytes(*it).checked_mul(1000)),
                Unit::Thousandths => {
                    sink(|it: &[u8; 8]| Some(i64::from_le_bytes(*it).div_euclid(1000)))
                }
            }
        }
        Conversion::Int64 { unsigned: true, .. } => {
            sink(|it: &[u8; 8]| Some(i64::stored(u64::from_le_bytes(*it))))
        }
        Conversion::Int64 { .. } => sink(|it: &[u8; 8]| Some(i128::from(i64::from_le_bytes(*it)))),
        Conversion::Int96 => sink(int96_micros),
        Conversion::Float => sink(|it: &[u8; 4]| Some(f32::from_le_bytes(*it))),
        Conversion::Double => sink(|it: &[u8; 8]| Some(f64::from_le_bytes(*it))),
        Conversion::FixedInterval => sink(interval),
        Conversion::FixedFloat16 => sink(|it: &[u8; 2]| Some(float16(u16::from_le_bytes(*it)))),
        Conversion::FixedDecimal { len } => match physical {
            PhysicalType::I64 => Box::new(AnyWidth { out: Vec::<i64>::new(), width: len }),
            _ => Box::new(AnyWidth { out: Vec::<i128>::new(), width: len }),
        },
        _ => return Err(no_layout(leaf)),
    })
}

/// The first `count` values of `bytes` where they lie, if they are stored as our layouts have them.
pub(crate) fn shared_values(leaf: &Leaf, bytes: &Bytes, count: usize) -> Option<Values> {
    fn share<T: ArrowNativeType>(bytes: &Bytes, count: usize) -> Option<ScalarBuffer<T>> {
        let is_aligned = bytes.as_ptr().cast::<T>().is_aligned();
        let is_there = count.checked_mul(size_of::<T>()).is_some_and(|it| it <= bytes.len());
        let fits = is_aligned && is_there && cfg!(target_endian = "little");
        fits.then(|| ScalarBuffer::new(Buffer::from(bytes.clone()), 0, count))
    }
    match (leaf.conversion, leaf.data_type.physical()) {
        (Conversion::Int32 { unsigned: false, factor: 1 }, PhysicalType::I32) => {
            share(bytes, count).map(Values::I32)
        }
        (Conversion::Int64 { unsigned: false, unit: Unit::Same }, PhysicalType::I64) => {
            share(bytes, count).map(Values::I64)
        }
        (Conversion::Float, PhysicalType::F32) => share(bytes, count).map(Values::F32),
        (Conversion::Double, PhysicalType::F64) => share(bytes, count).map(Values::F64),
        _ => None,
    }
}

fn no_layout(leaf: &Leaf) -> volley_error::Error {
    volley_error::Error::internal(format!("no fixed layout for {}", leaf.data_type))
}

fn sink<const WIDTH: usize, T: Native + Default, F>(convert: F) -> Box<dyn FixedSink>
where
    F: Fn(&[u8; WIDTH]) -> Option<T> + Send + 'static,
{
    Box::new(Width { out: Vec::new(), convert })
}

/// Values of a size that the compiler knows. `convert` answers `None` for what the type cannot
/// hold.
struct Width<const WIDTH: usize, T, F: Fn(&[u8; WIDTH]) -> Option<T>> {
    out: Vec<T>,
    convert: F,
}

impl<const WIDTH: usize, T, F> FixedSink for Width<WIDTH, T, F>
where
    T: Native + Default,
    F: Fn(&[u8; WIDTH]) -> Option<T> + Send,
{
    fn append(&mut self, src: &[u8]) -> Result<()> {
        let (values, _) = src.as_chunks::<WIDTH>();
        let mut fits = true;
        self.out.extend(values.iter().map(|it| {
            let value = (self.convert)(it);
            fits &= value.is_some();
            value.unwrap_or_default()
        }));
        if fits { Ok(()) } else { Err(out_of_range()) }
    }

    fn append_at(&mut self, src: &[u8], positions: &[u32]) -> Result<()> {
        let (values, _) = src.as_chunks::<WIDTH>();
        let mut fits = true;
        self.out.extend(positions.iter().map(|it| {
            let value = values.get(*it as usize).and_then(&self.convert);
            fits &= value.is_some();
            value.unwrap_or_default()
        }));
        if fits { Ok(()) } else { Err(out_of_range()) }
    }

    fn spread(&mut self, start: usize, validity: &Validity) {
        spread(&mut self.out, start, validity);
    }

    fn finish(&mut self) -> Values {
        Values::from_native::<T>(std::mem::take(&mut self.out).into())
    }
}

/// Big-endian decimals of any size.
struct AnyWidth<T> {
    out: Vec<T>,
    width: usize,
}

impl<T: Native + Default + TryFrom<i128>> FixedSink for AnyWidth<T> {
    fn append(&mut self, src: &[u8]) -> Result<()> {
        for value in src.chunks_exact(self.width) {
            self.out.push(big_endian(value).ok_or_else(out_of_range)?);
        }
        Ok(())
    }

    fn append_at(&mut self, src: &[u8], positions: &[u32]) -> Result<()> {
        for position in positions {
            let start = *position as usize * self.width;
            let value = src.get(start..start + self.width).and_then(big_endian);
            self.out.push(value.ok_or_else(out_of_range)?);
        }
        Ok(())
    }

    fn spread(&mut self, start: usize, validity: &Validity) {
        spread(&mut self.out, start, validity);
    }

    fn finish(&mut self) -> Values {
        Values::from_native::<T>(std::mem::take(&mut self.out).into())
    }
}

/// A big-endian integer in two's complement, if it fits.
pub(crate) fn big_endian<T: TryFrom<i128>>(bytes: &[u8]) -> Option<T> {
    let negative = bytes.first().is_some_and(|it| it & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(16);
    let (sign, value) = bytes.split_at(extra);
    let mut word = [fill; 16];
    for (place, byte) in word.iter_mut().rev().zip(value.iter().rev()) {
        *place = *byte;
    }
    let value = i128::from_be_bytes(word);
    let fits = sign.iter().all(|it| *it == fill) && (value < 0) == negative;
    if fits { T::try_from(value).ok() } else { None }
}

#[cold]
fn out_of_range() -> volley_error::Error {
    corrupt("value beyond the range of its type")
}

/// Nanoseconds of the day (8 bytes) and Julian day (4 bytes) as microseconds since 1970.
fn int96_micros(bytes: &[u8; 12]) -> Option<i64> {
    let [n0, n1, n2, n3, n4, n5, n6, n7, d0, d1, d2, d3] = *bytes;
    let nanos = i64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
    let day = i64::from(i32::from_le_bytes([d0, d1, d2, d3])) - JULIAN_EPOCH;
    day.checked_mul(DAY_MICROS)?.checked_add(nanos.div_euclid(1000))
}

fn interval(bytes: &[u8; 12]) -> Option<Interval> {
    let [m0, m1, m2, m3, d0, d1, d2, d3, t0, t1, t2, t3] = *bytes;
    let months = i32::try_from(u32::from_le_bytes([m0, m1, m2, m3])).ok()?;
    let days = i32::try_from(u32::from_le_bytes([d0, d1, d2, d3])).ok()?;
    let millis = i64::from(u32::from_le_bytes([t0, t1, t2, t3]));
    Some(Interval::new(months, days, millis * 1_000_000))
}

/// An IEEE half float.
fn float16(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_endian_integers_of_any_length_keep_their_sign() {
        assert_eq!(big_endian::<i64>(&[0xff]), Some(-1));
        assert_eq!(big_endian::<i64>(&[0, 0xff]), Some(255));
        assert_eq!(big_endian::<i64>(&[]), Some(0));
        assert_eq!(big_endian::<i64>(&[1; 9]), None);
        assert_eq!(big_endian::<i128>(&[0xff; 20]), Some(-1));
        assert_eq!(big_endian::<i128>(&[1; 17]), None);
    }

    #[test]
    fn half_floats_become_floats() {
        assert_eq!(float16(0x3c00), 1.0);
        assert_eq!(float16(0xc000), -2.0);
        assert_eq!(float16(0x7bff), 65504.0);
        assert_eq!(float16(1), 5.960_464_5e-8);
        assert_eq!(float16(0xfc00), f32::NEG_INFINITY);
        assert!(float16(0x7e00).is_nan());
    }
}

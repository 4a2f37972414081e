//! Run-length encodings of integers.
//!
//! ```text
//! version 1   control 0 to 127: control + 3 values, each the one before plus a signed byte;
//!             then that byte and the first value (varint)
//!             control 128 to 255: 256 - control values (varints)
//! version 2   the two highest bits of a run's first byte
//!             0 short repeat   3 bits: bytes of the value - 1, 3 bits: count - 3; the value
//!             1 direct         5 bits: width, 9 bits: count - 1; values of this width
//!             2 patched base   as direct, then 3 bits: bytes of the base - 1, 5 bits: width of
//!                              patches, 3 bits: width of gaps - 1, 5 bits: patches; the base
//!                              (its highest bit is the sign), values, gaps with patches
//!             3 delta          5 bits: width of deltas or 0, 9 bits: count - 1; first value
//!                              (varint), first delta (signed varint), further deltas, which have
//!                              its sign
//! ```
//!
//! Widths are those of [`width_of_code`]; everything is stored highest bit first, signed values in
//! zigzag encoding.

use crate::{
    error::corrupt,
    proto::zigzag,
    stream::{ByteStream, Positions},
    unpack::{packed_bytes, storable_width, unpack, width_of_code},
};
use volley_error::Result;

/// Values of a run at most.
const RUN_MAX: usize = 512;

/// Values are decoded in pieces of as many: memory grows with what is there.
const PIECE: usize = 1 << 16;

/// Which encoding it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// Whether values have a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Signed,
    Unsigned,
}

/// Integers in runs; unsigned ones beyond the range of `i64` come as negative ones.
pub(crate) struct IntegerRle {
    stream: ByteStream,
    version: Version,
    sign: Sign,
    /// A run that was decoded before all of it was asked for.
    run: Vec<i64>,
    at: usize,
    len: usize,
    unpacked: Box<[u64; RUN_MAX]>,
}

/// The beginning of a run.
enum Header {
    /// Version 1: each value is the one before plus this.
    Run {
        delta: i64,
    },
    /// Version 1.
    Literals,
    ShortRepeat {
        value_bytes: usize,
    },
    Direct {
        width: u32,
    },
    PatchedBase {
        width: u32,
    },
    Delta {
        width: u32,
    },
}

impl IntegerRle {
    pub fn new(stream: ByteStream, version: Version, sign: Sign) -> IntegerRle {
        IntegerRle {
            stream,
            version,
            sign,
            run: Vec::new(),
            at: 0,
            len: 0,
            unpacked: Box::new([0; RUN_MAX]),
        }
    }

    pub fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    /// Appends the next `count` values to `out`.
    pub fn append_to(&mut self, mut count: usize, out: &mut Vec<i64>) -> Result<()> {
        while count > 0 {
            let (piece, start) = (count.min(PIECE), out.len());
            out.resize(start + piece, 0);
            self.fill(out.get_mut(start..).unwrap_or_default())?;
            count -= piece;
        }
        Ok(())
    }

    /// Replaces what is in `out` by the next `count` values.
    pub fn read(&mut self, count: usize, out: &mut Vec<i64>) -> Result<()> {
        out.clear();
        self.append_to(count, out)
    }

    fn fill(&mut self, out: &mut [i64]) -> Result<()> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|it| !it.is_empty()) {
            if self.at < self.len {
                let left = self.run.get(self.at..self.len).unwrap_or_default();
                for (to, from) in rest.iter_mut().zip(left) {
                    *to = *from;
                }
                let taken = left.len().min(rest.len());
                self.at += taken;
                filled += taken;
                continue;
            }
            let (header, len) = self.header()?;
            match rest.get_mut(..len) {
                Some(now) => {
                    self.decode(&header, now)?;
                    filled += len;
                }
                None => self.decode_ahead(&header, len)?,
            }
        }
        Ok(())
    }

    /// Decodes a run that is longer than what is asked for now.
    fn decode_ahead(&mut self, header: &Header, len: usize) -> Result<()> {
        let mut run = std::mem::take(&mut self.run);
        run.resize(RUN_MAX, 0);
        let result = self.decode(header, run.get_mut(..len).unwrap_or_default());
        self.run = run;
        (self.at, self.len) = (0, len);
        result
    }

    /// Passes over `count` values.
    pub fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            if self.at == self.len {
                let (header, len) = self.header()?;
                if self.skip_run(&header, len, count)? {
                    count -= len;
                    continue;
                }
                self.decode_ahead(&header, len)?;
            }
            let taken = (self.len - self.at).min(count);
            self.at += taken;
            count -= taken;
        }
        Ok(())
    }

    /// Passes over a run whose bytes are counted without decoding, if all of it is passed over.
    fn skip_run(&mut self, header: &Header, len: usize, count: usize) -> Result<bool> {
        match header {
            Header::ShortRepeat { value_bytes } if len <= count => {
                self.stream.skip(*value_bytes as u64)?;
            }
            Header::Direct { width } if len <= count => {
                self.stream.skip(packed_bytes(len, *width) as u64)?;
            }
            Header::Run { .. } if len <= count => {
                self.stream.varint()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Goes to a position of a row index.
    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        self.stream.seek(positions)?;
        (self.at, self.len) = (0, 0);
        self.skip(positions.count()?)
    }

    /// The header of the next run, and how many values it has: at most [`RUN_MAX`].
    fn header(&mut self) -> Result<(Header, usize)> {
        let first = self.stream.byte()?;
        if self.version == Version::V1 {
            return Ok(match first {
                0..128 => {
                    let delta = i64::from(self.stream.byte()? as i8);
                    (Header::Run { delta }, usize::from(first) + 3)
                }
                _ => (Header::Literals, 256 - usize::from(first)),
            });
        }
        if first >> 6 == 0 {
            let value_bytes = usize::from(first >> 3 & 7) + 1;
            return Ok((Header::ShortRepeat { value_bytes }, usize::from(first & 7) + 3));
        }
        let len = (usize::from(first & 1) << 8 | usize::from(self.stream.byte()?)) + 1;
        let code = first >> 1 & 31;
        let header = match first >> 6 {
            1 => Header::Direct { width: width_of_code(code) },
            2 => Header::PatchedBase { width: width_of_code(code) },
            _ => Header::Delta { width: if code == 0 { 0 } else { width_of_code(code) } },
        };
        Ok((header, len))
    }

    /// Decodes the run of `header`, which has as many values as `out`.
    fn decode(&mut self, header: &Header, out: &mut [i64]) -> Result<()> {
        match header {
            Header::Run { delta } => {
                let first = self.varint()?;
                for (place, value) in out.iter_mut().enumerate() {
                    *value = first.wrapping_add(delta.wrapping_mul(place as i64));
                }
            }
            Header::Literals => {
                for value in out {
                    *value = self.varint()?;
                }
            }
            Header::ShortRepeat { value_bytes } => {
                let value = big_endian(self.stream.take(*value_bytes)?);
                out.fill(self.signed(value));
            }
            Header::Direct { width } => self.decode_direct(*width, out)?,
            Header::PatchedBase { width } => self.decode_patched(*width, out)?,
            Header::Delta { width } => self.decode_delta(*width, out)?,
        }
        Ok(())
    }

    fn decode_direct(&mut self, width: u32, out: &mut [i64]) -> Result<()> {
        let unpacked = self.unpacked.get_mut(..out.len()).unwrap_or_default();
        unpack(self.stream.take(packed_bytes(out.len(), width))?, width, unpacked);
        let values = out.iter_mut().zip(&*unpacked);
        match self.sign {
            Sign::Signed => values.for_each(|(out, value)| *out = zigzag(*value)),
            Sign::Unsigned => values.for_each(|(out, value)| *out = *value as i64),
        }
        Ok(())
    }

    fn decode_delta(&mut self, width: u32, out: &mut [i64]) -> Result<()> {
        let base = self.varint()?;
        let delta = zigzag(self.stream.varint()?);
        let Some((first, rest)) = out.split_first_mut() else { return Ok(()) };
        *first = base;
        let Some((second, rest)) = rest.split_first_mut() else { return Ok(()) };
        let mut value = base.wrapping_add(delta);
        *second = value;
        let deltas = self.unpacked.get_mut(..rest.len()).unwrap_or_default();
        if width == 0 {
            for it in rest {
                value = value.wrapping_add(delta);
                *it = value;
            }
            return Ok(());
        }
        unpack(self.stream.take(packed_bytes(deltas.len(), width))?, width, deltas);
        for (it, step) in rest.iter_mut().zip(&*deltas) {
            let step = *step as i64;
            value = if delta < 0 { value.wrapping_sub(step) } else { value.wrapping_add(step) };
            *it = value;
        }
        Ok(())
    }

    fn decode_patched(&mut self, width: u32, out: &mut [i64]) -> Result<()> {
        let [third, fourth] = *self.stream.take(2)?.first_chunk().unwrap_or(&[0, 0]);
        let (base_bytes, patch_width) = (usize::from(third >> 5) + 1, width_of_code(third));
        let (gap_width, patches) = (u32::from(fourth >> 5) + 1, usize::from(fourth & 31));
        let entry_width = storable_width(patch_width + gap_width);
        if patch_width + gap_width > 64 {
            return Err(corrupt("patches of more than 64 bits"));
        }
        let base = sign_magnitude(big_endian(self.stream.take(base_bytes)?), base_bytes);
        let unpacked = self.unpacked.get_mut(..out.len()).unwrap_or_default();
        unpack(self.stream.take(packed_bytes(out.len(), width))?, width, unpacked);
        for (out, value) in out.iter_mut().zip(&*unpacked) {
            *out = base.wrapping_add(*value as i64);
        }
        let mut entries = [0; 31];
        let entries = entries.get_mut(..patches).unwrap_or_default();
        unpack(self.stream.take(packed_bytes(patches, entry_width))?, entry_width, entries);
        let mut place = 0;
        for entry in entries {
            let patch = *entry & ((1 << patch_width) - 1);
            place += (*entry >> patch_width) as usize;
            // A gap of 255 without a patch is the first part of a longer one.
            let value = match patch {
                0 => continue,
                _ => unpacked.get(place).ok_or_else(|| corrupt("patch beyond its run"))?,
            };
            // Bits beyond the highest are not stored by any writer.
            let high = patch.checked_shl(width).unwrap_or(0);
            if let Some(out) = out.get_mut(place) {
                *out = base.wrapping_add((*value | high) as i64);
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<i64> {
        let value = self.stream.varint()?;
        Ok(self.signed(value))
    }

    fn signed(&self, value: u64) -> i64 {
        match self.sign {
            Sign::Signed => zigzag(value),
            Sign::Unsigned => value as i64,
        }
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The value of `bytes` bytes whose highest bit is the sign.
fn sign_magnitude(value: u64, bytes: usize) -> i64 {
    let sign = 1 << (8 * bytes - 1);
    let magnitude = (value & (sign - 1)) as i64;
    if value & sign == 0 { magnitude } else { magnitude.wrapping_neg() }
}

#[cfg(test)]
mod tests;

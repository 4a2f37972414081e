//! The DELTA encodings.
//!
//! ```text
//! DELTA_BINARY_PACKED       header: block size, miniblocks per block, values (varints),
//!                                   first value (zigzag varint)
//!                           block:  least delta (zigzag varint), one bit width per miniblock,
//!                                   the miniblocks: deltas minus the least one, bit-packed
//! DELTA_LENGTH_BYTE_ARRAY   lengths (DELTA_BINARY_PACKED), the strings
//! DELTA_BYTE_ARRAY          lengths shared with the string before (DELTA_BINARY_PACKED),
//!                           the rests (DELTA_LENGTH_BYTE_ARRAY)
//! ```

use crate::{
    error::corrupt,
    leaf::{Conversion, Leaf},
    strings::{check_utf8, collect_strings},
};
use arrow_buffer::Buffer;
use bytes::Bytes;
use std::sync::Arc;
use volley_error::Result;
use volley_kernels::unpack::unpack_u64;
use volley_vector::{StringValues, StringView, Vector};

/// The maximum number of bytes that a page of shared beginnings may grow to.
const EXPANDED_BYTES_MAX: usize = 1 << 30;

/// Decodes integers and puts them in PLAIN order, `width` bytes each.
pub(crate) fn decode_delta_values(bytes: &[u8], width: usize, values_max: usize) -> Result<Bytes> {
    let (values, _) = decode_integers(bytes, values_max)?;
    let mut plain = Vec::with_capacity(values.len() * width);
    for value in values {
        match width {
            4 => plain.extend_from_slice(&(value as i32).to_le_bytes()),
            _ => plain.extend_from_slice(&value.to_le_bytes()),
        }
    }
    Ok(plain.into())
}

/// Decodes strings that follow their lengths.
pub(crate) fn decode_length_strings(
    leaf: &Leaf,
    bytes: Bytes,
    values_max: usize,
) -> Result<Vector> {
    let (lengths, at) = decode_integers(&bytes, values_max)?;
    let data = bytes.slice(at.min(bytes.len())..);
    let spans = spans(&lengths, data.len())?;
    let text = |(start, len): &(usize, usize)| data.get(*start..start + len).unwrap_or_default();
    let Conversion::Bytes { utf8 } = leaf.conversion else {
        return collect_strings(leaf, spans.iter().map(|it| Ok(text(it))));
    };
    let mut views = Vec::with_capacity(spans.len());
    for span in &spans {
        if utf8 {
            check_utf8(text(span))?;
        }
        views.push(StringView::new(text(span), 0, span.0 as u32));
    }
    let buffers = Arc::new([Buffer::from(data.clone())]);
    let values = StringValues::new(views.into(), buffers);
    Ok(Vector::strings(leaf.data_type.clone(), values, None))
}

/// Decodes strings that begin as the one before them. `charge` is asked for the bytes of the whole
/// strings before these are put together.
pub(crate) fn decode_delta_strings(
    leaf: &Leaf,
    bytes: Bytes,
    values_max: usize,
    charge: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vector> {
    let (shared, at) = decode_integers(&bytes, values_max)?;
    let rests = bytes.slice(at.min(bytes.len())..);
    let (lengths, at) = decode_integers(&rests, values_max)?;
    let data = rests.slice(at.min(rests.len())..);
    let spans = spans(&lengths, data.len())?;
    if spans.len() != shared.len() {
        return Err(corrupt("strings without beginnings"));
    }
    let total = expanded_bytes(&shared, &spans)?;
    // Put together here, and copied once more into a vector.
    charge(2 * total)?;
    let mut all: Vec<u8> = Vec::with_capacity(total);
    let mut ends = Vec::with_capacity(spans.len());
    let mut last = 0..0;
    for (shared, (start, len)) in shared.iter().zip(&spans) {
        let (shared, begin) = (*shared as usize, all.len());
        all.extend_from_within(last.start..last.start + shared);
        all.extend_from_slice(data.get(*start..start + len).unwrap_or_default());
        last = begin..all.len();
        ends.push(last.clone());
    }
    let width = leaf.fixed_bytes();
    let string = |range: std::ops::Range<usize>| {
        let string = all.get(range).unwrap_or_default();
        match width {
            Some(width) if width != string.len() => Err(corrupt("string of a wrong length")),
            _ => Ok(string),
        }
    };
    collect_strings(leaf, ends.iter().cloned().map(string))
}

/// The bytes of all strings, each with what it shares with the one before it.
fn expanded_bytes(shared: &[i64], spans: &[(usize, usize)]) -> Result<usize> {
    let (mut total, mut last) = (0, 0);
    for (shared, (_, len)) in shared.iter().zip(spans) {
        let shared = usize::try_from(*shared).ok().filter(|it| *it <= last);
        last = shared
            .ok_or_else(|| corrupt("string shares more bytes than the previous one has"))?
            + len;
        total += last;
        if total > EXPANDED_BYTES_MAX {
            return Err(corrupt("strings of a page grow too large"));
        }
    }
    Ok(total)
}

/// Start and length of each string in data of `data_len` bytes.
fn spans(lengths: &[i64], data_len: usize) -> Result<Vec<(usize, usize)>> {
    let mut start = 0;
    let span = |length: &i64| {
        let len = usize::try_from(*length).ok().filter(|it| *it <= data_len - start);
        let len = len.ok_or_else(|| corrupt("string ends after its page"))?;
        start += len;
        Ok((start - len, len))
    };
    lengths.iter().map(span).collect()
}

/// The integers at the start of `bytes`, and how many bytes they take.
fn decode_integers(bytes: &[u8], values_max: usize) -> Result<(Vec<i64>, usize)> {
    let mut reader = Reader { bytes, at: 0 };
    let block = reader.varint()?;
    let miniblocks = reader.varint()?;
    let total = reader.varint()?;
    let mut value = reader.signed()?;
    let size = block.checked_div(miniblocks).unwrap_or_default();
    let fits = miniblocks > 0 && miniblocks <= 512 && size > 0 && size <= 1 << 16;
    // The format wants multiples of 32; some writers take 8, which whole bytes need.
    if !fits || size % 8 != 0 || size * miniblocks != block {
        return Err(corrupt("invalid block size of deltas"));
    }
    let total = usize::try_from(total).ok().filter(|it| *it <= values_max);
    let total = total.ok_or_else(|| corrupt("more deltas than values"))?;
    let mut values = Vec::with_capacity(total.min(bytes.len().saturating_mul(64)));
    if total > 0 {
        values.push(value);
    }
    let (mut deltas, size) = (vec![0; size as usize], size as usize);
    while values.len() < total {
        let least = reader.signed()?;
        let widths = reader.take(miniblocks as usize)?;
        for width in widths {
            if values.len() == total {
                break;
            }
            let width = usize::from(*width);
            if width > 64 {
                return Err(corrupt("deltas of more than 64 bits"));
            }
            let wanted = size.min(total - values.len());
            let packed = reader.take_up_to(size * width / 8);
            if packed.len() * 8 < wanted * width {
                return Err(corrupt("page ends early"));
            }
            let deltas = deltas.get_mut(..wanted).unwrap_or_default();
            unpack_u64(packed, width, deltas);
            values.extend(deltas.iter().map(|delta| {
                value = value.wrapping_add(least).wrapping_add(*delta as i64);
                value
            }));
        }
    }
    Ok((values, reader.at))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| corrupt("page ends early"))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("invalid number among deltas"))
    }

    fn signed(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let taken = self.take_up_to(len);
        if taken.len() < len { Err(corrupt("page ends early")) } else { Ok(taken) }
    }

    /// The next `len` bytes, or what is left: the last miniblock may be cut short.
    fn take_up_to(&mut self, len: usize) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..len).unwrap_or(rest);
        self.at += taken.len();
        taken
    }
}

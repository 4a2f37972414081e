//! Reads texts and bytes.
//!
//! ```text
//! direct       DATA: the bytes of all values, LENGTH: how many each has
//! dictionary   DICTIONARY_DATA and LENGTH: the entries, DATA: the entry of each value
//! ```
//!
//! A dictionary is decoded once in a stripe; vectors of the stripe are codes over the same base.

use crate::{
    error::corrupt,
    integer_rle::IntegerRle,
    layout::Layout,
    stream::{ByteStream, Positions},
};
use arrow_buffer::{Buffer, ScalarBuffer};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_kernels::text::is_ascii;
use volley_memory::Reservation;
use volley_types::Type;
use volley_vector::{StringValues, StringView, Vector};

/// Bytes of memory for an entry of a dictionary: its length and its view.
const ENTRY_BYTES: usize = size_of::<i64>() + size_of::<u128>();

/// Values that are stored one after the other.
pub(crate) struct DirectReader {
    pub lengths: IntegerRle,
    pub bytes: ByteStream,
    /// The lengths of the values that are being read.
    pub buffer: Vec<i64>,
}

impl DirectReader {
    pub fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        self.lengths.read(layout.stored, &mut self.buffer)?;
        let total = total_of(&self.buffer)?;
        let mut data = Vec::new();
        let views = if layout.len >= layout.stored {
            // All that is stored is wanted, but for null rows.
            self.bytes.append_to(total, &mut data)?;
            check_text(data_type, &data, starts_of(&self.buffer))?;
            let views = views_of(&self.buffer, &data)?;
            if layout.places.is_none() { views } else { layout.gather(&views, |it| it) }
        } else {
            let ranges = self.read_some(layout, total, &mut data)?;
            check_text(data_type, &data, ranges.iter().map(|(start, _)| *start))?;
            let view = |(start, len): &(usize, usize)| view_at(&data, *start, *len);
            ranges.iter().map(view).collect::<Result<Vec<_>>>()?
        };
        Ok(Vector::strings(data_type.clone(), strings_of(views, data), layout.nulls.clone()))
    }

    /// Copies the values that are wanted alone to `data`; for each row of the result, where its
    /// value begins there, and its length.
    fn read_some(
        &mut self,
        layout: &Layout,
        total: usize,
        data: &mut Vec<u8>,
    ) -> Result<Vec<(usize, usize)>> {
        let mut ranges = vec![(0, 0); layout.len];
        let (mut passed, mut next, mut gap) = (0, 0, 0);
        let mut result = Ok(());
        layout.for_each(|row, place| {
            if result.is_err() {
                return;
            }
            while next < place {
                gap += length_at(&self.buffer, next);
                next += 1;
            }
            let len = length_at(&self.buffer, place);
            next = place + 1;
            result = self.bytes.skip(gap as u64).and_then(|()| {
                if let Some(range) = ranges.get_mut(row) {
                    *range = (data.len(), len);
                }
                self.bytes.append_to(len, data)
            });
            passed += gap + len;
            gap = 0;
        });
        result?;
        self.bytes.skip(total.saturating_sub(passed) as u64)?;
        Ok(ranges)
    }

    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.lengths.read(count, &mut self.buffer)?;
        self.bytes.skip(total_of(&self.buffer)? as u64)
    }

    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        self.bytes.seek(positions)?;
        self.lengths.seek(positions)
    }

    pub fn bytes_read(&self) -> u64 {
        self.lengths.bytes_read() + self.bytes.bytes_read()
    }
}

/// Values that are entries of a dictionary.
pub(crate) struct DictionaryReader {
    pub codes: IntegerRle,
    pub dictionary: Dictionary,
    pub buffer: Vec<i64>,
    /// Charged with the entries.
    pub reservation: Reservation,
}

/// The entries.
pub(crate) enum Dictionary {
    Stored { lengths: IntegerRle, bytes: ByteStream, entries: usize },
    Decoded(Arc<Vector>),
}

impl DictionaryReader {
    pub fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        self.codes.read(layout.stored, &mut self.buffer)?;
        if layout.stored == 0 {
            return Ok(Vector::nulls(data_type.clone(), layout.len));
        }
        let base = self.dictionary.decoded(data_type, &mut self.reservation)?;
        let entries = base.len() as u64;
        let code = |it: i64| (it as u64 <= u64::from(u32::MAX)).then_some(it as u32);
        // Null rows have the first entry.
        let codes = layout
            .gather_checked(&self.buffer, |it| code(it).filter(|it| u64::from(*it) < entries));
        let codes = codes.ok_or_else(|| corrupt("code beyond its dictionary"))?;
        if entries == 0 {
            return Ok(Vector::nulls(data_type.clone(), layout.len));
        }
        let nulls = layout.nulls.clone();
        Ok(Vector::checked_dictionary(ScalarBuffer::from(codes), base, nulls))
    }

    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.codes.skip(count)
    }

    pub fn bytes_read(&self) -> u64 {
        let of_dictionary = match &self.dictionary {
            Dictionary::Stored { lengths, bytes, .. } => lengths.bytes_read() + bytes.bytes_read(),
            Dictionary::Decoded(_) => 0,
        };
        self.codes.bytes_read() + of_dictionary
    }
}

impl Dictionary {
    fn decoded(&mut self, data_type: &Type, reservation: &mut Reservation) -> Result<Arc<Vector>> {
        let values = match self {
            Dictionary::Decoded(values) => return Ok(Arc::clone(values)),
            Dictionary::Stored { lengths, bytes, entries } => {
                reservation.grow(entries.saturating_mul(ENTRY_BYTES))?;
                let (mut buffer, mut data) = (Vec::new(), Vec::new());
                lengths.append_to(*entries, &mut buffer)?;
                let total = total_of(&buffer)?;
                reservation.grow(total)?;
                bytes.append_to(total, &mut data)?;
                check_text(data_type, &data, starts_of(&buffer))?;
                let views = views_of(&buffer, &data)?;
                Vector::strings(data_type.clone(), strings_of(views, data), None)
            }
        };
        let values = Arc::new(values);
        *self = Dictionary::Decoded(Arc::clone(&values));
        Ok(values)
    }
}

fn length_at(lengths: &[i64], place: usize) -> usize {
    lengths.get(place).map_or(0, |it| *it as usize)
}

/// The sum of lengths, none of which is negative.
pub(crate) fn total_of(lengths: &[i64]) -> Result<usize> {
    let mut total: u64 = 0;
    for length in lengths {
        let length = u64::try_from(*length).map_err(|_| corrupt("negative length"))?;
        total = total.checked_add(length).ok_or_else(|| corrupt("lengths beyond 64 bits"))?;
    }
    usize::try_from(total).map_err(|_| corrupt("lengths beyond the memory of the machine"))
}

/// The views of values that follow each other in `data`.
fn views_of(lengths: &[i64], data: &[u8]) -> Result<Vec<u128>> {
    let mut start = 0;
    let view = |len: &i64| {
        let view = view_at(data, start, *len as usize);
        start += *len as usize;
        view
    };
    lengths.iter().map(view).collect()
}

#[inline(always)]
fn view_at(data: &[u8], start: usize, len: usize) -> Result<u128> {
    let offset = u32::try_from(start).map_err(|_| too_long())?;
    // Short strings are loaded as one word where the data goes on far enough.
    if len <= volley_vector::INLINE_BYTES
        && let Some(window) = data.get(start..).and_then(|it| it.first_chunk::<16>())
    {
        let text = u128::from_le_bytes(*window) & ((1 << (len * 8)) - 1);
        return Ok(text << 32 | len as u128);
    }
    u32::try_from(len).map_err(|_| too_long())?;
    let end = start.checked_add(len).ok_or_else(too_long)?;
    let bytes = data.get(start..end).ok_or_else(|| corrupt("text beyond its stream"))?;
    Ok(StringView::new(bytes, 0, offset))
}

fn strings_of(views: Vec<u128>, data: Vec<u8>) -> StringValues {
    let is_known_ascii = is_ascii(&data);
    let buffers: Arc<[Buffer]> = match data.is_empty() {
        true => Arc::default(),
        false => Arc::from([Buffer::from_vec(data)]),
    };
    let strings = StringValues::new(views.into(), buffers);
    if is_known_ascii { strings.known_ascii() } else { strings }
}

/// Where values of these lengths begin.
fn starts_of(lengths: &[i64]) -> impl Iterator<Item = usize> {
    lengths.iter().scan(0, |start, len| {
        let begin = *start;
        *start += *len as usize;
        Some(begin)
    })
}

/// Checks that values that follow each other in `data` are UTF-8, if they are texts: all together
/// are, and none begins within a character.
fn check_text(data_type: &Type, data: &[u8], starts: impl Iterator<Item = usize>) -> Result<()> {
    if *data_type != Type::Varchar || is_ascii(data) {
        return Ok(());
    }
    let Ok(text) = simdutf8::basic::from_utf8(data) else {
        return Err(corrupt("text that is not UTF-8"));
    };
    for start in starts {
        if !text.is_char_boundary(start) {
            return Err(corrupt("text that begins within a character"));
        }
    }
    Ok(())
}

#[cold]
fn too_long() -> Error {
    Error::unsupported("ORC batch with texts of more than 4 GiB")
}

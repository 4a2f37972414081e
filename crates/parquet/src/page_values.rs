//! The encoded values of one page, read forward.

use crate::{
    delta::{decode_delta_strings, decode_delta_values, decode_length_strings},
    error::corrupt,
    hybrid::Hybrid,
    leaf::{Conversion, Leaf},
    pages::Pages,
    strings::{StringPage, decode_plain_strings},
};
use bytes::Bytes;
use parquet::basic::{Encoding, Type as Stored};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_vector::Vector;

/// The values of a page that are not null.
pub(crate) enum PageValues {
    /// Codes of a dictionary.
    Codes { codes: Hybrid, base: Arc<Vector> },
    /// Values of one size, PLAIN.
    Fixed { bytes: Bytes, width: usize },
    /// Strings, PLAIN.
    Strings(StringPage),
    /// Booleans.
    Bits(Hybrid),
    /// All decoded; the next one is row `at`.
    Decoded { values: Arc<Vector>, at: usize },
}

impl PageValues {
    /// The values of a data page with `values` values, nulls included.
    pub fn new(
        pages: &mut Pages,
        encoding: Encoding,
        bytes: Bytes,
        values: usize,
    ) -> Result<PageValues> {
        let leaf = pages.leaf.clone();
        let leaf = &leaf;
        if bytes.is_empty() {
            // A page of nulls: some writers store nothing then, whatever the encoding needs.
            return PageValues::plain(leaf, bytes);
        }
        match encoding {
            Encoding::PLAIN => {
                pages.charge_decoded(plain_decoded_bytes(leaf, bytes.len()))?;
                PageValues::plain(leaf, bytes)
            }
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                let base = pages.dictionary()?;
                let width = bytes.first().copied().unwrap_or_default();
                let codes = Hybrid::new(bytes.slice(1..), usize::from(width))?;
                Ok(PageValues::Codes { codes, base })
            }
            Encoding::RLE if leaf.conversion == Conversion::Boolean => {
                let mut bytes = bytes;
                // A length of four bytes precedes the runs.
                let rest = bytes.split_off(4.min(bytes.len()));
                Ok(PageValues::Bits(Hybrid::new(rest, 1)?))
            }
            Encoding::DELTA_BINARY_PACKED if matches!(leaf.fixed_bytes(), Some(4 | 8)) => {
                let width = leaf.fixed_bytes().unwrap_or_default();
                // As 64-bit integers first.
                pages.charge_decoded(values.saturating_mul(8 + width))?;
                let bytes = decode_delta_values(&bytes, width, values)?;
                Ok(PageValues::Fixed { bytes, width })
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY if leaf.stored() == Stored::BYTE_ARRAY => {
                // Lengths, spans, and views.
                pages.charge_decoded(values.saturating_mul(8 + 16 + 16))?;
                Ok(PageValues::decoded(decode_length_strings(leaf, bytes, values)?))
            }
            Encoding::DELTA_BYTE_ARRAY if leaf.is_stored_as_strings() => {
                // Two lengths, two spans, and views.
                pages.charge_decoded(values.saturating_mul(2 * 8 + 2 * 16 + 16))?;
                let mut charge = |bytes| pages.charge_decoded(bytes);
                Ok(PageValues::decoded(decode_delta_strings(leaf, bytes, values, &mut charge)?))
            }
            Encoding::BYTE_STREAM_SPLIT if leaf.fixed_bytes().is_some() => {
                let width = leaf.fixed_bytes().unwrap_or_default();
                pages.charge_decoded(bytes.len())?;
                PageValues::plain(leaf, join_byte_streams(&bytes, width)?)
            }
            other => Err(Error::unsupported(format!(
                "parquet encoding {other} of {:?} values",
                leaf.stored()
            ))),
        }
    }

    /// Values in PLAIN encoding.
    pub fn plain(leaf: &Leaf, bytes: Bytes) -> Result<PageValues> {
        Ok(match leaf.conversion {
            Conversion::Boolean => PageValues::Bits(Hybrid::bits(bytes)),
            Conversion::Bytes { utf8 } => PageValues::Strings(StringPage::new(bytes, utf8)),
            Conversion::BytesDecimal | Conversion::Fixed { .. } | Conversion::FixedUuid => {
                PageValues::decoded(decode_plain_strings(leaf, bytes)?)
            }
            _ => match leaf.fixed_bytes() {
                Some(width) => PageValues::Fixed { bytes, width },
                None => return Err(Error::internal("values without a size")),
            },
        })
    }

    fn decoded(values: Vector) -> PageValues {
        PageValues::Decoded { values: Arc::new(values), at: 0 }
    }

    /// Passes over the next `count` values.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        match self {
            PageValues::Codes { codes: hybrid, .. } | PageValues::Bits(hybrid) => {
                hybrid.skip(count)
            }
            PageValues::Fixed { bytes, width } => {
                take_fixed(bytes, *width, count)?;
                Ok(())
            }
            PageValues::Strings(strings) => strings.skip(count),
            PageValues::Decoded { values, at } => {
                *at = advance(*at, count, values.len())?;
                Ok(())
            }
        }
    }
}

/// What [`PageValues::plain`] makes of a page of `bytes`, at most: nothing of values that it leaves
/// in the page.
fn plain_decoded_bytes(leaf: &Leaf, bytes: usize) -> usize {
    let (value_bytes, per_value) = match leaf.conversion {
        // At least a length; a wide integer.
        Conversion::BytesDecimal => (4, 16),
        // A view, and the string.
        Conversion::Fixed { len } => (len.max(1), 16 + len),
        // A view, and the text.
        Conversion::FixedUuid => (16, 16 + 36),
        _ => return 0,
    };
    (bytes / value_bytes).saturating_mul(per_value)
}

/// `at + count`, if not beyond `len`.
pub(crate) fn advance(at: usize, count: usize, len: usize) -> Result<usize> {
    let end = at.checked_add(count).filter(|it| *it <= len);
    end.ok_or_else(|| corrupt("page ends early"))
}

/// The next `count` values of `width` bytes, taken off `bytes`.
pub(crate) fn take_fixed(bytes: &mut Bytes, width: usize, count: usize) -> Result<Bytes> {
    let len = count.checked_mul(width).filter(|it| *it <= bytes.len());
    Ok(bytes.split_to(len.ok_or_else(|| corrupt("page ends early"))?))
}

/// Values stored as all first bytes, then all second bytes and so on, in PLAIN order.
fn join_byte_streams(bytes: &[u8], width: usize) -> Result<Bytes> {
    let values = bytes.len() / width;
    if values * width != bytes.len() {
        return Err(corrupt("byte streams of different lengths"));
    }
    let mut joined = vec![0; bytes.len()];
    if values > 0 {
        for (place, stream) in bytes.chunks_exact(values).enumerate() {
            for (value, byte) in joined.chunks_exact_mut(width).zip(stream) {
                if let Some(out) = value.get_mut(place) {
                    *out = *byte;
                }
            }
        }
    }
    Ok(joined.into())
}

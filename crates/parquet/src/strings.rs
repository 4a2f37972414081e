//! Strings in PLAIN encoding: views straight into the page.

use crate::{
    accumulator::Accumulator,
    error::corrupt,
    fixed::big_endian,
    leaf::{Conversion, Leaf},
    page_values::PageValues,
};
use arrow_buffer::Buffer;
use bytes::Bytes;
use volley_error::Result;
use volley_types::{PhysicalType, custom::stored_bits};
use volley_vector::{INLINE_BYTES, StringBuilder, StringView, Vector};

/// A page of strings, each after its length in four bytes.
pub(crate) struct StringPage {
    bytes: Bytes,
    at: usize,
    check: Utf8Check,
}

/// What is known of the text of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Utf8Check {
    /// Nothing to check: bytes, or all ASCII.
    Unneeded,
    /// Text that is not validated yet.
    Unknown,
    /// Each string is checked.
    Needed,
}

impl StringPage {
    pub fn new(bytes: Bytes, utf8: bool) -> StringPage {
        let check = if utf8 { Utf8Check::Unknown } else { Utf8Check::Unneeded };
        StringPage { bytes, at: 0, check }
    }

    /// Checks the whole page once: if every byte is ASCII, lengths included, so is every string.
    /// That is much cheaper than checking strings one by one.
    fn look(&mut self) {
        if self.check == Utf8Check::Unknown {
            let is_ascii = volley_kernels::text::is_ascii(&self.bytes);
            self.check = if is_ascii { Utf8Check::Unneeded } else { Utf8Check::Needed };
        }
    }

    /// What views of the page point into.
    pub fn buffer(&self) -> Buffer {
        Buffer::from(self.bytes.clone())
    }

    /// Appends views of the next `count` strings, which point into buffer number `buffer`.
    pub fn read(&mut self, count: usize, buffer: u32, views: &mut Vec<u128>) -> Result<()> {
        self.look();
        // Each takes at least its length's four bytes.
        views.reserve(count.min(self.bytes.len() / 4));
        for _ in 0..count {
            let (start, len) = self.next()?;
            views.push(self.view(start, len, buffer)?);
        }
        Ok(())
    }

    /// Like [`StringPage::read`], but keeps the strings at `positions` (ascending) alone.
    pub fn read_at(
        &mut self,
        count: usize,
        positions: &[u32],
        buffer: u32,
        views: &mut Vec<u128>,
    ) -> Result<()> {
        self.look();
        let mut passed = 0;
        for position in positions {
            self.skip((*position as usize).saturating_sub(passed))?;
            let (start, len) = self.next()?;
            views.push(self.view(start, len, buffer)?);
            passed = *position as usize + 1;
        }
        self.skip(count.saturating_sub(passed))
    }

    /// Passes over the next `count` strings.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            self.next()?;
        }
        Ok(())
    }

    /// Start and length of the next string.
    #[inline]
    fn next(&mut self) -> Result<(usize, usize)> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.first_chunk::<4>().map(|it| u32::from_le_bytes(*it) as usize);
        match len {
            Some(len) if len <= rest.len() - 4 => {
                let start = self.at + 4;
                self.at = start + len;
                Ok((start, len))
            }
            _ => Err(corrupt("string ends after its page")),
        }
    }

    #[inline]
    fn view(&self, start: usize, len: usize, buffer: u32) -> Result<u128> {
        let text = self.bytes.get(start..start + len).unwrap_or_default();
        if self.check != Utf8Check::Unneeded {
            check_utf8(text)?;
        }
        // Short strings are loaded as one word where the page continues far enough.
        if len <= INLINE_BYTES
            && let Some(window) = self.bytes.get(start..).and_then(|it| it.first_chunk::<16>())
        {
            let text = u128::from_le_bytes(*window) & ((1 << (len * 8)) - 1);
            return Ok(text << 32 | len as u128);
        }
        Ok(StringView::new(text, buffer, start as u32))
    }
}

pub(crate) fn check_utf8(text: &[u8]) -> Result<()> {
    if text.is_ascii() {
        return Ok(());
    }
    match simdutf8::basic::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(_) => Err(corrupt("text that is not UTF-8")),
    }
}

/// Decodes a page of strings whose values are not just strings, or all of one length.
pub(crate) fn decode_plain_strings(leaf: &Leaf, bytes: Bytes) -> Result<Vector> {
    if let Some(width) = leaf.fixed_bytes() {
        return collect_strings(leaf, bytes.chunks_exact(width).map(Ok));
    }
    let mut page = StringPage::new(bytes.clone(), false);
    let next = || {
        (page.at < bytes.len()).then(|| {
            let (start, len) = page.next()?;
            Ok(bytes.get(start..start + len).unwrap_or_default())
        })
    };
    collect_strings(leaf, std::iter::from_fn(next))
}

/// The values that `strings` store.
pub(crate) fn collect_strings<'a>(
    leaf: &Leaf,
    strings: impl Iterator<Item = Result<&'a [u8]>>,
) -> Result<Vector> {
    let data_type = leaf.data_type.clone();
    match leaf.conversion {
        Conversion::BytesDecimal if data_type.physical() == PhysicalType::I64 => {
            let values = strings.map(|it| decimal::<i64>(it?)).collect::<Result<Vec<_>>>()?;
            Ok(Vector::native::<i64>(data_type, values, None))
        }
        Conversion::BytesDecimal => {
            let values = strings.map(|it| decimal::<i128>(it?)).collect::<Result<Vec<_>>>()?;
            Ok(Vector::native::<i128>(data_type, values, None))
        }
        Conversion::FixedUuid => {
            let values = strings.map(|it| uuid(it?)).collect::<Result<Vec<_>>>()?;
            Ok(Vector::native::<i128>(data_type, values, None))
        }
        Conversion::Bytes { .. } | Conversion::Fixed { .. } => {
            let mut builder = StringBuilder::default();
            for string in strings {
                let string = string?;
                if leaf.conversion == (Conversion::Bytes { utf8: true }) {
                    check_utf8(string)?;
                }
                builder.push(string);
            }
            Ok(Vector::strings(data_type, builder.finish(), None))
        }
        _ => {
            // Numbers of one size: as if they had been stored plainly.
            let mut bytes = Vec::new();
            for string in strings {
                bytes.extend_from_slice(string?);
            }
            let count = leaf.fixed_bytes().map_or(0, |it| bytes.len() / it.max(1));
            let mut accumulator = Accumulator::new(leaf);
            accumulator.append(&mut PageValues::plain(leaf, bytes.into())?, count)?;
            accumulator.finish(None)
        }
    }
}

fn decimal<T: TryFrom<i128>>(bytes: &[u8]) -> Result<T> {
    big_endian(bytes).ok_or_else(|| corrupt("value beyond the range of its type"))
}

/// A UUID as it is stored: see [`stored_bits`].
fn uuid(bytes: &[u8]) -> Result<i128> {
    let bytes = bytes.try_into().map_err(|_| corrupt("UUID of other than 16 bytes"))?;
    Ok(stored_bits(u128::from_be_bytes(bytes)))
}

//! Texts and bytes as views into decoded bytes.

use crate::{column::Read, input::corruption, vectors::compact};
use arrow_buffer::Buffer;
use volley_error::{Error, ErrorKind, Result};
use volley_types::Type;
use volley_vector::{INLINE_BYTES, StringValues, StringView, Values};

/// Collects texts.
pub(crate) struct Texts {
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    /// Whether the bytes must be UTF-8.
    is_text: bool,
    is_ascii: bool,
}

impl Texts {
    pub(crate) fn new(data_type: &Type, rows: usize) -> Texts {
        let is_text = *data_type.storage() == Type::Varchar;
        Texts { views: Vec::with_capacity(rows), buffers: Vec::new(), is_text, is_ascii: true }
    }

    /// Appends the texts that `bytes` are, one after the other.
    pub(crate) fn push_all(&mut self, bytes: Buffer, lengths: &[u32]) -> Result<()> {
        let total: u64 = lengths.iter().map(|it| u64::from(*it)).sum();
        if total != bytes.len() as u64 {
            return Err(corruption("lengths of texts"));
        }
        self.check_all(&bytes, lengths)?;
        let (mut offset, mut has_long) = (0, false);
        let number = self.next_buffer(&bytes)?;
        self.views.extend(lengths.iter().map(|length| {
            let length = *length as usize;
            has_long |= length > INLINE_BYTES;
            let view = view(&bytes, offset, length, number);
            offset += length;
            view
        }));
        if has_long {
            self.buffers.push(bytes);
        }
        Ok(())
    }

    /// Appends some of the texts in `bytes`: where each begins, and its length.
    pub(crate) fn push_some(
        &mut self,
        bytes: &Buffer,
        texts: impl Iterator<Item = (usize, usize)>,
    ) -> Result<()> {
        let number = self.next_buffer(bytes)?;
        let mut has_long = false;
        for (offset, length) in texts {
            let text = bytes.get(offset..).and_then(|it| it.get(..length));
            let text = text.ok_or_else(|| corruption("lengths of texts"))?;
            if self.is_text && simdutf8::basic::from_utf8(text).is_err() {
                return Err(not_utf8());
            }
            self.is_ascii &= text.is_ascii();
            has_long |= length > INLINE_BYTES;
            self.views.push(view(bytes, offset, length, number));
        }
        if has_long {
            self.buffers.push(bytes.clone());
        }
        Ok(())
    }

    /// Keeps the texts at the positions `pick`, which ascend.
    pub(crate) fn keep(&mut self, pick: &[u32]) {
        compact(&mut self.views, pick);
    }

    /// All texts.
    pub(crate) fn finish(self) -> Read {
        let strings = StringValues::new(self.views.into(), self.buffers.into());
        Read::Values(Values::View(if self.is_ascii { strings.known_ascii() } else { strings }))
    }

    /// Checks that each text is UTF-8: all of them together are, and each begins with a character.
    fn check_all(&mut self, bytes: &[u8], lengths: &[u32]) -> Result<()> {
        if bytes.is_ascii() {
            return Ok(());
        }
        self.is_ascii = false;
        if !self.is_text {
            return Ok(());
        }
        let text = simdutf8::basic::from_utf8(bytes).map_err(|_| not_utf8())?;
        let mut offset = 0;
        let begins = lengths.iter().all(|length| {
            let begins = text.is_char_boundary(offset);
            offset += *length as usize;
            begins
        });
        if begins { Ok(()) } else { Err(not_utf8()) }
    }

    /// The number of the next buffer, whose offsets have 32 bits.
    fn next_buffer(&self, bytes: &Buffer) -> Result<u32> {
        if u32::try_from(bytes.len()).is_err() {
            let error = Error::new(ErrorKind::OutOfMemory, "4 GiB of text in one vector");
            return Err(error.hint("use a smaller batch_rows"));
        }
        Ok(self.buffers.len() as u32)
    }
}

/// The view of a text within `bytes`.
#[inline]
fn view(bytes: &[u8], offset: usize, length: usize, buffer: u32) -> u128 {
    // Twelve bytes at once, of which those of the text are kept, instead of a copy of any length.
    match bytes[offset..].first_chunk::<INLINE_BYTES>() {
        Some(window) if length <= INLINE_BYTES => {
            let mut wide = [0; 16];
            wide[4..].copy_from_slice(window);
            let bits = 32 + 8 * length as u32;
            let mask = u128::MAX.checked_shl(bits).map_or(u128::MAX, |it| !it);
            u128::from_le_bytes(wide) & mask | length as u128
        }
        _ => StringView::new(&bytes[offset..offset + length], buffer, offset as u32),
    }
}

fn not_utf8() -> Error {
    corruption("text that is not UTF-8")
}

/// Where texts of these lengths begin.
pub(crate) fn offsets(lengths: &[u32]) -> Vec<usize> {
    let mut end = 0;
    let begin = |length: &u32| {
        let begin = end;
        end += *length as usize;
        begin
    };
    lengths.iter().map(begin).collect()
}

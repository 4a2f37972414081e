//! Strings of plain pages: views, and the long strings in the order of rows.

use super::{frame::corruption, write::PlainPage};
use std::sync::Arc;
use volley_error::Result;
use volley_kernels::text::is_ascii;
use volley_vector::{Buffer, INLINE_BYTES, NullBuffer, ScalarBuffer, StringValues, StringView};

/// The bits of a view that are above its length and its buffer number.
const OFFSET_SHIFT: u32 = 96;
const BUFFER_SHIFT: u32 = 64;

/// Appends views and long strings. Null rows become empty strings.
pub(super) fn write_strings(
    page: &mut PlainPage<'_>,
    strings: &StringValues,
    nulls: Option<&NullBuffer>,
) -> Result<()> {
    let found = match nulls {
        None => long_strings(&strings.views, |_| true),
        Some(nulls) => long_strings(&strings.views, |row| nulls.is_valid(row)),
    };
    page.describe_len(found.bytes)?;
    if found.is_range && found.first == (0, 0) && found.nulls_are_empty {
        page.buffer(strings.views.inner());
    } else {
        let is_valid = |row: usize| nulls.is_none_or(|it| it.is_valid(row));
        write_views(&strings.views, is_valid, page.zeroed(strings.len() * size_of::<u128>()));
    }
    if found.is_range {
        let (buffer, start) = found.first;
        let bytes = strings.buffers.get(buffer as usize).map_or(&[][..], Buffer::as_slice);
        page.buffer(&bytes[start as usize..start as usize + found.bytes]);
        return Ok(());
    }
    let out = page.open();
    out.reserve(found.bytes);
    for row in 0..strings.len() {
        let is_valid = nulls.is_none_or(|it| it.is_valid(row));
        if is_valid && StringView::len_of(strings.views[row]) > INLINE_BYTES {
            out.extend_from_slice(strings.bytes(row));
        }
    }
    Ok(())
}

/// Writes views whose strings are next to each other.
fn write_views(views: &[u128], is_valid: impl Fn(usize) -> bool, out: &mut [u8]) {
    let mut offset = 0u32;
    for (row, (view, out)) in views.iter().zip(out.as_chunks_mut::<16>().0).enumerate() {
        let mut view = if is_valid(row) { *view } else { 0 };
        let len = StringView::len_of(view);
        if len > INLINE_BYTES {
            view = view & u128::from(u64::MAX) | u128::from(offset) << OFFSET_SHIFT;
            offset += len as u32;
        }
        *out = view.to_le_bytes();
    }
}

/// The long strings of valid rows.
struct LongStrings {
    bytes: usize,
    /// Whether they are one after the other in one buffer.
    is_range: bool,
    /// The number of the buffer of the first one, and its position there.
    first: (u32, u32),
    /// Whether null rows have empty strings already.
    nulls_are_empty: bool,
}

fn long_strings(views: &[u128], is_valid: impl Fn(usize) -> bool) -> LongStrings {
    let is_long =
        |(row, view): (usize, &u128)| StringView::len_of(*view) > INLINE_BYTES && is_valid(row);
    let first = views.iter().enumerate().position(is_long).and_then(|it| views.get(it));
    let first = first.map_or((0, 0), |it| StringView::position(*it));
    let start = u64::from(first.0) | u64::from(first.1) << 32;
    let (mut bytes, mut is_range, mut nulls_are_empty) = (0u64, true, true);
    for (row, view) in views.iter().enumerate() {
        // No branch depends on a length or a null.
        let is_valid = is_valid(row);
        let len = StringView::len_of(*view);
        let is_long = (len > INLINE_BYTES) & is_valid;
        let expected = start.wrapping_add(bytes << 32);
        is_range &= !is_long | ((view >> BUFFER_SHIFT) as u64 == expected);
        nulls_are_empty &= is_valid | (*view == 0);
        bytes += if is_long { len as u64 } else { 0 };
    }
    // Offsets have 32 bits, and may have wrapped.
    is_range &= u64::from(first.1) + bytes <= u32::MAX.into();
    LongStrings { bytes: bytes as usize, is_range, first, nulls_are_empty }
}

/// The strings of `views` and `long`; text if `is_text`.
///
/// # Errors
///
/// Corruption: views that [`write_strings`] does not write; text that is not UTF-8.
pub(super) fn read_strings(views: Buffer, long: Buffer, is_text: bool) -> Result<StringValues> {
    let rows = views.len() / size_of::<u128>();
    let views: ScalarBuffer<u128> = ScalarBuffer::new(views, 0, rows);
    check_views(&views, &long)?;
    let all_ascii = is_text && is_ascii(&long) && short_is_ascii(&views);
    if is_text && !all_ascii {
        check_text(&views, &long)?;
    }
    let buffers: Arc<[Buffer]> = if long.is_empty() { [].into() } else { [long].into() };
    let strings = StringValues::new(views, buffers);
    Ok(if all_ascii { strings.known_ascii() } else { strings })
}

fn check_views(views: &[u128], long: &[u8]) -> Result<()> {
    let mut offset = 0usize;
    let mut is_right = true;
    for view in views {
        let len = StringView::len_of(*view);
        if len <= INLINE_BYTES {
            // Zeros after the string.
            let padding = (*view >> 32).checked_shr(8 * len as u32).unwrap_or(0);
            is_right &= len == INLINE_BYTES || padding == 0;
            continue;
        }
        let position = (view >> BUFFER_SHIFT) as u64;
        let prefix = long.get(offset..offset + 4).and_then(<[u8]>::first_chunk::<4>);
        is_right &= position == (offset as u64) << 32
            && prefix.is_some_and(|it| u32::from_le_bytes(*it) == StringView::prefix(*view));
        offset += len;
    }
    if is_right && offset == long.len() { Ok(()) } else { Err(corruption("misplaced strings")) }
}

fn short_is_ascii(views: &[u128]) -> bool {
    const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;
    let mask = |it: &u128| if StringView::len_of(*it) > INLINE_BYTES { 0 } else { HIGH_BITS };
    views.iter().fold(0, |any, it| any | it & mask(it)) == 0
}

fn check_text(views: &ScalarBuffer<u128>, long: &[u8]) -> Result<()> {
    let not_utf8 = || corruption("text that is not UTF-8");
    let long = simdutf8::basic::from_utf8(long).map_err(|_| not_utf8())?;
    let mut offset = 0;
    for view in views {
        let len = StringView::len_of(*view);
        let is_text = match len > INLINE_BYTES {
            true => long.is_char_boundary(offset),
            false => std::str::from_utf8(StringView::bytes_of(view, &[])).is_ok(),
        };
        if !is_text {
            return Err(not_utf8());
        }
        offset += if len > INLINE_BYTES { len } else { 0 };
    }
    Ok(())
}

//! The 16-byte view of a string.
//!
//! ```text
//! bytes 0..4   length
//!       4..16  the string itself, zero padded, when it has at most 12 bytes; otherwise
//!       4..8   its first 4 bytes
//!       8..12  which data buffer it is in
//!       12..16 where it starts there
//! ```
//!
//! The layout is Arrow's (format specification, "Variable-size Binary View Layout"). All fields are
//! little-endian, and so a view is a `u128` whose low 32 bits are the length.

use arrow_buffer::Buffer;

/// The longest string that fits into its view.
pub const INLINE_BYTES: usize = 12;

/// Reads and makes views; see the module's drawing.
pub struct StringView;

impl StringView {
    /// The length of the string.
    #[inline]
    pub fn len_of(view: u128) -> usize {
        view as u32 as usize
    }

    /// A view of a string of at most 12 bytes.
    ///
    /// # Panics
    ///
    /// If it is longer.
    #[inline]
    pub fn inline(bytes: &[u8]) -> u128 {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        view[4..4 + bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(view)
    }

    /// A view of a string that starts at `offset` of data buffer `buffer`; inlines short ones.
    #[inline]
    pub fn new(bytes: &[u8], buffer: u32, offset: u32) -> u128 {
        if bytes.len() <= INLINE_BYTES {
            return StringView::inline(bytes);
        }
        debug_assert!(u32::try_from(bytes.len()).is_ok(), "who makes texts limits their lengths");
        let prefix = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        u128::from(bytes.len() as u32)
            | u128::from(prefix) << 32
            | u128::from(buffer) << 64
            | u128::from(offset) << 96
    }

    /// The same view with its buffer number raised by `by`; inlined views stay.
    #[inline]
    pub fn with_buffers_moved(view: u128, by: u32) -> u128 {
        if StringView::len_of(view) <= INLINE_BYTES { view } else { view + (u128::from(by) << 64) }
    }

    /// The data buffer and offset of a string of more than 12 bytes.
    #[inline]
    pub fn position(view: u128) -> (u32, u32) {
        ((view >> 64) as u32, (view >> 96) as u32)
    }

    /// The first 4 bytes, zero padded.
    #[inline]
    pub fn prefix(view: u128) -> u32 {
        (view >> 32) as u32
    }

    /// The string's bytes.
    #[inline]
    pub fn bytes_of<'a>(view: &'a u128, buffers: &'a [Buffer]) -> &'a [u8] {
        let len = StringView::len_of(*view);
        if len <= INLINE_BYTES {
            // SAFETY: a u128 is 16 initialized bytes, and bytes have no alignment; the view is
            // little-endian in memory (checked at compile time below).
            let bytes = unsafe { &*std::ptr::from_ref(view).cast::<[u8; 16]>() };
            return &bytes[4..4 + len];
        }
        let (buffer, offset) = StringView::position(*view);
        &buffers[buffer as usize].as_slice()[offset as usize..offset as usize + len]
    }

    /// The string's text, for views of a VARCHAR vector.
    #[inline]
    pub fn text_of<'a>(view: &'a u128, buffers: &'a [Buffer]) -> &'a str {
        let bytes = StringView::bytes_of(view, buffers);
        debug_assert!(std::str::from_utf8(bytes).is_ok(), "VARCHAR holds UTF-8");
        // SAFETY: the builder of a VARCHAR vector has checked that its text is UTF-8.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }

    /// Whether two views are surely equal or different without looking at data buffers.
    #[inline]
    pub fn quick_equal(left: u128, right: u128) -> Option<bool> {
        if left as u64 != right as u64 {
            return Some(false);
        }
        if StringView::len_of(left) <= INLINE_BYTES { Some(left == right) } else { None }
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "views are little-endian");

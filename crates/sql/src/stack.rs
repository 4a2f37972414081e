//! Stack space for deep syntax trees.
//!
//! The parser, the binder and the destructors of syntax trees recurse once per level. The parser
//! bounds the levels of nesting, but not those of chains such as `a + b + c`, so that the depth is
//! bounded by the length of the text alone. Long texts are therefore processed on a separate stack,
//! whose pages are only touched when needed.

/// Texts up to this length cannot need more than the stack of any thread.
const SHORT_TEXT_BYTES: usize = 512;

/// A level takes at least two bytes of text, and a few frames of stack. Frames of code that is not
/// optimized are several times as large.
const STACK_BYTES_PER_TEXT_BYTE: usize = if cfg!(debug_assertions) { 16 << 10 } else { 2 << 10 };

/// The most stack that is asked for: 512 MiB, or 4 GiB.
const STACK_BYTES_MAX: usize = if cfg!(debug_assertions) { 4 << 30 } else { 512 << 20 };

/// Free stack below which [`grow`] takes more, and how much it takes: 512 KiB and 4 MiB.
const RED_ZONE_BYTES: usize = 512 << 10;
const STEP_BYTES: usize = 4 << 20;

/// Runs `f` with a stack that is enough for trees as deep as a text of `text_bytes` makes them.
pub fn with_room<R>(text_bytes: usize, f: impl FnOnce() -> R) -> R {
    if text_bytes <= SHORT_TEXT_BYTES {
        return grow(f);
    }
    let bytes = text_bytes.saturating_mul(STACK_BYTES_PER_TEXT_BYTE).min(STACK_BYTES_MAX);
    stacker::maybe_grow(bytes, bytes, f)
}

/// Runs `f` with enough stack for one more level of the binder.
pub(crate) fn grow<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE_BYTES, STEP_BYTES, f)
}

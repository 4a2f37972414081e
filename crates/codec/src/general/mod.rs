//! Values as they are, and texts compressed by LZ4 or Zstandard.
//!
//! ```text
//! raw, fixed width   the elements
//! raw, texts         bytes     u32 per vector: bytes of its texts
//!                    lengths   integers (crate::integers): bytes of each row
//!                    texts     one after the other
//! LZ4, Zstandard     shift     u8: a frame has the texts of 2^shift vectors
//!                    raw       u32 per frame: bytes of its texts
//!                    stored    u32 per frame: bytes of the frame; the texts as they are if equal
//!                    lengths   integers: bytes of each row
//!                    frames    compressed texts
//! ```
//!
//! LZ4 wins where texts repeat long sequences. A frame has about 64 KiB of text, and is what random
//! access decompresses; the last frame stays decompressed.

mod encode;
mod decode;
mod compressed;

pub(crate) use compressed::open_compressed;
pub(crate) use decode::{open_fixed, open_raw};
pub(crate) use encode::{encode_lz4, encode_raw, encode_zstd};

/// The most bytes of text that a byte of a frame stands for, so that few bytes cannot ask for much
/// memory. A frame that would be smaller is stored as it is.
const RATIO_MAX: usize = 2048;

/// The greatest shift: more vectors than a segment has.
const SHIFT_MAX: u8 = 11;

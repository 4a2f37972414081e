//! FSST: texts as codes of symbols of up to 8 bytes.
//!
//! ```text
//! symbols       u8: how many; then u8 per symbol: its bytes, 1 to 8; then the symbols
//! text bytes    u32 per vector: bytes of its texts
//! code bytes    u32 per vector: bytes of its codes
//! lengths       integers (crate::integers): bytes of the codes of each row
//! codes         a byte each: a symbol, or 255 and then a byte as it is
//! ```
//!
//! It wins where texts have no duplicates but repeat short sequences. Each text is coded on its
//! own, so that single rows can be decoded. Source: Boncz, Neumann and Leis, "FSST: Fast Random Access
//! String Compression", PVLDB 13(11), 2020.

mod encode;
mod decode;

pub(crate) use decode::open;
pub(crate) use encode::{encode, vector_bytes};

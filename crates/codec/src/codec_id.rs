//! The codecs, by their numbers in the bytes.

use crate::input::corruption;
use volley_error::Result;

/// A codec. The number is part of the format: never renumber, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CodecId {
    /// All rows that are not null have one value.
    Constant = 0,
    /// Fixed-width values as they are; texts with packed lengths.
    Raw = 1,
    /// Integers as packed distances from a base.
    Pfor = 2,
    /// Integers as packed distances from the value before.
    PforDelta = 3,
    /// Codes of a dictionary.
    Pdict = 4,
    /// Runs of equal values.
    Rle = 5,
    /// Floats as integers and a power of ten.
    Alp = 6,
    /// Floats as a coded upper and a packed lower half.
    AlpRd = 7,
    /// Texts as codes of symbols.
    Fsst = 8,
    /// Texts, compressed by LZ4.
    Lz4 = 9,
    /// Texts, compressed by Zstandard.
    Zstd = 10,
    /// BOOLEAN.
    Bits = 11,
    /// 128-bit integers and intervals as columns of narrower integers.
    Halves = 12,
    /// ARRAY and MAP: sizes and a column of elements.
    Lists = 13,
    /// ARRAY of a fixed size: a column of elements.
    FixedLists = 14,
    /// ROW: a column per field.
    Fields = 15,
}

impl CodecId {
    /// All codecs.
    pub const ALL: [CodecId; 16] = [
        CodecId::Constant,
        CodecId::Raw,
        CodecId::Pfor,
        CodecId::PforDelta,
        CodecId::Pdict,
        CodecId::Rle,
        CodecId::Alp,
        CodecId::AlpRd,
        CodecId::Fsst,
        CodecId::Lz4,
        CodecId::Zstd,
        CodecId::Bits,
        CodecId::Halves,
        CodecId::Lists,
        CodecId::FixedLists,
        CodecId::Fields,
    ];

    /// The codec of a number.
    pub(crate) fn from_byte(byte: u8) -> Result<CodecId> {
        let codec = CodecId::ALL.get(usize::from(byte)).copied();
        codec.ok_or_else(|| corruption("unknown codec"))
    }

    /// The name, as `storage_info` shows it.
    pub fn name(self) -> &'static str {
        match self {
            CodecId::Constant => "constant",
            CodecId::Raw => "raw",
            CodecId::Pfor => "pfor",
            CodecId::PforDelta => "pfor-delta",
            CodecId::Pdict => "pdict",
            CodecId::Rle => "rle",
            CodecId::Alp => "alp",
            CodecId::AlpRd => "alp-rd",
            CodecId::Fsst => "fsst",
            CodecId::Lz4 => "lz4",
            CodecId::Zstd => "zstd",
            CodecId::Bits => "bits",
            CodecId::Halves => "halves",
            CodecId::Lists => "lists",
            CodecId::FixedLists => "fixed-lists",
            CodecId::Fields => "fields",
        }
    }
}

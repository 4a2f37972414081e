//! What the tail of a file and the footers of its stripes say.
//!
//! ```text
//! file        "ORC", stripes, metadata (statistics of stripes), footer, postscript, its length (1)
//! stripe      row indexes and Bloom filters, data streams, stripe footer
//! postscript  not compressed; everything else is, as the postscript says
//! ```
//!
//! Numbers of fields are those of the format's `orc_proto.proto`; fields that are not read here are
//! passed over.

use crate::{compression::Codec, error::corrupt, proto::Message};
use std::ops::Range;
use volley_error::{Error, Result};

/// The end of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostScript {
    pub footer_bytes: u64,
    pub metadata_bytes: u64,
    pub codec: Option<Codec>,
    /// What a block has at most when it is decompressed.
    pub block_bytes: u64,
    pub version: Vec<u64>,
}

/// What the footer says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footer {
    pub stripes: Vec<StripeInformation>,
    pub types: Vec<StoredType>,
    pub rows: u64,
    /// Of all rows, by column: where they are in the footer.
    pub statistics: Vec<Range<usize>>,
    /// Rows of a row group; 0: there is no row index.
    pub row_index_stride: u64,
}

/// Where a stripe is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StripeInformation {
    pub offset: u64,
    pub index_bytes: u64,
    pub data_bytes: u64,
    pub footer_bytes: u64,
    pub rows: u64,
}

/// A type of the tree of types, which are stored parents first.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredType {
    pub kind: u64,
    pub children: Vec<u64>,
    pub names: Vec<String>,
    pub precision: u64,
    pub scale: u64,
}

/// What the footer of a stripe says.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripeFooter {
    pub streams: Vec<Stream>,
    pub encodings: Vec<Encoding>,
    /// The time zone in which timestamps were written; empty: UTC.
    pub time_zone: String,
}

/// A stream of a stripe; streams follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stream {
    pub kind: u64,
    pub column: u64,
    pub bytes: u64,
}

/// How a column is encoded in a stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Encoding {
    pub kind: u64,
    pub dictionary_size: u64,
}

/// Kinds of streams.
pub(crate) mod stream {
    pub const PRESENT: u64 = 0;
    pub const DATA: u64 = 1;
    pub const LENGTH: u64 = 2;
    pub const DICTIONARY_DATA: u64 = 3;
    pub const SECONDARY: u64 = 5;
    pub const ROW_INDEX: u64 = 6;
    pub const BLOOM_FILTER: u64 = 7;
    pub const BLOOM_FILTER_UTF8: u64 = 8;
}

/// Kinds of column encodings.
pub(crate) mod encoding {
    pub const DIRECT: u64 = 0;
    pub const DICTIONARY: u64 = 1;
    pub const DIRECT_V2: u64 = 2;
    pub const DICTIONARY_V2: u64 = 3;
}

/// The default where the postscript names no block size.
const BLOCK_BYTES_DEFAULT: u64 = 256 << 10;

impl PostScript {
    pub fn read(bytes: &[u8]) -> Result<PostScript> {
        let (mut postscript, mut codec, mut magic) = (
            PostScript {
                footer_bytes: 0,
                metadata_bytes: 0,
                codec: None,
                block_bytes: BLOCK_BYTES_DEFAULT,
                version: Vec::new(),
            },
            0,
            None,
        );
        let mut message = Message::new(bytes);
        while let Some((number, field)) = message.next()? {
            match number {
                1 => postscript.footer_bytes = field.integer()?,
                2 => codec = field.integer()?,
                3 => postscript.block_bytes = field.integer()?,
                4 => field.integers(&mut postscript.version)?,
                5 => postscript.metadata_bytes = field.integer()?,
                8000 => magic = Some(field.bytes()?),
                _ => {}
            }
        }
        if magic != Some(b"ORC") {
            return Err(corrupt("not an ORC file: its postscript does not say ORC"));
        }
        postscript.codec = Codec::from_number(codec)?;
        Ok(postscript)
    }
}

impl Footer {
    pub fn read(bytes: &[u8]) -> Result<Footer> {
        let mut footer = Footer::default();
        let mut message = Message::new(bytes);
        while let Some((number, field)) = message.next()? {
            match number {
                3 => footer.stripes.push(StripeInformation::read(field.message()?)?),
                4 => footer.types.push(StoredType::read(field.message()?)?),
                6 => footer.rows = field.integer()?,
                7 => footer.statistics.push(field.range()?),
                8 => footer.row_index_stride = field.integer()?,
                10 => return Err(Error::unsupported("encrypted ORC file")),
                _ => {}
            }
        }
        Ok(footer)
    }
}

impl StripeInformation {
    fn read(mut message: Message) -> Result<StripeInformation> {
        let mut stripe = StripeInformation::default();
        while let Some((number, field)) = message.next()? {
            match number {
                1 => stripe.offset = field.integer()?,
                2 => stripe.index_bytes = field.integer()?,
                3 => stripe.data_bytes = field.integer()?,
                4 => stripe.footer_bytes = field.integer()?,
                5 => stripe.rows = field.integer()?,
                _ => {}
            }
        }
        Ok(stripe)
    }

    /// Where its footer is, once it is known to lie in the file.
    pub fn footer(&self) -> Range<u64> {
        let start = self.offset + self.index_bytes + self.data_bytes;
        start..start + self.footer_bytes
    }

    /// Where its streams end, once it is known to lie in the file.
    pub fn streams_end(&self) -> u64 {
        self.offset + self.index_bytes + self.data_bytes
    }

    /// Checks that it lies in a file of `file_bytes` bytes.
    pub fn check(&self, file_bytes: u64) -> Result<()> {
        let sizes = [self.index_bytes, self.data_bytes, self.footer_bytes];
        let end = sizes.iter().try_fold(self.offset, |sum, it| sum.checked_add(*it));
        if end.is_none_or(|it| it > file_bytes) {
            return Err(corrupt("stripe lies outside of the file"));
        }
        if self.rows > u64::from(u32::MAX) {
            return Err(corrupt(format!("stripe of {} rows", self.rows)));
        }
        Ok(())
    }
}

impl StoredType {
    fn read(mut message: Message) -> Result<StoredType> {
        let mut stored = StoredType::default();
        while let Some((number, field)) = message.next()? {
            match number {
                1 => stored.kind = field.integer()?,
                2 => field.integers(&mut stored.children)?,
                3 => stored.names.push(field.text()?.to_owned()),
                5 => stored.precision = field.integer()?,
                6 => stored.scale = field.integer()?,
                _ => {}
            }
        }
        Ok(stored)
    }
}

impl StripeFooter {
    pub fn read(bytes: &[u8]) -> Result<StripeFooter> {
        let mut footer = StripeFooter::default();
        let mut message = Message::new(bytes);
        while let Some((number, field)) = message.next()? {
            match number {
                1 => footer.streams.push(Stream::read(field.message()?)?),
                2 => footer.encodings.push(Encoding::read(field.message()?)?),
                3 => footer.time_zone = field.text()?.to_owned(),
                4 => return Err(Error::unsupported("encrypted ORC stripe")),
                _ => {}
            }
        }
        Ok(footer)
    }
}

impl Stream {
    fn read(mut message: Message) -> Result<Stream> {
        let mut stream = Stream { kind: 0, column: 0, bytes: 0 };
        while let Some((number, field)) = message.next()? {
            match number {
                1 => stream.kind = field.integer()?,
                2 => stream.column = field.integer()?,
                3 => stream.bytes = field.integer()?,
                _ => {}
            }
        }
        Ok(stream)
    }
}

impl Encoding {
    fn read(mut message: Message) -> Result<Encoding> {
        let mut encoding = Encoding::default();
        while let Some((number, field)) = message.next()? {
            match number {
                1 => encoding.kind = field.integer()?,
                2 => encoding.dictionary_size = field.integer()?,
                _ => {}
            }
        }
        Ok(encoding)
    }
}

/// Where the statistics of each column are, of each stripe, in the metadata section.
pub(crate) fn read_stripe_statistics(bytes: &[u8]) -> Result<Vec<Vec<Range<usize>>>> {
    let mut stripes = Vec::new();
    let mut message = Message::new(bytes);
    while let Some((number, field)) = message.next()? {
        if number != 1 {
            continue;
        }
        let start = field.range()?.start;
        let (mut inner, mut columns) = (field.message()?, Vec::new());
        while let Some((number, field)) = inner.next()? {
            if number == 1 {
                let range = field.range()?;
                columns.push(start + range.start..start + range.end);
            }
        }
        stripes.push(columns);
    }
    Ok(stripes)
}

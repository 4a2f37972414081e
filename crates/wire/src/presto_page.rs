//! Presto's page format: batches as Presto's coordinator and workers exchange them.
//!
//! ```text
//! page     rows: i32, markers: u8 (1 compressed, 2 encrypted, 4 checksum),
//!          uncompressed size: i32, size: i32, checksum: i64, then `size` bytes:
//!          columns: i32, one block per column
//! block    length of the name: i32, name, body by the name:
//!   BYTE_ARRAY SHORT_ARRAY INT_ARRAY LONG_ARRAY INT128_ARRAY
//!                    rows: i32, nulls, the values that are not null
//!   VARIABLE_WIDTH   rows: i32, end of each value: i32, nulls, bytes: i32, all values
//!   ARRAY            block of the elements, rows: i32, rows + 1 offsets: i32, nulls
//!   MAP              block of the keys, block of the values, hash table: i32 entries or -1, i32
//!                    each, rows: i32, rows + 1 offsets: i32, nulls
//!   ROW              fields: i32, block per field (rows that are not null), rows: i32,
//!                    rows + 1 offsets: i32, nulls
//!   DICTIONARY       rows: i32, block of the values, position of each: i32, 24 bytes of identity
//!   RLE              rows: i32, block of one row
//! nulls    0: none; 1: a bit per row, the highest bit of a byte first, set where null
//! checksum CRC-32 of the bytes as sent, the markers, the rows and the uncompressed size
//! ```
//!
//! Times are milliseconds. TIMESTAMP WITH TIME ZONE is milliseconds and a number of 12 bits of
//! Presto's for the zone; UUID and IPADDRESS are 16 bytes in an INT128_ARRAY. An INTERVAL
//! of Presto is milliseconds in a LONG_ARRAY or months in an INT_ARRAY: both are read, and a caller
//! that knows which writes it as BIGINT or INTEGER. Between workers of this engine, an INTERVAL is
//! its months, days (4 bytes each) and nanoseconds in an INT128_ARRAY.
//!
//! Numbers are little-endian. The types of the columns decide which blocks are accepted. The format
//! is that of `PagesSerde` and the `BlockEncoding` classes of Presto 0.287 and 0.296.
//!
//! Reading trusts no input: any bytes give valid batches or an error. Memory is in proportion to
//! the bytes and to [`PrestoPageOptions::uncompressed_bytes_max`].

mod kind;
mod zone_key;
mod read;
mod write;
mod compress;
mod page;
#[cfg(test)]
mod tests;

pub use compress::PageCompression;
pub use page::{PageReader, PrestoPageOptions, write_page};
pub use read::read_block;
pub use write::write_block;
pub use zone_key::{key_of_zone, zone_of_key};

const DICTIONARY: &str = "DICTIONARY";
const RUN_LENGTH: &str = "RLE";

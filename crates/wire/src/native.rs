//! The native page format: pages between tasks of this engine.
//!
//! ```text
//! page     0  "VPG"
//!          3  u8   version: 1
//!          4  u8   shape: 0 plain, 1 packed, 2 packed and compressed with LZ4
//!          5  u8[3] 0
//!          8  u32  rows
//!         12  u32  columns
//!         16  u32  bytes of the body
//!         20  u32  plain: bytes of the description; packed: bytes of the body, not compressed
//!         24  u64  XXH3-64 of the body, seeded with the XXH3-64 of bytes 0..24
//!         32  body
//!
//! packed   the batch as crate::encode writes it
//!
//! plain    buffers, each at a multiple of 16 bytes from the start of the page; the description
//! description   a node per column
//! node     u8   encoding, below
//!          u8   1: the first buffer of the node has the validity bits of its rows; 0: no nulls
//!     0 flat        by the layout of the type:
//!                     no storage      nothing
//!                     boolean         buffer of bits
//!                     fixed width     buffer of elements
//!                     strings         u32 bytes of long strings; buffer of views; buffer of the
//!                                     strings of more than 12 bytes, in the order of rows
//!                     array, map      u32 elements; buffers of offsets and sizes, i32; node of the
//!                                     elements
//!                     fixed size      node of the elements
//!                     row             a node per field
//!     1 constant    node of one row, flat
//!     2 dictionary  u32 rows of the base; buffer of codes, u32; node of the base, flat
//!     3 run length  u32 runs; buffer of ends, u32; node of one row per run, flat
//!     4 bias        u8 bytes per difference: 1, 2 or 4; i128 base; buffer of differences
//! ```
//!
//! Numbers are little-endian; buffers have the layouts of vectors. The length of a buffer follows
//! from the description. Bits are one per row, in whole bytes, the lowest bit first.
//!
//! *Plain* pages are decoded without a copy, if their memory is aligned: the vectors are views of
//! the page. They suit links of more than 2 GB/s. *Packed* pages have narrow integers, and LZ4 if a
//! sample of the body shrinks by 1.3. They suit slower links.

mod frame;
mod write;
mod read;
mod strings;
#[cfg(test)]
mod tests;

use crate::{Encoder, PageFormat, PageWriter, decode};
use frame::{Header, Shape};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Batch, Buffer};

/// Buffers of plain pages begin at multiples of this number of bytes.
const ALIGNMENT: usize = 16;

const FLAT: u8 = 0;
const CONSTANT: u8 = 1;
const DICTIONARY: u8 = 2;
const RUN_LENGTH: u8 = 3;
const BIAS: u8 = 4;

/// The native page format; see the module's drawing. A reader decodes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeFormat {
    /// Aligned buffers, decoded without a copy.
    Plain,
    /// Narrow integers, compressed if that pays.
    Packed,
}

impl PageFormat for NativeFormat {
    fn name(&self) -> &'static str {
        match self {
            NativeFormat::Plain => "native plain",
            NativeFormat::Packed => "native packed",
        }
    }

    fn writer(&self, types: &[Type]) -> Result<Box<dyn PageWriter>> {
        let types = types.to_vec();
        // Refuses types without bytes.
        let encoder = Encoder::new(&types)?;
        Ok(match self {
            NativeFormat::Plain => Box::new(PlainWriter { types, description: Vec::new() }),
            NativeFormat::Packed => {
                Box::new(PackedWriter { types, encoder, body: Vec::new(), compressed: Vec::new() })
            }
        })
    }

    fn decode(&self, page: &Buffer, types: &[Type]) -> Result<Batch> {
        let header = Header::read(page, types.len())?;
        let batch = match header.shape {
            Shape::Plain => read::batch(page, &header, types)?,
            Shape::Packed => decode(frame::body(page, &header)?, types)?,
            Shape::Compressed => decode(&frame::decompressed(page, &header)?, types)?,
        };
        if batch.rows() != header.rows {
            return Err(frame::corruption("other rows than the header says"));
        }
        Ok(batch)
    }
}

/// Writes plain pages.
struct PlainWriter {
    types: Vec<Type>,
    /// Of the page under way.
    description: Vec<u8>,
}

impl PageWriter for PlainWriter {
    fn write(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        check_types(batch, &self.types)?;
        self.description.clear();
        frame::page(batch, out, |out, start| {
            write::columns(batch, out, start, &mut self.description)?;
            out.extend_from_slice(&self.description);
            Ok((Shape::Plain, self.description.len()))
        })
    }
}

/// Writes packed pages.
struct PackedWriter {
    types: Vec<Type>,
    encoder: Encoder,
    // Scratch.
    body: Vec<u8>,
    compressed: Vec<u8>,
}

impl PageWriter for PackedWriter {
    fn write(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        check_types(batch, &self.types)?;
        self.body.clear();
        if let Err(error) = self.encoder.encode(batch, &mut self.body) {
            // The encoder may hold rows of the failed batch.
            self.encoder = Encoder::new(&self.types)?;
            return Err(error);
        }
        let is_compressed = frame::compress(&self.body, &mut self.compressed);
        frame::page(batch, out, |out, _| {
            let (shape, bytes) = match is_compressed {
                true => (Shape::Compressed, &self.compressed),
                false => (Shape::Packed, &self.body),
            };
            out.extend_from_slice(bytes);
            Ok((shape, self.body.len()))
        })
    }
}

fn check_types(batch: &Batch, types: &[Type]) -> Result<()> {
    let found = batch.columns().iter().map(|it| it.data_type());
    if found.eq(types) {
        return Ok(());
    }
    let found: Vec<_> = batch.columns().iter().map(|it| it.data_type()).collect();
    Err(Error::internal(format!("page of columns {found:?} where {types:?} are written")))
}

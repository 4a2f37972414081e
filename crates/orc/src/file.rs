//! An ORC file: its postscript and footers, checked, and its schema.

use crate::{
    compression::{BLOCK_BYTES_MAX, Codec, Decompressor, HEADER_BYTES, chunk_header},
    error::corrupt,
    metadata::{Footer, PostScript, StripeInformation, read_stripe_statistics},
    schema::{Node, read_schema},
    statistics::read_bounds,
};
use bytes::Bytes;
use std::{ops::Range, sync::Arc};
use volley_connector::Bounds;
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::{Schema, Type};

/// Smaller than any ORC file: magic, an empty footer, postscript, its length.
const FILE_BYTES_MIN: u64 = 3 + 1 + 1;

/// Read at first from the end of a file; footers are often within.
const TAIL_BYTES: u64 = 16 << 10;

/// Larger footers, decompressed, are refused.
const SECTION_BYTES_MAX: usize = 256 << 20;

/// What is held of a byte of a footer at most while it is read: a type of two bytes takes most.
const KEPT_BYTES_PER_BYTE: usize = 64;

/// How streams are compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compression {
    pub codec: Option<Codec>,
    /// What a block has at most when it is decompressed.
    pub block_bytes: usize,
}

/// An open ORC file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OrcFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Arc<dyn RandomAccessFile>,
    compression: Compression,
    has_decimal64: bool,
    schema: Schema,
    nodes: Vec<Node>,
    footer: Footer,
    footer_bytes: Bytes,
    /// The section with the statistics of stripes, and where in it they are: by stripe and column.
    metadata_bytes: Bytes,
    stripe_statistics: Vec<Vec<Range<usize>>>,
}

impl OrcFile {
    /// Reads and checks the footer of `file`.
    ///
    /// # Errors
    ///
    /// I/O; corruption; unsupported types.
    pub fn open(file: Arc<dyn RandomAccessFile>) -> Result<OrcFile> {
        OrcFile::open_with(file, &mut Pool::root("footer", None).reservation())
    }

    /// As [`OrcFile::open`]. Adds what is kept of the footer to `charge`, and what reading it takes
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// As [`OrcFile::open`]; out of memory.
    pub fn open_with(file: Arc<dyn RandomAccessFile>, charge: &mut Reservation) -> Result<OrcFile> {
        let path = file.path().to_owned();
        let about = |it: Error| match it.to_string().contains(&path) {
            true => it,
            false => it.at("file", &path),
        };
        OrcFile::read(file, charge).map_err(about)
    }

    fn read(file: Arc<dyn RandomAccessFile>, charge: &mut Reservation) -> Result<OrcFile> {
        let tail = Tail::read(&*file)?;
        let compression = tail.compression()?;
        let (footer, metadata) = tail.sections(&*file)?;
        let before = charge.bytes();
        let footer_bytes = decompress_section(footer, compression, charge)?;
        let metadata_bytes = decompress_section(metadata, compression, charge)?;
        let bytes = footer_bytes.len().saturating_add(metadata_bytes.len());
        charge.resize(before.saturating_add(bytes.saturating_mul(KEPT_BYTES_PER_BYTE)))?;
        let footer = Footer::read(&footer_bytes).map_err(|it| it.at("part", "footer"))?;
        let (schema, nodes) = read_schema(&footer.types)?;
        for (stripe, information) in footer.stripes.iter().enumerate() {
            information.check(file.size_bytes()).map_err(|it| it.at("stripe", stripe))?;
        }
        let stripe_statistics =
            read_stripe_statistics(&metadata_bytes).map_err(|it| it.at("part", "metadata"))?;
        Ok(OrcFile(Arc::new(Inner {
            file,
            compression,
            has_decimal64: tail.postscript.version.first() == Some(&1),
            schema,
            nodes,
            footer,
            footer_bytes,
            metadata_bytes,
            stripe_statistics,
        })))
    }

    /// The file.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.0.file
    }

    /// Its name.
    pub fn path(&self) -> &str {
        self.0.file.path()
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// How it is compressed.
    pub fn codec(&self) -> Option<Codec> {
        self.0.compression.codec
    }

    /// The number of stripes.
    pub fn stripes(&self) -> usize {
        self.0.footer.stripes.len()
    }

    /// The rows of a stripe.
    pub fn rows(&self, stripe: usize) -> usize {
        self.0.footer.stripes.get(stripe).map_or(0, |it| it.rows as usize)
    }

    /// Where a stripe begins in the file, in bytes.
    pub fn stripe_start(&self, stripe: usize) -> u64 {
        self.0.footer.stripes.get(stripe).map_or(0, |it| it.offset)
    }

    /// The bytes of all columns of a stripe, without indexes and footer.
    pub fn data_bytes(&self, stripe: usize) -> u64 {
        self.0.footer.stripes.get(stripe).map_or(0, |it| it.data_bytes)
    }

    /// What is known of the values of a column in a stripe; nothing of nested columns but nulls.
    pub fn bounds(&self, stripe: usize, column: usize) -> Bounds {
        self.0.nodes.get(column).map_or_else(Bounds::default, |it| self.node_bounds(stripe, it))
    }

    pub(crate) fn node_bounds(&self, stripe: usize, node: &Node) -> Bounds {
        let statistics = self.0.stripe_statistics.get(stripe);
        let range = statistics.and_then(|it| it.get(node.column)).cloned();
        let bytes = range.and_then(|it| self.0.metadata_bytes.get(it));
        bytes.map_or_else(Bounds::default, |it| read_bounds(it, node, self.rows(stripe) as u64))
    }

    /// What is known of the values of a column in the whole file.
    pub fn file_bounds(&self, column: usize) -> Bounds {
        let Some(node) = self.0.nodes.get(column) else { return Bounds::default() };
        let range = self.0.footer.statistics.get(node.column).cloned();
        let bytes = range.and_then(|it| self.0.footer_bytes.get(it));
        bytes.map_or_else(Bounds::default, |it| read_bounds(it, node, self.0.footer.rows))
    }

    /// Whether a column can be read as `wanted`: the type that it has, or one that differs in the
    /// fields of rows, which are found by name. Fields that are not wanted are not read.
    pub fn reads_as(&self, column: usize, wanted: &Type) -> bool {
        self.0.nodes.get(column).is_some_and(|it| it.read_as(wanted).is_some())
    }

    pub(crate) fn compression(&self) -> Compression {
        self.0.compression
    }

    pub(crate) fn has_decimal64(&self) -> bool {
        self.0.has_decimal64
    }

    pub(crate) fn node(&self, column: usize) -> Result<&Node> {
        self.0.nodes.get(column).ok_or_else(|| Error::internal("no such column"))
    }

    pub(crate) fn stripe(&self, stripe: usize) -> Result<&StripeInformation> {
        self.0.footer.stripes.get(stripe).ok_or_else(|| Error::internal("no such stripe"))
    }

    /// The name of the column of the file whose type is number `column`.
    pub(crate) fn column_name(&self, column: usize) -> Option<String> {
        let place = self.0.nodes.iter().position(|it| it.column == column)?;
        self.0.schema.fields.get(place).map(|it| it.name.clone())
    }

    /// The number of columns, nested ones included.
    pub(crate) fn types(&self) -> usize {
        self.0.footer.types.len()
    }

    /// Rows of a row group; 0: there are none.
    pub(crate) fn row_index_stride(&self) -> usize {
        usize::try_from(self.0.footer.row_index_stride).unwrap_or(0)
    }
}

/// The end of a file, as far as it was read at first.
struct Tail {
    bytes: Bytes,
    /// Where the postscript begins in the file.
    end: u64,
    file_bytes: u64,
    postscript: PostScript,
}

impl Tail {
    fn read(file: &dyn RandomAccessFile) -> Result<Tail> {
        let size = file.size_bytes();
        if size < FILE_BYTES_MIN {
            return Err(corrupt(format!("not an ORC file: it has {size} bytes")));
        }
        let bytes = file.read(size - size.min(TAIL_BYTES)..size)?;
        let (len, rest) = bytes.split_last().ok_or_else(|| corrupt("not an ORC file"))?;
        let start = rest.len().checked_sub(usize::from(*len));
        let postscript = start.and_then(|it| rest.get(it..));
        let postscript = postscript.ok_or_else(|| corrupt("postscript longer than the file"))?;
        let postscript = PostScript::read(postscript).map_err(|it| it.at("part", "postscript"))?;
        let end = size - 1 - u64::from(*len);
        Ok(Tail { bytes, end, file_bytes: size, postscript })
    }

    fn compression(&self) -> Result<Compression> {
        let block_bytes = usize::try_from(self.postscript.block_bytes).unwrap_or(usize::MAX);
        if block_bytes > BLOCK_BYTES_MAX {
            let message = format!("ORC file with compression blocks of {block_bytes} bytes");
            return Err(Error::unsupported(message));
        }
        Ok(Compression { codec: self.postscript.codec, block_bytes })
    }

    /// The footer and the metadata, as stored.
    fn sections(&self, file: &dyn RandomAccessFile) -> Result<(Bytes, Bytes)> {
        let footer = self.end.checked_sub(self.postscript.footer_bytes);
        let metadata = footer.and_then(|it| it.checked_sub(self.postscript.metadata_bytes));
        let (Some(footer), Some(metadata)) = (footer, metadata) else {
            return Err(corrupt("footer longer than the file"));
        };
        let kept = self.file_bytes - self.bytes.len() as u64;
        let bytes = match metadata.checked_sub(kept) {
            Some(start) => self.bytes.slice(start as usize..(self.end - kept) as usize),
            None => file.read(metadata..self.end)?,
        };
        let split = (footer - metadata) as usize;
        Ok((bytes.slice(split..), bytes.slice(..split)))
    }
}

/// A section of the file, decompressed; its bytes are charged while it grows.
pub(crate) fn decompress_section(
    bytes: Bytes,
    compression: Compression,
    charge: &mut Reservation,
) -> Result<Bytes> {
    let Some(codec) = compression.codec else {
        charge.grow(bytes.len())?;
        return Ok(bytes);
    };
    let (mut decompressor, mut rest) = (Decompressor::new(codec), bytes.as_ref());
    let (mut out, mut block) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        check_cancelled()?;
        let ends_early = || corrupt("compressed section ends early");
        let (header, after) = rest.split_first_chunk::<HEADER_BYTES>().ok_or_else(ends_early)?;
        let (len, is_stored) = chunk_header(*header);
        let (chunk, after) = after.split_at_checked(len).ok_or_else(ends_early)?;
        rest = after;
        let chunk = match is_stored {
            true => chunk,
            false => {
                block.resize(compression.block_bytes, 0);
                let len = decompressor.decompress(chunk, &mut block)?;
                block.get(..len).unwrap_or_default()
            }
        };
        if out.len() + chunk.len() > SECTION_BYTES_MAX {
            return Err(Error::unsupported("ORC footer of more than 256 MiB"));
        }
        charge.grow(chunk.len())?;
        out.extend_from_slice(chunk);
    }
    Ok(out.into())
}

//! Header, checksum and compression of a page.

use super::ALIGNMENT;
use twox_hash::XxHash3_64;
use volley_error::{Error, ErrorKind, Result};
use volley_vector::{Batch, Buffer};

const MAGIC: [u8; 3] = *b"VPG";
const VERSION: u8 = 1;

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 32;

/// Bytes of the header that seed the checksum of the body.
const CHECKED_BYTES: usize = 24;

/// The maximum expansion of one byte of LZ4.
const RATIO_MAX: usize = 255;

/// Compression is tried on this number of places of the body, of this number of bytes each.
const SAMPLES: usize = 4;
const SAMPLE_BYTES: usize = 2 << 10;

/// The sample must shrink by the first number over the second one: 1.3.
const SHRINKS_BY: (usize, usize) = (13, 10);

/// How the body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    Packed,
    Compressed,
}

/// A header, checked against the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) shape: Shape,
    pub(super) rows: usize,
    /// Plain: of the description; packed: of the body before compression.
    pub(super) inner_bytes: usize,
}

impl Header {
    /// The header of `page`, whose checksum is right.
    pub(super) fn read(page: &[u8], columns: usize) -> Result<Header> {
        let (header, body) =
            page.split_first_chunk::<HEADER_BYTES>().ok_or_else(|| corruption("too short"))?;
        let word = |at: usize| {
            let bytes = header.get(at..at + 4).and_then(<[u8]>::first_chunk::<4>);
            u32::from_le_bytes(bytes.copied().unwrap_or_default()) as usize
        };
        let [m0, m1, m2, version, shape, zeros @ ..] = *header;
        if [m0, m1, m2] != MAGIC {
            return Err(corruption("another format"));
        }
        if version != VERSION {
            let message = format!("page of version {version} where version {VERSION} is known");
            return Err(Error::unsupported(message).hint("run the same version in all tasks"));
        }
        let shape = match shape {
            0 => Shape::Plain,
            1 => Shape::Packed,
            2 => Shape::Compressed,
            _ => return Err(corruption("unknown shape")),
        };
        if word(16) != body.len() || zeros[..3] != [0; 3] || word(12) != columns {
            return Err(corruption("lengths that differ from the page's"));
        }
        if checksum(header, body).to_le_bytes() != header[CHECKED_BYTES..] {
            return Err(corruption("a checksum that differs"));
        }
        Ok(Header { shape, rows: word(8), inner_bytes: word(20) })
    }
}

/// Appends the page whose body `write` appends. `write` is told the position of the page in `out`;
/// it returns the shape of the body and the number of bytes for [`Header::inner_bytes`].
pub(super) fn page(
    batch: &Batch,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>, usize) -> Result<(Shape, usize)>,
) -> Result<()> {
    let start = out.len();
    out.resize(start + HEADER_BYTES, 0);
    let finished =
        write(out, start).and_then(|(shape, inner)| finish(batch, out, start, shape, inner));
    if finished.is_err() {
        out.truncate(start);
    }
    finished
}

fn finish(batch: &Batch, out: &mut [u8], start: usize, shape: Shape, inner: usize) -> Result<()> {
    let (_, page) = out.split_at_mut(start);
    let (header, body) = page
        .split_first_chunk_mut::<HEADER_BYTES>()
        .ok_or_else(|| Error::internal("page without a header"))?;
    let number = |it: usize| u32::try_from(it).map_err(|_| too_large());
    let words = [
        number(batch.rows())?,
        number(batch.columns().len())?,
        number(body.len())?,
        number(inner)?,
    ];
    header[..3].copy_from_slice(&MAGIC);
    header[3] = VERSION;
    header[4] = match shape {
        Shape::Plain => 0,
        Shape::Packed => 1,
        Shape::Compressed => 2,
    };
    for (bytes, word) in header[8..CHECKED_BYTES].chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let checksum = checksum(header, body);
    header[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// Writes the length of the body and the checksum of a page that was changed.
#[cfg(test)]
pub(super) fn sign(page: &mut [u8]) {
    let Some((header, body)) = page.split_first_chunk_mut::<HEADER_BYTES>() else { return };
    header[16..20].copy_from_slice(&(body.len() as u32).to_le_bytes());
    let checksum = checksum(header, body);
    header[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(header: &[u8; HEADER_BYTES], body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(&header[..CHECKED_BYTES]), body)
}

/// The body of a page.
pub(super) fn body<'a>(page: &'a [u8], header: &Header) -> Result<&'a [u8]> {
    match page.get(HEADER_BYTES..) {
        Some(body) if header.shape != Shape::Packed || body.len() == header.inner_bytes => Ok(body),
        _ => Err(corruption("a body of another length")),
    }
}

/// The body of a compressed page, decompressed.
pub(super) fn decompressed(page: &[u8], header: &Header) -> Result<Vec<u8>> {
    let compressed = body(page, header)?;
    if header.inner_bytes > compressed.len().saturating_mul(RATIO_MAX) {
        return Err(corruption("lengths that cannot be"));
    }
    let mut bytes = vec![0; header.inner_bytes];
    match lz4_flex::block::decompress_into(compressed, &mut bytes) {
        Ok(len) if len == bytes.len() => Ok(bytes),
        _ => Err(corruption("bytes that are no LZ4")),
    }
}

/// Compresses `body` to `out`; false if that does not pay.
pub(super) fn compress(body: &[u8], out: &mut Vec<u8>) -> bool {
    let pays = |bytes: usize, compressed: usize| compressed * SHRINKS_BY.0 <= bytes * SHRINKS_BY.1;
    if body.len() > 2 * SAMPLES * SAMPLE_BYTES {
        let (mut sampled, mut shrunk) = (0, 0);
        for sample in 0..SAMPLES {
            let start = (body.len() - SAMPLE_BYTES) / (SAMPLES - 1) * sample;
            let Some(bytes) = body.get(start..start + SAMPLE_BYTES) else { continue };
            sampled += bytes.len();
            shrunk += compress_to(bytes, out);
        }
        if !pays(sampled, shrunk) {
            return false;
        }
    }
    let bytes = compress_to(body, out);
    out.truncate(bytes);
    pays(body.len(), bytes)
}

/// The bytes of `out` that are the compressed `bytes`.
fn compress_to(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    out.resize(lz4_flex::block::get_maximum_output_size(bytes.len()), 0);
    // There is room for the largest output.
    lz4_flex::block::compress_into(bytes, out).unwrap_or(usize::MAX / SHRINKS_BY.0)
}

/// The same page in memory that is aligned for its buffers; copies only what is not.
pub(super) fn aligned(page: &Buffer) -> Buffer {
    match page.as_ptr().align_offset(ALIGNMENT) {
        0 => page.clone(),
        _ => Buffer::from_slice_ref(page.as_slice()),
    }
}

#[cold]
pub(super) fn corruption(what: &str) -> Error {
    Error::corruption(format!("damaged page: {what}"))
        .hint("the connection or the disk between the tasks changed bytes")
}

#[cold]
pub(super) fn too_large() -> Error {
    Error::new(ErrorKind::OutOfMemory, "a page of 4 GiB").hint("use a smaller batch_rows")
}

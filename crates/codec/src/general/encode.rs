//! Writing values as they are, and frames.

use super::{RATIO_MAX, SHIFT_MAX};
use crate::{
    VECTOR_ROWS,
    column::Source,
    fsst::vector_bytes,
    input::{put, put_all},
    integers,
};
use volley_error::{Error, Result};
use volley_types::PhysicalType;

/// About the bytes of text in a frame.
const FRAME_BYTES: usize = 64 << 10;

/// The level of Zstandard where none is given.
const ZSTD_LEVEL: i32 = 3;

/// Appends values as they are.
pub(crate) fn encode_raw(source: &Source, out: &mut Vec<u8>) -> Result<()> {
    if source.physical() != PhysicalType::View {
        let bytes = source.values()?.fixed_bytes();
        out.extend_from_slice(bytes.ok_or_else(|| Error::internal("values of another layout"))?);
        return Ok(());
    }
    let lengths = lengths(source)?;
    for vector in lengths.chunks(VECTOR_ROWS) {
        put(out, vector_bytes(vector.iter().map(|it| *it as usize).sum())?);
    }
    integers::encode(&lengths, out);
    let strings = source.strings()?;
    (0..source.rows()).for_each(|row| out.extend_from_slice(source.string(strings, row)));
    Ok(())
}

/// Appends frames of LZ4.
pub(crate) fn encode_lz4(source: &Source, out: &mut Vec<u8>) -> Result<()> {
    encode_frames(source, |text| Ok(lz4_flex::block::compress(text)), out)
}

/// Appends frames of Zstandard.
pub(crate) fn encode_zstd(source: &Source, level: Option<i32>, out: &mut Vec<u8>) -> Result<()> {
    let level = level.unwrap_or(ZSTD_LEVEL);
    let compress = |text: &[u8]| {
        let frame = zstd::bulk::compress(text, level);
        frame.map_err(|it| Error::unsupported("compression by Zstandard").caused_by(it))
    };
    encode_frames(source, compress, out)
}

fn encode_frames(
    source: &Source,
    compress: impl Fn(&[u8]) -> Result<Vec<u8>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (lengths, strings) = (lengths(source)?, source.strings()?);
    let total: usize = lengths.iter().map(|it| *it as usize).sum();
    let per_vector = total / source.rows().div_ceil(VECTOR_ROWS).max(1);
    let shift = (FRAME_BYTES / per_vector.max(1)).max(1).ilog2().min(u32::from(SHIFT_MAX));
    let (mut raw, mut stored, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    let frame_rows = VECTOR_ROWS << shift;
    for start in (0..source.rows()).step_by(frame_rows) {
        let rows = start..source.rows().min(start + frame_rows);
        let mut text = Vec::new();
        rows.for_each(|row| text.extend_from_slice(source.string(strings, row)));
        let frame = compress(&text)?;
        let pays = frame.len() < text.len() && text.len() <= frame.len() * RATIO_MAX;
        let frame = if pays { frame } else { text.clone() };
        raw.push(vector_bytes(text.len())?);
        stored.push(vector_bytes(frame.len())?);
        frames.extend_from_slice(&frame);
    }
    put(out, shift as u8);
    put_all(out, &raw);
    put_all(out, &stored);
    integers::encode(&lengths, out);
    out.extend_from_slice(&frames);
    Ok(())
}

/// The bytes of each text.
fn lengths(source: &Source) -> Result<Vec<u32>> {
    let strings = source.strings()?;
    Ok((0..source.rows()).map(|row| source.string(strings, row).len() as u32).collect())
}

//! Training and coding, by the crate `fsst`.

use crate::{
    VECTOR_ROWS,
    column::Source,
    input::{put, put_all},
    integers,
};
use fsst::Compressor;
use volley_error::{Error, Result};

/// Texts that a table is made of.
const TRAINING_ROWS: usize = 16 * VECTOR_ROWS;

/// Appends the column.
pub(crate) fn encode(source: &Source, out: &mut Vec<u8>) -> Result<()> {
    let strings = source.strings()?;
    let text = |row: usize| source.string(strings, row);
    let step = (source.rows() / TRAINING_ROWS).max(1);
    let sample: Vec<&[u8]> = (0..source.rows()).step_by(step).map(text).collect();
    let compressor = Compressor::train(&sample);
    let symbol_bytes = compressor.symbol_lengths();
    put(out, symbol_bytes.len() as u8);
    out.extend_from_slice(symbol_bytes);
    for (symbol, bytes) in compressor.symbol_table().iter().zip(symbol_bytes) {
        out.extend(symbol.to_u64().to_le_bytes().iter().take(usize::from(*bytes)));
    }
    let (mut codes, mut lengths) = (Vec::new(), Vec::with_capacity(source.rows()));
    let (mut text_bytes, mut code_bytes) = (Vec::new(), Vec::new());
    for start in (0..source.rows()).step_by(VECTOR_ROWS) {
        let (before, mut bytes) = (codes.len(), 0);
        for row in start..source.rows().min(start + VECTOR_ROWS) {
            let coded = compressor.compress(text(row));
            bytes += text(row).len();
            lengths.push(coded.len() as u32);
            codes.extend_from_slice(&coded);
        }
        text_bytes.push(vector_bytes(bytes)?);
        code_bytes.push(vector_bytes(codes.len() - before)?);
    }
    put_all(out, &text_bytes);
    put_all(out, &code_bytes);
    integers::encode(&lengths, out);
    out.extend_from_slice(&codes);
    Ok(())
}

/// Bytes of a vector's texts, which 32 bits must count.
pub(crate) fn vector_bytes(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::unsupported("storing 4 GiB of text in 1024 rows"))
}

//! The codec of a column: the least bytes plus the time to decode them.
//!
//! ```text
//! score = bytes + LAMBDA * cycles to decode
//! ```
//!
//! Statistics of all rows say whether the column is constant, how many runs it has and, where a
//! sample lets expect few, how often each distinct value occurs. Other codecs encode the sample: a
//! few whole vectors, since a vector has its own base, width and exceptions.

use crate::{
    CodecId, VECTOR_ROWS,
    column::{Context, Level, Source, body},
    distinct::{Distinct, is_constant, run_starts},
    pdict,
};
use volley_error::Result;
use volley_types::{PhysicalType, Type};
use volley_vector::Vector;

/// Bytes that a cycle of decoding is worth: 2 GB/s of input at 4 GHz.
const LAMBDA: f64 = 0.5;

/// Vectors of the sample.
const SAMPLE_VECTORS: usize = 4;

/// LZ4 must be this much smaller than every other codec.
const LZ4_PART: f64 = 0.8;

/// Rows of a run, on average, below which a column is not cut into runs.
const RUN_ROWS_MIN: usize = 3;

/// Bytes of the header of a column inside of another one.
const HEADER_BYTES: f64 = 16.0;

/// A codec that can hold a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) codec: CodecId,
    /// Estimated.
    pub(crate) bytes: f64,
    score: f64,
}

/// The codecs for a column, the best one first; none if the type cannot be stored.
pub(crate) fn choices(source: &Source, context: Context) -> Result<Vec<Choice>> {
    if let Some(codec) = only_codec(source) {
        return Ok(vec![Choice { codec, bytes: f64::INFINITY, score: 0.0 }]);
    }
    let codecs = candidates(source, context)?;
    if let Some(codec) = context.options.codec.filter(|it| codecs.contains(it)) {
        return Ok(vec![Choice { codec, bytes: f64::INFINITY, score: 0.0 }]);
    }
    if let Some(codec) = codecs.first().filter(|it| **it == CodecId::Constant) {
        return Ok(vec![Choice { codec: *codec, bytes: f64::INFINITY, score: 0.0 }]);
    }
    let sample = sample(source)?;
    let mut choices = Vec::with_capacity(codecs.len());
    for codec in codecs {
        let Some(bytes) = estimate(source, &sample, codec, context)? else { continue };
        let cycles = cycles(codec) * source.rows() as f64 * text_bytes(&sample)?;
        choices.push(Choice { codec, bytes, score: bytes + LAMBDA * cycles });
    }
    weigh_compression(&mut choices);
    choices.sort_by(|a, b| a.score.total_cmp(&b.score));
    Ok(choices)
}

/// The codec of types that have one only.
fn only_codec(source: &Source) -> Option<CodecId> {
    match source.physical() {
        PhysicalType::Boolean => Some(CodecId::Bits),
        PhysicalType::Array | PhysicalType::Map => Some(CodecId::Lists),
        PhysicalType::FixedArray => Some(CodecId::FixedLists),
        PhysicalType::Row => Some(CodecId::Fields),
        _ => None,
    }
}

/// The codecs that can hold the column; the first one is constant if it is.
fn candidates(source: &Source, context: Context) -> Result<Vec<CodecId>> {
    use CodecId::{
        Alp, AlpRd, Constant, Fsst, Halves, Lz4, Pdict, Pfor, PforDelta, Raw, Rle, Zstd,
    };
    let mut codecs = Vec::new();
    if context.level != Level::Single && source.rows() > 0 && is_constant(source)? {
        codecs.push(Constant);
    }
    codecs.extend_from_slice(match source.physical() {
        PhysicalType::I8 | PhysicalType::I16 | PhysicalType::I32 | PhysicalType::I64 => {
            &[Pfor, PforDelta]
        }
        PhysicalType::F32 | PhysicalType::F64 => &[Raw, Alp, AlpRd],
        PhysicalType::I128 | PhysicalType::Interval => &[Halves],
        PhysicalType::View => &[Raw, Fsst, Lz4],
        _ => &[],
    });
    let is_forced = |it: CodecId| context.options.codec == Some(it);
    if source.physical() == PhysicalType::View
        && (context.options.zstd_level.is_some() || is_forced(Zstd))
    {
        codecs.push(Zstd);
    }
    if context.level == Level::Column && !codecs.is_empty() && source.rows() > 0 {
        codecs.push(Rle);
        if !is_forced(Pdict) || Distinct::of(source, pdict::ENTRIES_MAX)?.is_some() {
            codecs.push(Pdict);
        }
    }
    Ok(codecs)
}

/// A few whole vectors.
fn sample(source: &Source) -> Result<Source> {
    let vectors = source.rows().div_ceil(VECTOR_ROWS);
    if vectors <= SAMPLE_VECTORS {
        return Source::new(source.vector());
    }
    // The last vector may be short.
    let step = (vectors - 1) / SAMPLE_VECTORS;
    let vector = |it: usize| source.vector().slice(it * step * VECTOR_ROWS, VECTOR_ROWS);
    let slices: Vec<Vector> = (0..SAMPLE_VECTORS).map(vector).collect();
    Source::new(&Vector::concat(source.data_type(), &slices)?)
}

/// The bytes of the column; `None` if the codec cannot win.
fn estimate(
    source: &Source,
    sample: &Source,
    codec: CodecId,
    context: Context,
) -> Result<Option<f64>> {
    let rows = source.rows() as f64;
    Ok(match codec {
        CodecId::Pdict => {
            let few = sample.rows() / 2;
            if Distinct::of(sample, few.max(1))?.is_none() {
                return Ok(None);
            }
            let distinct = Distinct::of(source, pdict::ENTRIES_MAX)?;
            let entry_bytes = value_bytes(sample)?;
            distinct.map(|it| {
                let entries = it.counts.len() as f64 * entry_bytes;
                pdict::code_bytes(&it.counts) + entries + HEADER_BYTES
            })
        }
        CodecId::Rle => {
            let runs = run_starts(source)?.len();
            let run_bytes = 1.0 + value_bytes(sample)?;
            let is_few = runs * RUN_ROWS_MIN <= source.rows();
            is_few.then_some(runs as f64 * run_bytes + 2.0 * HEADER_BYTES)
        }
        _ => {
            let bytes = body(sample, codec, context)?.len();
            Some(bytes as f64 * rows / sample.rows().max(1) as f64)
        }
    })
}

/// About the bytes of a value that is stored on its own.
fn value_bytes(sample: &Source) -> Result<f64> {
    Ok(match sample.physical() {
        PhysicalType::View => 1.0 + text_bytes(sample)?,
        PhysicalType::I8 => 1.0,
        PhysicalType::I16 => 2.0,
        PhysicalType::I32 | PhysicalType::F32 => 4.0,
        PhysicalType::I64 | PhysicalType::F64 => 8.0,
        _ => 16.0,
    })
}

/// Bytes of a text on average; 1 of other types.
fn text_bytes(sample: &Source) -> Result<f64> {
    if sample.physical() != PhysicalType::View {
        return Ok(1.0);
    }
    let strings = sample.strings()?;
    let bytes: usize = (0..sample.rows()).map(|it| sample.string(strings, it).len()).sum();
    Ok(bytes as f64 / sample.rows().max(1) as f64)
}

/// About the cycles to decode a value, or a byte of text; see `docs/decisions`.
fn cycles(codec: CodecId) -> f64 {
    match codec {
        CodecId::Constant | CodecId::Rle | CodecId::Bits => 0.0,
        CodecId::Pdict | CodecId::Raw => 0.1,
        CodecId::Pfor => 0.3,
        CodecId::PforDelta => 1.0,
        CodecId::Alp => 0.6,
        CodecId::AlpRd => 1.5,
        CodecId::Fsst | CodecId::Lz4 => 1.0,
        CodecId::Zstd => 4.0,
        CodecId::Halves => 1.0,
        CodecId::Lists | CodecId::FixedLists | CodecId::Fields => 0.0,
    }
}

/// Leaves LZ4 out where it is not much smaller than every other codec. Takes Zstandard, which is in
/// the choice on request alone, wherever it is the smallest.
fn weigh_compression(choices: &mut Vec<Choice>) {
    let is_general = |it: &Choice| matches!(it.codec, CodecId::Lz4 | CodecId::Zstd);
    let light = choices.iter().filter(|it| !is_general(it)).map(|it| it.bytes);
    let light = light.fold(f64::INFINITY, f64::min);
    choices.retain(|it| it.codec != CodecId::Lz4 || it.bytes <= LZ4_PART * light);
    let least = choices.iter().map(|it| it.bytes).fold(f64::INFINITY, f64::min);
    for choice in choices.iter_mut().filter(|it| it.codec == CodecId::Zstd) {
        if choice.bytes <= least {
            choice.score = 0.0;
        }
    }
}

/// Whether values of the type are compared by keys, which packed values are not.
pub(crate) fn has_key(data_type: &Type) -> bool {
    matches!(data_type, Type::Custom(custom) if custom.key().is_some())
}

//! Writing columns.

use super::{ALL_NULL, NO_NULLS, SOME_NULLS, Source};
use crate::{
    CodecId, alp, bits, choose, constant, fsst, general,
    input::put,
    marks::{self, Mark},
    nested,
    order::Order,
    pdict, pfor, pfor_delta, rle,
};
use volley_error::{Error, Result};
use volley_types::PhysicalType;
use volley_vector::{Values, Vector};

/// An estimate that the bytes exceed by this factor makes the next codec be tried, too.
const MISSED: f64 = 1.2;

/// How a column is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A codec to be used wherever it can hold the column, also inside of nested types; `None`
    /// chooses by cost.
    pub codec: Option<CodecId>,
    /// The level of Zstandard (1 to 22) for texts; `None` leaves Zstandard out of the choice.
    pub zstd_level: Option<i32>,
}

/// Where a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// A column of a table, elements or a field.
    Column,
    /// Entries of a dictionary or values of runs: no dictionaries and no runs.
    Inner,
    /// The value of a constant: no constant either.
    Single,
}

/// What encoding a column depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) options: Options,
    pub(crate) level: Level,
}

impl Context {
    /// The context of a column inside of this one.
    pub(crate) fn at(self, level: Level) -> Context {
        Context { level, ..self }
    }
}

/// The bytes of a column of at most [`crate::SEGMENT_ROWS_MAX`] rows.
///
/// ```
/// use volley_codec::{CodecId, ColumnReader, Options, encode};
/// use volley_types::{Type, Value};
/// use volley_vector::{Buffer, Vector};
///
/// let values: Vec<Value> = (0..5000).map(|it| Value::BigInt(it * it % 100)).collect();
/// let bytes = encode(&Vector::from_values(Type::BigInt, &values), Options::default())?;
/// let mut reader = ColumnReader::open(Buffer::from_vec(bytes), &Type::BigInt)?;
/// let picked = reader.read(1000..2000, Some(&[7, 999]))?;
/// assert_eq!(picked.to_values()?, [Value::BigInt(49), Value::BigInt(1)]);
/// # Ok::<(), volley_error::Error>(())
/// ```
///
/// # Errors
///
/// Unsupported: opaque types; more rows; more elements of arrays than
/// `ELEMENTS_MAX`. What a lazy column's loader reports.
pub fn encode(column: &Vector, options: Options) -> Result<Vec<u8>> {
    if column.len() > crate::SEGMENT_ROWS_MAX {
        let rows = column.len();
        return Err(Error::unsupported("rows of a segment beyond the limit").at("rows", rows));
    }
    let mut out = Vec::new();
    write_column(column, Context { options, level: Level::Column }, &mut out)?;
    Ok(out)
}

/// Appends a column.
pub(crate) fn write_column(column: &Vector, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let source = Source::new(column)?;
    if source.is_all_null() && source.rows() > 0 || source.physical() == PhysicalType::Null {
        write_parts(CodecId::Constant, ALL_NULL, source.rows(), &[], out);
        return Ok(());
    }
    let choices = choose::choices(&source, context)?;
    let Some(first) = choices.first() else {
        let error = Error::unsupported("storing values of this type");
        return Err(error.at("type", source.data_type()));
    };
    let mut best = (first.codec, body(&source, first.codec, context)?);
    let has_missed = |bytes: usize| bytes as f64 > first.bytes * MISSED;
    if let Some(second) = choices.get(1)
        && has_missed(best.1.len())
        && second.bytes < best.1.len() as f64
    {
        marks::hit(Mark::SecondChoice);
        let other = body(&source, second.codec, context)?;
        if other.len() < best.1.len() {
            best = (second.codec, other);
        }
    }
    // Runs have their nulls among the values.
    let nulls = source.nulls().filter(|_| best.0 != CodecId::Rle);
    let (validity, mut bytes) = match nulls {
        None => (NO_NULLS, Vec::new()),
        Some(nulls) => {
            let mut bytes = Vec::new();
            bits::encode(nulls.inner(), &mut bytes);
            (SOME_NULLS, bytes)
        }
    };
    bytes.extend_from_slice(&best.1);
    write_parts(best.0, validity, source.rows(), &bytes, out);
    Ok(())
}

fn write_parts(codec: CodecId, validity: u8, rows: usize, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[codec as u8, validity, 0, 0]);
    put(out, rows as u32);
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The codec's bytes of a column that it can hold.
pub(crate) fn body(source: &Source, codec: CodecId, context: Context) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match codec {
        CodecId::Constant => constant::encode(source, context, &mut out)?,
        CodecId::Raw => general::encode_raw(source, &mut out)?,
        CodecId::Pfor => match source.physical() {
            PhysicalType::I8 => pfor::encode(&source.lanes::<u8>()?, Order::Signed, &mut out),
            PhysicalType::I16 => pfor::encode(&source.lanes::<u16>()?, Order::Signed, &mut out),
            PhysicalType::I32 => pfor::encode(&source.lanes::<u32>()?, Order::Signed, &mut out),
            _ => pfor::encode(&source.lanes::<u64>()?, Order::Signed, &mut out),
        },
        CodecId::PforDelta => match source.physical() {
            PhysicalType::I8 => pfor_delta::encode(&source.lanes::<u8>()?, &mut out),
            PhysicalType::I16 => pfor_delta::encode(&source.lanes::<u16>()?, &mut out),
            PhysicalType::I32 => pfor_delta::encode(&source.lanes::<u32>()?, &mut out),
            _ => pfor_delta::encode(&source.lanes::<u64>()?, &mut out),
        },
        CodecId::Pdict => pdict::encode(source, context, &mut out)?,
        CodecId::Rle => rle::encode(source, context, &mut out)?,
        CodecId::Alp => match source.physical() {
            PhysicalType::F32 => alp::encode::<f32>(&source.floats()?, &mut out),
            _ => alp::encode::<f64>(&source.floats()?, &mut out),
        },
        CodecId::AlpRd => match source.physical() {
            PhysicalType::F32 => alp::encode_halves::<f32>(&source.floats()?, &mut out),
            _ => alp::encode_halves::<f64>(&source.floats()?, &mut out),
        },
        CodecId::Fsst => fsst::encode(source, &mut out)?,
        CodecId::Lz4 => general::encode_lz4(source, &mut out)?,
        CodecId::Zstd => general::encode_zstd(source, context.options.zstd_level, &mut out)?,
        CodecId::Bits => match source.values()? {
            Values::Boolean(bits) => bits::encode(bits, &mut out),
            _ => return Err(Error::internal("booleans of another layout")),
        },
        CodecId::Halves => nested::encode_halves(source, context, &mut out)?,
        CodecId::Lists => nested::encode_lists(source, context, &mut out)?,
        CodecId::FixedLists => nested::encode_fixed_lists(source, context, &mut out)?,
        CodecId::Fields => nested::encode_fields(source, context, &mut out)?,
    }
    Ok(out)
}

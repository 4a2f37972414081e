//! Merges results of different rows, adds nulls, and reads truth values.

mod native;

use native::merge_native;
use std::sync::Arc;
use volley_error::Result;
use volley_kernels::lookup::look_up;
use volley_types::{PhysicalType, Type, match_native};
use volley_vector::{
    BooleanBuffer, Buffer, BufferList, Decoded, Encoding, Indices, NullBuffer, Recycler, Rows,
    ScalarBuffer, StringValues, Values, Vector,
};

/// Merges `parts`, each with the values of its rows, into one vector of `len` rows. Rows in no part
/// are unspecified.
///
/// # Errors
///
/// What copying reports.
pub(crate) fn merge(
    data_type: &Type,
    len: usize,
    mut parts: Vec<(Rows, Vector)>,
    recycler: &mut Recycler,
) -> Result<Vector> {
    parts.retain(|(rows, _)| !rows.is_empty());
    let is_null = |it: &(Rows, Vector)| is_null_constant(&it.1);
    match parts.as_slice() {
        [] => return Ok(Vector::nulls(data_type.clone(), len)),
        [(_, one)] => return Ok(one.clone()),
        [null @ (null_rows, _), (_, other)] | [(_, other), null @ (null_rows, _)]
            if is_null(null) && !other.is_constant() =>
        {
            return with_null_rows(other, null_rows);
        }
        _ => {}
    }
    let decoded =
        parts.iter().map(|(rows, it)| Ok((rows, Decoded::new(it)?))).collect::<Result<Vec<_>>>()?;
    let nulls = merge_nulls(len, &decoded);
    let values = match data_type.physical() {
        PhysicalType::Null => Values::Null(len),
        PhysicalType::Boolean => Values::Boolean(merge_bits(len, &decoded)),
        PhysicalType::View => Values::View(merge_strings(len, &decoded)?),
        physical if physical.is_by_reference() => {
            return merge_nested(data_type, len, &parts);
        }
        physical => match_native!(physical, T => {
            let merged = merge_native::<T>(len, &decoded, recycler);
            Values::from_native::<T>(ScalarBuffer::new(merged, 0, len))
        }, else Values::Null(len)),
    };
    Ok(Vector::flat(data_type.clone(), values, nulls))
}

fn merge_nulls(len: usize, parts: &[(&Rows, Decoded)]) -> Option<NullBuffer> {
    if !parts.iter().any(|(_, it)| it.has_nulls()) {
        return None;
    }
    let mut valid = vec![u64::MAX; len.div_ceil(64)];
    for (rows, part) in parts {
        let Some(nulls) = part.nulls() else { continue };
        let bits = nulls.inner().bit_chunks();
        for ((valid, rows), bits) in valid.iter_mut().zip(rows.words()).zip(bits.iter_padded()) {
            *valid &= bits | !rows;
        }
    }
    Some(NullBuffer::new(bits_of(valid, len)))
}

/// Whether a vector is NULL in every row, and says so.
fn is_null_constant(vector: &Vector) -> bool {
    match vector.encoding() {
        Encoding::Constant(base) => base.null_buffer().is_some_and(|it| it.is_null(0)),
        _ => false,
    }
}

fn merge_bits(len: usize, parts: &[(&Rows, Decoded)]) -> BooleanBuffer {
    let mut words = vec![0u64; len.div_ceil(64)];
    for (rows, part) in parts {
        let Values::Boolean(_) = part.values() else { continue };
        let bits = decoded_words(part, rows);
        for ((word, rows), bits) in words.iter_mut().zip(rows.words()).zip(bits) {
            *word |= bits & rows;
        }
    }
    bits_of(words, len)
}

/// Copies views, and lists the buffers of all parts.
fn merge_strings(len: usize, parts: &[(&Rows, Decoded)]) -> Result<StringValues> {
    let mut views = vec![0u128; len];
    let mut buffers = BufferList::default();
    for (rows, part) in parts {
        let Values::View(strings) = part.values() else { continue };
        let renumbered = buffers.add(strings)?;
        rows.for_each(|row| views[row] = renumbered.view(strings.views[part.index(row)]));
    }
    Ok(StringValues::new(views.into(), buffers.finish()))
}

fn merge_nested(data_type: &Type, len: usize, parts: &[(Rows, Vector)]) -> Result<Vector> {
    let mut positions = vec![0u32; len];
    let mut base = 0;
    for (rows, part) in parts {
        rows.for_each(|row| positions[row] = base + row as u32);
        base += part.len() as u32;
    }
    let all: Vec<Vector> = parts.iter().map(|(_, part)| part.clone()).collect();
    Vector::concat(data_type, &all)?.gather(&positions)
}

/// The same vector, with `null_rows` null.
pub(crate) fn with_null_rows(vector: &Vector, null_rows: &Rows) -> Result<Vector> {
    if null_rows.is_empty() {
        return Ok(vector.clone());
    }
    let len = vector.len();
    let valid = NullBuffer::new(bits_of(null_rows.words().iter().map(|it| !it).collect(), len));
    with_nulls(vector, &valid)
}

/// The same vector, with the null rows of `nulls` null, too.
pub(crate) fn with_nulls(vector: &Vector, nulls: &NullBuffer) -> Result<Vector> {
    let data_type = vector.data_type().clone();
    let all = NullBuffer::union(vector.null_buffer(), Some(nulls));
    Ok(match vector.encoding() {
        Encoding::Flat(values) => Vector::flat(data_type, values.clone(), all),
        Encoding::Dictionary { codes, base } => {
            Vector::dictionary(codes.clone(), Arc::clone(base), all)
        }
        Encoding::Constant(base) => {
            let codes: ScalarBuffer<u32> = vec![0; vector.len()].into();
            Vector::dictionary(codes, Arc::clone(base), all)
        }
        Encoding::RunLength { ends, base } => {
            let codes = codes_of_runs(ends);
            Vector::dictionary(codes.into(), Arc::clone(base), all)
        }
        Encoding::Bias { base, deltas } => Vector::bias(data_type, *base, deltas.clone(), all),
        Encoding::Lazy(_) => return with_nulls(&vector.loaded()?, nulls),
    })
}

/// For each row, the number of its run.
pub(crate) fn codes_of_runs(ends: &[u32]) -> Vec<u32> {
    let mut codes = Vec::with_capacity(ends.last().map_or(0, |it| *it as usize));
    for (run, &end) in ends.iter().enumerate() {
        codes.resize(end as usize, run as u32);
    }
    codes
}

/// The null bitmap by row; `None` when no row is null.
pub(crate) fn nulls_of(vector: &Vector) -> Result<Option<NullBuffer>> {
    match vector.encoding() {
        Encoding::Flat(values) if values.physical() != PhysicalType::Null => {
            Ok(vector.null_buffer().cloned())
        }
        Encoding::Bias { .. } => Ok(vector.null_buffer().cloned()),
        _ => Ok(Decoded::new(vector)?.nulls()),
    }
}

/// The rows of `rows` that are true, and those that are null.
pub(crate) fn truth(vector: &Vector, rows: &Rows) -> Result<(Rows, Rows)> {
    let decoded = Decoded::new(vector)?;
    let Some(nulls) = decoded.nulls() else {
        let words = decoded_words(&decoded, rows);
        return Ok((and_words(words, rows), Rows::none(rows.len())));
    };
    let mut valid = rows.clone();
    valid.subtract_nulls(&nulls);
    let mut null_rows = rows.clone();
    null_rows.subtract(&valid);
    let is_true = and_words(decoded_words(&decoded, &valid), &valid);
    Ok((is_true, null_rows))
}

fn and_words(mut words: Vec<u64>, rows: &Rows) -> Rows {
    words.iter_mut().zip(rows.words()).for_each(|(a, b)| *a &= b);
    Rows::from_words(words, rows.len())
}

/// The truth value of every one of `rows`, as a bitmap; unspecified for other rows, for null rows
/// and beyond the end.
fn decoded_words(decoded: &Decoded, rows: &Rows) -> Vec<u64> {
    let count = decoded.len().div_ceil(64);
    let Values::Boolean(bits) = decoded.values() else {
        return vec![0; count];
    };
    match decoded.indices() {
        Indices::Identity => {
            let mut words: Vec<u64> = bits.bit_chunks().iter_padded().collect();
            words.resize(count, 0);
            words
        }
        Indices::Constant(index) => {
            vec![if bits.value(*index as usize) { u64::MAX } else { 0 }; count]
        }
        Indices::Codes(codes) => {
            let mut words = vec![0; count];
            let mut table: Vec<u64> = bits.bit_chunks().iter_padded().collect();
            table.truncate(bits.len().div_ceil(64));
            look_up(codes, &table, rows.words(), &mut words);
            words
        }
    }
}

pub(crate) fn bits_of(words: Vec<u64>, len: usize) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from_vec(words), 0, len)
}

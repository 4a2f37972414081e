//! Copies of values that share no memory with what they were copied from.

use std::ops::Range;
use volley_error::{Error, Result};
use volley_types::{PhysicalType, Type};
use volley_vector::{Appender, Batch, Picked, Vector};
use volley_wire::{decode, encode, flat_bytes};

/// What a copied value takes at most apart from bytes of text and elements: a view.
const VALUE_BYTES: usize = 16;

/// What a copied column takes apart from its values.
const COLUMN_BYTES: usize = 256;

/// About the bytes that [`copy_batch`] allocates.
pub(crate) fn bytes_to_copy(batch: &Batch) -> Result<usize> {
    let columns = batch.columns().len() * (COLUMN_BYTES + batch.rows() * VALUE_BYTES);
    Ok(flat_bytes(batch)?.saturating_add(columns))
}

/// The rows of all `parts`, which have the same types, in one flat batch.
pub(crate) fn copy_batch(parts: &[Batch]) -> Result<Batch> {
    let rows = parts.iter().map(Batch::rows).sum();
    let count = parts.first().map_or(0, |it| it.columns().len());
    let columns = (0..count).map(|index| {
        let vectors: Vec<Vector> = parts.iter().map(|it| it.column(index).clone()).collect();
        copy_vector(&vectors)
    });
    Ok(Batch::new(columns.collect::<Result<_>>()?, rows))
}

/// The values of all `parts`, which have the same type, in one flat vector.
pub(crate) fn copy_vector(parts: &[Vector]) -> Result<Vector> {
    let Some(first) = parts.first() else {
        return Err(Error::internal("a copy of no vector"));
    };
    let data_type = first.data_type().clone();
    if is_nested(&data_type) {
        return copy_nested(&data_type, parts);
    }
    let rows = parts.iter().map(Vector::len).sum();
    let mut appender = Appender::with_capacity(data_type, rows);
    for part in parts {
        append(&mut appender, part, 0..part.len())?;
    }
    appender.finish()
}

fn append(appender: &mut Appender, part: &Vector, rows: Range<usize>) -> Result<()> {
    let positions: Vec<u32> = rows.map(|it| it as u32).collect();
    let count = positions.len();
    appender.append(&Picked::new(part, &positions)?, 0..count)
}

/// Whether an [`Appender`] would share elements.
fn is_nested(data_type: &Type) -> bool {
    matches!(
        data_type.physical(),
        PhysicalType::Array
            | PhysicalType::Map
            | PhysicalType::Row
            | PhysicalType::FixedArray
            | PhysicalType::Null
    )
}

/// Copies by way of bytes: elements of arrays are otherwise shared.
fn copy_nested(data_type: &Type, parts: &[Vector]) -> Result<Vector> {
    let joined = Vector::concat(data_type, parts)?;
    let rows = joined.len();
    let mut bytes = Vec::new();
    encode(&Batch::new(vec![joined], rows), &mut bytes)?;
    let batch = decode(&bytes, std::slice::from_ref(data_type))?;
    let mut columns = batch.into_columns();
    columns.pop().ok_or_else(|| Error::internal("a batch without its column"))?.flatten()
}

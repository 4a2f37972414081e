//! The serialized size of batches.

use crate::{
    encode::ROWS_PER_VALUE,
    picks::{Picks, validity},
};
use volley_error::Result;
use volley_types::{PhysicalType, match_native};
use volley_vector::{Batch, Decoded, Encoding, Nested, StringView, Values, Vector};

/// What the length of a string or an array takes at most.
const LENGTH_BYTES: usize = 4;

/// About the bytes that [`crate::encode`] writes of a batch, at most. Loads lazy columns.
///
/// # Errors
///
/// What a loader reports.
pub fn encoded_bytes(batch: &Batch) -> Result<usize> {
    sum(batch.columns(), |column| match column.loaded()?.encoding() {
        Encoding::Constant(base) => bytes(base, &Picks::Range(0..1)),
        Encoding::Dictionary { codes, base } if base.len() * ROWS_PER_VALUE <= codes.len() => {
            let base = bytes(base, &Picks::Range(0..base.len()))?;
            Ok(base.saturating_add(size_of_val(&**codes)))
        }
        _ => bytes(column, &Picks::Range(0..batch.rows())),
    })
}

/// About the bytes of a batch when all its columns are written flat, as [`crate::Encoder::append`]
/// does. Loads lazy columns.
///
/// # Errors
///
/// What a loader reports.
pub fn flat_bytes(batch: &Batch) -> Result<usize> {
    sum(batch.columns(), |it| bytes(it, &Picks::Range(0..batch.rows())))
}

fn sum(vectors: &[Vector], bytes: impl Fn(&Vector) -> Result<usize>) -> Result<usize> {
    vectors.iter().try_fold(0, |sum: usize, it| Ok(sum.saturating_add(bytes(it)?)))
}

fn bytes(vector: &Vector, picks: &Picks<'_>) -> Result<usize> {
    let rows = picks.len();
    if let Some(width) = width(vector.data_type().physical()) {
        return Ok(rows.saturating_mul(width));
    }
    let decoded = Decoded::new(vector)?;
    let positions = picks.positions(&decoded);
    let values = match decoded.values() {
        Values::View(strings) => {
            let mut sum = 0;
            positions.for_each(|it| sum += StringView::len_of(strings.views[it]));
            sum
        }
        Values::Array(nested) | Values::Map(nested) => {
            let nulls = decoded.nulls();
            let is_valid = validity(nulls.as_ref(), picks);
            let count = count(nested, &positions, &is_valid);
            elements_bytes(&nested.elements, count, || positions.elements(nested, is_valid))?
        }
        Values::FixedArray(arrays) => {
            let count = rows.saturating_mul(arrays.size);
            elements_bytes(&arrays.elements, count, || positions.fixed_elements(arrays))?
        }
        Values::Row { children, .. } => sum(children, |it| bytes(it, &positions))?,
        _ => 0,
    };
    Ok(values.saturating_add(rows * LENGTH_BYTES))
}

/// The elements of all valid rows.
fn count(nested: &Nested, positions: &Picks<'_>, is_valid: impl Fn(usize) -> bool) -> usize {
    let (mut row, mut count) = (0, 0usize);
    positions.for_each(|it| {
        count = count.saturating_add(if is_valid(row) { nested.range(it).len() } else { 0 });
        row += 1;
    });
    count
}

/// The bytes of `count` elements, which `picks` lists.
fn elements_bytes<'a>(
    elements: &Vector,
    count: usize,
    picks: impl FnOnce() -> Result<Picks<'a>>,
) -> Result<usize> {
    if let Some(width) = width(elements.data_type().physical()) {
        return Ok(count.saturating_mul(width));
    }
    if count <= elements.len() {
        return bytes(elements, &picks()?);
    }
    // Rows share elements. There may be too many to list, so that all are treated as equal in size.
    let all = bytes(elements, &Picks::Range(0..elements.len()))?;
    Ok((all as u128 * count as u128 / elements.len().max(1) as u128) as usize)
}

/// Bytes of one value, at least 1; `None` where values differ.
fn width(physical: PhysicalType) -> Option<usize> {
    match physical {
        PhysicalType::Null | PhysicalType::Boolean => Some(1),
        _ => match_native!(physical, T => Some(size_of::<T>()), else None),
    }
}

//! Copies values out of dictionaries and strings out of buffers that are mostly unused.

use volley_error::Result;
use volley_vector::{Batch, Encoding, StringBuilder, StringView, Values, Vector};

/// Buffers are left alone when they hold less than this many bytes, or when at least one in
/// [`USED_ONE_IN`] of their bytes is in use.
const BYTES_MIN: usize = 64 << 10;

/// See [`BYTES_MIN`].
const USED_ONE_IN: usize = 4;

/// A dictionary of more than this many times as many values as a batch has rows is not kept for it.
/// Full batches mostly share theirs with others, and with codes a value takes half the bytes.
const DICTIONARY_SHARE_MAX: usize = 64;

/// The same rows, without dictionaries that are much larger than the batch, such as those of the
/// few rows that a join leaves of each row group; their strings as [`compact_strings`] has them.
///
/// # Errors
///
/// What a lazy column's loader reports.
pub(crate) fn compact_batch(batch: Batch) -> Result<Batch> {
    let rows = batch.rows();
    let own = |column: Vector| match column.encoding() {
        Encoding::Dictionary { base, .. } if base.len() > rows * DICTIONARY_SHARE_MAX => {
            compact(column.flatten()?)
        }
        _ => Ok(column),
    };
    let columns = batch.into_columns().into_iter().map(own).collect::<Result<_>>()?;
    Ok(Batch::new(columns, rows))
}

/// The same rows; string columns that keep much larger buffers alive than they need get their own.
///
/// # Errors
///
/// What a lazy column's loader reports.
pub(crate) fn compact_strings(batch: Batch) -> Result<Batch> {
    let rows = batch.rows();
    let columns = batch.into_columns().into_iter().map(compact).collect::<Result<_>>()?;
    Ok(Batch::new(columns, rows))
}

fn compact(column: Vector) -> Result<Vector> {
    let Some(Values::View(strings)) = column.flat_values() else { return Ok(column) };
    let held: usize = strings.buffers.iter().map(|it| it.len()).sum();
    let used: usize = strings.views.iter().map(|it| StringView::len_of(*it)).sum();
    if held < BYTES_MIN || used * USED_ONE_IN >= held {
        return Ok(column);
    }
    let mut builder = StringBuilder::with_capacity(column.len());
    (0..column.len()).for_each(|row| builder.push(strings.bytes(row)));
    let nulls = column.null_buffer().cloned();
    Ok(Vector::strings(column.data_type().clone(), builder.finish(), nulls))
}

//! Copies values out of dictionaries, strings and elements out of buffers that are mostly unused.

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
pub fn compact_batch(batch: Batch) -> Result<Batch> {
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
pub fn compact_strings(batch: Batch) -> Result<Batch> {
    let rows = batch.rows();
    let columns = batch.into_columns().into_iter().map(compact).collect::<Result<_>>()?;
    Ok(Batch::new(columns, rows))
}

/// The same rows in memory of their own, none of which anything else holds.
///
/// # Errors
///
/// What a lazy column's loader reports.
pub fn own_batch(batch: Batch) -> Result<Batch> {
    let rows = batch.rows();
    let positions: Vec<u32> = (0..rows as u32).collect();
    let own = |column: Vector| compact(column.flatten()?.gather(&positions)?);
    let columns = batch.into_columns().into_iter().map(own).collect::<Result<_>>()?;
    Ok(Batch::new(columns, rows))
}

fn compact(column: Vector) -> Result<Vector> {
    let Some(Values::View(strings)) = column.flat_values() else { return own_elements(column) };
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

/// The same values; arrays without elements of others, where these are a quarter or more.
///
/// # Errors
///
/// Elements beyond the layout's 32 bits.
pub(crate) fn own_elements(values: Vector) -> Result<Vector> {
    let Some(Values::Array(nested) | Values::Map(nested)) = values.flat_values() else {
        return Ok(values);
    };
    let used: usize = nested.sizes.iter().map(|it| *it as usize).sum();
    if used.saturating_mul(4) > nested.elements.len().saturating_mul(3) {
        return Ok(values);
    }
    // Joining copies what is used.
    let data_type = values.data_type().clone();
    let nothing = values.slice(0, 0);
    Vector::concat(&data_type, &[values, nothing])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use volley_types::{Type, Value};

    #[test]
    fn few_rows_do_not_keep_a_large_dictionary() {
        let text = |it: usize| Value::text(format!("a text of some length, number {it}"));
        let mut texts: Vec<Value> = (0..10_000).map(text).collect();
        texts[0] = Value::Null;
        let values = Arc::new(Vector::from_values(Type::Varchar, &texts));
        let batch = |codes: Vec<u32>| {
            let rows = codes.len();
            Batch::new(vec![Vector::dictionary(codes.into(), values.clone(), None)], rows)
        };
        let few = batch(vec![7, 0, 9_999]);
        let kept = compact_batch(few.clone()).unwrap();
        assert_eq!(kept.column(0).to_values().unwrap(), few.column(0).to_values().unwrap());
        assert!(few.retained_bytes() > 300_000 && kept.retained_bytes() < 1_000);
        let many = batch((0..1_000).collect());
        assert_eq!(compact_batch(many.clone()).unwrap().retained_bytes(), many.retained_bytes());
    }

    #[test]
    fn an_own_batch_holds_its_rows_alone() {
        let text = |it: usize| Value::text(format!("a text of some length, number {it}"));
        let texts: Vec<Value> = (0..10_000).map(text).collect();
        let texts = Vector::from_values(Type::Varchar, &texts);
        let numbers = Vector::native::<i64>(Type::BigInt, (0..10_000).collect::<Vec<i64>>(), None);
        let wrapped =
            Vector::dictionary(vec![3_u32, 9_999, 0].into(), Arc::new(texts.clone()), None);
        let batch = Batch::new(vec![texts.slice(5, 3), wrapped, numbers.slice(7, 3)], 3);
        let own = own_batch(batch.clone()).unwrap();
        for (own, shared) in own.columns().iter().zip(batch.columns()) {
            assert_eq!(own.to_values().unwrap(), shared.to_values().unwrap());
            let mut bytes = 0;
            own.for_each_allocation(&mut |_, it| bytes += it);
            assert!(bytes < 1_000, "{bytes} bytes of {own:?}");
        }
    }
}

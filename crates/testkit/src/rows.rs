//! Batches as rows of values, to compare them with expected ones.

use volley_types::Value;
use volley_vector::Batch;

/// Rows as values.
pub type RowValues = Vec<Vec<Value>>;

/// The rows of a batch.
pub fn rows_of(batch: &Batch) -> RowValues {
    let columns: Vec<Vec<Value>> = batch
        .columns()
        .iter()
        .map(|it| it.to_values().expect("a column of a test loads"))
        .collect();
    (0..batch.rows()).map(|row| columns.iter().map(|it| it[row].clone()).collect()).collect()
}

/// Rows in an order of no meaning, to compare results without an order.
pub fn sorted(mut rows: RowValues) -> RowValues {
    rows.sort_by_cached_key(|it| format!("{it:?}"));
    rows
}

/// BIGINT rows of one column.
pub fn integers(values: impl IntoIterator<Item = i64>) -> RowValues {
    values.into_iter().map(|it| vec![Value::BigInt(it)]).collect()
}

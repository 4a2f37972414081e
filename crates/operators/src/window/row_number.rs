//! `row_number() OVER ()`: numbers the rows of one stream as they come.
//!
//! A window without partitions and order has one partition in the order of arrival, so that row
//! numbers need no rows but the present batch. All other windows collect their rows.

use std::mem;
use volley_error::Result;
use volley_exec::Transform;
use volley_plan::{WindowCall, WindowNode};
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Appends the number of each row, from 1, once per call.
pub(super) struct RowNumber {
    /// The input columns that are returned.
    output: Vec<usize>,
    calls: usize,
    /// The number of the next row.
    next: i64,
}

impl RowNumber {
    /// Whether the calls of a window are all global row numbers.
    pub(super) fn computes(node: &WindowNode) -> bool {
        let is_plain = |it: &WindowCall| {
            it.function == "row_number" && it.args.is_empty() && it.order_by.is_empty()
        };
        let is_global = node.partition_by.is_empty() && node.order_by.is_empty();
        is_global && node.limit.is_none() && node.calls.iter().all(is_plain)
    }

    /// The operator of a window whose calls it [computes](RowNumber::computes).
    pub(super) fn new(node: &WindowNode) -> RowNumber {
        RowNumber { output: node.output.clone(), calls: node.calls.len(), next: 1 }
    }
}

impl Transform for RowNumber {
    fn name(&self) -> &'static str {
        "row number"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let rows = batch.rows();
        let end = self.next + rows as i64;
        let numbers: Vec<i64> = (mem::replace(&mut self.next, end)..end).collect();
        let numbers = Vector::native::<i64>(Type::BigInt, numbers, None);
        let mut columns = batch.project(&self.output).into_columns();
        columns.extend(std::iter::repeat_n(numbers, self.calls));
        Ok(Some(Batch::new(columns, rows)))
    }
}

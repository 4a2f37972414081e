//! Constraints: the columns that say which rows violate them.

use std::sync::Arc;
use volley_error::{Error, Result};
use volley_plan::TableWriteNode;
use volley_vector::{Batch, Values, Vector};

/// Refuses rows that violate a constraint.
#[derive(Clone, Debug, Default)]
pub(super) struct RowChecks {
    /// The columns that are written.
    written: Arc<[usize]>,
    /// The error of each column behind them.
    messages: Arc<[String]>,
}

impl RowChecks {
    /// The constraints of a node.
    pub(super) fn new(node: &TableWriteNode) -> RowChecks {
        RowChecks::of(node.column_names.len(), node.checks.clone())
    }

    /// Of columns behind the first `written`.
    pub(super) fn of(written: usize, messages: Vec<String>) -> RowChecks {
        RowChecks { written: (0..written).collect(), messages: messages.into() }
    }

    /// The columns that are written.
    ///
    /// # Errors
    ///
    /// Invalid value: a row violates a constraint. What a lazy column's loader reports.
    pub(super) fn checked(&self, batch: Batch) -> Result<Batch> {
        if self.messages.is_empty() {
            return Ok(batch);
        }
        let violated = batch.columns().iter().skip(self.written.len());
        for (violated, message) in violated.zip(&*self.messages) {
            if has_true(violated)? {
                return Err(Error::invalid_value(message.clone()));
            }
        }
        Ok(batch.project(&self.written))
    }
}

/// Whether a BOOLEAN column is true in some row.
fn has_true(column: &Vector) -> Result<bool> {
    let column = column.flatten()?;
    let Some(Values::Boolean(bits)) = column.flat_values() else {
        return Err(Error::internal("a column of a check that is no BOOLEAN"));
    };
    if bits.count_set_bits() == 0 {
        return Ok(false);
    }
    Ok(match column.null_buffer() {
        None => true,
        Some(nulls) => bits.iter().zip(nulls.iter()).any(|(bit, is_valid)| bit && is_valid),
    })
}

//! How often loops over rows check whether their statement is cancelled.

use volley_error::Result;
use volley_memory::check_cancelled;

/// Rows between two checks: some milliseconds where rows are hashed.
pub(crate) const CHECK_ROWS: usize = 1 << 16;

/// Checks at every 65,536th row whether the statement is cancelled; `row` is the one that a loop is
/// at.
///
/// # Errors
///
/// Cancelled.
pub fn check_at_row(row: usize) -> Result<()> {
    if row.is_multiple_of(CHECK_ROWS) { check_cancelled() } else { Ok(()) }
}

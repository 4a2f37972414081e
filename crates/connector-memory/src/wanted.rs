//! How often loops over rows ask whether anybody still waits for them.

use volley_error::{Result, check_wanted};

/// Rows between two questions: some milliseconds where rows are hashed.
pub(crate) const CHECK_ROWS: usize = 1 << 16;

/// Asks at every so many rows, `row` being the one that a loop is at.
pub(crate) fn check_now_and_then(row: usize) -> Result<()> {
    if row.is_multiple_of(CHECK_ROWS) { check_wanted() } else { Ok(()) }
}

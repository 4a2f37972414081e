//! Where the columns of a window are.

use super::WindowColumn;
use volley_error::{Error, Result};

/// Columns begin at a multiple of this number of bytes: any value is aligned, and a cache line has
/// values of one column.
const ALIGNMENT: usize = 64;

/// Consecutive bytes of a window: the values of a column, or a byte per row that says whether there
/// is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) column: usize,
    /// Bytes per row.
    pub(super) width: usize,
    pub(super) content: Content,
}

/// What a region has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Values,
    Validity,
}

/// The regions of a window with these columns, whose nulls are those of all ranks.
pub(super) fn regions_of(columns: &[WindowColumn]) -> Vec<Region> {
    let values = columns.iter().enumerate().filter(|it| it.1.width > 0);
    let values =
        values.map(|(column, it)| Region { column, width: it.width, content: Content::Values });
    let has_validity = columns.iter().enumerate().filter(|it| it.1.width > 0 && it.1.nulls > 0);
    let validity =
        has_validity.map(|(column, _)| Region { column, width: 1, content: Content::Validity });
    values.chain(validity).collect()
}

/// Where each region of a window of `rows` rows begins; at last, its size in bytes.
///
/// # Errors
///
/// Unsupported: more bytes than there are addresses.
pub(super) fn starts(regions: &[Region], rows: u64) -> Result<Vec<usize>> {
    let rows = usize::try_from(rows).map_err(|_| too_large())?;
    let mut starts = vec![0usize];
    let mut end = 0usize;
    for region in regions {
        let bytes = rows.checked_mul(region.width).and_then(|it| {
            let aligned = it.checked_next_multiple_of(ALIGNMENT)?;
            end.checked_add(aligned)
        });
        end = bytes.ok_or_else(too_large)?;
        starts.push(end);
    }
    Ok(starts)
}

/// The bytes of a window of `rows` rows.
///
/// # Errors
///
/// As [`starts`].
pub(super) fn room(regions: &[Region], rows: u64) -> Result<usize> {
    Ok(starts(regions, rows)?.last().copied().unwrap_or(0))
}

fn too_large() -> Error {
    Error::unsupported("a window of more bytes than this machine can address")
}

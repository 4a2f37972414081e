//! Scans by key: the conditions of a scan name keys, whose rows are found by indexes.
//!
//! Splits are those of any scan, and a source reads of each the rows that were found. Keys of joins
//! are known when the first source is made; until then splits are listed as if there were none.

use crate::{key::is_lookup, scan::ScanShared, split::SplitRows};
use std::sync::Arc;
use volley_connector::KeyLookup;
use volley_error::{Error, Result};
use volley_pdt::{RowId, RowName};
use volley_storage::{BLOCK_ROWS, TableView};
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// The rows that a scan may have, in the order of its splits.
pub(crate) type FoundRows = Arc<[RowId]>;

impl ScanShared {
    /// The rows with keys that the conditions name by now; `None` if they name none.
    pub(crate) fn find(&self) -> Result<Option<FoundRows>> {
        let (view, entry) = (&self.view, &self.entry);
        let keys = entry.definition.key_columns();
        let Some(lookup) = KeyLookup::of(&self.request, &entry.columns, keys) else {
            return Ok(None);
        };
        if !is_lookup(lookup.keys.rows(), view) {
            return Ok(None);
        }
        let found = view.find(&lookup.columns, &lookup.keys)?;
        Ok(found.map(|it| {
            let mut rows: Vec<RowId> = it.iter().map(|it| it.row).collect();
            let position =
                |of: &RowId| view.segments.iter().position(|it| it.segment_id() == of.segment);
            rows.sort_by_cached_key(|it| (position(it), it.row));
            rows.into()
        }))
    }
}

impl SplitRows {
    /// The split that has a row.
    pub(crate) fn of_row(row: RowId) -> SplitRows {
        let block = match row.row {
            RowName::Base(sid) => Some(sid / BLOCK_ROWS),
            RowName::Inserted(_) => None,
        };
        SplitRows { segment: row.segment, block }
    }
}

/// The rows with these ids; the column behind the table's last one has the ids.
pub(crate) fn read_rows(view: &TableView, ids: &[RowId], columns: &[usize]) -> Result<Batch> {
    let id_column = view.types.len();
    let stored: Vec<usize> = columns.iter().copied().filter(|it| *it != id_column).collect();
    let mut read = view.fetch(ids, &stored)?.into_columns().into_iter();
    let packed = || {
        Vector::native::<i64>(
            Type::BigInt,
            ids.iter().map(|it| it.pack()).collect::<Vec<i64>>(),
            None,
        )
    };
    let vectors = columns.iter().map(|column| match *column == id_column {
        true => Ok(packed()),
        false => read.next().ok_or_else(|| Error::internal("no such column")),
    });
    Ok(Batch::new(vectors.collect::<Result<_>>()?, ids.len()))
}

//! Bounds of the values that one segment's changes wrote, kept from version to version.
//!
//! Inserted and modified values widen the bounds; deletes are ignored.

use super::delta::{IndexCache, Indexed};
use crate::{SegmentView, bounds_of, union_bounds};
use std::sync::{Arc, PoisonError};
use volley_connector::Bounds;
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_pdt::{Chunk, ColumnValues, Layer};
use volley_vector::Vector;

/// Bounds of values that changes wrote.
#[derive(Clone, Debug)]
pub struct ChangeBounds {
    /// Inserted rows with ids below this have been seen.
    end_id: u32,
    /// Inserted rows, also those that were deleted later.
    pub inserted: u64,
    /// By column.
    pub columns: Vec<ColumnChanges>,
}

/// Bounds of the values of one column that changes wrote.
#[derive(Clone, Debug)]
pub struct ColumnChanges {
    /// Of all inserted and modified values.
    pub bounds: Bounds,
    /// How many values that are.
    pub values: u64,
    /// Modified values seen, by layer.
    modified: [u32; 2],
}

impl ColumnChanges {
    /// How many values were modified.
    pub fn modified(&self) -> u64 {
        self.modified.iter().map(|it| u64::from(*it)).sum()
    }

    fn add(&mut self, values: &Vector) -> Result<()> {
        let rows = values.len() as u64;
        let of_values = bounds_of(&values.flatten()?)?;
        self.bounds = union_bounds(&self.bounds, self.values, &of_values, rows);
        self.values += rows;
        Ok(())
    }
}

impl ChangeBounds {
    fn new(columns: usize, first_id: u32) -> ChangeBounds {
        let bounds = Bounds { nulls: Some(0), ..Bounds::default() };
        let column = ColumnChanges { bounds, values: 0, modified: [0; 2] };
        ChangeBounds { end_id: first_id, inserted: 0, columns: vec![column; columns] }
    }

    fn is_current(&self, indexed: Indexed<'_>) -> bool {
        let layers = indexed.layers();
        let is_seen = |column: usize| {
            let seen = self.columns.get(column).map(|it| it.modified).unwrap_or_default();
            layers
                .iter()
                .zip(seen)
                .all(|(it, seen)| values_of(it, column).map_or(0, Chunks::end) == seen)
        };
        self.end_id == indexed.end_id() && (0..self.columns.len()).all(is_seen)
    }

    /// Whether this is of an earlier state.
    fn is_earlier(&self, indexed: Indexed<'_>) -> bool {
        let layers = indexed.layers();
        let is_less = |column: usize| {
            let seen = self.columns.get(column).map(|it| it.modified).unwrap_or_default();
            layers
                .iter()
                .zip(seen)
                .all(|(it, seen)| seen <= values_of(it, column).map_or(0, Chunks::end))
        };
        self.end_id <= indexed.end_id() && (0..self.columns.len()).all(is_less)
    }

    /// Adds what was written since.
    fn extend(&mut self, indexed: Indexed<'_>) -> Result<()> {
        for (number, layer) in indexed.layers().into_iter().enumerate() {
            check_cancelled()?;
            for (chunk, rows) in layer.values().inserts.since(self.end_id) {
                let Some(first) = rows.first().map(|it| it.1 as usize) else { continue };
                self.inserted += rows.len() as u64;
                for (changes, values) in self.columns.iter_mut().zip(chunk.rows.columns()) {
                    changes.add(&values.slice(first, rows.len()))?;
                }
            }
            for (column, changes) in self.columns.iter_mut().enumerate() {
                let Some(values) = values_of(&layer, column) else { continue };
                let Some(seen) = changes.modified.get(number).copied() else { continue };
                for (first, chunk) in values.iter().filter(|it| it.0 + it.1.span() > seen) {
                    let skipped = seen.saturating_sub(first) as usize;
                    let left = chunk.values.len() - skipped;
                    changes.add(&chunk.values.slice(skipped, left))?;
                }
                changes.modified.iter_mut().skip(number).take(1).for_each(|it| *it = values.end());
            }
        }
        self.end_id = indexed.end_id();
        Ok(())
    }
}

type Chunks = ColumnValues;

fn values_of<'a>(layer: &Layer<'a>, column: usize) -> Option<&'a Chunks> {
    layer.values().column(column as u32)
}

impl IndexCache {
    /// Bounds of the values of `indexed`, brought up to date.
    fn change_bounds(
        &self,
        segment: u32,
        columns: usize,
        indexed: Indexed<'_>,
    ) -> Result<Arc<ChangeBounds>> {
        let lock = || self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&segment).cloned();
        if let Some(known) = known.as_ref().filter(|it| it.is_current(indexed)) {
            return Ok(Arc::clone(known));
        }
        let known = known.filter(|it| it.columns.len() == columns && it.is_earlier(indexed));
        let mut bounds = match known {
            Some(known) => (*known).clone(),
            None => ChangeBounds::new(columns, indexed.first_id()),
        };
        bounds.extend(indexed)?;
        let bounds = Arc::new(bounds);
        lock().insert(segment, Arc::clone(&bounds));
        Ok(bounds)
    }
}

impl SegmentView {
    /// Bounds of the values that committed changes wrote, and of those of the transaction.
    ///
    /// # Errors
    ///
    /// Cancelled; internal: a value that cannot be read.
    pub fn change_bounds(&self) -> Result<Vec<Arc<ChangeBounds>>> {
        let (version, columns) = (self.version(), self.version().layers.write.types().len());
        let id = self.segment_id();
        let committed = Indexed::Committed(&version.layers);
        let mut bounds = vec![version.indexes.change_bounds(id, columns, committed)?];
        if let Some(own) = self.own() {
            let own = Indexed::Own(&version.layers, own);
            bounds.push(self.own_indexes().change_bounds(id, columns, own)?);
        }
        Ok(bounds)
    }
}

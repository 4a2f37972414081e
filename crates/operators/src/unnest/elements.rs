//! Elements of lists and maps.

use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Decoded, NullBuffer, Values, Vector};

/// The elements of the lists in a column.
pub(super) struct Elements {
    /// Where each row's elements stand; empty for a null.
    ranges: Vec<Range<u32>>,
    /// The columns that positions stand in: the elements, or keys and values.
    columns: Vec<Vector>,
    /// The elements made, by their positions; of a null, of any element.
    positions: Vec<u32>,
    /// Whether each of them is an element, once some are not.
    present: Option<Vec<bool>>,
}

impl Elements {
    /// The elements of an ARRAY, or the keys and values of a MAP.
    pub(super) fn new(list: &Vector) -> Result<Elements> {
        let decoded = Decoded::new(list)?;
        let range_in = |of: &dyn Fn(usize) -> Range<usize>| {
            let range = |row: usize| match decoded.is_null(row) {
                true => 0..0,
                false => {
                    let range = of(decoded.index(row));
                    range.start as u32..range.end as u32
                }
            };
            (0..decoded.len()).map(range).collect::<Vec<_>>()
        };
        let (ranges, columns) = match decoded.values() {
            Values::Array(nested) => {
                (range_in(&|row| nested.range(row)), vec![nested.elements.loaded()?])
            }
            Values::FixedArray(arrays) => {
                (range_in(&|row| arrays.range(row)), vec![arrays.elements.loaded()?])
            }
            Values::Map(nested) => {
                (range_in(&|row| nested.range(row)), entry_columns(&nested.elements)?)
            }
            _ => (vec![0..0; decoded.len()], vec![none_of(list.data_type())?]),
        };
        Ok(Elements { ranges, columns, positions: Vec::new(), present: None })
    }

    pub(super) fn count(&self, row: usize) -> u64 {
        self.ranges[row].len() as u64
    }

    pub(super) fn make(&mut self, row: usize, from: u64, rows: usize) {
        let range = &self.ranges[row];
        let start = from.min(range.len() as u64) as u32 + range.start;
        let end = range.end.min(start.saturating_add(rows as u32));
        let missing = rows - (end - start) as usize;
        if missing > 0 && self.present.is_none() {
            self.present = Some(vec![true; self.positions.len()]);
        }
        self.positions.extend(start..end);
        if let Some(present) = &mut self.present {
            present.resize(self.positions.len(), true);
            present.resize(self.positions.len() + missing, false);
            self.positions.resize(present.len(), 0);
        }
    }

    pub(super) fn take(&mut self) -> Vec<Vector> {
        let positions = std::mem::take(&mut self.positions);
        let present = self.present.take();
        let taken = |column: &Vector| match &present {
            None => column.select(&positions),
            Some(_) if column.is_empty() => {
                Vector::nulls(column.data_type().clone(), positions.len())
            }
            Some(present) => {
                let nulls = NullBuffer::from_iter(present.iter().copied());
                let base = Arc::new(column.clone());
                Vector::dictionary(positions.clone().into(), base, Some(nulls))
            }
        };
        self.columns.iter().map(taken).collect()
    }
}

/// The keys and the values of a map's entries.
fn entry_columns(entries: &Vector) -> Result<Vec<Vector>> {
    match entries.flatten()?.flat_values() {
        Some(Values::Row { children, .. }) => children.iter().map(Vector::loaded).collect(),
        _ => Err(Error::internal("entries of a map are no rows")),
    }
}

/// No elements of a list of which there is none: the column is null.
fn none_of(data_type: &Type) -> Result<Vector> {
    match data_type {
        Type::Array(element) => Ok(Vector::from_values((**element).clone(), &[])),
        _ => Err(Error::internal("unnest of a column that is no list")),
    }
}

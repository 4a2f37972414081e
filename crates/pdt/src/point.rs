//! Single values of a segment with changes, without flattening the layers.
//!
//! The highest layer that has a value of a row's column decides. So a value costs O(log n) for `n`
//! changes, where a plan costs O(n) once.

use crate::{Change, Column, InsertChunk, Key, Layer, PROVISIONAL, Pdt, Position, Sid, View};
use std::sync::Arc;
use volley_vector::Vector;

/// Where a value is.
#[derive(Clone, Copy, Debug)]
pub enum ValueAt<'a> {
    /// In the base.
    Base(Sid),
    /// In a row of a vector.
    Row(&'a Vector, u32),
}

impl<'a> Layer<'a> {
    /// The value that this layer gives to a column of a row, if it does.
    fn modified(self, key: Key, column: Column) -> Option<(&'a Vector, u32)> {
        let position = Position::column(key, column);
        let entry = self.from(position).next().filter(|it| it.position() == position)?;
        let Change::Modify { value, .. } = entry.change() else { return None };
        let values = self.values().column(column)?;
        let (chunk, first) = values.find(value)?;
        Some((&values.get(chunk)?.values, value - first))
    }

    /// The value that a row was inserted with, if this layer inserted it.
    fn inserted(self, key: Key, column: Column) -> Option<(&'a Vector, u32)> {
        let found = self.values().find(key.id())?;
        let chunk = self.values().inserts.get(found.chunk)?;
        Some((chunk.rows.columns().get(column as usize)?, found.row))
    }

    fn is_transaction(self) -> bool {
        matches!(self, Layer::Tree(delta) if delta.is_transaction())
    }
}

impl<'a> View<'a> {
    /// Where the value of `column` of the row of `key` is, which exists; `None` if there is no such
    /// row. In O(log n).
    pub fn value_at(self, key: Key, column: Column) -> Option<ValueAt<'a>> {
        if let Some((values, row)) = self.layers().rev().find_map(|it| it.modified(key, column)) {
            return Some(ValueAt::Row(values, row));
        }
        if key.is_base() {
            return Some(ValueAt::Base(key.sid()));
        }
        let is_own = key.id() >= PROVISIONAL;
        let mut layers = self.layers().filter(|it| it.is_transaction() == is_own);
        let (values, row) = layers.find_map(|it| it.inserted(key, column))?;
        Some(ValueAt::Row(values, row))
    }

    /// Whether a layer has values of `column`. Rows with these values may be deleted by now.
    pub fn may_modify(self, column: Column) -> bool {
        self.modified_values(column) > 0
    }

    /// How many values of `column` all layers have. It changes with each of them.
    pub fn modified_values(self, column: Column) -> u64 {
        let values = |it: Layer<'_>| it.values().column(column).map_or(0, |it| it.end());
        self.layers().map(|it| u64::from(values(it))).sum()
    }

    /// Whether a layer has inserted rows. They may be deleted by now.
    pub fn has_inserts(self) -> bool {
        self.layers().any(|it| !it.values().inserts.is_empty())
    }
}

impl Pdt {
    /// What the layer is charged to.
    pub fn budget(&self) -> &Arc<crate::Budget> {
        &self.budget
    }
}

impl crate::Inserts {
    /// The rows with ids from `id` on, chunk by chunk: the id of each row, and its position in the
    /// chunk. Some of them may be deleted.
    pub fn since(&self, id: u32) -> impl Iterator<Item = (&InsertChunk, Vec<(u32, u32)>)> {
        let chunks = (0..self.len()).rev().map_while(move |index| {
            let (chunk, first) = (self.get(index)?, self.first(index)?);
            (chunk.end_id(first) > id).then_some((&**chunk, first))
        });
        chunks.map(move |(chunk, first)| {
            let rows = (0..chunk.rows.rows() as u32).map(|row| (chunk.id(first, row), row));
            (chunk, rows.filter(|it| it.0 >= id).collect())
        })
    }
}

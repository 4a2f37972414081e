//! Reads one column of a row group.

use crate::{
    error::corrupt,
    flat::FlatReader,
    nested::NestedReader,
    pages::Pages,
    schema::{Node, NodeKind},
};
use volley_error::Result;
use volley_vector::Vector;

/// A column of a row group, read forward.
pub(crate) struct ColumnReader {
    kind: Kind,
    /// Rows passed or read.
    row: usize,
    rows: usize,
}

enum Kind {
    Flat(FlatReader),
    Nested(NestedReader),
}

impl ColumnReader {
    /// A reader of `node` in a row group of `rows` rows; `pages`: one per leaf, in order.
    pub fn new(node: &Node, mut pages: Vec<Pages>, rows: usize) -> Result<ColumnReader> {
        let kind = match (&node.kind, pages.len()) {
            (NodeKind::Leaf(leaf), 1) if leaf.rep_max == 0 => {
                Kind::Flat(FlatReader::new(pages.remove(0)))
            }
            _ => Kind::Nested(NestedReader::new(node.clone(), pages)),
        };
        Ok(ColumnReader { kind, row: 0, rows })
    }

    /// Reads `rows` rows from row `start` on, or those of them at `selection` (ascending, counted
    /// from `start`). `start` is not before the end of what was read.
    pub fn read(&mut self, start: usize, rows: usize, selection: Option<&[u32]>) -> Result<Vector> {
        let skipped = start.checked_sub(self.row).filter(|_| start + rows <= self.rows);
        let skipped = skipped.ok_or_else(|| corrupt("rows beyond the row group"))?;
        self.row = start + rows;
        match &mut self.kind {
            Kind::Flat(reader) => {
                reader.skip(skipped);
                reader.read(rows, selection)
            }
            Kind::Nested(reader) => {
                reader.skip(skipped)?;
                let all = reader.read(rows)?;
                match selection {
                    Some(selection) if selection.len() < rows => all.gather(selection),
                    _ => Ok(all),
                }
            }
        }
    }

    /// Whether rows are passed over by decoding them.
    pub fn is_nested(&self) -> bool {
        matches!(self.kind, Kind::Nested(_))
    }

    /// Passes over the rows before `row`.
    pub fn pass_to(&mut self, row: usize) -> Result<()> {
        let rows = row.saturating_sub(self.row);
        self.row += rows;
        match &mut self.kind {
            Kind::Flat(reader) => reader.skip(rows),
            Kind::Nested(reader) => reader.skip(rows)?,
        }
        Ok(())
    }

    /// What each of the next `rows` rows takes in pages, as far as that is known; looked at closely
    /// where the column has more than `bytes`.
    pub fn row_bytes(&mut self, rows: usize, bytes: usize) -> usize {
        match &mut self.kind {
            Kind::Flat(reader) => reader.row_bytes(rows, bytes),
            Kind::Nested(reader) => {
                let leaves = reader.leaves.iter_mut();
                // How many entries the next rows have is not known: the next page says nothing.
                leaves.fold(0, |sum: usize, it| sum.saturating_add(it.pages.row_bytes(0, 0)))
            }
        }
    }

    /// The pages of a column without nesting.
    pub fn flat_pages(&mut self) -> Option<&mut Pages> {
        match &mut self.kind {
            Kind::Flat(reader) => Some(&mut reader.pages),
            Kind::Nested(_) => None,
        }
    }

    /// The pages of its leaves.
    pub fn pages(&self) -> Vec<&Pages> {
        match &self.kind {
            Kind::Flat(reader) => vec![&reader.pages],
            Kind::Nested(reader) => reader.leaves.iter().map(|it| &it.pages).collect(),
        }
    }
}

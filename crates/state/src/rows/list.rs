//! Rows of one container.

use volley_memory::RowPtr;

/// Rows of the container that made the list, in any order, with repetitions. A container refuses
/// lists of another one, and lists from before it was cleared.
#[derive(Debug, Default)]
pub struct RowList {
    /// The container's identity.
    pub(super) owner: u64,
    pub(super) rows: Vec<RowPtr>,
    /// Whether the all-null row may be among them.
    pub(super) has_missing: bool,
}

impl RowList {
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The addresses.
    #[inline]
    pub fn pointers(&self) -> &[RowPtr] {
        &self.rows
    }

    /// Forgets the rows.
    #[inline]
    pub fn clear(&mut self) {
        self.rows.clear();
        self.has_missing = false;
    }

    /// Appends the rows of `other`, a list of the same container.
    ///
    /// # Panics
    ///
    /// If it is of another container.
    pub fn append(&mut self, other: &RowList) {
        assert_eq!(self.owner, other.owner, "rows of another container");
        self.rows.extend_from_slice(&other.rows);
        self.has_missing |= other.has_missing;
    }

    /// Keeps the rows at `positions` (ascending).
    pub fn keep(&mut self, positions: &[u32]) {
        for (to, from) in positions.iter().enumerate() {
            self.rows[to] = self.rows[*from as usize];
        }
        self.rows.truncate(positions.len());
    }

    /// The rows from number `first` on.
    pub fn from(&self, first: usize) -> RowList {
        let rows = self.rows[first..].to_vec();
        RowList { owner: self.owner, rows, has_missing: self.has_missing }
    }

    /// The rows at `positions`.
    pub fn pick(&self, positions: &[u32]) -> RowList {
        let rows = positions.iter().map(|it| self.rows[*it as usize]).collect();
        RowList { owner: self.owner, rows, has_missing: self.has_missing }
    }
}

//! What a transaction changed.
//!
//! ```text
//! Changes        the catalog as the transaction sees it, and per table:
//!   TableChange    the version that it changes: the committed one, or one of its own
//!                  segments that it added, changes per segment, keys that it wrote
//! ```
//!
//! A clone shares everything, and is what a savepoint keeps.

use crate::{
    SegmentVersion, TableView, Version,
    key_index::{IndexCache, SortedRuns},
    numbers::Numbers,
    version::{TableVersion, no_table},
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};
use volley_connector::{CatalogSnapshot, KeyHashes, ReferencedKeys, SequenceId, TableId};
use volley_error::Result;
use volley_pdt::{Budget, Pdt};

/// The changes of a transaction.
#[derive(Clone, Debug)]
pub struct Changes {
    /// What the transaction began with.
    pub base: Arc<Version>,
    /// What objects it sees.
    pub catalog: Arc<CatalogSnapshot>,
    /// The tables that it changed, without those that it dropped.
    pub tables: BTreeMap<TableId, Arc<TableChange>>,
    /// The sequences that it made.
    pub numbers: BTreeMap<SequenceId, Arc<Numbers>>,
}

/// Which changes of others conflict with those of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictScope {
    /// Changes of the same rows, or rows with the same keys.
    Rows,
    /// Any change of the table.
    Table,
}

/// The changes of a table.
#[derive(Clone, Debug)]
pub struct TableChange {
    /// What is changed.
    pub table: Arc<TableVersion>,
    /// Whether `table` replaces what is committed.
    pub replaces: bool,
    /// What conflicts.
    pub scope: ConflictScope,
    /// Segments after those of `table`.
    pub added: Vec<Arc<SegmentVersion>>,
    /// Changes of segments, also of added ones, by number.
    pub own: BTreeMap<u32, Arc<Pdt>>,
    /// Hashes of the keys that were written, by the positions of the key's columns.
    pub keys: BTreeMap<Vec<usize>, SortedRuns<u64>>,
    /// Keys that foreign keys need until the commit.
    pub references: ReferenceHashes,
    /// Whether committed rows were changed or removed.
    pub has_old_rows: bool,
    /// Of `own`.
    pub(crate) indexes: OwnIndexes,
}

/// A table, and the columns of a key.
pub(crate) type KeyOf = (TableId, Vec<usize>);

/// Hashes of keys that the changes of a table reference, and of those that they removed.
#[derive(Clone, Debug, Default)]
pub struct ReferenceHashes {
    /// Keys of other tables that written rows reference.
    pub(crate) required: BTreeMap<KeyOf, SortedRuns<u64>>,
    /// Keys that a foreign key may reference, and that no row has any more.
    pub(crate) removed: BTreeMap<KeyOf, SortedRuns<u64>>,
}

impl ReferenceHashes {
    /// Adds the keys of a statement, charged to `budget`.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn add(&mut self, keys: ReferencedKeys, budget: &Arc<Budget>) -> Result<()> {
        let ReferencedKeys { required, removed } = keys;
        for (keys, to) in [(required, &mut self.required), (removed, &mut self.removed)] {
            for KeyHashes { table, columns, hashes } in keys {
                let of_key = to.entry((table, columns)).or_default();
                *of_key = of_key.with(hashes, budget)?;
            }
        }
        Ok(())
    }
}

/// Indexes of a transaction's changes, shared with views of them. A clone has indexes of its own.
#[derive(Debug, Default)]
pub(crate) struct OwnIndexes(pub(crate) Arc<IndexCache>);

impl Clone for OwnIndexes {
    fn clone(&self) -> Self {
        OwnIndexes(Arc::new((*self.0).clone()))
    }
}

impl Changes {
    /// No changes of `base`.
    pub fn new(base: Arc<Version>) -> Changes {
        let catalog = Arc::clone(&base.catalog);
        Changes { base, catalog, tables: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.numbers.is_empty() && self.catalog == self.base.catalog
    }

    /// The rows of a table as the transaction sees them.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table.
    pub fn view(&self, table: TableId) -> Result<TableView> {
        self.check_visible(table)?;
        match self.tables.get(&table) {
            Some(change) => Ok(change.view()),
            None => Ok(TableView::committed(self.base.table(table)?)),
        }
    }

    fn check_visible(&self, table: TableId) -> Result<()> {
        let is_same = Arc::ptr_eq(&self.catalog, &self.base.catalog);
        let is_visible = is_same || self.catalog.table(table).is_some();
        if is_visible { Ok(()) } else { Err(no_table()) }
    }

    /// The numbers of a sequence that the transaction sees.
    pub fn numbers(&self, sequence: SequenceId) -> Option<&Arc<Numbers>> {
        let found = self.numbers.get(&sequence).or_else(|| self.base.numbers.get(&sequence))?;
        let mut schemas = self.catalog.schemas.values();
        let is_visible = schemas.any(|it| it.sequences.values().any(|entry| entry.id == sequence));
        is_visible.then_some(found)
    }

    /// The changes of a table, to add to them.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table.
    pub fn table_mut(&mut self, table: TableId) -> Result<&mut TableChange> {
        self.check_visible(table)?;
        let change = match self.tables.entry(table) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let change = TableChange::of(Arc::clone(self.base.table(table)?));
                entry.insert(Arc::new(change))
            }
        };
        Ok(Arc::make_mut(change))
    }
}

impl TableChange {
    /// No changes of a committed table.
    pub fn of(table: Arc<TableVersion>) -> TableChange {
        TableChange {
            table,
            replaces: false,
            scope: ConflictScope::Rows,
            added: Vec::new(),
            own: BTreeMap::new(),
            keys: BTreeMap::new(),
            references: ReferenceHashes::default(),
            has_old_rows: false,
            indexes: OwnIndexes::default(),
        }
    }

    /// A version that replaces the committed one.
    pub fn replacing(table: TableVersion) -> TableChange {
        let scope = ConflictScope::Table;
        TableChange { replaces: true, scope, ..TableChange::of(Arc::new(table)) }
    }

    /// The rows as the transaction sees them.
    pub fn view(&self) -> TableView {
        TableView::changed(self)
    }

    /// All segments, in the order of rows.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &Arc<SegmentVersion>> {
        self.table.segments.iter().chain(&self.added)
    }

    /// The segment with this number.
    pub fn segment(&self, id: u32) -> Option<&Arc<SegmentVersion>> {
        self.segments().find(|it| it.segment.id() == id)
    }

    /// Notes that keys were written, charged to `budget`.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn add_keys(
        &mut self,
        columns: &[usize],
        hashes: impl IntoIterator<Item = u64>,
        budget: &Arc<Budget>,
    ) -> Result<()> {
        let of_key = self.keys.entry(columns.to_vec()).or_default();
        *of_key = of_key.with(hashes.into_iter().collect(), budget)?;
        Ok(())
    }
}

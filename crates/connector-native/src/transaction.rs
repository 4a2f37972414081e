//! A transaction.

use crate::{change, database::NativeSnapshot, define, writer::NativeWriter};
use std::{any::Any, sync::Arc};
use volley_connector::{
    ChangeCollector, Changed, Definition, Mark, RowChanges, Snapshot, TableId, TableWriter,
    Transaction, WriteGuard, WriteKind,
};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_storage::{Changes, OpenTransaction, Storage, TableDescription};

/// A transaction. Changes are shared with its snapshots and marks, and copied where they change.
#[derive(Debug)]
pub(crate) struct NativeTransaction {
    open: OpenTransaction,
    changes: Arc<Changes>,
    /// If it changes one table alone: which, and the right to do so.
    turn: Option<(TableId, WriteGuard)>,
}

impl NativeTransaction {
    pub(crate) fn new(
        open: OpenTransaction,
        turn: Option<(TableId, WriteGuard)>,
    ) -> NativeTransaction {
        let changes = Arc::new(Changes::new(Arc::clone(open.version())));
        NativeTransaction { open, changes, turn }
    }

    fn storage(&self) -> &Arc<Storage> {
        self.open.storage()
    }

    fn check_turn(&self, table: Option<TableId>) -> Result<()> {
        match &self.turn {
            Some(turn) if table != Some(turn.0) => {
                Err(Error::internal("a transaction of one table changes something else"))
            }
            _ => Ok(()),
        }
    }
}

impl Transaction for NativeTransaction {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let (storage, changes) = (Arc::clone(self.storage()), Arc::clone(&self.changes));
        Arc::new(NativeSnapshot::new(storage, changes))
    }

    fn define(&mut self, change: Definition) -> Result<()> {
        let table = match &change {
            Definition::AlterTable { table, .. } => Some(*table),
            _ => None,
        };
        self.check_turn(table)?;
        let mut changes = (*self.changes).clone();
        define::apply(&mut changes, change, self.storage())?;
        self.changes = Arc::new(changes);
        Ok(())
    }

    fn change(&mut self, table: TableId, rows: RowChanges) -> Result<Changed> {
        self.check_turn(Some(table))?;
        let mut changes = (*self.changes).clone();
        let changed = change::apply(&mut changes, table, rows, self.storage())?;
        self.changes = Arc::new(changes);
        Ok(changed)
    }

    fn writer(
        &self,
        table: TableId,
        kind: &WriteKind,
        pool: &Pool,
    ) -> Result<Arc<dyn TableWriter>> {
        let columns = self.changes.catalog.table(table).map(|it| &it.1.columns);
        let columns = columns.ok_or_else(|| Error::invalid_query("no such table"))?;
        let description = TableDescription::of(&self.changes.catalog, table);
        let to = (&**self.storage(), pool);
        let inserts = Arc::new(NativeWriter::new(table, columns, description, to));
        Ok(Arc::new(ChangeCollector::new(kind.clone(), columns, inserts, pool)))
    }

    fn apply(&mut self, table: TableId, writer: Arc<dyn TableWriter>) -> Result<Changed> {
        self.check_turn(Some(table))?;
        let other = || Error::internal("a writer of something else");
        let writer: &dyn Any = &*writer;
        let collector = writer.downcast_ref::<ChangeCollector>().ok_or_else(other)?;
        let inserts: &dyn Any = &**collector.inserts();
        let inserts = inserts.downcast_ref::<NativeWriter>().filter(|it| it.table() == table);
        let parts = inserts.ok_or_else(other)?.take();
        let (rows, _charge) = collector.take()?;
        let mut changes = (*self.changes).clone();
        let changed = change::apply_written(&mut changes, table, rows, parts, self.storage())?;
        self.changes = Arc::new(changes);
        Ok(changed)
    }

    fn mark(&self) -> Mark {
        Mark(Arc::clone(&self.changes) as _)
    }

    fn roll_back_to(&mut self, mark: &Mark) -> Result<()> {
        let changes = Arc::clone(&mark.0).downcast::<Changes>();
        self.changes = changes.map_err(|_| Error::internal("a mark of another database"))?;
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let NativeTransaction { open, changes, turn } = *self;
        let storage = Arc::clone(open.storage());
        let changes = Arc::unwrap_or_clone(changes);
        open.commit(changes)?;
        drop(turn);
        // The commit is done. What a job reports is reported by the next one that is due.
        if let Some(job) = storage.due() {
            let _ = storage.run(job);
        }
        Ok(())
    }
}

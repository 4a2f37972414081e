//! Databases: tables and other named objects that change by transactions.

use crate::{
    CatalogSnapshot, ChangeCollector, Changed, ColumnDefinition, DatabaseSize, DefinedObject,
    Maintenance, ObjectKind, RowChanges, RowCollector, RowUpdates, SequenceId, StoredBlock, Table,
    TableDefinition, TableId, TableWriter, WriteKind,
};
use std::{any::Any, fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::{Field, Schema, Type};

/// Schemas with tables, views and other objects, which change by transactions.
///
/// ```text
/// snapshot()      ──> Snapshot: the catalog and the tables as they were at one moment
/// begin(access)   ──> Transaction: a snapshot that sees its own changes ── commit
/// ```
///
/// The function `database` of the crate `volley-connector-testkit` checks an implementation.
pub trait Database: Send + Sync + fmt::Debug {
    /// What is committed now.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>>;

    /// Begins a transaction, which sees what is committed now.
    ///
    /// # Errors
    ///
    /// I/O; cancelled, while the transaction waited for its turn; invalid query: no such table.
    fn begin(&self, access: Access) -> Result<Box<dyn Transaction>>;

    /// Does work that changes no answer. Databases in memory need none.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory, cancelled; invalid query: no such table, a database that is
    /// read only.
    fn maintain(&self, work: Maintenance) -> Result<()> {
        let _ = work;
        Ok(())
    }

    /// Makes the next opening fast: the database is not used any more. Commits are durable without
    /// it.
    ///
    /// # Errors
    ///
    /// I/O, out of memory.
    fn close(&self) -> Result<()> {
        Ok(())
    }

    /// What it takes on disk.
    ///
    /// # Errors
    ///
    /// I/O.
    fn size(&self) -> Result<DatabaseSize> {
        Ok(DatabaseSize::default())
    }

    /// How the committed rows of a table are stored; nothing of one in memory.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. I/O, corruption.
    fn stored_blocks(&self, table: TableId) -> Result<Vec<StoredBlock>> {
        let _ = table;
        Ok(Vec::new())
    }
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may change anything; a change by another transaction that commits first is a conflict.
    Any,
    /// It changes this table and nothing else. Such transactions take turns: each waits until the
    /// one before has ended, and sees its changes, so that they never conflict with each other.
    OneTable(TableId),
    /// It changes a few rows of this table and nothing else. Such transactions may run at the same
    /// time, and conflict with each other where they change the same row or key; transactions of
    /// one table wait for them, and they for those. A database may let them take turns.
    Rows(TableId),
}

/// The contents of a database at one moment.
pub trait Snapshot: Send + Sync + fmt::Debug {
    /// What objects there are.
    fn catalog(&self) -> &Arc<CatalogSnapshot>;

    /// The rows of a table.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table.
    fn table(&self, table: TableId) -> Result<Arc<dyn Table>>;

    /// Takes numbers of a sequence, without a gap between them, and returns how many there were.
    /// Numbers are no part of a transaction: each is given out once, whatever becomes of it.
    ///
    /// # Errors
    ///
    /// Invalid query: no such sequence.
    fn take_numbers(&self, sequence: SequenceId, numbers: &mut [i64]) -> Result<usize>;

    /// The number that a sequence gives next, which stays there; `None` at its end. If another
    /// process takes numbers, it may have taken this one.
    ///
    /// # Errors
    ///
    /// Invalid query: no such sequence.
    fn next_number(&self, sequence: SequenceId) -> Result<Option<i64>>;
}

/// Changes that become visible to others at once, by the commit. Dropping a transaction rolls it
/// back. A failed operation leaves the transaction as it was.
pub trait Transaction: Send + fmt::Debug {
    /// What the transaction sees now, its own changes included.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Changes what objects there are.
    ///
    /// # Errors
    ///
    /// Invalid query: a name that is taken, no such object. Invalid value: rows that a new
    /// definition does not allow. Out of memory.
    fn define(&mut self, change: Definition) -> Result<()>;

    /// Changes the rows of a table.
    ///
    /// # Errors
    ///
    /// Invalid value: null in a column that is not null, a key that another row has. Out of memory.
    /// Cancelled. Internal: an id of another snapshot.
    fn change(&mut self, table: TableId, changes: RowChanges) -> Result<Changed>;

    /// Receives the rows of a statement, which [`Transaction::apply`] makes changes of a table.
    /// Existing rows are named by their ids in the snapshot of this moment. Until then the rows are
    /// charged to `pool`, or as rows of the table are.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table.
    fn writer(
        &self,
        table: TableId,
        kind: &WriteKind,
        pool: &Pool,
    ) -> Result<Arc<dyn TableWriter>> {
        let table = self.snapshot().table(table)?;
        let inserts = Arc::new(RowCollector::new(table.schema(), pool));
        Ok(Arc::new(ChangeCollector::new(kind.clone(), table.schema(), inserts, pool)))
    }

    /// Makes the changes that the sinks of a writer of this transaction received, once all of them
    /// have finished.
    ///
    /// # Errors
    ///
    /// As [`Transaction::change`]. Invalid value: a MERGE that changes a row twice. Internal: a
    /// writer of something else.
    fn apply(&mut self, table: TableId, writer: Arc<dyn TableWriter>) -> Result<Changed> {
        let writer: &dyn Any = &*writer;
        let collector = writer.downcast_ref::<ChangeCollector>();
        let collector = collector.ok_or_else(|| Error::internal("a writer of something else"))?;
        let inserts: &dyn Any = &**collector.inserts();
        let inserts = inserts.downcast_ref::<RowCollector>();
        let inserts = inserts.ok_or_else(|| Error::internal("a writer of something else"))?;
        let (changes, _changes_charge) = collector.take()?;
        let (inserted, _inserts_charge) = inserts.take();
        self.change(table, RowChanges { inserted, ..changes })
    }

    /// Marks the changes so far.
    fn mark(&self) -> Mark;

    /// Discards the changes since a mark of this transaction.
    ///
    /// # Errors
    ///
    /// Internal: a mark of another database.
    fn roll_back_to(&mut self, mark: &Mark) -> Result<()>;

    /// Makes all changes visible, or none.
    ///
    /// # Errors
    ///
    /// Invalid query: another transaction committed a change of the same table or object. I/O.
    /// Cancelled.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// The changes of a transaction up to one moment.
#[derive(Clone)]
pub struct Mark(
    /// What the database needs to get back there.
    pub Arc<dyn Any + Send + Sync>,
);

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mark")
    }
}

/// A change of what objects there are. Names of schemas and objects ignore case.
#[derive(Debug)]
pub enum Definition {
    /// Adds a schema.
    CreateSchema {
        /// Its name.
        name: String,
    },
    /// Removes a schema with all that is in it.
    DropSchema {
        /// Its name.
        name: String,
    },
    /// Adds a table without rows.
    CreateTable {
        /// Its schema.
        schema: String,
        /// Its name, which no table or view of the schema has.
        name: String,
        /// Its columns.
        columns: Schema,
        /// What holds for its rows.
        definition: TableDefinition,
    },
    /// Changes a table.
    AlterTable {
        /// The table.
        table: TableId,
        /// How.
        change: TableChange,
    },
    /// Adds a view, sequence, type or macro, or replaces one of its name and kind.
    Put {
        /// Its schema.
        schema: String,
        /// The object.
        object: DefinedObject,
    },
    /// Removes an object.
    Drop {
        /// Its schema.
        schema: String,
        /// What it is.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
}

/// A change of a table.
#[derive(Debug)]
pub enum TableChange {
    /// Another name, in the same schema or another one.
    Rename {
        /// The schema.
        schema: String,
        /// The name, which no table or view of the schema has.
        name: String,
    },
    /// One more column behind the last.
    AddColumn {
        /// The column.
        field: Field,
        /// What holds for it.
        definition: ColumnDefinition,
        /// A value for each row.
        values: Vec<RowUpdates>,
    },
    /// Other values of another type.
    RetypeColumn {
        /// Position of the column.
        index: usize,
        /// Its new type.
        data_type: Type,
        /// The types made by CREATE TYPE that the type was written with.
        named_types: Vec<String>,
        /// A value for each row.
        values: Vec<RowUpdates>,
    },
    /// One column less.
    DropColumn {
        /// Position of the column.
        index: usize,
    },
    /// Another name of a column.
    RenameColumn {
        /// Position of the column.
        index: usize,
        /// The name.
        name: String,
    },
    /// What holds for the rows, which are checked (without CHECK conditions).
    Define {
        /// The definition.
        definition: TableDefinition,
    },
    /// Comments, and nothing that rows could break.
    Comment {
        /// The definition with the comments.
        definition: TableDefinition,
    },
}

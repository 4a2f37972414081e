//! A database in memory.
//!
//! ```text
//! committed: State ── begin ──> base ── define, change ──> state (versions of its own)
//!     └──────────── commit: what differs between base and state, if it is still as in base
//! ```
//!
//! A state is immutable and shares what did not change. Each version of a table has a number; a
//! table of which another transaction committed a version since the beginning is a conflict. A
//! transaction of one table holds the table's lock from its beginning. Any other takes the locks of
//! the tables that it changed for its commit, so that the first one cannot lose its turn.

mod define;
mod foreign_key;
mod merge;
mod sequence;
#[cfg(test)]
mod tests;

use crate::{MemoryTable, writer::MemoryWriter};
use foreign_key::Before;
use sequence::Numbers;
use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_connector::{
    Access, CatalogSnapshot, ChangeCollector, Changed, Database, Definition, Mark, RowChanges,
    SequenceId, Snapshot, Table, TableId, TableWriter, Transaction, WriteGuard, WriteKind,
    WriteLock,
};
use volley_error::{Error, Result};
use volley_memory::Pool;

/// A database whose tables are in memory. Cheap to clone; clones are the same database.
#[derive(Clone, Debug)]
pub struct MemoryDatabase(Arc<Shared>);

struct Shared {
    /// What names of its tables in plans begin with; empty for the database `memory`.
    prefix: String,
    committed: RwLock<Arc<State>>,
    /// The next identity of a table or sequence, and number of a version.
    next: AtomicU64,
    /// What tables are charged to.
    pool: Pool,
}

/// What there is at one moment.
#[derive(Clone, Debug)]
struct State {
    catalog: Arc<CatalogSnapshot>,
    tables: BTreeMap<TableId, Version>,
    numbers: BTreeMap<SequenceId, Arc<Numbers>>,
}

/// A version of a table.
#[derive(Clone, Debug)]
struct Version {
    /// No other version of any table has it.
    number: u64,
    table: Arc<MemoryTable>,
}

impl MemoryDatabase {
    /// A database with the empty schema `main`; its tables are charged to `pool`.
    pub fn new(pool: &Pool) -> MemoryDatabase {
        MemoryDatabase::with_prefix(String::new(), pool)
    }

    /// As [`MemoryDatabase::new`]; plans show its tables with `name` before them, so that they are
    /// told from those of other databases that a statement reads.
    pub fn named(name: &str, pool: &Pool) -> MemoryDatabase {
        MemoryDatabase::with_prefix(format!("{name}."), pool)
    }

    fn with_prefix(prefix: String, pool: &Pool) -> MemoryDatabase {
        let catalog = Arc::new(CatalogSnapshot::with_main());
        let state = State { catalog, tables: BTreeMap::new(), numbers: BTreeMap::new() };
        MemoryDatabase(Arc::new(Shared {
            prefix,
            committed: RwLock::new(Arc::new(state)),
            next: AtomicU64::new(1),
            pool: pool.clone(),
        }))
    }
}

impl Shared {
    fn committed(&self) -> Arc<State> {
        Arc::clone(&self.committed.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the turn to change a table.
    fn lock(&self, table: TableId) -> Result<WriteGuard> {
        let lock = Arc::clone(self.committed().version(table)?.table.lock());
        lock.acquire()
    }
}

impl Database for MemoryDatabase {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(MemorySnapshot(self.0.committed())))
    }

    fn begin(&self, access: Access) -> Result<Box<dyn Transaction>> {
        let turn = match access {
            Access::Any => None,
            Access::OneTable(table) | Access::Rows(table) => {
                Some(Turn { table, _guard: self.0.lock(table)? })
            }
        };
        let base = self.0.committed();
        if let Some(turn) = &turn {
            // It may have been dropped meanwhile.
            base.version(turn.table)?;
        }
        let state = Arc::clone(&base);
        Ok(Box::new(MemoryTransaction { shared: Arc::clone(&self.0), base, state, turn }))
    }
}

impl State {
    fn version(&self, table: TableId) -> Result<&Version> {
        self.tables.get(&table).ok_or_else(|| {
            let error = Error::invalid_query("the table does not exist any more");
            error.hint("another statement dropped it")
        })
    }
}

#[derive(Debug)]
struct MemorySnapshot(Arc<State>);

impl Snapshot for MemorySnapshot {
    fn catalog(&self) -> &Arc<CatalogSnapshot> {
        &self.0.catalog
    }

    fn table(&self, table: TableId) -> Result<Arc<dyn Table>> {
        Ok(Arc::clone(&self.0.version(table)?.table) as _)
    }

    fn take_numbers(&self, sequence: SequenceId, numbers: &mut [i64]) -> Result<usize> {
        let found = self.0.numbers.get(&sequence);
        let missing = || Error::invalid_query("the sequence does not exist any more");
        Ok(found.ok_or_else(missing)?.take(numbers))
    }

    fn next_number(&self, sequence: SequenceId) -> Result<Option<i64>> {
        let found = self.0.numbers.get(&sequence);
        let missing = || Error::invalid_query("the sequence does not exist any more");
        Ok(found.ok_or_else(missing)?.next())
    }
}

#[derive(Debug)]
struct MemoryTransaction {
    shared: Arc<Shared>,
    /// What it began with.
    base: Arc<State>,
    /// What it made of it.
    state: Arc<State>,
    /// If it changes one table alone.
    turn: Option<Turn>,
}

/// The turn of a transaction of one table.
#[derive(Debug)]
struct Turn {
    table: TableId,
    _guard: WriteGuard,
}

impl Transaction for MemoryTransaction {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(MemorySnapshot(Arc::clone(&self.state)))
    }

    fn define(&mut self, change: Definition) -> Result<()> {
        if let Some(turn) = &self.turn {
            let is_own =
                matches!(&change, Definition::AlterTable { table, .. } if *table == turn.table);
            if !is_own {
                return Err(other_object());
            }
        }
        self.state = Arc::new(define::apply(&self.state, change, &self.shared)?);
        Ok(())
    }

    fn change(&mut self, table: TableId, changes: RowChanges) -> Result<Changed> {
        let before = self.before(table, &changes)?;
        self.replace(table, &before, |it| it.change(changes))
    }

    fn writer(
        &self,
        table: TableId,
        kind: &WriteKind,
        pool: &Pool,
    ) -> Result<Arc<dyn TableWriter>> {
        let table = &self.state.version(table)?.table;
        let inserts = Arc::new(MemoryWriter::new(table.schema().clone(), table.pool()));
        Ok(Arc::new(ChangeCollector::new(kind.clone(), table.schema(), inserts, pool)))
    }

    fn apply(&mut self, table: TableId, writer: Arc<dyn TableWriter>) -> Result<Changed> {
        let other = || Error::internal("a writer of something else");
        let writer: &dyn Any = &*writer;
        let collector = writer.downcast_ref::<ChangeCollector>().ok_or_else(other)?;
        let inserts: &dyn Any = &**collector.inserts();
        let inserts = inserts.downcast_ref::<MemoryWriter>().ok_or_else(other)?;
        let (changes, _charge) = collector.take()?;
        let before = self.before(table, &changes)?;
        self.replace(table, &before, |it| it.change_and_add(changes, inserts.take()))
    }

    fn mark(&self) -> Mark {
        Mark(Arc::clone(&self.state) as _)
    }

    fn roll_back_to(&mut self, mark: &Mark) -> Result<()> {
        let state = Arc::clone(&mark.0).downcast::<State>();
        self.state = state.map_err(|_| Error::internal("a mark of another database"))?;
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let locks = self.locks();
        let _guards = locks.iter().map(|it| it.acquire()).collect::<Result<Vec<WriteGuard>>>()?;
        let committed = self.shared.committed.write();
        let mut committed = committed.unwrap_or_else(PoisonError::into_inner);
        *committed = Arc::new(merge::merge(&self.base, &self.state, &committed)?);
        Ok(())
    }
}

impl MemoryTransaction {
    /// What foreign keys need to know of the changes of a table before they are made.
    fn before(&self, table: TableId, changes: &RowChanges) -> Result<Before> {
        Before::of(&self.state.catalog, table, &self.state.version(table)?.table, changes)
    }

    /// Puts the next version of a table in its place.
    fn replace(
        &mut self,
        table: TableId,
        before: &Before,
        next: impl FnOnce(&MemoryTable) -> Result<(MemoryTable, Changed)>,
    ) -> Result<Changed> {
        if self.turn.as_ref().is_some_and(|it| it.table != table) {
            return Err(other_object());
        }
        let (next, changed) = next(&self.state.version(table)?.table)?;
        let mut state = (*self.state).clone();
        let version = Version { number: self.shared.next_number(), table: Arc::new(next) };
        state.tables.insert(table, version);
        before.check(&state, table, &changed)?;
        self.state = Arc::new(state);
        Ok(changed)
    }

    /// The locks of the tables that it changed or dropped, in an order that all transactions share,
    /// without the one that it holds.
    fn locks(&self) -> Vec<Arc<WriteLock>> {
        let is_changed = |(id, old): &(&TableId, &Version)| {
            let new = self.state.tables.get(id);
            new.map(|it| it.number) != Some(old.number)
                && self.turn.as_ref().is_none_or(|it| it.table != **id)
        };
        let changed = self.base.tables.iter().filter(is_changed);
        changed.map(|(_, old)| Arc::clone(old.table.lock())).collect()
    }
}

fn other_object() -> Error {
    Error::internal("a transaction of one table changes something else")
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tables", self.committed().tables.len())
    }
}

//! Transactions of sessions: one transaction of each attached database.
//!
//! All databases are seen as they were when the session's transaction began. It changes at most one
//! of them, besides the temporary one, so that its commit is that of one database.

use crate::{
    databases::{Attached, Databases, RegisteredTables},
    place::TEMPORARY,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};
use volley_connector::{
    Access, CatalogSnapshot, Definition, Mark, ObjectKind, OnCommit, RelationEntry, Snapshot,
    Transaction,
};
use volley_error::{Error, Result};

/// A transaction of a session.
#[derive(Debug)]
pub(crate) struct SessionTransaction {
    /// By the names of databases, in lower case.
    open: BTreeMap<String, Box<dyn Transaction>>,
    /// The registered tables that it began with, and what it made of them.
    registered_before: Arc<RegisteredTables>,
    pub registered: Arc<RegisteredTables>,
    /// The database that it changes, besides the temporary one.
    written: Option<String>,
    /// What it had made when SAVEPOINT gave it a name, in the order of time. A name may repeat.
    savepoints: Vec<(String, Marks)>,
    is_aborted: bool,
    /// When it began, in microseconds since 1970 in UTC: what `now()` is in all its statements.
    pub start_micros: i64,
}

/// What a transaction made up to one moment.
#[derive(Debug)]
struct Marks {
    databases: BTreeMap<String, Mark>,
    registered: Arc<RegisteredTables>,
    written: Option<String>,
}

impl SessionTransaction {
    /// One that begins now, which is `start_micros`.
    pub fn new(registered: Arc<RegisteredTables>, start_micros: i64) -> SessionTransaction {
        SessionTransaction {
            open: BTreeMap::new(),
            registered_before: Arc::clone(&registered),
            registered,
            written: None,
            savepoints: Vec::new(),
            is_aborted: false,
            start_micros,
        }
    }

    /// Begins a transaction of each database that has none yet. Those that cannot begin one are
    /// left out: who reads them learns why.
    pub fn open<'d>(&mut self, databases: impl Iterator<Item = (&'d str, &'d Attached)>) {
        for (name, attached) in databases {
            if !self.open.contains_key(name)
                && let Ok(transaction) = attached.database.begin(Access::Any)
            {
                self.open.insert(name.to_owned(), transaction);
            }
        }
    }

    /// The databases as it sees them.
    pub fn snapshots(&self) -> Vec<(String, Arc<dyn Snapshot>)> {
        self.open.iter().map(|(name, it)| (name.clone(), it.snapshot())).collect()
    }

    /// Changes a database; after an error, it is as it was before.
    pub fn change<T>(
        &mut self,
        database: &str,
        change: impl FnOnce(&mut dyn Transaction) -> Result<T>,
    ) -> Result<T> {
        if database != TEMPORARY {
            self.check_written(database)?;
        }
        let transaction = self.open.get_mut(database);
        let transaction = transaction.ok_or_else(|| {
            Error::invalid_query(format!("the transaction does not see the database {database}"))
        })?;
        let before = transaction.mark();
        match change(transaction.as_mut()) {
            Ok(value) => {
                if database != TEMPORARY {
                    self.written = Some(database.to_owned());
                }
                Ok(value)
            }
            Err(error) => {
                transaction.roll_back_to(&before)?;
                Err(error)
            }
        }
    }

    /// Refuses to change a second database.
    pub fn check_written(&self, database: &str) -> Result<()> {
        match &self.written {
            Some(written) if written != database => {
                let message = format!("a transaction that changed {written} changes {database}");
                Err(Error::unsupported(message).hint("COMMIT first: a transaction changes one"))
            }
            _ => Ok(()),
        }
    }

    /// A statement failed: nothing is left but to end.
    pub fn abort(&mut self) {
        self.is_aborted = true;
    }

    /// Refuses to go on, with this hint, after a statement failed.
    pub fn check_not_aborted(&self, hint: &'static str) -> Result<()> {
        match self.is_aborted {
            true => Err(Error::invalid_query("a statement of the transaction failed").hint(hint)),
            false => Ok(()),
        }
    }

    /// Gives what was made so far a name.
    pub fn save(&mut self, name: &str) -> Result<()> {
        self.check_not_aborted("ROLLBACK ends it")?;
        let databases = self.open.iter().map(|(name, it)| (name.clone(), it.mark())).collect();
        let (registered, written) = (Arc::clone(&self.registered), self.written.clone());
        let marks = Marks { databases, registered, written };
        self.savepoints.push((name.to_lowercase(), marks));
        Ok(())
    }

    /// Discards what was made since the latest savepoint of this name, which stays; the transaction
    /// goes on, even after a statement failed.
    pub fn roll_back_to(&mut self, name: &str) -> Result<()> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at + 1);
        if let Some((_, marks)) = self.savepoints.last() {
            // A database that was attached since begins anew.
            self.open.retain(|name, _| marks.databases.contains_key(name));
            for (name, transaction) in &mut self.open {
                if let Some(mark) = marks.databases.get(name) {
                    transaction.roll_back_to(mark)?;
                }
            }
            self.registered = Arc::clone(&marks.registered);
            self.written.clone_from(&marks.written);
        }
        self.is_aborted = false;
        Ok(())
    }

    /// Discards the latest savepoint of this name and those after it, and nothing else.
    pub fn release(&mut self, name: &str) -> Result<()> {
        self.check_not_aborted("ROLLBACK TO a savepoint lets it go on")?;
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().rposition(|it| it.0 == name.to_lowercase());
        found.ok_or_else(|| {
            let error = Error::invalid_query(format!("no such savepoint: {name}"));
            error.hint(format!("SAVEPOINT {name} makes it"))
        })
    }

    /// Makes all changes visible to others, or none.
    ///
    /// # Errors
    ///
    /// Invalid query: another session changed the same; I/O.
    pub fn commit(mut self, databases: &Databases) -> Result<()> {
        self.check_not_aborted("none of its changes were made; it is rolled back")?;
        let mut temporary = self.open.remove(TEMPORARY);
        if let Some(transaction) = &mut temporary {
            commit_temporary(transaction.as_mut())?;
        }
        let written = self.written.take().and_then(|it| self.open.remove(&it));
        let commit = || {
            written.map_or(Ok(()), |it| it.commit())?;
            temporary.map_or(Ok(()), |it| it.commit())
        };
        if Arc::ptr_eq(&self.registered_before, &self.registered) {
            return commit();
        }
        let mut registered = databases.registered.write().unwrap_or_else(PoisonError::into_inner);
        let merged = merge(&self.registered_before, &self.registered, &registered)?;
        commit()?;
        *registered = Arc::new(merged);
        Ok(())
    }
}

/// The registered tables `shared`, with what differs between `before` and `own`.
fn merge(
    before: &RegisteredTables,
    own: &RegisteredTables,
    shared: &RegisteredTables,
) -> Result<RegisteredTables> {
    let is_same = |a: Option<&_>, b: Option<&crate::Registered>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => b.is_same(a),
        _ => false,
    };
    let mut merged = shared.clone();
    for key in before.keys().chain(own.keys()) {
        let (old, new) = (before.get(key), own.get(key));
        if is_same(old, new) {
            continue;
        }
        if !is_same(old, shared.get(key)) {
            return Err(CatalogSnapshot::conflict(&key.1));
        }
        match new {
            Some(new) => merged.insert(key.clone(), new.clone()),
            None => merged.remove(key),
        };
    }
    Ok(merged)
}

/// Whether COMMIT changes a table of the temporary database.
pub(crate) fn has_to_commit(snapshot: &dyn Snapshot) -> bool {
    relations(snapshot).any(|it| it.1.on_commit() != OnCommit::PreserveRows)
}

/// Deletes the rows of temporary tables, or drops them, as ON COMMIT says. A table whose rows are
/// deleted is made again.
pub(crate) fn commit_temporary(transaction: &mut dyn Transaction) -> Result<()> {
    let snapshot = transaction.snapshot();
    for (schema, relation) in relations(&*snapshot) {
        let Some(table) = relation.as_table() else { continue };
        let is_made_again = match relation.on_commit() {
            OnCommit::PreserveRows => continue,
            OnCommit::DeleteRows => {
                if snapshot.table(table.id)?.statistics()?.rows == Some(0) {
                    continue;
                }
                true
            }
            OnCommit::Drop => false,
        };
        let (schema, name) = (schema.to_owned(), table.name.clone());
        let kind = ObjectKind::Table;
        transaction.define(Definition::Drop {
            schema: schema.clone(),
            kind,
            name: name.clone(),
        })?;
        if is_made_again {
            let (columns, definition) = (table.columns.clone(), (*table.definition).clone());
            transaction.define(Definition::CreateTable { schema, name, columns, definition })?;
        }
    }
    Ok(())
}

fn relations(snapshot: &dyn Snapshot) -> impl Iterator<Item = (&str, &RelationEntry)> {
    let schemas = snapshot.catalog().schemas.values();
    schemas.flat_map(|it| it.relations.values().map(|relation| (it.name.as_str(), relation)))
}

trait EndOfTransaction {
    fn on_commit(&self) -> OnCommit;
}

impl EndOfTransaction for RelationEntry {
    fn on_commit(&self) -> OnCommit {
        self.as_table().map_or(OnCommit::PreserveRows, |it| it.definition.on_commit)
    }
}

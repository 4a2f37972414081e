//! Transactions: changes of a session that other sessions do not see yet.
//!
//! A transaction begins with the catalog as it is and changes a catalog of its own, which shares
//! the tables' versions. COMMIT replaces the entries that it began with by the new ones. An entry
//! that another session changed meanwhile is a conflict, and nothing is changed.

use crate::catalog::{Catalog, Entry, Names};
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};
use volley_connector_memory::WriteLock;
use volley_error::{Error, Result};

/// A transaction of a session.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// What it began with.
    base: Arc<Names>,
    /// What it made of it.
    names: Arc<Names>,
    /// What it had made when SAVEPOINT gave it a name, in the order of time. A name may repeat.
    savepoints: Vec<(String, Arc<Names>)>,
    is_aborted: bool,
    /// When it began, in microseconds since 1970 in UTC: what `now()` is in all its statements.
    start_micros: i64,
}

/// What a name stood for at the beginning and stands for now.
struct Change<'t> {
    key: &'t str,
    old: Option<&'t (String, Entry)>,
    new: Option<&'t (String, Entry)>,
}

impl Catalog {
    /// When the transaction began, in microseconds since 1970 in UTC; `None` without one.
    pub(crate) fn transaction_start(&self) -> Option<i64> {
        self.transaction().as_ref().map(|it| it.start_micros)
    }

    /// Ends a statement: without a transaction it commits.
    pub(crate) fn end_statement(&self) {
        if self.transaction().is_some() {
            return;
        }
        if self.temporary.has_to_commit(&self.names()) {
            let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
            self.temporary.commit(Arc::make_mut(&mut shared));
        }
    }
}

impl Transaction {
    /// One that begins now, which is `start_micros`.
    pub(crate) fn new(names: &Arc<Names>, start_micros: i64) -> Transaction {
        let (base, names) = (Arc::clone(names), Arc::clone(names));
        Transaction { base, names, savepoints: Vec::new(), is_aborted: false, start_micros }
    }

    /// What it sees.
    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// What it sees, to be changed.
    pub(crate) fn names_mut(&mut self) -> &mut Names {
        Arc::make_mut(&mut self.names)
    }

    /// A statement failed: nothing is left but to end.
    pub(crate) fn abort(&mut self) {
        self.is_aborted = true;
    }

    /// Refuses to go on, with this hint, after a statement failed.
    pub(crate) fn check_not_aborted(&self, hint: &'static str) -> Result<()> {
        match self.is_aborted {
            true => Err(Error::invalid_query("a statement of the transaction failed").hint(hint)),
            false => Ok(()),
        }
    }

    /// Gives what was made so far a name.
    pub(crate) fn save(&mut self, name: &str) -> Result<()> {
        self.check_not_aborted("ROLLBACK ends it")?;
        self.savepoints.push((name.to_lowercase(), Arc::clone(&self.names)));
        Ok(())
    }

    /// Forgets what was made since the latest savepoint of this name, which stays; the transaction
    /// goes on, even after a statement failed.
    pub(crate) fn roll_back_to(&mut self, name: &str) -> Result<()> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at + 1);
        if let Some((_, names)) = self.savepoints.last() {
            self.names = Arc::clone(names);
        }
        self.is_aborted = false;
        Ok(())
    }

    /// Forgets the latest savepoint of this name and those after it, and nothing else.
    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
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

    /// The entries that are not what they were, by key.
    fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let (base, names) = (&self.base.entries, &self.names.entries);
        let new = names.keys().filter(|it| !base.contains_key(*it));
        let all = base.keys().chain(new);
        let changes = all.map(|key| Change { key, old: base.get(key), new: names.get(key) });
        changes.filter(|it| !is_same(it.old, it.new))
    }

    /// Those of the tables that it changed, in an order that all transactions share.
    pub(crate) fn locks(&self) -> Vec<Arc<WriteLock>> {
        let lock = |it: Change<'_>| match it.old {
            Some((_, Entry::Memory(table))) => Some(Arc::clone(table.lock())),
            _ => None,
        };
        let mut locks: Vec<Arc<WriteLock>> = self.changes().filter_map(lock).collect();
        locks.sort_by_key(Arc::as_ptr);
        // Two names may stand for versions of the same table.
        locks.dedup_by_key(|it| Arc::as_ptr(it));
        locks
    }

    /// Applies the changes of the transaction to `shared`.
    ///
    /// # Errors
    ///
    /// Invalid query: another session changed the same entry. `shared` is unchanged.
    pub(crate) fn publish(&self, shared: &mut Arc<Names>) -> Result<()> {
        let mut next = (**shared).clone();
        for Change { key, old, new } in self.changes() {
            if !is_same(old, next.entries.get(key)) {
                let name = old.or(new).map_or(key, |it| &it.0);
                return Err(conflict(name));
            }
            match new {
                Some(new) => next.entries.insert(key.to_owned(), new.clone()),
                None => next.entries.remove(key),
            };
        }
        let (base, names) = (&self.base, &self.names);
        publish_changed(&mut next.sequences, &base.sequences, &names.sequences)?;
        publish_changed(&mut next.types, &base.types, &names.types)?;
        publish_changed(&mut next.macros, &base.macros, &names.macros)?;
        merge_schemas(&mut next.schemas, &self.base.schemas, &self.names.schemas);
        // One side dropped a schema, the other put something in it.
        let orphan = next.entries.iter().find(|(key, _)| {
            let schema = key.rsplit_once('.').map(|it| it.0);
            let was_there = schema.filter(|it| self.base.schemas.contains_key(*it));
            was_there.is_some_and(|it| !next.schemas.contains_key(it))
        });
        if let Some((_, (name, _))) = orphan {
            return Err(conflict(name));
        }
        *shared = Arc::new(next);
        Ok(())
    }
}

/// Adds and removes the sequences, types or macros that a transaction added and removed.
fn publish_changed<T>(
    shared: &mut BTreeMap<String, Arc<T>>,
    base: &BTreeMap<String, Arc<T>>,
    names: &BTreeMap<String, Arc<T>>,
) -> Result<()> {
    let new = names.keys().filter(|it| !base.contains_key(*it));
    for key in base.keys().chain(new) {
        let (old, new) = (base.get(key), names.get(key));
        if old.map(Arc::as_ptr) == new.map(Arc::as_ptr) {
            continue;
        }
        if old.map(Arc::as_ptr) != shared.get(key).map(Arc::as_ptr) {
            return Err(conflict(key));
        }
        match new {
            Some(new) => shared.insert(key.clone(), Arc::clone(new)),
            None => shared.remove(key),
        };
    }
    Ok(())
}

/// Adds and removes the schemas that a transaction added and removed.
fn merge_schemas(
    shared: &mut BTreeMap<String, String>,
    base: &BTreeMap<String, String>,
    names: &BTreeMap<String, String>,
) {
    shared.retain(|it, _| names.contains_key(it) || !base.contains_key(it));
    let new = names.iter().filter(|it| !base.contains_key(it.0));
    shared.extend(new.map(|(key, name)| (key.clone(), name.clone())));
}

fn is_same(a: Option<&(String, Entry)>, b: Option<&(String, Entry)>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.1.is_same(&b.1),
        _ => false,
    }
}

fn conflict(name: &str) -> Error {
    let message = format!("transaction conflicts with a change by another session: {name}");
    let error = Error::invalid_query(message);
    error.hint("none of its changes were made; run the transaction again")
}

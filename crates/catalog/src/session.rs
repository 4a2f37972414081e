//! The names that a session sees, and its transaction.

use crate::{
    databases::{Attached, Databases, Registered, no_database, registered_key},
    place::{MAIN, MEMORY, SchemaPlace, SearchPath, TEMPORARY, parts},
    sequence::{LastNumbers, SessionSequences},
    statement::{Host, Object, Seen, StatementCatalog},
    transaction::{SessionTransaction, commit_temporary, has_to_commit},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_connector::{
    Access, CatalogSnapshot, Database, Definition, ObjectKind, Snapshot, Table, TableId,
    Transaction, WriteAccess,
};
use volley_error::{Error, Result};
use volley_sql::Dialect;

/// How often a statement that only defines objects runs again, after others changed the same ones.
const ATTEMPTS_MAX: usize = 100;

/// The databases of a session: those of all sessions, a temporary one, the search path, and the
/// transaction.
#[derive(Debug)]
pub struct SessionCatalog {
    databases: Arc<Databases>,
    temporary: Arc<Attached>,
    path: Mutex<SearchPath>,
    transaction: Mutex<Option<SessionTransaction>>,
    /// What sequences gave this session.
    last_numbers: Arc<LastNumbers>,
}

/// The right of a statement outside of transactions to change one table, and a view of the database
/// that includes what the statement before left.
#[derive(Debug)]
pub struct Turn {
    database: String,
    transaction: Box<dyn Transaction>,
}

impl Turn {
    /// The database and what the statement sees of it.
    fn snapshot(&self) -> (String, Arc<dyn Snapshot>) {
        (self.database.clone(), self.transaction.snapshot())
    }
}

impl SessionCatalog {
    /// The names of a session with a temporary database of its own.
    pub fn new(databases: Arc<Databases>, temporary: Arc<dyn Database>) -> SessionCatalog {
        let (name, access) = (TEMPORARY.to_owned(), WriteAccess::ReadWrite);
        let path = ":memory:".to_owned();
        let temporary = Attached { name, database: temporary, access, path };
        SessionCatalog {
            databases,
            temporary: Arc::new(temporary),
            path: Mutex::default(),
            transaction: Mutex::default(),
            last_numbers: Arc::default(),
        }
    }

    /// The databases of all sessions.
    pub fn databases(&self) -> &Arc<Databases> {
        &self.databases
    }

    /// The schemas that names without one mean.
    pub fn path(&self) -> SearchPath {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the schemas that names without one mean.
    pub fn set_path(&self, path: SearchPath) {
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }

    fn transaction(&self) -> MutexGuard<'_, Option<SessionTransaction>> {
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a statement that begins now sees.
    pub fn statement(
        &self,
        turn: Option<&Turn>,
        host: Arc<dyn Host>,
        dialect: Dialect,
    ) -> StatementCatalog {
        let attached = self.databases.attached();
        let (snapshots, registered) = match &mut *self.transaction() {
            Some(transaction) => {
                let all = attached.iter().map(|(name, it)| (name.as_str(), &**it));
                transaction.open(all.chain([(TEMPORARY, &*self.temporary)]));
                (transaction.snapshots(), Arc::clone(&transaction.registered))
            }
            None => (turn.map(Turn::snapshot).into_iter().collect(), self.databases.registered()),
        };
        let (temporary, path) = (Arc::clone(&self.temporary), self.path());
        let seen = Seen { attached, temporary, snapshots, registered, path, host, dialect };
        StatementCatalog::new(seen)
    }

    /// The sequences that a statement that begins now sees.
    pub fn sequences(&self, host: Arc<dyn Host>, dialect: Dialect) -> SessionSequences {
        let catalog = self.statement(None, host, dialect);
        SessionSequences { catalog, last: Arc::clone(&self.last_numbers) }
    }

    /// Waits for the turn of a statement to change the table `name`; `None` in a transaction, and
    /// when there is no such table.
    ///
    /// # Errors
    ///
    /// Cancelled; I/O.
    pub fn turn(&self, name: &str, host: &Arc<dyn Host>, dialect: Dialect) -> Result<Option<Turn>> {
        if self.transaction().is_some() {
            return Ok(None);
        }
        let stored = |turn: Option<&Turn>| -> Result<_> {
            let catalog = self.statement(turn, Arc::clone(host), dialect);
            let Some(found) = catalog.find_table(name)? else { return Ok(None) };
            let attached = Arc::clone(catalog.attached(&found.place.database)?);
            Ok(match found.object {
                Object::Table(table) if attached.access == WriteAccess::ReadWrite => {
                    Some((found.place.database, attached, table.id))
                }
                _ => None,
            })
        };
        let Some((mut database, mut attached, mut table)) = stored(None)? else { return Ok(None) };
        loop {
            let begun = attached.database.begin(Access::OneTable(table));
            let turn = begun.map(|it| Turn { database: database.clone(), transaction: it });
            // Another table may have its name by now.
            let Some(now) = stored(turn.as_ref().ok())? else { return Ok(None) };
            if (&now.0, now.2) == (&database, table) {
                return turn.map(Some);
            }
            (database, attached, table) = now;
        }
    }

    /// Changes a database, given by its lower-case name: in the session's transaction, or else in
    /// `turn`, or else in a transaction of its own, which runs again after a conflict. After an
    /// error nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of `change`; invalid query: no such database, one that is read only, a conflict.
    pub fn change<T>(
        &self,
        database: &str,
        turn: Option<Turn>,
        mut change: impl FnMut(&mut dyn Transaction) -> Result<T>,
    ) -> Result<T> {
        let attached = self.attached(database)?;
        if attached.access == WriteAccess::ReadOnly {
            let message = format!("the database {} is attached read only", attached.name);
            return Err(Error::invalid_query(message));
        }
        if let Some(transaction) = &mut *self.transaction() {
            return transaction.change(database, change);
        }
        if let Some(mut turn) = turn.filter(|it| it.database == database) {
            let value = change(turn.transaction.as_mut())?;
            turn.transaction.commit()?;
            return Ok(value);
        }
        let mut attempts = 0;
        loop {
            let mut transaction = attached.database.begin(Access::Any)?;
            let value = change(transaction.as_mut())?;
            attempts += 1;
            match transaction.commit() {
                Err(error) if CatalogSnapshot::is_conflict(&error) && attempts < ATTEMPTS_MAX => {}
                committed => return committed.map(|()| value),
            }
        }
    }

    /// Changes a few rows of a table of a database, given by its lower-case name: in the session's
    /// transaction, or else in one of its own, which runs again after a conflict. `None` if
    /// `change` gives none, if the database is read only, or if conflicts do not end: nothing is
    /// changed then.
    ///
    /// # Errors
    ///
    /// Those of `change` and of the commit; invalid query: no such database.
    pub fn change_rows<T>(
        &self,
        database: &str,
        table: TableId,
        mut change: impl FnMut(&mut dyn Transaction) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let attached = self.attached(database)?;
        if attached.access == WriteAccess::ReadOnly {
            return Ok(None);
        }
        if let Some(transaction) = &mut *self.transaction() {
            return transaction.change(database, change);
        }
        for _ in 0..ATTEMPTS_MAX {
            let mut transaction = attached.database.begin(Access::Rows(table))?;
            let Some(value) = change(transaction.as_mut())? else { return Ok(None) };
            match transaction.commit() {
                Err(error) if CatalogSnapshot::is_conflict(&error) => {}
                committed => return committed.map(|()| Some(value)),
            }
        }
        Ok(None)
    }

    fn attached(&self, database: &str) -> Result<Arc<Attached>> {
        if database == TEMPORARY {
            return Ok(Arc::clone(&self.temporary));
        }
        let attached = self.databases.attached();
        attached.get(database).cloned().ok_or_else(|| no_database(database, &attached))
    }

    /// Begins a transaction, at `start_micros`: from now on this session sees its own changes and
    /// no others.
    ///
    /// # Errors
    ///
    /// Invalid query: there is one already.
    pub fn begin(&self, start_micros: i64) -> Result<()> {
        let mut transaction = self.transaction();
        if transaction.is_some() {
            let error = Error::invalid_query("there is a transaction already");
            return Err(error.hint("COMMIT or ROLLBACK ends it"));
        }
        let mut new = SessionTransaction::new(self.databases.registered(), start_micros);
        let attached = self.databases.attached();
        let all = attached.iter().map(|(name, it)| (name.as_str(), &**it));
        new.open(all.chain([(TEMPORARY, &*self.temporary)]));
        *transaction = Some(new);
        Ok(())
    }

    /// Ends the transaction: others see its changes, all at once; none of them, after an error.
    ///
    /// # Errors
    ///
    /// Invalid query: there is none, a statement of it failed, a conflict. I/O. Cancelled.
    pub fn commit(&self) -> Result<()> {
        let transaction = self.transaction().take().ok_or_else(no_transaction)?;
        transaction.commit(&self.databases)
    }

    /// Ends the transaction: its changes are gone.
    ///
    /// # Errors
    ///
    /// Invalid query: there is none. So do the others.
    pub fn roll_back(&self) -> Result<()> {
        self.transaction().take().map(drop).ok_or_else(no_transaction)
    }

    /// SAVEPOINT: gives what the transaction made so far a name.
    ///
    /// # Errors
    ///
    /// As [`SessionCatalog::roll_back`]; a statement of the transaction failed.
    pub fn save(&self, name: &str) -> Result<()> {
        self.in_transaction(|it| it.save(name))
    }

    /// ROLLBACK TO: discards what was made since a savepoint.
    ///
    /// # Errors
    ///
    /// As [`SessionCatalog::roll_back`]; no such savepoint.
    pub fn roll_back_to(&self, name: &str) -> Result<()> {
        self.in_transaction(|it| it.roll_back_to(name))
    }

    /// RELEASE: discards a savepoint and those after it.
    ///
    /// # Errors
    ///
    /// As [`SessionCatalog::roll_back_to`].
    pub fn release(&self, name: &str) -> Result<()> {
        self.in_transaction(|it| it.release(name))
    }

    fn in_transaction<T>(
        &self,
        change: impl FnOnce(&mut SessionTransaction) -> Result<T>,
    ) -> Result<T> {
        change(self.transaction().as_mut().ok_or_else(no_transaction)?)
    }

    /// Lets the transaction, if there is one, do nothing more than end.
    pub fn abort(&self) {
        if let Some(transaction) = &mut *self.transaction() {
            transaction.abort();
        }
    }

    /// Refuses to go on in a transaction that was aborted.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn check_not_aborted(&self) -> Result<()> {
        let check = |it: &SessionTransaction| it.check_not_aborted("ROLLBACK ends it");
        self.transaction().as_ref().map_or(Ok(()), check)
    }

    /// When the transaction began, in microseconds since 1970 in UTC; `None` without one.
    pub fn transaction_start(&self) -> Option<i64> {
        self.transaction().as_ref().map(|it| it.start_micros)
    }

    /// Ends a statement: without a transaction it commits, as ON COMMIT of temporary tables says.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub fn end_statement(&self) -> Result<()> {
        if self.transaction().is_some() || !has_to_commit(&*self.temporary.database.snapshot()?) {
            return Ok(());
        }
        self.change(TEMPORARY, None, commit_temporary)
    }

    /// Makes a table known, in the database `memory`, replacing what has its name.
    ///
    /// # Errors
    ///
    /// I/O; a conflict.
    pub fn register(&self, name: &str, table: Arc<dyn Table>) -> Result<()> {
        let (schema, name) = match *parts(name).as_slice() {
            [_, schema, name] | [schema, name] => (schema, name),
            _ => (MAIN, name),
        };
        let place = SchemaPlace::new(MEMORY, schema);
        self.drop_stored(&place, name)?;
        let registered = Registered { schema: schema.to_owned(), name: name.to_owned(), table };
        self.change_registered(&place, name, Some(registered));
        Ok(())
    }

    /// Drops the table or view of this name, if there is one.
    pub(crate) fn drop_stored(&self, place: &SchemaPlace, name: &str) -> Result<()> {
        self.change(&place.database, None, |transaction| {
            let snapshot = transaction.snapshot();
            let Some(relation) = snapshot.catalog().relation(&place.schema, name) else {
                return Ok(());
            };
            let (schema, kind) = (place.schema.clone(), relation.kind());
            transaction.define(Definition::Drop { schema, kind, name: name.to_owned() })
        })
    }

    /// Adds or removes a registered table.
    pub(crate) fn change_registered(
        &self,
        place: &SchemaPlace,
        name: &str,
        registered: Option<Registered>,
    ) {
        let Some(key) = registered_key(place, name) else { return };
        let change = |tables: &mut Arc<crate::databases::RegisteredTables>| {
            if registered.is_none() && !tables.contains_key(&key) {
                return;
            }
            match registered {
                Some(registered) => drop(Arc::make_mut(tables).insert(key, registered)),
                None => drop(Arc::make_mut(tables).remove(&key)),
            }
        };
        match &mut *self.transaction() {
            Some(transaction) => change(&mut transaction.registered),
            None => {
                let shared = &self.databases.registered;
                change(&mut shared.write().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Removes a table or view, whatever it is; false when there was none of that name.
    ///
    /// # Errors
    ///
    /// I/O; a conflict.
    pub fn deregister(&self, catalog: &StatementCatalog, name: &str) -> Result<bool> {
        let Some(found) = catalog.find_table(name)? else { return Ok(false) };
        let (place, name) = (&found.place, found.object.name());
        match found.object {
            Object::Registered(_) => self.change_registered(place, name, None),
            Object::Table(_) | Object::View(_) => self.drop_stored(place, name)?,
        }
        Ok(true)
    }

    /// The kind of an object in messages and definitions.
    pub(crate) fn kind(object: &Object) -> ObjectKind {
        if object.is_view() { ObjectKind::View } else { ObjectKind::Table }
    }
}

fn no_transaction() -> Error {
    Error::invalid_query("there is no transaction").hint("BEGIN begins one")
}

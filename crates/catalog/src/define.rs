//! CREATE, ALTER and COMMENT.

use crate::{
    databases::registered_key,
    place::{INFORMATION_SCHEMA, MAIN, ObjectPlace, PG_CATALOG, SchemaPlace, TEMPORARY},
    session::{SessionCatalog, Turn},
    statement::{FoundTable, Object, StatementCatalog},
};
use std::collections::BTreeMap;
use volley_connector::{
    ColumnDefinition, DefinedObject, Definition, MacroEntry, MacroParameterEntry, ObjectKind,
    SequenceEntry, SequenceId, Snapshot, TableChange, TableDefinition, TableId, Transaction,
    ViewEntry,
};
use volley_error::{Error, Result};
use volley_sql::{MacroDefinition, SequenceDefinition};
use volley_types::Schema;

/// A table to be made.
#[derive(Debug)]
pub struct NewTable {
    /// Its name as written.
    pub name: String,
    /// What of its name makes room for it.
    pub replaces: Replaces,
    /// Its columns.
    pub columns: Schema,
    /// What holds for its rows.
    pub definition: TableDefinition,
}

/// What of its name an object replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// Nothing: the name has to be free.
    Nothing,
    /// An object of its kind.
    SameKind,
    /// A table or view.
    Any,
}

impl Replaces {
    /// That of CREATE, with or without OR REPLACE.
    pub fn of(or_replace: bool) -> Replaces {
        if or_replace { Replaces::SameKind } else { Replaces::Nothing }
    }
}

/// A view, sequence or macro to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewObject<'a> {
    /// Its name as written.
    pub name: &'a str,
    /// Whether it replaces an object of its name and kind.
    pub or_replace: bool,
}

impl SessionCatalog {
    /// Makes a table, and runs `fill` in its transaction.
    ///
    /// # Errors
    ///
    /// Invalid query: the name is taken, no such schema. Invalid value: rows that the definition
    /// does not allow. Out of memory. I/O. So do the others.
    pub fn create_table<T>(
        &self,
        catalog: &StatementCatalog,
        new: &NewTable,
        mut fill: impl FnMut(&mut dyn Transaction, TableId) -> Result<T>,
    ) -> Result<T> {
        let at = catalog.new_place(&new.name)?;
        let is_registered = check_registered(catalog, &at, &new.name, new.replaces)?;
        let filled = self.change(&at.place.database, None, |transaction| {
            make_room(transaction, &at, (&new.name, ObjectKind::Table), new.replaces)?;
            let (schema, name) = (at.place.schema.clone(), at.name.clone());
            let (columns, definition) = (new.columns.clone(), new.definition.clone());
            transaction.define(Definition::CreateTable { schema, name, columns, definition })?;
            let id = table_id(&*transaction.snapshot(), &at)?;
            fill(transaction, id)
        })?;
        if is_registered {
            self.change_registered(&at.place, &at.name, None);
        }
        Ok(filled)
    }

    /// Makes a view.
    pub fn create_view(
        &self,
        catalog: &StatementCatalog,
        new: NewObject<'_>,
        view: &ViewEntry,
    ) -> Result<()> {
        let at = catalog.new_place(new.name)?;
        check_registered(catalog, &at, new.name, Replaces::Nothing)?;
        let own = catalog.path().places().iter().filter(|it| it.database == at.place.database);
        let search_path: Vec<String> = own.map(|it| it.schema.clone()).collect();
        self.change(&at.place.database, None, |transaction| {
            make_room(
                transaction,
                &at,
                (new.name, ObjectKind::View),
                Replaces::of(new.or_replace),
            )?;
            let (name, search_path) = (at.name.clone(), search_path.clone());
            let view = ViewEntry { name, search_path, ..view.clone() };
            put(transaction, &at, DefinedObject::View(view))
        })
    }

    /// Makes a sequence.
    pub fn create_sequence(
        &self,
        catalog: &StatementCatalog,
        new: NewObject<'_>,
        definition: &SequenceDefinition,
    ) -> Result<()> {
        let at = catalog.new_place(new.name)?;
        self.change(&at.place.database, None, |transaction| {
            check_other(transaction, &at, new, ObjectKind::Sequence)?;
            let SequenceDefinition { start, increment, least, greatest, cycles } = *definition;
            let (id, name) = (SequenceId(0), at.name.clone());
            let sequence = SequenceEntry { id, name, start, increment, least, greatest, cycles };
            put(transaction, &at, DefinedObject::Sequence(sequence))
        })
    }

    /// Makes a macro.
    pub fn create_macro(
        &self,
        catalog: &StatementCatalog,
        new: NewObject<'_>,
        definition: &MacroDefinition,
    ) -> Result<()> {
        let at = catalog.new_place(new.name)?;
        self.change(&at.place.database, None, |transaction| {
            check_other(transaction, &at, new, ObjectKind::Macro)?;
            let parameters = definition.parameters.iter().map(|it| MacroParameterEntry {
                name: it.name.clone(),
                data_type: it.data_type.clone(),
                default: it.default.clone(),
            });
            let (name, parameters) = (at.name.clone(), parameters.collect());
            let (body, is_table) = (definition.body.clone(), definition.is_table);
            put(
                transaction,
                &at,
                DefinedObject::Macro(MacroEntry { name, parameters, body, is_table }),
            )
        })
    }

    /// Makes a schema; nothing, when there is one of its name and `if_not_exists`.
    pub fn create_schema(
        &self,
        catalog: &StatementCatalog,
        name: &str,
        if_not_exists: bool,
    ) -> Result<()> {
        let at = catalog.new_schema(name)?;
        let reserved = [INFORMATION_SCHEMA, PG_CATALOG, TEMPORARY];
        let is_reserved = reserved.contains(&at.place.schema.as_str());
        if is_reserved || catalog.has_schema(&at.place)? {
            return match if_not_exists {
                true => Ok(()),
                false => Err(Error::invalid_query(format!("there is already a schema {name}"))),
            };
        }
        self.change(&at.place.database, None, |transaction| {
            transaction.define(Definition::CreateSchema { name: at.name.clone() })
        })
    }

    /// Changes a table.
    pub fn alter(
        &self,
        catalog: &StatementCatalog,
        turn: Option<Turn>,
        name: &str,
        change: TableChange,
    ) -> Result<()> {
        let (place, table) = catalog.stored_table(name)?;
        // It is made once: a turn, or a transaction of the session, does not run again.
        let mut change = Some(change);
        self.change(&place.database, turn, |transaction| {
            let change = change.take().ok_or_else(|| replaced(name))?;
            transaction.define(Definition::AlterTable { table, change })
        })
    }

    /// Gives a table another name, in its schema unless the name has one.
    pub fn rename_table(
        &self,
        catalog: &StatementCatalog,
        turn: Option<Turn>,
        name: &str,
        new: &str,
    ) -> Result<()> {
        let (place, _) = catalog.stored_table(name)?;
        let at = catalog.renamed(&place, new)?;
        if let Some(object) = catalog.table_in(&at.place, &at.name)? {
            let is_itself = at.place == place && catalog_name(name).eq_ignore_ascii_case(&at.name);
            if !is_itself {
                return Err(taken(new, SessionCatalog::kind(&object)));
            }
        }
        let (schema, name_in_schema) = (at.place.schema, at.name);
        self.alter(catalog, turn, name, TableChange::Rename { schema, name: name_in_schema })
    }

    /// Gives a view another name, in its schema unless the name has one.
    pub fn rename_view(
        &self,
        catalog: &StatementCatalog,
        name: &str,
        new: &str,
        if_exists: bool,
    ) -> Result<()> {
        let (place, view) = match catalog.find_table(name)? {
            None if if_exists => return Ok(()),
            None => return Err(Error::invalid_query(format!("no such view: {name}"))),
            Some(FoundTable { place, object: Object::View(view) }) => (place, view),
            Some(_) => {
                let error = Error::invalid_query(format!("{name} is a table"));
                return Err(error.hint(format!("write ALTER TABLE {name} RENAME TO {new}")));
            }
        };
        let at = catalog.renamed(&place, new)?;
        if let Some(object) = catalog.table_in(&at.place, &at.name)? {
            return Err(taken(new, SessionCatalog::kind(&object)));
        }
        self.change(&place.database, None, |transaction| {
            let (schema, kind, name) = (place.schema.clone(), ObjectKind::View, view.name.clone());
            transaction.define(Definition::Drop { schema, kind, name })?;
            let view = ViewEntry { name: at.name.clone(), ..(*view).clone() };
            put(transaction, &at, DefinedObject::View(view))
        })
    }

    /// Says something about a table or view, or one of its columns; `None`: nothing any more.
    pub fn comment(
        &self,
        catalog: &StatementCatalog,
        turn: Option<Turn>,
        (name, column): (&str, Option<&str>),
        text: Option<String>,
    ) -> Result<()> {
        let found = catalog.find_table(name)?.ok_or_else(|| replaced(name))?;
        let FoundTable { place, object } = found;
        match object {
            Object::Registered(_) => {
                let message = format!("a comment on a table that is not in memory: {name}");
                Err(Error::unsupported(message))
            }
            Object::Table(table) => self.change(&place.database, turn, |transaction| {
                let snapshot = transaction.snapshot();
                let (_, entry) =
                    snapshot.catalog().table(table.id).ok_or_else(|| replaced(name))?;
                let mut definition = (*entry.definition).clone();
                match column {
                    None => definition.comment.clone_from(&text),
                    Some(column) => {
                        let index = entry.columns.index_of(column);
                        let columns = &mut definition.columns;
                        columns.resize(entry.columns.len(), ColumnDefinition::default());
                        let column = index.and_then(|it| columns.get_mut(it));
                        column.ok_or_else(|| replaced(name))?.comment.clone_from(&text);
                    }
                }
                let change = TableChange::Comment { definition };
                transaction.define(Definition::AlterTable { table: table.id, change })
            }),
            Object::View(view) => self.change(&place.database, None, |transaction| {
                let mut view = (*view).clone();
                match column {
                    None => view.comment.clone_from(&text),
                    Some(column) => {
                        comment_column(&mut view.column_comments, column, text.clone());
                    }
                }
                let at = ObjectPlace { place: place.clone(), name: view.name.clone() };
                put(transaction, &at, DefinedObject::View(view))
            }),
        }
    }
}

impl StatementCatalog {
    /// A table of a database.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table, or one that is in no database.
    pub fn stored_table(&self, name: &str) -> Result<(SchemaPlace, TableId)> {
        match self.find_table(name)? {
            Some(FoundTable { place, object: Object::Table(table) }) => Ok((place, table.id)),
            _ => {
                let message = format!("table is not in a database any more: {name}");
                Err(Error::invalid_query(message).hint("another statement replaced it"))
            }
        }
    }

    /// Whether the name of a new table or view is taken.
    ///
    /// # Errors
    ///
    /// As [`StatementCatalog::new_place`].
    pub fn is_taken(&self, name: &str) -> Result<bool> {
        let at = self.new_place(name)?;
        Ok(self.table_in(&at.place, &at.name)?.is_some())
    }

    /// Where an object of a schema is under another name, which may have a schema of the database.
    fn renamed(&self, old: &SchemaPlace, new: &str) -> Result<ObjectPlace> {
        if !new.contains('.') {
            return Ok(ObjectPlace { place: old.clone(), name: new.to_owned() });
        }
        let at = self.new_place(new)?;
        match at.place.database == old.database {
            true => Ok(at),
            false => {
                let message = format!("moving a table to another database: {new}");
                Err(Error::unsupported(message).hint("CREATE TABLE ... AS SELECT copies it"))
            }
        }
    }
}

/// The last part of a name.
fn catalog_name(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |it| it.1)
}

fn comment_column(comments: &mut BTreeMap<String, String>, column: &str, text: Option<String>) {
    let column = column.to_lowercase();
    match text {
        Some(text) => drop(comments.insert(column, text)),
        None => drop(comments.remove(&column)),
    }
}

/// Whether a new table replaces a registered one; refuses the name of one that stays.
fn check_registered(
    catalog: &StatementCatalog,
    at: &ObjectPlace,
    written: &str,
    replaces: Replaces,
) -> Result<bool> {
    let key = registered_key(&at.place, &at.name);
    let is_there = key.is_some_and(|it| catalog.registered.contains_key(&it));
    match is_there && replaces == Replaces::Nothing {
        true => Err(taken(written, ObjectKind::Table)),
        false => Ok(is_there),
    }
}

/// Makes the name of a new table or view free, or refuses it.
fn make_room(
    transaction: &mut dyn Transaction,
    at: &ObjectPlace,
    (written, kind): (&str, ObjectKind),
    replaces: Replaces,
) -> Result<()> {
    let snapshot = transaction.snapshot();
    let Some(relation) = snapshot.catalog().relation(&at.place.schema, &at.name) else {
        return Ok(());
    };
    let is_replaced = match replaces {
        Replaces::Nothing => false,
        Replaces::SameKind => relation.kind() == kind,
        Replaces::Any => true,
    };
    if !is_replaced {
        return Err(taken(written, relation.kind()));
    }
    let (schema, kind, name) = (at.place.schema.clone(), relation.kind(), at.name.clone());
    if kind == ObjectKind::View && replaces == Replaces::SameKind {
        return Ok(());
    }
    transaction.define(Definition::Drop { schema, kind, name })
}

/// Refuses the name of another sequence or macro, unless that one is replaced.
fn check_other(
    transaction: &mut dyn Transaction,
    at: &ObjectPlace,
    new: NewObject<'_>,
    kind: ObjectKind,
) -> Result<()> {
    let (snapshot, key) = (transaction.snapshot(), at.name.to_lowercase());
    let schema = snapshot.catalog().schema(&at.place.schema);
    let is_taken = schema.is_some_and(|it| match kind {
        ObjectKind::Sequence => it.sequences.contains_key(&key),
        _ => it.macros.contains_key(&key),
    });
    match is_taken && !new.or_replace {
        true => Err(taken(new.name, kind)),
        false => Ok(()),
    }
}

pub(crate) fn put(
    transaction: &mut dyn Transaction,
    at: &ObjectPlace,
    object: DefinedObject,
) -> Result<()> {
    transaction.define(Definition::Put { schema: at.place.schema.clone(), object })
}

fn table_id(snapshot: &dyn Snapshot, at: &ObjectPlace) -> Result<TableId> {
    let relation = snapshot.catalog().relation(&at.place.schema, &at.name);
    let table = relation.and_then(|it| it.as_table());
    table.map(|it| it.id).ok_or_else(|| Error::internal("a new table that is not there"))
}

fn taken(name: &str, kind: ObjectKind) -> Error {
    Error::invalid_query(format!("there is already a {} called {name}", kind.name()))
}

/// The error that a table or view is not what the statement saw.
pub(crate) fn replaced(name: &str) -> Error {
    let error = Error::invalid_query(format!("table was changed by another statement: {name}"));
    error.hint("run the statement again")
}

/// Whether a schema can be dropped.
pub(crate) fn can_be_dropped(schema: &str) -> bool {
    ![MAIN, INFORMATION_SCHEMA].contains(&schema)
}

//! Types made by CREATE TYPE, and what uses types and sequences.
//!
//! A name is an alias of a type; columns have the type, not the name. The names used by columns and
//! types are stored as well, so that a type that is in use cannot be dropped. A stored name without
//! a schema is one of the schema `main`.

use crate::{
    define::put,
    drop::drop_now,
    place::{MAIN, ObjectPlace, SchemaPlace, parts},
    session::SessionCatalog,
    statement::StatementCatalog,
};
use volley_connector::{
    CatalogSnapshot, DefinedObject, ObjectKind, TableEntry, Transaction, TypeEntry,
};
use volley_error::{Error, Result};
use volley_sql::{DropKind, names_type};
use volley_types::nearest_name;

/// What uses a type.
enum User {
    Table(ObjectPlace),
    Type(ObjectPlace),
}

impl SessionCatalog {
    /// Gives a type a name.
    ///
    /// # Errors
    ///
    /// Invalid query: the name is taken, or the type that it replaces is used.
    pub fn create_type(
        &self,
        catalog: &StatementCatalog,
        new: &TypeEntry,
        or_replace: bool,
    ) -> Result<()> {
        let at = catalog.new_place(&new.name)?;
        self.change(&at.place.database, None, |transaction| {
            let (snapshot, key) = (transaction.snapshot(), at.name.to_lowercase());
            let schema = snapshot.catalog().schema(&at.place.schema);
            if schema.is_some_and(|it| it.types.contains_key(&key)) {
                if !or_replace {
                    let message = format!("there is already a type called {}", new.name);
                    return Err(Error::invalid_query(message));
                }
                check_unused(&at, snapshot.catalog())?;
            }
            let entry = TypeEntry { name: at.name.clone(), ..new.clone() };
            put(transaction, &at, DefinedObject::Type(entry))
        })
    }

    pub(crate) fn drop_type(
        &self,
        catalog: &StatementCatalog,
        (kind, name): (DropKind, &str),
        if_exists: bool,
    ) -> Result<()> {
        let Some((place, entry)) = catalog.find_type(name)? else {
            return if if_exists { Ok(()) } else { Err(no_type(catalog, name)) };
        };
        let at = ObjectPlace { place, name: entry.name.clone() };
        self.change(&at.place.database, None, |transaction| {
            if kind == DropKind::Type {
                check_unused(&at, transaction.snapshot().catalog())?;
            }
            drop_with_users(transaction, at.clone())
        })
    }
}

/// Drops a type, the tables and types that use it, and what uses these types.
fn drop_with_users(transaction: &mut dyn Transaction, at: ObjectPlace) -> Result<()> {
    drop_now(transaction, &at, ObjectKind::Type)?;
    let mut dropped = vec![at];
    while let Some(at) = dropped.pop() {
        while let Some(user) = user_of_type(&at, transaction.snapshot().catalog()) {
            match user {
                User::Table(table) => drop_now(transaction, &table, ObjectKind::Table)?,
                User::Type(user) => {
                    drop_now(transaction, &user, ObjectKind::Type)?;
                    dropped.push(user);
                }
            }
        }
    }
    Ok(())
}

fn check_unused(at: &ObjectPlace, catalog: &CatalogSnapshot) -> Result<()> {
    let user = match user_of_type(at, catalog) {
        None => return Ok(()),
        Some(User::Table(at)) => format!("table {}", at.shown()),
        Some(User::Type(at)) => format!("type {}", at.shown()),
    };
    let name = at.shown();
    let error = Error::invalid_query(format!("type {name} is used by {user}"));
    Err(error.hint(format!("DROP TYPE {name} CASCADE drops what uses it, too")))
}

/// Whether a stored name means an object.
fn is_name_of(name: &str, at: &ObjectPlace) -> bool {
    let (schema, name) = match *parts(name).as_slice() {
        [name] => (MAIN, name),
        [schema, name] => (schema, name),
        [database, schema, name] if database.eq_ignore_ascii_case(&at.place.database) => {
            (schema, name)
        }
        _ => return false,
    };
    let is_schema = schema.eq_ignore_ascii_case(&at.place.schema)
        // `database.name`.
        || schema.eq_ignore_ascii_case(&at.place.database) && at.place.schema == MAIN;
    is_schema && name.to_lowercase() == at.name.to_lowercase()
}

/// A table or type that uses a type.
fn user_of_type(at: &ObjectPlace, catalog: &CatalogSnapshot) -> Option<User> {
    let is_it = |it: &String| is_name_of(it, at);
    let place_of = |schema: &str| SchemaPlace::new(&at.place.database, schema);
    for (key, schema) in &catalog.schemas {
        let is_itself = |it: &TypeEntry| {
            *key == at.place.schema && it.name.to_lowercase() == at.name.to_lowercase()
        };
        let mut others = schema.types.values().filter(|it| !is_itself(it));
        if let Some(user) = others.find(|it| it.named_types.iter().any(is_it)) {
            let name = user.name.clone();
            return Some(User::Type(ObjectPlace { place: place_of(key), name }));
        }
    }
    let wanted = match at.place.schema == MAIN {
        true => at.name.to_lowercase(),
        false => format!("{}.{}", at.place.schema, at.name.to_lowercase()),
    };
    let uses = |it: &TableEntry| {
        let definition = &it.definition;
        let texts = definition.columns.iter().flat_map(|it| [&it.default, &it.generated]);
        let texts = texts.flatten().chain(definition.checks.iter().map(|it| &it.condition));
        definition.columns.iter().any(|it| it.named_types.iter().any(is_it))
            || texts.into_iter().any(|it| names_type(it, &wanted))
    };
    for (key, schema) in &catalog.schemas {
        let mut tables = schema.relations.values().filter_map(|it| it.as_table());
        if let Some(user) = tables.find(|it| uses(it)) {
            let name = user.name.clone();
            return Some(User::Table(ObjectPlace { place: place_of(key), name }));
        }
    }
    None
}

/// The name of a table that takes numbers of a sequence.
pub(crate) fn uses_sequence(at: &ObjectPlace, catalog: &CatalogSnapshot) -> Option<String> {
    let uses = |it: &TableEntry| {
        let defaults = it.definition.columns.iter().filter_map(|it| it.default.as_deref());
        defaults.flat_map(volley_sql::sequences_of).any(|it| is_name_of(&it, at))
    };
    for (key, schema) in &catalog.schemas {
        let mut tables = schema.relations.values().filter_map(|it| it.as_table());
        if let Some(table) = tables.find(|it| uses(it)) {
            let place = SchemaPlace::new(&at.place.database, key);
            return Some(ObjectPlace { place, name: table.name.clone() }.shown());
        }
    }
    None
}

fn no_type(catalog: &StatementCatalog, name: &str) -> Error {
    let error = Error::invalid_query(format!("no such type: {name}"));
    let all = catalog.types().unwrap_or_default();
    match nearest_name(name, all.iter().map(|it| it.1.name.as_str())) {
        Some(nearest) => error.hint(format!("did you mean {nearest}?")),
        None => error,
    }
}

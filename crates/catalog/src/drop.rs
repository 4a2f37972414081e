//! DROP.

use crate::{
    define::can_be_dropped,
    named_type::uses_sequence,
    place::{ObjectPlace, SchemaPlace, TEMPORARY},
    sequence::no_sequence,
    session::SessionCatalog,
    statement::{FoundTable, Object, StatementCatalog},
};
use volley_connector::{Definition, ObjectKind, Transaction};
use volley_error::{Error, Result};
use volley_sql::DropKind;
use volley_types::nearest_name;

impl SessionCatalog {
    /// Removes the object called `name`.
    ///
    /// # Errors
    ///
    /// Invalid query: none of that name (unless `if_exists`), another kind, one that is used.
    pub fn drop_object(
        &self,
        catalog: &StatementCatalog,
        (kind, name): (DropKind, &str),
        if_exists: bool,
    ) -> Result<()> {
        match kind {
            DropKind::Schema | DropKind::SchemaAndAll => {
                self.drop_schema(catalog, (kind, name), if_exists)
            }
            DropKind::Table | DropKind::View => self.drop_table(catalog, (kind, name), if_exists),
            DropKind::Type | DropKind::TypeAndUsers => {
                self.drop_type(catalog, (kind, name), if_exists)
            }
            DropKind::Sequence => self.drop_sequence(catalog, name, if_exists),
            DropKind::Index => self.drop_index(catalog, name, if_exists),
            DropKind::Macro => match catalog.place_of_macro(name)? {
                Some(place) => self.drop_in(&place, ObjectKind::Macro, last_part(name)),
                None if if_exists => Ok(()),
                None => Err(Error::invalid_query(format!("no such macro: {name}"))),
            },
        }
    }

    fn drop_in(&self, place: &SchemaPlace, kind: ObjectKind, name: &str) -> Result<()> {
        self.change(&place.database, None, |transaction| {
            let (schema, name) = (place.schema.clone(), name.to_owned());
            transaction.define(Definition::Drop { schema, kind, name })
        })
    }

    fn drop_table(
        &self,
        catalog: &StatementCatalog,
        (kind, name): (DropKind, &str),
        if_exists: bool,
    ) -> Result<()> {
        let is_view_wanted = kind == DropKind::View;
        let Some(FoundTable { place, object }) = catalog.find_table(name)? else {
            return if if_exists { Ok(()) } else { Err(no_table(catalog, name, is_view_wanted)) };
        };
        if object.is_view() != is_view_wanted {
            let (is, command) =
                if object.is_view() { ("view", "VIEW") } else { ("table", "TABLE") };
            let error = Error::invalid_query(format!("{name} is a {is}"));
            return Err(error.hint(format!("write DROP {command} {name}")));
        }
        match object {
            Object::Registered(it) => {
                self.change_registered(&place, &it.name, None);
                Ok(())
            }
            other => self.drop_in(&place, SessionCatalog::kind(&other), other.name()),
        }
    }

    fn drop_sequence(&self, catalog: &StatementCatalog, name: &str, if_exists: bool) -> Result<()> {
        let Some((place, sequence)) = catalog.find_sequence(name)? else {
            return if if_exists { Ok(()) } else { Err(no_sequence(name)) };
        };
        let at = ObjectPlace { place: place.clone(), name: sequence.name.clone() };
        self.change(&place.database, None, |transaction| {
            let snapshot = transaction.snapshot();
            if let Some(table) = uses_sequence(&at, snapshot.catalog()) {
                let message = format!("sequence {name} gives a column of {table} its DEFAULT");
                let error = Error::invalid_query(message);
                return Err(
                    error.hint("ALTER TABLE ... ALTER COLUMN ... DROP DEFAULT takes it away")
                );
            }
            drop_now(transaction, &at, ObjectKind::Sequence)
        })
    }

    fn drop_schema(
        &self,
        catalog: &StatementCatalog,
        (kind, name): (DropKind, &str),
        if_exists: bool,
    ) -> Result<()> {
        let at = catalog.new_schema(name)?;
        if !can_be_dropped(&at.place.schema) || name.eq_ignore_ascii_case(TEMPORARY) {
            return Err(Error::invalid_query(format!("the schema {name} cannot be dropped")));
        }
        if !catalog.has_schema(&at.place)? {
            return match if_exists {
                true => Ok(()),
                false => Err(Error::invalid_query(format!("no such schema: {name}"))),
            };
        }
        let mut registered = catalog.registered.values().filter(|it| it.place() == at.place);
        let has_registered = registered.next().is_some();
        self.change(&at.place.database, None, |transaction| {
            let snapshot = transaction.snapshot();
            let schema = snapshot.catalog().schema(&at.place.schema);
            let is_empty = schema.is_none_or(|it| it.is_empty()) && !has_registered;
            if kind == DropKind::Schema && !is_empty {
                let error = Error::invalid_query(format!("the schema {name} is not empty"));
                return Err(error.hint("DROP SCHEMA ... CASCADE drops what is in it, too"));
            }
            transaction.define(Definition::DropSchema { name: at.place.schema.clone() })
        })?;
        let registered = catalog.registered.values().filter(|it| it.place() == at.place);
        registered.for_each(|it| self.change_registered(&at.place, &it.name, None));
        Ok(())
    }
}

pub(crate) fn drop_now(
    transaction: &mut dyn Transaction,
    at: &ObjectPlace,
    kind: ObjectKind,
) -> Result<()> {
    let (schema, name) = (at.place.schema.clone(), at.name.clone());
    transaction.define(Definition::Drop { schema, kind, name })
}

fn no_table(catalog: &StatementCatalog, name: &str, is_view: bool) -> Error {
    let what = if is_view { "view" } else { "table" };
    let error = Error::invalid_query(format!("no such {what}: {name}"));
    let names = volley_sql::Catalog::names(catalog);
    match nearest_name(name, names.iter().map(String::as_str)) {
        Some(nearest) => error.hint(format!("did you mean {nearest}?")),
        None => error,
    }
}

/// The last part of a name.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |it| it.1)
}

//! What names stand for.
//!
//! ```text
//! a          the temporary database, then each schema of the search path
//! a.b        schema a of a database of the search path; or else schema main of database a
//! a.b.c      schema b of database a
//! ```

use crate::{
    databases::registered_key,
    place::{INFORMATION_SCHEMA, MAIN, ObjectPlace, SchemaPlace, TEMPORARY, parts},
    statement::{FoundTable, Object, StatementCatalog},
};
use std::sync::Arc;
use volley_connector::{MacroEntry, RelationEntry, SchemaSnapshot, SequenceEntry, TypeEntry};
use volley_error::{Error, Result};
use volley_sql::{MacroDefinition, MacroParameter};

impl Object {
    /// What an entry of a database is.
    pub(crate) fn of(entry: &RelationEntry) -> Object {
        match entry {
            RelationEntry::Table(it) => Object::Table(Arc::clone(it)),
            RelationEntry::View(it) => Object::View(Arc::clone(it)),
        }
    }
}

impl StatementCatalog {
    /// The schemas in which a name may be, in order, and its last part.
    fn candidates<'n>(&self, name: &'n str) -> Result<(Vec<SchemaPlace>, &'n str)> {
        Ok(match *parts(name).as_slice() {
            [name] => {
                let temporary = SchemaPlace::new(TEMPORARY, MAIN);
                let path = self.path().places().iter().cloned();
                (std::iter::once(temporary).chain(path).collect(), name)
            }
            [schema, name] => (self.places_of(schema)?, name),
            [database, schema, name] => {
                let place = SchemaPlace::new(database, schema);
                let is_known = self.attached(&place.database).is_ok();
                (is_known.then_some(place).into_iter().collect(), name)
            }
            _ => (Vec::new(), name),
        })
    }

    /// What stands before a dot: a schema, or a database.
    fn places_of(&self, written: &str) -> Result<Vec<SchemaPlace>> {
        let mut places = Vec::new();
        for database in self.path().databases() {
            let place = SchemaPlace::new(database, written);
            let is_registered = |it: &crate::Registered| it.place() == place;
            if self.has_schema(&place)? || self.registered.values().any(is_registered) {
                places.push(place);
            }
        }
        let as_database = SchemaPlace::new(written, MAIN);
        if self.attached(&as_database.database).is_err() {
            return Ok(places);
        }
        if let Some(place) = places.first() {
            let SchemaPlace { database, schema } = place;
            let message = format!("{written} is a database, and a schema of {database}");
            let hint = format!("write {schema}.{MAIN} or {database}.{schema} before the name");
            return Err(Error::invalid_query(message).hint(hint));
        }
        Ok(vec![as_database])
    }

    /// What a name stands for.
    fn find<T>(
        &self,
        name: &str,
        get: impl Fn(&SchemaSnapshot, &str) -> Option<T>,
    ) -> Result<Option<(SchemaPlace, T)>> {
        let (places, name) = self.candidates(name)?;
        let key = name.to_lowercase();
        for place in places {
            let schema = self.snapshot(&place.database)?.catalog().schemas.get(&place.schema);
            if let Some(found) = schema.and_then(|it| get(it, &key)) {
                return Ok(Some((place, found)));
            }
        }
        Ok(None)
    }

    /// The table or view that a name stands for.
    ///
    /// # Errors
    ///
    /// Invalid query: the name is ambiguous. I/O. So do the others.
    pub fn find_table(&self, name: &str) -> Result<Option<FoundTable>> {
        let (places, name) = self.candidates(name)?;
        for place in places {
            if let Some(object) = self.table_in(&place, name)? {
                return Ok(Some(FoundTable { place, object }));
            }
        }
        Ok(None)
    }

    /// The table or view of a schema with this name.
    pub(crate) fn table_in(&self, place: &SchemaPlace, name: &str) -> Result<Option<Object>> {
        let registered = registered_key(place, name).and_then(|it| self.registered.get(&it));
        if let Some(registered) = registered {
            return Ok(Some(Object::Registered(registered.clone())));
        }
        let catalog = self.snapshot(&place.database)?.catalog();
        Ok(catalog.relation(&place.schema, name).map(Object::of))
    }

    /// The sequence that a name stands for.
    pub fn find_sequence(&self, name: &str) -> Result<Option<(SchemaPlace, Arc<SequenceEntry>)>> {
        self.find(name, |schema, key| schema.sequences.get(key).cloned())
    }

    /// The type that a name stands for.
    pub fn find_type(&self, name: &str) -> Result<Option<(SchemaPlace, Arc<TypeEntry>)>> {
        self.find(name, |schema, key| schema.types.get(key).cloned())
    }

    /// The macro that a name stands for.
    pub fn find_macro(&self, name: &str) -> Result<Option<Arc<MacroDefinition>>> {
        let found = self.find(name, |schema, key| schema.macros.get(key).cloned())?;
        Ok(found.map(|it| Arc::new(definition_of(&it.1))))
    }

    /// Where the macro is that a name stands for.
    pub(crate) fn place_of_macro(&self, name: &str) -> Result<Option<SchemaPlace>> {
        let found = self.find(name, |schema, key| schema.macros.get(key).map(drop))?;
        Ok(found.map(|it| it.0))
    }

    /// Where the index is that a name stands for.
    pub(crate) fn place_of_index(&self, name: &str) -> Result<Option<SchemaPlace>> {
        let found = self.find(name, |schema, key| schema.index(key).map(drop))?;
        Ok(found.map(|it| it.0))
    }

    /// The types made by CREATE TYPE, with their schemas.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn types(&self) -> Result<Vec<(SchemaPlace, Arc<TypeEntry>)>> {
        let mut all = Vec::new();
        for (database, _) in self.databases() {
            for (key, schema) in &self.snapshot(database)?.catalog().schemas {
                let place = SchemaPlace { database: database.to_owned(), schema: key.clone() };
                all.extend(schema.types.values().map(|it| (place.clone(), Arc::clone(it))));
            }
        }
        Ok(all)
    }

    /// Whether a schema exists.
    pub(crate) fn has_schema(&self, place: &SchemaPlace) -> Result<bool> {
        Ok(self.snapshot(&place.database)?.catalog().schemas.contains_key(&place.schema))
    }

    /// The schema that a name of one means: `schema`, `database.schema`, or a database.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema.
    pub fn find_schema(&self, name: &str) -> Result<SchemaPlace> {
        match *parts(name).as_slice() {
            [_] => {
                let places = self.places_of(name)?;
                places.into_iter().next().ok_or_else(|| no_schema(name))
            }
            [database, schema] => {
                let place = SchemaPlace::new(database, schema);
                self.attached(&place.database)?;
                if self.has_schema(&place)? { Ok(place) } else { Err(no_schema(name)) }
            }
            _ => Err(no_schema(name)),
        }
    }

    /// Where a new schema called `name` would be.
    pub(crate) fn new_schema(&self, name: &str) -> Result<ObjectPlace> {
        let (database, schema) = match *parts(name).as_slice() {
            [schema] => (self.path().current().database.as_str(), schema),
            [database, schema] => (database, schema),
            _ => return Err(too_long(name)),
        };
        let place = SchemaPlace::new(database, schema);
        self.attached(&place.database)?;
        Ok(ObjectPlace { place, name: schema.to_owned() })
    }

    /// Where a new object called `name` would be.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema or database; a schema that cannot be changed.
    pub fn new_place(&self, name: &str) -> Result<ObjectPlace> {
        let (place, name) = match *parts(name).as_slice() {
            [name] => (self.path().current().clone(), name),
            [schema, name] => {
                check_not_information(schema)?;
                let place = self.places_of(schema)?.into_iter().next();
                (place.ok_or_else(|| no_schema(schema))?, name)
            }
            [database, schema, name] => {
                check_not_information(schema)?;
                let place = SchemaPlace::new(database, schema);
                self.attached(&place.database)?;
                if !self.has_schema(&place)? {
                    return Err(no_schema(&format!("{database}.{schema}")));
                }
                (place, name)
            }
            _ => return Err(too_long(name)),
        };
        Ok(ObjectPlace { place, name: name.to_owned() })
    }
}

fn check_not_information(schema: &str) -> Result<()> {
    match schema.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
        true => Err(Error::invalid_query(format!("{schema} cannot be changed"))),
        false => Ok(()),
    }
}

fn too_long(name: &str) -> Error {
    let error = Error::invalid_query(format!("a name of too many parts: {name}"));
    error.hint("database.schema.name is the longest")
}

pub(crate) fn no_schema(name: &str) -> Error {
    let error = Error::invalid_query(format!("no such schema: {name}"));
    error.hint(format!("CREATE SCHEMA {name} makes it"))
}

fn definition_of(entry: &MacroEntry) -> MacroDefinition {
    let parameters = entry.parameters.iter().map(|it| MacroParameter {
        name: it.name.clone(),
        data_type: it.data_type.clone(),
        default: it.default.clone(),
    });
    let (parameters, body) = (parameters.collect(), entry.body.clone());
    MacroDefinition { parameters, body, is_table: entry.is_table }
}

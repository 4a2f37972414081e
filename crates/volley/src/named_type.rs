//! Types made by CREATE TYPE.
//!
//! A name is an alias of a type; columns have the type, not the name. The names used by columns and
//! types are stored as well, so that a type that is in use cannot be dropped.

use crate::{
    Session,
    catalog::{Entry, Names, key},
    planning::StatementContext,
    statement::rows_of,
};
use std::{collections::HashSet, sync::Arc};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_sql::{DropKind, TypeDefinition, names_type};
use volley_types::{Type, custom::Enumeration, nearest_name};

/// A type and its name.
#[derive(Debug)]
pub(crate) struct NamedType {
    /// As written.
    pub(crate) name: String,
    pub(crate) data_type: Type,
    /// Those that it was written with.
    named_types: Vec<String>,
}

impl NamedType {
    pub(crate) fn new(
        session: &Session,
        name: String,
        definition: TypeDefinition,
        cx: &StatementContext,
    ) -> Result<NamedType> {
        let query = match definition {
            TypeDefinition::Type { data_type, named_types } => {
                return Ok(NamedType { name, data_type, named_types });
            }
            TypeDefinition::Labels(query) => query,
        };
        let rows = rows_of(session, query, cx)?;
        let (mut labels, mut known) = (Vec::new(), HashSet::new());
        for batch in &rows.batches {
            for value in batch.column(0).to_values()? {
                if let Some(label) = value.as_str()
                    && known.insert(label.to_owned())
                {
                    labels.push(label.to_owned());
                }
            }
        }
        let data_type = Enumeration::data_type(labels).map_err(Error::invalid_query)?;
        Ok(NamedType { name, data_type, named_types: Vec::new() })
    }
}

/// What uses a type.
enum User {
    /// By its key.
    Table(String),
    /// By its name.
    Type(String),
}

impl Names {
    pub(crate) fn create_type(&mut self, new: NamedType, or_replace: bool) -> Result<()> {
        let name = &new.name;
        if self.types.contains_key(&key(name)) {
            if !or_replace {
                let message = format!("there is already a type called {name}");
                return Err(Error::invalid_query(message));
            }
            self.check_unused(name)?;
        }
        self.types.insert(key(name), Arc::new(new));
        Ok(())
    }

    pub(crate) fn drop_type(&mut self, name: &str, kind: DropKind, if_exists: bool) -> Result<()> {
        if !self.types.contains_key(&key(name)) {
            if if_exists {
                return Ok(());
            }
            let error = Error::invalid_query(format!("no such type: {name}"));
            let all = self.types.values().map(|it| it.name.as_str());
            return Err(match nearest_name(name, all) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error,
            });
        }
        if kind == DropKind::Type {
            self.check_unused(name)?;
        }
        self.types.remove(&key(name));
        let mut dropped = vec![name.to_owned()];
        while let Some(name) = dropped.pop() {
            while let Some(user) = self.user_of_type(&name) {
                match user {
                    User::Table(key) => drop(self.entries.remove(&key)),
                    User::Type(name) => {
                        self.types.remove(&key(&name));
                        dropped.push(name);
                    }
                }
            }
        }
        Ok(())
    }

    fn check_unused(&self, name: &str) -> Result<()> {
        let user = match self.user_of_type(name) {
            None => return Ok(()),
            Some(User::Table(key)) => {
                format!("table {}", self.entries.get(&key).map_or(&key, |it| &it.0))
            }
            Some(User::Type(name)) => format!("type {name}"),
        };
        let error = Error::invalid_query(format!("type {name} is used by {user}"));
        Err(error.hint(format!("DROP TYPE {name} CASCADE drops what uses it, too")))
    }

    /// A table or type that uses a type.
    fn user_of_type(&self, name: &str) -> Option<User> {
        let wanted = key(name);
        let is_it = |it: &String| key(it) == wanted;
        let mut others = self.types.iter().filter(|it| *it.0 != wanted);
        if let Some((_, user)) = others.find(|it| it.1.named_types.iter().any(is_it)) {
            return Some(User::Type(user.name.clone()));
        }
        let uses = |it: &MemoryTable| {
            let definition = it.definition();
            let texts = definition.columns.iter().flat_map(|it| [&it.default, &it.generated]);
            let texts = texts.flatten().chain(definition.checks.iter().map(|it| &it.condition));
            definition.columns.iter().any(|it| it.named_types.iter().any(is_it))
                || texts.into_iter().any(|it| names_type(it, &wanted))
        };
        let mut entries = self.entries.iter();
        let user = entries.find(|(_, (_, it))| matches!(it, Entry::Memory(it) if uses(it)));
        user.map(|it| User::Table(it.0.clone()))
    }
}

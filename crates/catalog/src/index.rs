//! CREATE INDEX and DROP INDEX.

use crate::{
    define::replaced,
    drop::last_part,
    session::{SessionCatalog, Turn},
    statement::StatementCatalog,
};
use volley_connector::{
    Definition, IndexDefinition, IndexPart, KeyDefinition, TableChange, TableDefinition,
};
use volley_error::{Error, Result};

impl SessionCatalog {
    /// Makes an index of a table; nothing, when there is one of its name and `if_not_exists`.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table, the name is taken. Invalid value: rows with equal keys of a
    /// unique index. Out of memory; I/O.
    pub fn create_index(
        &self,
        catalog: &StatementCatalog,
        turn: Option<Turn>,
        (table_name, index): (&str, &IndexDefinition),
        if_not_exists: bool,
    ) -> Result<()> {
        let (place, table) = catalog.stored_table(table_name)?;
        self.change(&place.database, turn, |transaction| {
            let snapshot = transaction.snapshot();
            if snapshot.catalog().index(&place.schema, &index.name).is_some() {
                return match if_not_exists {
                    true => Ok(()),
                    false => Err(taken(&index.name)),
                };
            }
            let entry = snapshot.catalog().table(table).map(|it| it.1);
            let entry = entry.ok_or_else(|| replaced(table_name))?;
            let mut definition = (*entry.definition).clone();
            add(&mut definition, index);
            // Rows keep what another index says of them.
            let change = match index.is_unique {
                true => TableChange::Define { definition },
                false => TableChange::Comment { definition },
            };
            transaction.define(Definition::AlterTable { table, change })
        })
    }

    pub(crate) fn drop_index(
        &self,
        catalog: &StatementCatalog,
        name: &str,
        if_exists: bool,
    ) -> Result<()> {
        let Some(place) = catalog.place_of_index(name)? else {
            return match if_exists {
                true => Ok(()),
                false => Err(Error::invalid_query(format!("no such index: {name}"))),
            };
        };
        let last = last_part(name);
        self.change(&place.database, None, |transaction| {
            let snapshot = transaction.snapshot();
            let entry = snapshot.catalog().index(&place.schema, last);
            let entry = entry.ok_or_else(|| replaced(name))?;
            let mut definition = (*entry.definition).clone();
            let is_other = |it: &str| !it.eq_ignore_ascii_case(last);
            definition.indexes.retain(|it| is_other(&it.name));
            definition.keys.retain(|it| it.index.as_deref().is_none_or(is_other));
            let change = TableChange::Comment { definition };
            transaction.define(Definition::AlterTable { table: entry.id, change })
        })
    }
}

/// Adds an index, and the key of a unique one.
fn add(definition: &mut TableDefinition, index: &IndexDefinition) {
    if index.is_unique {
        let columns = index.parts.iter().filter_map(|it| match it {
            IndexPart::Column(column) => Some(*column),
            IndexPart::Expression(_) => None,
        });
        let (columns, index) = (columns.collect(), Some(index.name.clone()));
        definition.keys.push(KeyDefinition { columns, is_primary: false, index });
    }
    definition.indexes.push(index.clone());
}

fn taken(name: &str) -> Error {
    Error::invalid_query(format!("there is already an index called {name}"))
}

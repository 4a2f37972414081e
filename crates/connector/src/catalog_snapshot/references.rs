//! Foreign keys and indexes of a catalog.

use super::{CatalogSnapshot, RelationEntry, SchemaSnapshot, TableEntry, TableId};
use crate::ForeignKeyDefinition;
use std::sync::Arc;
use volley_error::{Error, Result};

/// A foreign key and the table that has it.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'c> {
    /// The schema of the table.
    pub schema: &'c Arc<SchemaSnapshot>,
    /// The table that has the constraint.
    pub table: &'c Arc<TableEntry>,
    /// The constraint.
    pub key: &'c ForeignKeyDefinition,
}

/// The names of a referenced table and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencedName {
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The columns, in the order of the foreign key.
    pub columns: Vec<String>,
}

impl CatalogSnapshot {
    /// The tables that the foreign keys of a table reference, one per foreign key.
    pub fn referenced_names(&self, table: TableId) -> Vec<ReferencedName> {
        let Some((_, own)) = self.table(table) else { return Vec::new() };
        let name = |key: &ForeignKeyDefinition| {
            let (schema, table) = self.table(key.target(own.id))?;
            let fields = key.referenced.iter().filter_map(|it| table.columns.fields.get(*it));
            Some(ReferencedName {
                schema: schema.name.clone(),
                table: table.name.clone(),
                columns: fields.map(|it| it.name.clone()).collect(),
            })
        };
        own.definition.foreign_keys.iter().filter_map(name).collect()
    }

    /// The foreign keys that reference a table, its own among them.
    pub fn references_to(&self, table: TableId) -> impl Iterator<Item = Reference<'_>> {
        self.references().filter(move |it| it.key.target(it.table.id) == table)
    }

    /// All foreign keys.
    pub fn references(&self) -> impl Iterator<Item = Reference<'_>> {
        self.schemas.values().flat_map(|schema| {
            let tables = schema.relations.values().filter_map(RelationEntry::as_table);
            tables.flat_map(move |table| {
                let keys = table.definition.foreign_keys.iter();
                keys.map(move |key| Reference { schema, table, key })
            })
        })
    }

    /// The table of a schema that has an index of this name, ignoring case.
    pub fn index(&self, schema: &str, name: &str) -> Option<&Arc<TableEntry>> {
        self.schema(schema)?.index(name)
    }

    /// Refuses tables that foreign keys of other tables reference.
    pub(super) fn check_unreferenced(&self, tables: &[TableId]) -> Result<()> {
        for table in tables {
            let mut others = self.references_to(*table);
            let Some(other) = others.find(|it| !tables.contains(&it.table.id)) else { continue };
            let child = CatalogSnapshot::shown_name(&other.schema.name, &other.table.name);
            let parent = self.table(*table);
            let parent = parent.map_or_else(String::new, |(schema, it)| {
                CatalogSnapshot::shown_name(&schema.name, &it.name)
            });
            let message = format!(
                "a foreign key of table {child} references table {parent}, which cannot be dropped"
            );
            let hint = format!("DROP TABLE {child} removes the foreign key");
            return Err(Error::invalid_query(message).hint(hint));
        }
        Ok(())
    }
}

impl SchemaSnapshot {
    /// The table that has an index of this name, ignoring case.
    pub fn index(&self, name: &str) -> Option<&Arc<TableEntry>> {
        let mut tables = self.relations.values().filter_map(RelationEntry::as_table);
        let is_named = |it: &&Arc<TableEntry>| {
            it.definition.indexes.iter().any(|it| it.name.eq_ignore_ascii_case(name))
        };
        tables.find(is_named)
    }
}

//! Changes of a catalog that refuse what is not allowed.

use super::{
    CatalogSnapshot, DefinedObject, ObjectKind, RelationEntry, SchemaSnapshot, SequenceEntry,
    SequenceId, TableEntry, TableId,
};
use std::sync::Arc;
use volley_error::{Error, Result};

/// The rows and numbers that belong to objects which a change removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedObjects {
    /// Tables.
    pub tables: Vec<TableId>,
    /// Sequences.
    pub sequences: Vec<SequenceId>,
}

impl CatalogSnapshot {
    /// The schema that always exists.
    pub const MAIN: &str = "main";

    /// The empty schema `main`.
    pub fn with_main() -> CatalogSnapshot {
        let mut catalog = CatalogSnapshot::default();
        let main = CatalogSnapshot::MAIN.to_owned();
        let schema = SchemaSnapshot { name: main.clone(), ..SchemaSnapshot::default() };
        catalog.schemas.insert(main, Arc::new(schema));
        catalog
    }

    /// How messages and plans name a table.
    pub fn shown_name(schema: &str, name: &str) -> String {
        let is_main = schema.eq_ignore_ascii_case(CatalogSnapshot::MAIN);
        if is_main { name.to_owned() } else { format!("{schema}.{name}") }
    }

    fn schema_mut(&mut self, name: &str) -> Result<&mut SchemaSnapshot> {
        let schema = self.schemas.get_mut(&name.to_lowercase());
        schema.map(Arc::make_mut).ok_or_else(|| no_schema(name))
    }

    /// Adds a schema.
    ///
    /// # Errors
    ///
    /// Invalid query: the name is taken.
    pub fn create_schema(&mut self, name: String) -> Result<()> {
        let key = name.to_lowercase();
        if self.schemas.contains_key(&key) {
            return Err(Error::invalid_query(format!("there is already a schema {name}")));
        }
        let schema = SchemaSnapshot { name, ..SchemaSnapshot::default() };
        self.schemas.insert(key, Arc::new(schema));
        Ok(())
    }

    /// Removes a schema with all that is in it.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema; it is `main`.
    pub fn drop_schema(&mut self, name: &str) -> Result<RemovedObjects> {
        let key = name.to_lowercase();
        if key == CatalogSnapshot::MAIN {
            return Err(Error::invalid_query(format!("the schema {name} cannot be dropped")));
        }
        let schema = self.schemas.get(&key).cloned().ok_or_else(|| no_schema(name))?;
        let tables = schema.relations.values().filter_map(RelationEntry::as_table);
        let tables: Vec<TableId> = tables.map(|it| it.id).collect();
        self.check_unreferenced(&tables)?;
        self.schemas.remove(&key);
        let sequences = schema.sequences.values().map(|it| it.id).collect();
        Ok(RemovedObjects { tables, sequences })
    }

    /// Adds a table.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema, the name is taken.
    pub fn add_table(&mut self, schema: &str, table: TableEntry) -> Result<()> {
        let into = self.schema_mut(schema)?;
        check_free(into, &table.name)?;
        let key = table.name.to_lowercase();
        into.relations.insert(key, RelationEntry::Table(Arc::new(table)));
        Ok(())
    }

    /// Changes columns and definition of a table.
    ///
    /// # Errors
    ///
    /// Internal: no such table.
    pub fn change_table(
        &mut self,
        table: TableId,
        change: impl FnOnce(&mut TableEntry),
    ) -> Result<()> {
        let (schema, mut entry) = self.found(table)?;
        change(&mut entry);
        let key = entry.name.to_lowercase();
        let relation = RelationEntry::Table(Arc::new(entry));
        self.schema_mut(&schema)?.relations.insert(key, relation);
        Ok(())
    }

    /// Gives a table another name, in the same schema or another one.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema, the name is taken. Internal: no such table.
    pub fn rename_table(&mut self, table: TableId, schema: &str, name: &str) -> Result<()> {
        let (old_schema, entry) = self.found(table)?;
        self.schema_mut(&old_schema)?.relations.remove(&entry.name.to_lowercase());
        self.add_table(schema, TableEntry { name: name.to_owned(), ..entry })
    }

    /// The schema's name and the table.
    fn found(&self, table: TableId) -> Result<(String, TableEntry)> {
        let found = self.table(table).map(|(schema, it)| (schema.name.clone(), (**it).clone()));
        found.ok_or_else(|| Error::internal("a table without a name"))
    }

    /// Adds an object, or replaces one of its name and kind. A sequence gets the identity
    /// `sequence`.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema; a table has the name of the view.
    pub fn put(
        &mut self,
        schema: &str,
        object: DefinedObject,
        sequence: SequenceId,
    ) -> Result<RemovedObjects> {
        let key = object.name().to_lowercase();
        let into = self.schema_mut(schema)?;
        let mut removed = RemovedObjects::default();
        match object {
            DefinedObject::View(view) => {
                if let Some(table) = into.relations.get(&key).filter(|it| it.as_table().is_some()) {
                    return Err(taken(table));
                }
                into.relations.insert(key, RelationEntry::View(Arc::new(view)));
            }
            DefinedObject::Sequence(entry) => {
                let entry = SequenceEntry { id: sequence, ..entry };
                let old = into.sequences.insert(key, Arc::new(entry));
                removed.sequences.extend(old.map(|it| it.id));
            }
            DefinedObject::Type(named) => drop(into.types.insert(key, Arc::new(named))),
            DefinedObject::Macro(named) => drop(into.macros.insert(key, Arc::new(named))),
        }
        Ok(removed)
    }

    /// Removes an object.
    ///
    /// # Errors
    ///
    /// Invalid query: no such schema, no such object, a table that a foreign key of another table
    /// references.
    pub fn drop_object(
        &mut self,
        schema: &str,
        kind: ObjectKind,
        name: &str,
    ) -> Result<RemovedObjects> {
        let key = name.to_lowercase();
        if kind == ObjectKind::Table
            && let Some(table) = self.relation(schema, name).and_then(RelationEntry::as_table)
        {
            self.check_unreferenced(&[table.id])?;
        }
        let from = self.schema_mut(schema)?;
        let mut removed = RemovedObjects::default();
        let is_dropped = match kind {
            ObjectKind::Table | ObjectKind::View => {
                let found = from.relations.get(&key).is_some_and(|it| it.kind() == kind);
                let dropped = found.then(|| from.relations.remove(&key)).flatten();
                let table = dropped.as_ref().and_then(RelationEntry::as_table);
                removed.tables.extend(table.map(|it| it.id));
                found
            }
            ObjectKind::Sequence => {
                let dropped = from.sequences.remove(&key);
                removed.sequences.extend(dropped.iter().map(|it| it.id));
                dropped.is_some()
            }
            ObjectKind::Type => from.types.remove(&key).is_some(),
            ObjectKind::Macro => from.macros.remove(&key).is_some(),
        };
        if is_dropped {
            return Ok(removed);
        }
        Err(Error::invalid_query(format!("no such {}: {name}", kind.name())))
    }
}

/// Refuses the name of a table or view of the schema.
fn check_free(schema: &SchemaSnapshot, name: &str) -> Result<()> {
    schema.relations.get(&name.to_lowercase()).map_or(Ok(()), |it| Err(taken(it)))
}

fn taken(relation: &RelationEntry) -> Error {
    let (kind, name) = (relation.kind().name(), relation.name());
    Error::invalid_query(format!("there is already a {kind} called {name}"))
}

fn no_schema(name: &str) -> Error {
    let error = Error::invalid_query(format!("no such schema: {name}"));
    error.hint(format!("CREATE SCHEMA {name} makes it"))
}

//! Changes of what objects there are.

use super::{MAIN, Shared, State, Version, sequence::Numbers};
use crate::MemoryTable;
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{
    CatalogSnapshot, DefinedObject, Definition, ObjectKind, RelationEntry, SchemaSnapshot,
    SequenceEntry, SequenceId, Table, TableChange, TableDefinition, TableEntry, TableId,
};
use volley_error::{Error, Result};
use volley_types::{Field, Schema};

/// The state after a change; the old one is as it was.
pub(super) fn apply(state: &State, change: Definition, shared: &Shared) -> Result<State> {
    let mut next = state.clone();
    match change {
        Definition::CreateSchema { name } => next.create_schema(name)?,
        Definition::DropSchema { name } => next.drop_schema(&name)?,
        Definition::CreateTable { schema, name, columns, definition } => {
            next.create_table(&schema, name, (columns, definition), shared)?;
        }
        Definition::AlterTable { table, change } => next.alter(table, change, shared)?,
        Definition::Put { schema, object } => next.put(&schema, object, shared)?,
        Definition::Drop { schema, kind, name } => next.drop_object(&schema, kind, &name)?,
    }
    Ok(next)
}

impl State {
    fn schemas(&mut self) -> &mut BTreeMap<String, Arc<SchemaSnapshot>> {
        &mut Arc::make_mut(&mut self.catalog).schemas
    }

    fn schema(&mut self, name: &str) -> Result<&mut SchemaSnapshot> {
        let schema = self.schemas().get_mut(&name.to_lowercase());
        schema.map(Arc::make_mut).ok_or_else(|| no_schema(name))
    }

    fn create_schema(&mut self, name: String) -> Result<()> {
        let key = name.to_lowercase();
        if self.schemas().contains_key(&key) {
            return Err(Error::invalid_query(format!("there is already a schema {name}")));
        }
        let schema = SchemaSnapshot { name, ..SchemaSnapshot::default() };
        self.schemas().insert(key, Arc::new(schema));
        Ok(())
    }

    fn drop_schema(&mut self, name: &str) -> Result<()> {
        let key = name.to_lowercase();
        if key == MAIN {
            return Err(Error::invalid_query(format!("the schema {name} cannot be dropped")));
        }
        let schema = self.schemas().remove(&key).ok_or_else(|| no_schema(name))?;
        for table in schema.relations.values().filter_map(RelationEntry::as_table) {
            self.tables.remove(&table.id);
        }
        for sequence in schema.sequences.values() {
            self.numbers.remove(&sequence.id);
        }
        Ok(())
    }

    fn create_table(
        &mut self,
        schema: &str,
        name: String,
        (columns, definition): (Schema, TableDefinition),
        shared: &Shared,
    ) -> Result<()> {
        check_free(self.schema(schema)?, &name)?;
        let id = TableId(shared.next_number());
        let table = MemoryTable::new(shown_name(schema, &name), columns, Vec::new(), &shared.pool)?;
        let table = table.with_definition(Arc::new(definition));
        self.put_table(id, schema, &name, table, shared)
    }

    /// Puts a version of a table in the place of what it was, in the catalog, too.
    fn put_table(
        &mut self,
        id: TableId,
        schema: &str,
        name: &str,
        table: MemoryTable,
        shared: &Shared,
    ) -> Result<()> {
        let entry = TableEntry {
            id,
            name: name.to_owned(),
            columns: table.schema().clone(),
            definition: Arc::clone(table.definition()),
        };
        let entry = RelationEntry::Table(Arc::new(entry));
        self.schema(schema)?.relations.insert(name.to_lowercase(), entry);
        self.tables.insert(id, Version { number: shared.next_number(), table });
        Ok(())
    }

    fn alter(&mut self, id: TableId, change: TableChange, shared: &Shared) -> Result<()> {
        let table = self.version(id)?.table.clone();
        let (schema, name) = place_of(&self.catalog, id)?;
        let altered = match change {
            TableChange::Rename { schema: new_schema, name: new } => {
                self.schema(&schema)?.relations.remove(&name.to_lowercase());
                check_free(self.schema(&new_schema)?, &new)?;
                let table = table.renamed(shown_name(&new_schema, &new));
                return self.put_table(id, &new_schema, &new, table, shared);
            }
            TableChange::AddColumn { field, definition, values } => {
                table.add_column(field, definition, &values)?
            }
            TableChange::RetypeColumn { index, data_type, named_types, values } => {
                table.retype_column(index, (data_type, named_types), &values)?
            }
            TableChange::DropColumn { index } => {
                check_column(&table, index)?;
                table.drop_column(index)
            }
            TableChange::RenameColumn { index, name } => {
                check_column(&table, index)?;
                table.with_schema(with_name(table.schema(), index, &name))
            }
            TableChange::Define { definition } => table.promising(definition)?,
            TableChange::Comment { definition } => table.with_definition(Arc::new(definition)),
        };
        self.put_table(id, &schema, &name, altered, shared)
    }

    fn put(&mut self, schema: &str, object: DefinedObject, shared: &Shared) -> Result<()> {
        let key = object.name().to_lowercase();
        let into = self.schema(schema)?;
        match object {
            DefinedObject::View(view) => {
                if let Some(table) = into.relations.get(&key).filter(|it| it.as_table().is_some()) {
                    return Err(taken(table));
                }
                into.relations.insert(key, RelationEntry::View(Arc::new(view)));
            }
            DefinedObject::Sequence(sequence) => {
                let id = SequenceId(shared.next_number());
                let entry = SequenceEntry { id, ..sequence };
                let old = into.sequences.insert(key, Arc::new(entry.clone()));
                old.iter().for_each(|it| drop(self.numbers.remove(&it.id)));
                self.numbers.insert(id, Arc::new(Numbers::new(entry)));
            }
            DefinedObject::Type(named) => drop(into.types.insert(key, Arc::new(named))),
            DefinedObject::Macro(named) => drop(into.macros.insert(key, Arc::new(named))),
        }
        Ok(())
    }

    fn drop_object(&mut self, schema: &str, kind: ObjectKind, name: &str) -> Result<()> {
        let key = name.to_lowercase();
        let from = self.schema(schema)?;
        let is_dropped = match kind {
            ObjectKind::Table | ObjectKind::View => {
                let found = from.relations.get(&key).is_some_and(|it| it.kind() == kind);
                let dropped = found.then(|| from.relations.remove(&key)).flatten();
                let table = dropped.as_ref().and_then(RelationEntry::as_table);
                table.into_iter().for_each(|it| drop(self.tables.remove(&it.id)));
                found
            }
            ObjectKind::Sequence => {
                let dropped = from.sequences.remove(&key);
                dropped.iter().for_each(|it| drop(self.numbers.remove(&it.id)));
                dropped.is_some()
            }
            ObjectKind::Type => from.types.remove(&key).is_some(),
            ObjectKind::Macro => from.macros.remove(&key).is_some(),
        };
        match is_dropped {
            true => Ok(()),
            false => Err(Error::invalid_query(format!("no such {}: {name}", kind.name()))),
        }
    }
}

/// Refuses the name of a table or view of the schema.
fn check_free(schema: &SchemaSnapshot, name: &str) -> Result<()> {
    schema.relations.get(&name.to_lowercase()).map_or(Ok(()), |it| Err(taken(it)))
}

/// The schema and the name of a table.
fn place_of(catalog: &CatalogSnapshot, id: TableId) -> Result<(String, String)> {
    let found = catalog.table(id).map(|(schema, table)| (schema.name.clone(), table.name.clone()));
    found.ok_or_else(|| Error::internal("a table without a name"))
}

fn check_column(table: &MemoryTable, index: usize) -> Result<()> {
    if index < table.schema().len() { Ok(()) } else { Err(Error::internal("no such column")) }
}

/// The columns with another name for one of them.
fn with_name(schema: &Schema, index: usize, name: &str) -> Schema {
    let fields = schema.fields.iter().enumerate();
    let renamed = fields.map(|(at, field)| match at == index {
        true => Field::new(name, field.data_type.clone()),
        false => field.clone(),
    });
    renamed.collect()
}

/// How plans name a table.
fn shown_name(schema: &str, name: &str) -> String {
    if schema.eq_ignore_ascii_case(MAIN) { name.to_owned() } else { format!("{schema}.{name}") }
}

fn taken(relation: &RelationEntry) -> Error {
    let (kind, name) = (relation.kind().name(), relation.name());
    Error::invalid_query(format!("there is already a {kind} called {name}"))
}

fn no_schema(name: &str) -> Error {
    let error = Error::invalid_query(format!("no such schema: {name}"));
    error.hint(format!("CREATE SCHEMA {name} makes it"))
}

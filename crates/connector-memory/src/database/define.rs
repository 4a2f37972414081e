//! Changes of what objects there are.

use super::{Shared, State, Version, sequence::Numbers};
use crate::MemoryTable;
use std::sync::Arc;
use volley_connector::{
    CatalogSnapshot, DefinedObject, Definition, RemovedObjects, SequenceEntry, SequenceId, Table,
    TableChange, TableDefinition, TableEntry, TableId,
};
use volley_error::{Error, Result};
use volley_types::Schema;

/// The state after a change; the old one is as it was.
pub(super) fn apply(state: &State, change: Definition, shared: &Shared) -> Result<State> {
    let mut next = state.clone();
    match change {
        Definition::CreateSchema { name } => next.catalog_mut().create_schema(name)?,
        Definition::DropSchema { name } => {
            let removed = next.catalog_mut().drop_schema(&name)?;
            next.remove(&removed);
        }
        Definition::CreateTable { schema, name, columns, definition } => {
            next.create_table(&schema, name, (columns, definition), shared)?;
        }
        Definition::AlterTable { table, change } => next.alter(table, change, shared)?,
        Definition::Put { schema, object } => next.put(&schema, object, shared)?,
        Definition::Drop { schema, kind, name } => {
            let removed = next.catalog_mut().drop_object(&schema, kind, &name)?;
            next.remove(&removed);
        }
    }
    Ok(next)
}

impl State {
    fn catalog_mut(&mut self) -> &mut CatalogSnapshot {
        Arc::make_mut(&mut self.catalog)
    }

    fn remove(&mut self, removed: &RemovedObjects) {
        removed.tables.iter().for_each(|it| drop(self.tables.remove(it)));
        removed.sequences.iter().for_each(|it| drop(self.numbers.remove(it)));
    }

    fn create_table(
        &mut self,
        schema: &str,
        name: String,
        (columns, definition): (Schema, TableDefinition),
        shared: &Shared,
    ) -> Result<()> {
        let id = TableId(shared.next_number());
        let definition = Arc::new(definition);
        let shown = shared.shown_name(schema, &name);
        let entry =
            TableEntry { id, name, columns: columns.clone(), definition: Arc::clone(&definition) };
        self.catalog_mut().add_table(schema, entry)?;
        let table = MemoryTable::new(shown, columns, Vec::new(), &shared.pool)?;
        self.put_version(id, table.with_definition(definition), shared);
        Ok(())
    }

    fn put_version(&mut self, id: TableId, table: MemoryTable, shared: &Shared) {
        let version = Version { number: shared.next_number(), table: Arc::new(table) };
        self.tables.insert(id, version);
    }

    fn alter(&mut self, id: TableId, change: TableChange, shared: &Shared) -> Result<()> {
        let table = Arc::clone(&self.version(id)?.table);
        let mut has_new_references = false;
        let altered = match change {
            TableChange::Rename { schema, name } => {
                self.catalog_mut().rename_table(id, &schema, &name)?;
                let table = table.renamed(shared.shown_name(&schema, &name));
                self.put_version(id, table, shared);
                return Ok(());
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
                let mut schema = table.schema().clone();
                schema
                    .fields
                    .iter_mut()
                    .skip(index)
                    .take(1)
                    .for_each(|it| it.name.clone_from(&name));
                table.with_schema(schema)
            }
            TableChange::Define { definition } => {
                has_new_references = definition.foreign_keys != table.definition().foreign_keys;
                table.promising(definition)?
            }
            TableChange::Comment { definition } => {
                (*table).clone().with_definition(Arc::new(definition))
            }
        };
        self.catalog_mut().change_table(id, |it| {
            it.columns = altered.schema().clone();
            it.definition = Arc::clone(altered.definition());
        })?;
        self.put_version(id, altered, shared);
        match self.catalog.table(id).map(|it| Arc::clone(it.1)) {
            Some(entry) if has_new_references => self.check_foreign_keys(&entry),
            _ => Ok(()),
        }
    }

    fn put(&mut self, schema: &str, object: DefinedObject, shared: &Shared) -> Result<()> {
        let id = SequenceId(shared.next_number());
        let numbers = match &object {
            DefinedObject::Sequence(it) => Some(Numbers::new(SequenceEntry { id, ..it.clone() })),
            _ => None,
        };
        let removed = self.catalog_mut().put(schema, object, id)?;
        self.remove(&removed);
        self.numbers.extend(numbers.map(|it| (id, Arc::new(it))));
        Ok(())
    }
}

fn check_column(table: &MemoryTable, index: usize) -> Result<()> {
    if index < table.schema().len() { Ok(()) } else { Err(Error::internal("no such column")) }
}

impl Shared {
    /// How plans name a table.
    fn shown_name(&self, schema: &str, name: &str) -> String {
        format!("{}{}", self.prefix, CatalogSnapshot::shown_name(schema, name))
    }
}

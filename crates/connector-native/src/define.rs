//! Changes of what objects there are.
//!
//! A table whose columns change gets new rows: they are inserted into a new version of the table,
//! which replaces the old one. Any change of the table by others is a conflict then.

use crate::{change, foreign_key, key};
use std::{collections::HashMap, sync::Arc};
use volley_connector::{
    ColumnDefinition, DefinedObject, Definition, RowUpdates, SequenceEntry, SequenceId,
    TableChange as Alteration, TableDefinition, TableEntry, TableId,
};
use volley_error::{Error, Result};
use volley_pdt::RowId;
use volley_storage::{
    Changes, ConflictScope, Numbers, Storage, TableChange, TableDescription, TableVersion,
    TableView,
};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Parts, Pick, Vector};

/// Applies a change. After an error `changes` may have a part of it.
pub(crate) fn apply(changes: &mut Changes, change: Definition, storage: &Storage) -> Result<()> {
    let catalog = Arc::make_mut(&mut changes.catalog);
    match change {
        Definition::CreateSchema { name } => catalog.create_schema(name)?,
        Definition::DropSchema { name } => {
            let removed = catalog.drop_schema(&name)?;
            changes.tables.retain(|it, _| !removed.tables.contains(it));
        }
        Definition::CreateTable { schema, name, columns, definition } => {
            let id = TableId(storage.ids().next_object());
            let table = empty_table(id, &columns, storage)?;
            let definition = Arc::new(definition);
            catalog.add_table(&schema, TableEntry { id, name, columns, definition })?;
            changes.tables.insert(id, Arc::new(TableChange::replacing(table)));
        }
        Definition::AlterTable { table, change } => alter(changes, table, change, storage)?,
        Definition::Put { schema, object } => {
            let id = SequenceId(storage.ids().next_object());
            if let DefinedObject::Sequence(entry) = &object {
                let numbers = Numbers::new(SequenceEntry { id, ..entry.clone() });
                changes.numbers.insert(id, Arc::new(numbers));
            }
            catalog.put(&schema, object, id)?;
        }
        Definition::Drop { schema, kind, name } => {
            let removed = catalog.drop_object(&schema, kind, &name)?;
            changes.tables.retain(|it, _| !removed.tables.contains(it));
        }
    }
    Ok(())
}

fn empty_table(id: TableId, columns: &Schema, storage: &Storage) -> Result<TableVersion> {
    let (shape, segment) = (storage.ids().next_object(), storage.ids().next_segment()?);
    TableVersion::empty(id, shape, columns, segment, storage.budget())
}

fn alter(changes: &mut Changes, id: TableId, change: Alteration, storage: &Storage) -> Result<()> {
    let view = changes.view(id)?;
    let entry = changes.catalog.table(id).map(|it| Arc::clone(it.1));
    let entry = entry.ok_or_else(|| Error::internal("a table without a name"))?;
    let check_column = |index: usize| {
        let is_column = index < entry.columns.len();
        if is_column { Ok(()) } else { Err(Error::internal("no such column")) }
    };
    let columns = entry.columns.clone();
    match change {
        Alteration::Rename { schema, name } => {
            Arc::make_mut(&mut changes.catalog).rename_table(id, &schema, &name)
        }
        Alteration::AddColumn { field, definition, values } => {
            let at = columns.len();
            let altered = Altered::new(&entry).with_column(at, field.data_type.clone(), values);
            let altered = altered.defined(|schema, of| {
                schema.fields.push(field);
                of.columns.resize(at, ColumnDefinition::default());
                of.columns.push(definition);
            });
            altered.apply(changes, &view, storage)
        }
        Alteration::RetypeColumn { index, data_type, named_types, values } => {
            check_column(index)?;
            let altered = Altered::new(&entry).with_column(index, data_type.clone(), values);
            let altered = altered.defined(|schema, of| {
                of.columns.resize(schema.len(), ColumnDefinition::default());
                let fields = schema.fields.iter_mut().skip(index).take(1);
                fields.for_each(|it| it.data_type.clone_from(&data_type));
                let columns = of.columns.iter_mut().skip(index).take(1);
                columns.for_each(|it| it.named_types.clone_from(&named_types));
            });
            altered.apply(changes, &view, storage)
        }
        Alteration::DropColumn { index } => {
            check_column(index)?;
            let altered = Altered::new(&entry).without_column(index).defined(|schema, of| {
                schema.fields.remove(index);
                of.drop_column(index);
            });
            altered.apply(changes, &view, storage)
        }
        Alteration::RenameColumn { index, name } => {
            check_column(index)?;
            let mut columns = columns;
            let fields = columns.fields.iter_mut().skip(index).take(1);
            fields.for_each(|it| it.name.clone_from(&name));
            set(changes, id, columns, Arc::clone(&entry.definition))
        }
        Alteration::Define { definition } => {
            check_rows(&view, &columns, &definition, storage)?;
            let has_new_references = definition.foreign_keys != entry.definition.foreign_keys;
            changes.table_mut(id)?.scope = ConflictScope::Table;
            set(changes, id, columns, Arc::new(definition))?;
            if !has_new_references {
                return Ok(());
            }
            let all: Vec<usize> = (0..entry.columns.len()).collect();
            let mut rows = Vec::new();
            change::for_each_batch(&view, &all, |_, batch| {
                rows.push(batch);
                Ok(())
            })?;
            foreign_key::check_rows(changes, id, &rows, storage)
        }
        Alteration::Comment { definition } => set(changes, id, columns, Arc::new(definition)),
    }
}

fn set(
    changes: &mut Changes,
    id: TableId,
    columns: Schema,
    definition: Arc<TableDefinition>,
) -> Result<()> {
    Arc::make_mut(&mut changes.catalog).change_table(id, |it| {
        it.columns = columns;
        it.definition = definition;
    })
}

/// Checks all rows: no null where there must be none, no key twice.
fn check_rows(
    view: &TableView,
    columns: &Schema,
    definition: &TableDefinition,
    storage: &Storage,
) -> Result<()> {
    let all: Vec<usize> = (0..columns.len()).collect();
    let mut batches = Vec::new();
    let needed = definition.keys.iter().flat_map(|it| &it.columns).next().is_some()
        || (0..columns.len()).any(|it| definition.is_not_null(it));
    if !needed {
        return Ok(());
    }
    change::for_each_batch(view, &all, |_, batch| {
        change::check_not_null(std::slice::from_ref(&batch), columns, definition)?;
        batches.push(batch);
        Ok(())
    })?;
    key::check_among_themselves(definition, columns, &batches, storage.pool())
}

/// A table with other columns.
struct Altered<'a> {
    entry: &'a TableEntry,
    columns: Schema,
    definition: TableDefinition,
    /// Where the values of each column come from: an old column, or new values.
    sources: Vec<Source>,
    values: Vec<RowUpdates>,
    value_type: Type,
}

#[derive(Clone, Copy)]
enum Source {
    Old(usize),
    New,
}

impl<'a> Altered<'a> {
    fn new(entry: &'a TableEntry) -> Altered<'a> {
        Altered {
            entry,
            columns: entry.columns.clone(),
            definition: (*entry.definition).clone(),
            sources: (0..entry.columns.len()).map(Source::Old).collect(),
            values: Vec::new(),
            value_type: Type::Unknown,
        }
    }

    /// With `values` in the place of column `index`, which may be one behind the last.
    fn with_column(mut self, index: usize, data_type: Type, values: Vec<RowUpdates>) -> Self {
        self.sources.resize(self.sources.len().max(index + 1), Source::New);
        self.sources.iter_mut().skip(index).take(1).for_each(|it| *it = Source::New);
        Altered { values, value_type: data_type, ..self }
    }

    fn without_column(mut self, index: usize) -> Self {
        self.sources.remove(index);
        self
    }

    fn defined(mut self, change: impl FnOnce(&mut Schema, &mut TableDefinition)) -> Self {
        change(&mut self.columns, &mut self.definition);
        self
    }

    /// Replaces the table by one with these columns.
    fn apply(self, changes: &mut Changes, view: &TableView, storage: &Storage) -> Result<()> {
        let old: Vec<usize> = self
            .sources
            .iter()
            .filter_map(|it| match it {
                Source::Old(column) => Some(*column),
                Source::New => None,
            })
            .collect();
        let new_values = self.new_values()?;
        let mut rows = Vec::new();
        change::for_each_batch(view, &old, |ids, batch| {
            rows.push(self.altered(ids, batch, &new_values)?);
            Ok(())
        })?;
        change::check_not_null(&rows, &self.columns, &self.definition)?;
        let id = self.entry.id;
        if new_values.is_some() {
            key::check_among_themselves(&self.definition, &self.columns, &rows, storage.pool())?;
        }
        let table = empty_table(id, &self.columns, storage)?;
        let mut replacing = TableChange::replacing(table);
        let schema = changes.catalog.table(id).map(|it| it.0.name.clone()).unwrap_or_default();
        let (columns, definition) = (self.columns.clone(), Arc::new(self.definition.clone()));
        let described = TableEntry { columns, definition, ..self.entry.clone() };
        let describe = || Some(TableDescription::new(&schema, &described));
        change::insert(&mut replacing, rows, &describe, storage)?;
        if let Some(before) = changes.tables.get(&id) {
            replacing.references = before.references.clone();
            replacing.has_old_rows = before.has_old_rows;
        }
        changes.tables.insert(id, Arc::new(replacing));
        set(changes, id, self.columns, Arc::new(self.definition))
    }

    /// The new values as one vector, and which one each row gets.
    fn new_values(&self) -> Result<Option<NewValues>> {
        if !self.sources.iter().any(|it| matches!(it, Source::New)) {
            return Ok(None);
        }
        let mut parts = Parts::new(std::slice::from_ref(&self.value_type), self.values.len());
        let mut picks = HashMap::new();
        for (number, updates) in self.values.iter().enumerate() {
            let column = updates.values.columns().first();
            let column = column.ok_or_else(|| Error::internal("updates without a column"))?;
            let column = change::typed(column, &self.value_type)?;
            let batch = Batch::new(vec![column], updates.values.rows());
            parts.set(number, &Parts::prepare(batch)?)?;
            for (row, id) in (0..).zip(&updates.ids) {
                let id = RowId::unpack(*id).ok_or_else(change::no_row)?;
                picks.insert(id, Pick { part: number as u32, row });
            }
        }
        Ok(Some(NewValues { parts, picks }))
    }

    fn altered(&self, ids: &[RowId], old: Batch, new: &Option<NewValues>) -> Result<Batch> {
        let rows = old.rows();
        let mut old = old.into_columns().into_iter();
        let columns = self.sources.iter().map(|it| match (it, new) {
            (Source::Old(_), _) => old.next().ok_or_else(|| Error::internal("no such column")),
            (Source::New, Some(new)) => new.of(ids),
            (Source::New, None) => Ok(Vector::nulls(self.value_type.clone(), rows)),
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, rows))
    }
}

/// New values of rows.
struct NewValues {
    parts: Parts,
    picks: HashMap<RowId, Pick>,
}

impl NewValues {
    fn of(&self, ids: &[RowId]) -> Result<Vector> {
        let pick = |it: &RowId| {
            self.picks.get(it).copied().ok_or_else(|| Error::internal("rows without a value"))
        };
        let picks = ids.iter().map(pick).collect::<Result<Vec<_>>>()?;
        self.parts.gather_column(0, &picks)
    }
}

//! What a simulated client does with a database: the operations of transactions, by names and keys.

use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{RelationEntry, TableEntry, TableId};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_pdt::{RowId, RowName};
use volley_storage::{
    Changes, SegmentVersion, SegmentView, SegmentWriter, Storage, TableChange, TableVersion,
    TableView,
};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The schema of all tables.
const SCHEMA: &str = "main";

/// A key and a text.
fn columns() -> Schema {
    Schema::new(vec![Field::new("k", Type::BigInt), Field::new("t", Type::Varchar)])
}

fn batch(rows: &[(i64, String)]) -> Batch {
    let keys: Vec<Value> = rows.iter().map(|it| Value::BigInt(it.0)).collect();
    let texts: Vec<Value> = rows.iter().map(|it| Value::text(it.1.as_str())).collect();
    let columns =
        vec![Vector::from_values(Type::BigInt, &keys), Vector::from_values(Type::Varchar, &texts)];
    Batch::new(columns, rows.len())
}

/// The identity of a table.
pub(crate) fn table_id(changes: &Changes, name: &str) -> Result<TableId> {
    let relation = changes.catalog.relation(SCHEMA, name).and_then(RelationEntry::as_table);
    relation.map(|it| it.id).ok_or_else(|| Error::internal("no table of this name"))
}

/// Makes an empty table.
pub(crate) fn create(storage: &Storage, changes: &mut Changes, name: &str) -> Result<()> {
    let id = TableId(storage.ids().next_object());
    let (name, definition) = (name.to_owned(), Arc::default());
    let entry = TableEntry { id, name, columns: columns(), definition };
    Arc::make_mut(&mut changes.catalog).add_table(SCHEMA, entry)?;
    let (shape, segment) = (storage.ids().next_object(), storage.ids().next_segment()?);
    let table = TableVersion::empty(id, shape, &columns(), segment, storage.budget())?;
    changes.tables.insert(id, Arc::new(TableChange::replacing(table)));
    Ok(())
}

/// Drops a table.
pub(crate) fn drop_table(changes: &mut Changes, name: &str) -> Result<()> {
    let catalog = Arc::make_mut(&mut changes.catalog);
    let removed = catalog.drop_object(SCHEMA, volley_connector::ObjectKind::Table, name)?;
    changes.tables.retain(|it, _| !removed.tables.contains(it));
    Ok(())
}

/// Inserts rows behind the last ones.
pub(crate) fn insert(changes: &mut Changes, name: &str, rows: &[(i64, String)]) -> Result<()> {
    let id = table_id(changes, name)?;
    let change = changes.table_mut(id)?;
    let last = change.segments().next_back().cloned();
    let last = last.ok_or_else(|| Error::internal("a table without a segment"))?;
    let own = own(change, &last)?;
    Arc::make_mut(own).insert(last.segment.rows(), &batch(rows)).map(drop)
}

/// Inserts rows as a segment.
pub(crate) fn insert_segment(
    storage: &Storage,
    changes: &mut Changes,
    name: &str,
    rows: &[(i64, String)],
) -> Result<()> {
    let id = table_id(changes, name)?;
    let types: Arc<[Type]> = columns().types().cloned().collect();
    let mut writer =
        SegmentWriter::new(storage.files(), id, &types, &Pool::root("simulation", None));
    writer.write(&batch(rows))?;
    let segments = writer.finish()?;
    let change = changes.table_mut(id)?;
    for segment in segments {
        let version = SegmentVersion::unchanged(segment, &types, storage.budget())?;
        change.added.push(Arc::new(version));
    }
    Ok(())
}

/// Changes the text of a row, or removes it.
pub(crate) fn change(
    changes: &mut Changes,
    name: &str,
    key: i64,
    text: Option<&str>,
) -> Result<()> {
    let id = table_id(changes, name)?;
    let found = rows(&changes.view(id)?)?.remove(&key);
    let (row, _) = found.ok_or_else(|| Error::internal("a row of the model is missing"))?;
    let change = changes.table_mut(id)?;
    let segment = change.segment(row.segment).cloned();
    let segment = segment.ok_or_else(|| Error::internal("a row without a segment"))?;
    let own = Arc::make_mut(own(change, &segment)?);
    let count = match text {
        None => own.delete(&segment.layers, &[row.row])?,
        Some(text) => {
            let values = Vector::from_values(Type::Varchar, &[Value::text(text)]);
            own.modify(&segment.layers, &[row.row], &[1], &Batch::new(vec![values], 1))?
        }
    };
    if count == 1 { Ok(()) } else { Err(Error::internal("a row that was read does not exist")) }
}

fn own<'c>(
    change: &'c mut TableChange,
    segment: &SegmentVersion,
) -> Result<&'c mut Arc<volley_pdt::Pdt>> {
    use std::collections::btree_map::Entry;
    Ok(match change.own.entry(segment.segment.id()) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(Arc::new(segment.layers.transaction()?)),
    })
}

/// All rows of all tables.
pub(crate) fn read(changes: &Changes) -> Result<BTreeMap<String, BTreeMap<i64, String>>> {
    let main = changes.catalog.schema(SCHEMA);
    let main = main.ok_or_else(|| Error::internal("the schema main is missing"))?;
    let tables = main.relations.values().filter_map(RelationEntry::as_table);
    let read = |entry: &Arc<TableEntry>| {
        let view = changes.view(entry.id)?;
        let found = rows(&view)?;
        check_keys(&view, &found)?;
        Ok((entry.name.clone(), found.into_iter().map(|(key, (_, text))| (key, text)).collect()))
    };
    tables.map(read).collect()
}

/// Compares some look-ups by key with all rows.
fn check_keys(view: &TableView, rows: &BTreeMap<i64, (RowId, String)>) -> Result<()> {
    let missing = rows.keys().last().map_or(0, |it| it + 1);
    let wanted: Vec<i64> = rows.keys().copied().step_by(7).take(20).chain([missing]).collect();
    let keys = Vector::native::<i64>(Type::BigInt, wanted.clone(), None);
    let found = view.find(&[0], &Batch::new(vec![keys], wanted.len()))?;
    let found = found.ok_or_else(|| Error::internal("no memory for an index"))?;
    let found: Vec<(i64, RowId)> =
        found.iter().filter_map(|it| Some((*wanted.get(it.key as usize)?, it.row))).collect();
    let expected = wanted.iter().filter_map(|it| Some((*it, rows.get(it)?.0)));
    if found == expected.collect::<Vec<_>>() {
        return Ok(());
    }
    Err(Error::internal(format!("look-ups by key found {found:?} of {wanted:?}")))
}

/// The rows of a table by key, with their ids.
fn rows(view: &TableView) -> Result<BTreeMap<i64, (RowId, String)>> {
    let mut found = BTreeMap::new();
    for segment in &view.segments {
        let mut ids: Vec<RowId> = Vec::new();
        let id = |row: RowName| RowId { segment: segment.segment_id(), row };
        let plan = segment.plan()?;
        let rows = segment.version().segment.rows();
        if rows > 0 {
            let live = plan.range(0..rows).live();
            let is_live = |it: &u32| live.as_ref().is_none_or(|live| live.contains(*it as usize));
            ids.extend((0..rows).filter(is_live).map(|it| id(RowName::Base(it))));
            add_base(segment, view, &ids, &mut found)?;
        }
        for inserted in plan.inserted_with_ids(&[0, 1]) {
            let ids: Vec<RowId> =
                inserted.ids.iter().map(|it| id(RowName::Inserted(*it))).collect();
            add(&ids, &inserted.rows, &mut found)?;
        }
    }
    Ok(found)
}

fn add_base(
    segment: &SegmentView,
    view: &TableView,
    ids: &[RowId],
    found: &mut BTreeMap<i64, (RowId, String)>,
) -> Result<()> {
    let picks = ids.iter().filter_map(|it| match it.row {
        RowName::Base(sid) => Some(sid),
        RowName::Inserted(_) => None,
    });
    let picks: Vec<u32> = picks.collect();
    let rows = segment.version().segment.rows();
    let columns = view.types.iter().enumerate();
    let columns = columns.map(|(it, data_type)| segment.read(it, data_type, 0..rows, Some(&picks)));
    add(ids, &Batch::new(columns.collect::<Result<_>>()?, ids.len()), found)
}

fn add(ids: &[RowId], rows: &Batch, found: &mut BTreeMap<i64, (RowId, String)>) -> Result<()> {
    for (row, id) in ids.iter().enumerate() {
        let key = rows.column(0).value(row)?.as_i128().and_then(|it| i64::try_from(it).ok());
        let text = rows.column(1).value(row)?;
        let (Some(key), Some(text)) = (key, text.as_str()) else {
            return Err(Error::internal("a row without a key or text"));
        };
        if found.insert(key, (*id, text.to_owned())).is_some() {
            return Err(Error::internal("a row is there twice"));
        }
    }
    Ok(())
}

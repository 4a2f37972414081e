//! Changes of rows.

use crate::{
    foreign_key,
    key::UniqueCheck,
    writer::{WrittenPart, lazy_rows},
};
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};
use volley_connector::{Changed, RowChanges, RowUpdates, TableDefinition, TableId, check_at_row};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_pdt::{Pdt, RowId, RowName};
use volley_storage::{
    Changes, SEGMENT_ROWS_MAX, Segment, SegmentVersion, SegmentView, SegmentWriter, Storage,
    TableChange, TableDescription, TableView,
};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

/// Rows are not inserted behind a segment with this many rows, but into a new one.
const TAIL_ROWS: u32 = 64 << 10;

/// Rows that are read at once.
const BATCH_ROWS: u32 = 8192;

/// Applies what the sinks of a statement received: changes, and rows to add. After an error
/// `changes` may have a part of them.
pub(crate) fn apply_written(
    changes: &mut Changes,
    table: TableId,
    rows: RowChanges,
    parts: Vec<WrittenPart>,
    storage: &Storage,
) -> Result<Changed> {
    if rows.skipping_keys.is_empty() {
        return apply_parts(changes, table, rows, parts, storage);
    }
    // Rows may be left out, so that all are written again.
    let types = Arc::clone(&changes.view(table)?.types);
    let batches = |it: WrittenPart| match it {
        WrittenPart::Rows(batch) => vec![batch],
        WrittenPart::Segment(segment) => lazy_rows(&segment, &types),
    };
    let inserted = parts.into_iter().flat_map(batches).collect();
    apply(changes, table, RowChanges { inserted, ..rows }, storage)
}

/// Applies changes. After an error `changes` may have a part of them.
pub(crate) fn apply(
    changes: &mut Changes,
    table: TableId,
    mut rows: RowChanges,
    storage: &Storage,
) -> Result<Changed> {
    let inserted = std::mem::take(&mut rows.inserted).into_iter();
    let parts = inserted.map(WrittenPart::Rows).collect();
    apply_parts(changes, table, rows, parts, storage)
}

/// Applies changes, and adds rows of `parts`: without keys to skip, all of them.
fn apply_parts(
    changes: &mut Changes,
    table: TableId,
    rows: RowChanges,
    parts: Vec<WrittenPart>,
    storage: &Storage,
) -> Result<Changed> {
    let entry = changes.catalog.table(table).map(|it| Arc::clone(it.1));
    let before = changes.view(table)?;
    let entry = entry.ok_or_else(|| Error::internal("a table without a name"))?;
    let (columns, definition) = (&entry.columns, &entry.definition);
    let catalog = Arc::clone(&changes.catalog);
    let described = || TableDescription::of(&catalog, table);
    let change = changes.table_mut(table)?;
    let updated = update(change, &before, &rows)?;
    let deleted = unpack_all(&rows.deleted)?;
    let deleted: BTreeSet<RowId> = deleted.into_iter().collect();
    let all: Vec<usize> = (0..columns.len()).collect();
    let ids: Vec<RowId> = updated.iter().copied().collect();
    let mut written = match ids.is_empty() {
        true => Vec::new(),
        false => vec![change.view().fetch(&ids, &all)?],
    };
    let changed_batches = written.len();
    let (mut added, mut segments) = (Vec::with_capacity(parts.len()), Vec::new());
    for part in parts {
        match part {
            WrittenPart::Rows(batch) if batch.rows() == 0 => {}
            WrittenPart::Rows(batch) => {
                let batch = typed_batch(batch, columns)?;
                written.push(batch.clone());
                added.push(WrittenPart::Rows(batch));
            }
            WrittenPart::Segment(segment) => {
                segments.push((written.len(), Arc::clone(&segment)));
                written.extend(lazy_rows(&segment, &before.types));
                added.push(WrittenPart::Segment(segment));
            }
        }
    }
    check_written(&written, &segments, columns, definition)?;
    let gone = updated.union(&deleted).copied().collect();
    let check = UniqueCheck {
        columns,
        definition,
        before: &before,
        gone: &gone,
        changed_batches,
        pool: storage.pool(),
        key_budget: storage.key_budget(),
    };
    let written = check.check(written, &rows.updated_columns, &rows.skipping_keys, change)?;
    change.has_old_rows |= !updated.is_empty() || !deleted.is_empty();
    let deleted: Vec<RowId> = deleted.into_iter().collect();
    let removed = match deleted.is_empty() {
        true => Vec::new(),
        false => vec![before.fetch(&deleted, &all)?],
    };
    delete(change, &deleted)?;
    match rows.skipping_keys.is_empty() {
        true => insert_parts(change, added, &described, storage)?,
        false => {
            let left = written.get(changed_batches..).unwrap_or_default();
            insert(change, left.to_vec(), &described, storage)?;
        }
    }
    let changed = Changed { written, changed_batches, removed };
    foreign_key::check(changes, table, (&changed, &rows.updated_columns), &before, &ids, storage)?;
    Ok(changed)
}

/// The layer of a segment that takes the transaction's changes.
fn own<'c>(change: &'c mut TableChange, segment: &SegmentVersion) -> Result<&'c mut Pdt> {
    let own = match change.own.entry(segment.segment.id()) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(Arc::new(segment.layers.transaction()?)),
    };
    Ok(Arc::make_mut(own))
}

/// Updates rows; which ones.
fn update(
    change: &mut TableChange,
    before: &TableView,
    rows: &RowChanges,
) -> Result<BTreeSet<RowId>> {
    // Of a row that comes several times, the last values count.
    let mut last: BTreeMap<RowId, (usize, u32)> = BTreeMap::new();
    for (number, updates) in rows.updates.iter().enumerate() {
        for (position, id) in (0..).zip(unpack_all(&updates.ids)?) {
            last.insert(id, (number, position));
        }
    }
    let by_row: Vec<(RowId, (usize, u32))> = last.into_iter().collect();
    for of_segment in by_row.chunk_by(|a, b| a.0.segment == b.0.segment && a.1.0 == b.1.0) {
        check_cancelled()?;
        let Some((first, (number, _))) = of_segment.first() else { continue };
        let segment = before.segment(first.segment).ok_or_else(no_row)?;
        let names: Vec<RowName> = of_segment.iter().map(|it| it.0.row).collect();
        let picks: Vec<u32> = of_segment.iter().map(|it| it.1.1).collect();
        let updates = rows.updates.get(*number).ok_or_else(no_row)?;
        let values = picked(updates, &picks, &rows.updated_columns, &before.types)?;
        let columns: Vec<u32> = rows.updated_columns.iter().map(|it| *it as u32).collect();
        let version = Arc::clone(segment.version());
        if own(change, &version)?.modify(&version.layers, &names, &columns, &values)? != names.len()
        {
            return Err(no_row());
        }
    }
    Ok(by_row.into_iter().map(|it| it.0).collect())
}

/// The values of some rows of an update, of the types of the table.
fn picked(updates: &RowUpdates, picks: &[u32], columns: &[usize], types: &[Type]) -> Result<Batch> {
    let vectors = updates.values.columns().iter().zip(columns).map(|(values, column)| {
        let data_type = types.get(*column).ok_or_else(|| Error::internal("no such column"))?;
        typed(values, data_type)?.gather(picks)
    });
    Ok(Batch::new(vectors.collect::<Result<_>>()?, picks.len()))
}

fn delete(change: &mut TableChange, ids: &[RowId]) -> Result<()> {
    for of_segment in ids.chunk_by(|a, b| a.segment == b.segment) {
        check_cancelled()?;
        let Some(first) = of_segment.first() else { continue };
        let segment = change.segment(first.segment).cloned().ok_or_else(no_row)?;
        let names: Vec<RowName> = of_segment.iter().map(|it| it.row).collect();
        if own(change, &segment)?.delete(&segment.layers, &names)? != names.len() {
            return Err(no_row());
        }
    }
    Ok(())
}

/// Adds rows and segments behind the last ones.
fn insert_parts(
    change: &mut TableChange,
    parts: Vec<WrittenPart>,
    describe: Describe<'_>,
    storage: &Storage,
) -> Result<()> {
    let mut rows = Vec::new();
    for part in parts {
        match part {
            WrittenPart::Rows(batch) => rows.push(batch),
            WrittenPart::Segment(segment) => {
                insert(change, std::mem::take(&mut rows), describe, storage)?;
                let types = Arc::clone(&change.table.types);
                let segment = SegmentVersion::unchanged(segment, &types, storage.budget())?;
                change.added.push(Arc::new(segment));
            }
        }
    }
    insert(change, rows, describe, storage)
}

/// Describes the table whose rows are written; asked for if there are many.
pub(crate) type Describe<'d> = &'d dyn Fn() -> Option<TableDescription>;

/// Adds rows behind the last ones. Many rows become segments at once.
pub(crate) fn insert(
    change: &mut TableChange,
    batches: Vec<Batch>,
    describe: Describe<'_>,
    storage: &Storage,
) -> Result<()> {
    let rows: usize = batches.iter().map(Batch::rows).sum();
    let (table, types) = (change.table.id, Arc::clone(&change.table.types));
    if rows >= storage.bulk_rows() {
        let mut writer = SegmentWriter::new(storage.files(), table, &types, storage.pool());
        if let Some(description) = describe() {
            writer.describe(&description)?;
        }
        for batch in &batches {
            writer.write(batch)?;
        }
        for segment in writer.finish()? {
            let segment = SegmentVersion::unchanged(segment, &types, storage.budget())?;
            change.added.push(Arc::new(segment));
        }
        return Ok(());
    }
    for batch in batches.iter().filter(|it| it.rows() > 0) {
        let last = change.segments().next_back().cloned();
        let last = match last.filter(|it| has_room(change, it, batch.rows())) {
            Some(last) => last,
            None => {
                let id = storage.ids().next_segment()?;
                let empty = SegmentVersion::empty(table, id, &types, storage.budget())?;
                let empty = Arc::new(empty);
                change.added.push(Arc::clone(&empty));
                empty
            }
        };
        own(change, &last)?.insert(last.segment.rows(), batch)?;
    }
    Ok(())
}

/// Whether rows are inserted behind those of a segment.
fn has_room(change: &TableChange, segment: &SegmentVersion, rows: usize) -> bool {
    let own = change.own.get(&segment.segment.id());
    let ids = u64::from(segment.layers.write.next_id());
    let own_ids = own.map_or(0, |it| u64::from(it.next_id() - volley_pdt::PROVISIONAL));
    segment.segment.rows() < TAIL_ROWS
        && ids + own_ids + rows as u64 <= u64::from(SEGMENT_ROWS_MAX / 2)
}

/// Passes all rows, with their ids, to `f`.
pub(crate) fn for_each_batch(
    view: &TableView,
    columns: &[usize],
    mut f: impl FnMut(&[RowId], Batch) -> Result<()>,
) -> Result<()> {
    for segment in &view.segments {
        for sids in base_ranges(segment) {
            check_cancelled()?;
            let (ids, batch) = read_base(view, segment, sids, columns)?;
            if batch.rows() > 0 {
                f(&ids, batch)?;
            }
        }
        for inserted in segment.plan()?.inserted_with_ids(columns) {
            check_cancelled()?;
            let id =
                |it: &u32| RowId { segment: segment.segment_id(), row: RowName::Inserted(*it) };
            let ids: Vec<RowId> = inserted.ids.iter().map(id).collect();
            f(&ids, inserted.rows)?;
        }
    }
    Ok(())
}

/// Ranges of the base rows of a segment that can be read at once.
pub(crate) fn base_ranges(segment: &SegmentView) -> impl Iterator<Item = std::ops::Range<u32>> {
    let rows = segment.version().segment.rows();
    (0..rows).step_by(BATCH_ROWS as usize).map(move |it| it..rows.min(it + BATCH_ROWS))
}

/// The base rows of a range that exist, and their ids.
pub(crate) fn read_base(
    view: &TableView,
    segment: &SegmentView,
    sids: std::ops::Range<u32>,
    columns: &[usize],
) -> Result<(Vec<RowId>, Batch)> {
    let plan = segment.plan()?;
    let live = plan.range(sids.clone()).live().map(|it| it.to_indices());
    let positions = live.clone().unwrap_or_else(|| (0..sids.end - sids.start).collect());
    let id =
        |it: &u32| RowId { segment: segment.segment_id(), row: RowName::Base(sids.start + it) };
    let ids: Vec<RowId> = positions.iter().map(id).collect();
    let vectors = columns.iter().map(|column| {
        let data_type = view.types.get(*column);
        let data_type = data_type.ok_or_else(|| Error::internal("no such column"))?;
        segment.read(*column, data_type, sids.clone(), live.as_deref())
    });
    let batch = Batch::new(vectors.collect::<Result<_>>()?, ids.len());
    Ok((ids, batch))
}

/// The values with the type of the column: NULL has none of its own.
pub(crate) fn typed(values: &Vector, data_type: &Type) -> Result<Vector> {
    if *values.data_type() == Type::Unknown {
        return Ok(Vector::nulls(data_type.clone(), values.len()));
    }
    values.loaded()
}

pub(crate) fn typed_batch(batch: Batch, columns: &Schema) -> Result<Batch> {
    let vectors = batch.columns().iter().zip(columns.types()).map(|it| typed(it.0, it.1));
    Ok(Batch::new(vectors.collect::<Result<_>>()?, batch.rows()))
}

/// Refuses null where there must be none. `segments`: the position in `written` of the first batch
/// of each segment, whose bounds say how many values are null.
fn check_written(
    written: &[Batch],
    segments: &[(usize, Arc<Segment>)],
    columns: &Schema,
    definition: &TableDefinition,
) -> Result<()> {
    let mut start = 0;
    for (first, segment) in segments {
        let before = written.get(start..*first).unwrap_or_default();
        check_not_null(before, columns, definition)?;
        for (index, field) in columns.fields.iter().enumerate() {
            if definition.is_not_null(index) && segment.bounds(index).nulls != Some(0) {
                return Err(null_refused(&field.name));
            }
        }
        start = first + segment.blocks() as usize;
    }
    check_not_null(written.get(start..).unwrap_or_default(), columns, definition)
}

#[cold]
fn null_refused(column: &str) -> Error {
    Error::invalid_value(format!("null in a column that is NOT NULL: {column}"))
}

/// Refuses null where there must be none.
pub(crate) fn check_not_null(
    batches: &[Batch],
    columns: &Schema,
    definition: &TableDefinition,
) -> Result<()> {
    for (index, field) in columns.fields.iter().enumerate() {
        if !definition.is_not_null(index) {
            continue;
        }
        for batch in batches {
            check_cancelled()?;
            let column = batch.column(index).flatten()?;
            if column.null_buffer().is_some_and(|it| it.null_count() > 0) {
                return Err(null_refused(&field.name));
            }
        }
    }
    Ok(())
}

fn unpack_all(ids: &[i64]) -> Result<Vec<RowId>> {
    let unpack = |(row, id): (usize, &i64)| {
        check_at_row(row)?;
        RowId::unpack(*id).ok_or_else(no_row)
    };
    ids.iter().enumerate().map(unpack).collect()
}

#[cold]
pub(crate) fn no_row() -> Error {
    Error::internal("no such row id")
}

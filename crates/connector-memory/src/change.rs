//! Changes of rows: from one version of a table to the next.

use crate::{
    MemoryTable,
    batch::{StoredBatch, append},
    key,
    row_id::place_of,
    table::own,
};
use std::collections::BTreeMap;
use volley_connector::{
    Changed, ColumnDefinition, KeyDefinition, RowChanges, RowUpdates, Table, TableDefinition,
    check_at_row, duplicate_key, without_rows,
};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::{Field, Schema, Type};
use volley_vector::{Batch, Patch, Rows, Vector};

/// What takes the place of a row.
struct NewRow {
    /// The row, in its batch.
    row: u32,
    /// Which update has its values.
    update: u32,
    /// Which row of the update.
    position: u32,
}

/// The rows of one batch that others take the place of, ascending; each once.
type Replaced = Vec<NewRow>;

/// Bytes per row of an update: lists grow by doubling, and are sorted with as much beside them.
const REPLACED_BYTES: usize = 3 * size_of::<NewRow>();

/// Those of all batches that have some.
struct ReplacedRows {
    by_batch: BTreeMap<usize, Replaced>,
    _charge: Reservation,
}

impl MemoryTable {
    /// The next version, after these changes, and what they did.
    ///
    /// # Errors
    ///
    /// Invalid value: null in a column that is not null, a key that is there already. Out of
    /// memory. The query was cancelled. Internal: an id of another version. This version is as it
    /// was then.
    pub fn change(&self, mut changes: RowChanges) -> Result<(MemoryTable, Changed)> {
        let added = own(self.schema(), std::mem::take(&mut changes.inserted), self.pool())?;
        self.change_and_add(changes, added)
    }

    /// As [`MemoryTable::change`]; the rows to add are batches of the table.
    pub(crate) fn change_and_add(
        &self,
        changes: RowChanges,
        mut added: Vec<StoredBatch>,
    ) -> Result<(MemoryTable, Changed)> {
        let pool = self.pool();
        let types: Vec<Type> = self.schema().types().cloned().collect();
        let mut batches = self.batches().to_vec();
        let replaced = self.replaced(&changes.updates)?;
        let mut written = Vec::with_capacity(replaced.by_batch.len());
        for (index, rows) in &replaced.by_batch {
            check_cancelled()?;
            batches[*index] = self.update(*index, rows, &changes, pool)?;
            let codes: Vec<u32> = rows.iter().map(|it| it.row).collect();
            written.push(batches[*index].batch().wrap(&codes.into()));
        }
        let changed_batches = written.len();
        written.extend(added.iter().map(StoredBatch::rows_left));
        self.check_not_null(&written)?;
        let deleted = self.rows_of(&changes.deleted)?;
        let mut gone = deleted.clone();
        for (index, rows) in &replaced.by_batch {
            let rows = rows.iter().map(|it| it.row as usize);
            let changed = Rows::from_indices(self.stored_rows(*index), rows);
            gone.entry(*index).and_modify(|it| it.union(&changed)).or_insert(changed);
        }
        let keys = UniqueCheck { table: self, gone: &gone, changed_batches };
        let written = keys.check(written, &changes.updated_columns, &changes.skipping_keys)?;
        let removed =
            deleted.iter().map(|(index, rows)| self.batches()[*index].batch().select(rows));
        let removed = removed.collect();
        for (index, rows) in &deleted {
            check_cancelled()?;
            batches[*index] = batches[*index].without(rows, pool)?;
        }
        batches.retain(|it| it.rows() > 0);
        if !changes.skipping_keys.is_empty() {
            let left = written.get(changed_batches..).unwrap_or_default().to_vec();
            added = own(self.schema(), left, pool)?;
        }
        append(&mut batches, added, &types, pool)?;
        let changed = Changed { written, changed_batches, removed };
        Ok((self.with_batches(batches), changed))
    }

    fn stored_rows(&self, batch: usize) -> usize {
        self.batches().get(batch).map_or(0, |it| it.batch().rows())
    }

    /// The updates by batch.
    fn replaced(&self, updates: &[RowUpdates]) -> Result<ReplacedRows> {
        let mut charge = self.pool().child("rows that change").reservation();
        let rows: usize = updates.iter().map(|it| it.ids.len()).sum();
        charge.grow(rows.saturating_mul(REPLACED_BYTES))?;
        let mut by_batch: BTreeMap<usize, Replaced> = BTreeMap::new();
        for (update, from) in (0..).zip(updates) {
            check_cancelled()?;
            let mut positions = (0..).zip(&from.ids).peekable();
            while let Some((_, id)) = positions.peek() {
                // Most ids of one update are of one batch.
                let (batch, _) = self.stored_place(**id)?;
                let rows = by_batch.entry(batch).or_default();
                while let Some((position, id)) = positions.next_if(|it| place_of(*it.1).0 == batch)
                {
                    check_at_row(position as usize)?;
                    let (_, row) = self.stored_place(*id)?;
                    rows.push(NewRow { row, update, position });
                }
            }
        }
        for rows in by_batch.values_mut() {
            check_cancelled()?;
            keep_last(rows);
        }
        Ok(ReplacedRows { by_batch, _charge: charge })
    }

    /// The batch and the row in it that an id means.
    fn stored_place(&self, id: i64) -> Result<(usize, u32)> {
        let (batch, row) = place_of(id);
        match u32::try_from(row) {
            Ok(found) if row < self.stored_rows(batch) => Ok((batch, found)),
            _ => Err(Error::internal("no such row id")),
        }
    }

    /// The rows by batch.
    fn rows_of(&self, ids: &[i64]) -> Result<BTreeMap<usize, Rows>> {
        let mut by_batch: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for ids in ids.chunk_by(|a, b| place_of(*a).0 == place_of(*b).0) {
            let Some(first) = ids.first() else { continue };
            let rows = by_batch.entry(self.stored_place(*first)?.0).or_default();
            for (index, id) in ids.iter().enumerate() {
                check_at_row(index)?;
                rows.push(self.stored_place(*id)?.1 as usize);
            }
        }
        let rows = by_batch.into_iter();
        Ok(rows.map(|(it, rows)| (it, Rows::from_indices(self.stored_rows(it), rows))).collect())
    }

    /// Batch `index` with new values in the columns that change.
    fn update(
        &self,
        index: usize,
        rows: &[NewRow],
        changes: &RowChanges,
        pool: &Pool,
    ) -> Result<StoredBatch> {
        let mut batch = self.batches()[index].clone();
        for (place, column) in changes.updated_columns.iter().enumerate() {
            let new = patched(batch.batch().column(*column), rows, &changes.updates, place)?;
            batch = batch.with_column(*column, new, pool)?;
        }
        Ok(batch)
    }

    /// The rows that `updates` change, as they are.
    pub(crate) fn rows_before(&self, updates: &[RowUpdates]) -> Result<Vec<Batch>> {
        let mut by_batch: BTreeMap<usize, Rows> = BTreeMap::new();
        for update in updates {
            for (batch, rows) in self.rows_of(&update.ids)? {
                by_batch.entry(batch).and_modify(|it| it.union(&rows)).or_insert(rows);
            }
        }
        let batches = by_batch
            .iter()
            .filter_map(|(batch, rows)| Some(self.batches().get(*batch)?.batch().select(rows)));
        Ok(batches.collect())
    }

    fn check_not_null(&self, written: &[Batch]) -> Result<()> {
        for (index, field) in self.schema().fields.iter().enumerate() {
            let mut columns = written.iter().map(|it| it.column(index));
            if self.definition().is_not_null(index)
                && columns.try_fold(false, |found, it| {
                    check_cancelled()?;
                    Ok::<_, Error>(found || has_null(it)?)
                })?
            {
                let message = format!("null in a column that is NOT NULL: {}", field.name);
                return Err(Error::invalid_value(message));
            }
        }
        Ok(())
    }

    /// The table with one more column, whose values `updates` have.
    ///
    /// # Errors
    ///
    /// Invalid value: a null, when the column is not to have any. Out of memory.
    pub fn add_column(
        &self,
        field: Field,
        definition: ColumnDefinition,
        updates: &[RowUpdates],
    ) -> Result<MemoryTable> {
        let mut schema = self.schema().clone();
        schema.fields.push(field);
        let mut altered = (**self.definition()).clone();
        altered.columns.resize(schema.len() - 1, ColumnDefinition::default());
        altered.columns.push(definition);
        self.with_values(schema, altered, updates, StoredBatch::with_added)
    }

    /// The table with other values of another type in column `index`.
    ///
    /// # Errors
    ///
    /// As [`MemoryTable::add_column`]; internal: no such column.
    pub fn retype_column(
        &self,
        index: usize,
        (data_type, named_types): (Type, Vec<String>),
        updates: &[RowUpdates],
    ) -> Result<MemoryTable> {
        let mut schema = self.schema().clone();
        let field = schema.fields.get_mut(index);
        field.ok_or_else(|| Error::internal("no such column"))?.data_type = data_type;
        let mut altered = (**self.definition()).clone();
        altered.columns.resize(schema.len(), ColumnDefinition::default());
        if let Some(column) = altered.columns.get_mut(index) {
            column.named_types = named_types;
        }
        let replace = |it: &StoredBatch, new, pool: &Pool| it.with_column(index, new, pool);
        let table = self.with_values(schema, altered, updates, replace)?;
        table.check_kept_promises()?;
        Ok(table)
    }

    fn with_values(
        &self,
        schema: Schema,
        definition: TableDefinition,
        updates: &[RowUpdates],
        put: impl Fn(&StoredBatch, Vector, &Pool) -> Result<StoredBatch>,
    ) -> Result<MemoryTable> {
        let mut batches = self.batches().to_vec();
        if let Some(value) = self.value_of_all(updates)? {
            put_everywhere(&mut batches, &value, |it, new| put(it, new, self.pool()))?;
            let table = self.with_columns(schema, definition, batches);
            table.check_not_null(&table.all_rows())?;
            return Ok(table);
        }
        let replaced = self.replaced(updates)?;
        let values = updates.iter().find_map(|it| it.values.columns().first());
        for (index, batch) in batches.iter_mut().enumerate() {
            check_cancelled()?;
            let (Some(rows), Some(values)) = (replaced.by_batch.get(&index), values) else {
                return Err(Error::internal("rows without a value"));
            };
            // Deleted rows get no value.
            let nulls = Vector::nulls(values.data_type().clone(), batch.batch().rows());
            *batch = put(batch, patched(&nulls, rows, updates, 0)?, self.pool())?;
        }
        let table = self.with_columns(schema, definition, batches);
        table.check_not_null(&table.all_rows())?;
        Ok(table)
    }

    /// The value, as a vector of one row, that updates give to every row, if they give one.
    fn value_of_all(&self, updates: &[RowUpdates]) -> Result<Option<Vector>> {
        let rows: usize = updates.iter().map(|it| it.ids.len()).sum();
        if rows != self.batches().iter().map(StoredBatch::rows).sum::<usize>() {
            return Ok(None);
        }
        Vector::one_value(updates.iter().filter_map(|it| it.values.columns().first()))
    }

    /// The table without column `index`.
    pub fn drop_column(&self, index: usize) -> MemoryTable {
        let mut schema = self.schema().clone();
        schema.fields.remove(index);
        let mut definition = (**self.definition()).clone();
        definition.drop_column(index);
        let batches = self.batches().iter().map(|it| it.without_column(index)).collect();
        self.with_columns(schema, definition, batches)
    }

    /// The table with other names of its columns.
    pub fn with_schema(&self, schema: Schema) -> MemoryTable {
        self.with_columns(schema, (**self.definition()).clone(), self.batches().to_vec())
    }

    /// The table with these promises.
    ///
    /// # Errors
    ///
    /// Invalid value: a row that does not keep them; CHECK is not looked at.
    pub fn promising(&self, definition: TableDefinition) -> Result<MemoryTable> {
        let schema = self.schema().clone();
        let table = self.with_columns(schema, definition, self.batches().to_vec());
        table.check_kept_promises()?;
        Ok(table)
    }

    /// All rows.
    pub fn all_rows(&self) -> Vec<Batch> {
        self.batches().iter().map(StoredBatch::rows_left).collect()
    }

    fn check_kept_promises(&self) -> Result<()> {
        let rows = self.all_rows();
        self.check_not_null(&rows)?;
        let none = BTreeMap::new();
        for key in &self.definition().keys {
            let found = key::conflicts(key, self.schema(), &rows, &[], &none, self.pool())?;
            if let Some(row) = found.to_indices().first() {
                return Err(duplicate_key(key, self.schema(), &rows, *row as usize)?);
            }
        }
        Ok(())
    }
}

/// Checks that keys of rows to be written are new.
struct UniqueCheck<'a> {
    table: &'a MemoryTable,
    /// The rows, by batch, whose keys do not count any more.
    gone: &'a BTreeMap<usize, Rows>,
    /// How many batches hold changed rows; those after them are to be added.
    changed_batches: usize,
}

impl UniqueCheck<'_> {
    /// The rows that are left to be written.
    fn check(
        &self,
        mut written: Vec<Batch>,
        updated: &[usize],
        skipping: &[usize],
    ) -> Result<Vec<Batch>> {
        let definition = self.table.definition();
        if written.is_empty() || definition.keys.is_empty() {
            return Ok(written);
        }
        for key in skipping.iter().filter_map(|it| definition.keys.get(*it)) {
            let found = self.conflicts(key, &written)?;
            written = without_rows(written, &found)?;
        }
        for (index, key) in definition.keys.iter().enumerate() {
            let changes = key.columns.iter().any(|it| updated.contains(it));
            if skipping.contains(&index) || (written.len() == self.changed_batches && !changes) {
                continue;
            }
            if let Some(row) = self.conflicts(key, &written)?.to_indices().first() {
                return Err(duplicate_key(key, self.table.schema(), &written, *row as usize)?);
            }
        }
        Ok(written)
    }

    fn conflicts(&self, key: &KeyDefinition, written: &[Batch]) -> Result<Rows> {
        let (schema, stored) = (self.table.schema(), self.table.batches());
        key::conflicts(key, schema, written, stored, self.gone, self.table.pool())
    }
}

/// Puts a column of one value into each batch; batches of as many rows share it.
fn put_everywhere(
    batches: &mut [StoredBatch],
    value: &Vector,
    put: impl Fn(&StoredBatch, Vector) -> Result<StoredBatch>,
) -> Result<()> {
    let mut made: Option<Vector> = None;
    for batch in batches {
        check_cancelled()?;
        let rows = batch.batch().rows();
        let column = match made.take_if(|it| it.len() == rows) {
            Some(column) => column,
            None => Vector::repeat(value.clone(), rows).flatten()?,
        };
        *batch = put(batch, column.clone())?;
        made = Some(column);
    }
    Ok(())
}

/// Sorts by row, and keeps the last of those for one.
fn keep_last(rows: &mut Replaced) {
    if !rows.is_sorted_by(|a, b| a.row < b.row) {
        // Of one row, the later ones come first.
        rows.reverse();
        rows.sort_by_key(|it| it.row);
        rows.dedup_by_key(|it| it.row);
    }
}

/// The vector with the values of column `place` of updates in the rows that they replace.
fn patched(old: &Vector, rows: &[NewRow], updates: &[RowUpdates], place: usize) -> Result<Vector> {
    let mut by_update: BTreeMap<u32, Patch> = BTreeMap::new();
    for rows in rows.chunk_by(|a, b| a.update == b.update) {
        let Some(update) = rows.first().map(|it| it.update) else { continue };
        let patch = by_update
            .entry(update)
            .or_insert_with(|| Patch::new(updates[update as usize].values.column(place).clone()));
        patch.rows.extend(rows.iter().map(|it| it.row));
        patch.positions.extend(rows.iter().map(|it| it.position));
    }
    let patches: Vec<Patch> = by_update.into_values().collect();
    old.patched(&patches)
}

fn has_null(column: &Vector) -> Result<bool> {
    if *column.data_type() == Type::Unknown {
        return Ok(!column.is_empty());
    }
    Ok(column.flatten()?.null_buffer().is_some_and(|it| it.null_count() > 0))
}

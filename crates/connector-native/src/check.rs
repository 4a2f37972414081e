//! Keys of a database: no two rows have the same one.
//!
//! The hashes of a key are sorted, a part of them at a time if the table is large. Rows of one hash
//! are read again and compared.

use crate::change::for_each_batch;
use volley_connector::{CatalogSnapshot, Keys, RelationEntry, compare_values, key_hashes};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Pool;
use volley_pdt::RowId;
use volley_storage::{CheckReport, Storage, TableView};
use volley_types::{Schema, Value};

/// Hashes that are sorted at once: 256 MiB with their rows.
const HASHES_MAX: u64 = 1 << 24;

/// A hash of a key, and a row that has it.
type HashedRow = (u64, RowId);

/// Adds a finding for each key of a table that two rows have.
///
/// # Errors
///
/// I/O, out of memory, cancelled. Damaged blocks are left to the check of blocks.
pub(crate) fn check_keys(storage: &Storage, report: &mut CheckReport) -> Result<()> {
    let version = storage.snapshot();
    for schema in version.catalog.schemas.values() {
        for table in schema.relations.values().filter_map(RelationEntry::as_table) {
            let view = TableView::of_version(&version, table.id)?;
            for key in &table.definition.keys {
                match duplicate(&view, &table.columns, &key.columns, (storage.pool(), HASHES_MAX)) {
                    Ok(None) => {}
                    Ok(Some(found)) => {
                        let name = CatalogSnapshot::shown_name(&schema.name, &table.name);
                        report.findings.push(found.at("table", name));
                    }
                    Err(error) if error.kind() == ErrorKind::Corruption => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(())
}

/// The error of a key that two rows have, if there is one. At most about `hashes_max` hashes are
/// sorted at once.
fn duplicate(
    view: &TableView,
    schema: &Schema,
    key: &[usize],
    (pool, hashes_max): (&Pool, u64),
) -> Result<Option<Error>> {
    let parts = view.rows().div_ceil(hashes_max).max(1);
    for part in 0..parts {
        let mut charge = pool.child("check of keys").reservation();
        let mut hashed: Vec<HashedRow> = Vec::new();
        for_each_batch(view, key, |ids, batch| {
            let keys = batch.loaded()?;
            let (hashes, values) = (key_hashes(&keys)?, Keys::new(&keys)?);
            let rows = ids.iter().zip(hashes).enumerate();
            let rows =
                rows.filter(|(row, (_, hash))| hash % parts == part && !values.has_null(*row));
            hashed.extend(rows.map(|(_, (id, hash))| (hash, *id)));
            charge.resize(hashed.capacity() * size_of::<HashedRow>())
        })?;
        hashed.sort_unstable();
        for rows in hashed.chunk_by(|a, b| a.0 == b.0).filter(|it| it.len() > 1) {
            let ids: Vec<RowId> = rows.iter().map(|it| it.1).collect();
            if let Some(found) = equal_rows(view, schema, key, &ids)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// The error of two of some rows that have the same key.
fn equal_rows(
    view: &TableView,
    schema: &Schema,
    key: &[usize],
    ids: &[RowId],
) -> Result<Option<Error>> {
    let columns = view.fetch(ids, key)?.into_columns();
    let columns = columns.iter().map(|it| it.to_values()).collect::<Result<Vec<Vec<Value>>>>()?;
    let is_same = |a: &Value, b: &Value| {
        a.is_identical(b) || compare_values(a, b).is_some_and(std::cmp::Ordering::is_eq)
    };
    for row in 1..ids.len() {
        let is_twin = |other: &usize| columns.iter().all(|it| is_same(&it[*other], &it[row]));
        if (0..row).find(is_twin).is_some() {
            let mut shown = Vec::with_capacity(columns.len());
            for (column, values) in key.iter().zip(&columns) {
                let Some(field) = schema.fields.get(*column) else { continue };
                shown.push(format!("{} = {}", field.name, values[row].display(&field.data_type)));
            }
            let error = Error::corruption("two rows have the same key");
            return Ok(Some(error.at("key", shown.join(", "))));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{insert, open, table_of};
    use tempfile::tempdir;
    use volley_connector::Database;
    use volley_types::Type;
    use volley_vector::{Batch, Vector};

    fn rows(first: &[Option<i64>], second: &[&str]) -> Batch {
        let first: Vec<Value> =
            first.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
        let second: Vec<Value> = second.iter().map(|it| Value::text(*it)).collect();
        let columns = vec![
            Vector::from_values(Type::BigInt, &first),
            Vector::from_values(Type::Varchar, &second),
        ];
        Batch::new(columns, first.len())
    }

    #[test]
    fn two_rows_with_the_same_key_are_found() {
        let folder = tempdir().unwrap();
        let native = open(folder.path());
        let id = table_of(&native, &[Type::BigInt, Type::Varchar]);
        let find = |columns: &[usize], hashes_max| {
            let storage = native.storage();
            let version = storage.snapshot();
            let view = TableView::of_version(&version, id).unwrap();
            let snapshot = native.snapshot().unwrap();
            let schema = snapshot.table(id).unwrap().schema().clone();
            let found = duplicate(&view, &schema, columns, (storage.pool(), hashes_max)).unwrap();
            found.map(|it| it.to_string())
        };
        assert_eq!(find(&[0, 1], 100), None);
        let numbers: Vec<Option<i64>> = (0..500).map(Some).collect();
        insert(&native, id, vec![rows(&numbers, &vec!["ä"; 500])]);
        insert(&native, id, vec![rows(&[None, None, Some(7)], &["ä", "ä", "b"])]);
        for hashes_max in [1, 64, 1000] {
            assert_eq!(find(&[0, 1], hashes_max), None);
            let found = find(&[0], hashes_max).unwrap();
            assert!(found.contains("two rows have the same key") && found.contains("c0 = 7"));
        }
        insert(&native, id, vec![rows(&[Some(499)], &["ä"])]);
        assert!(find(&[0, 1], 64).unwrap().contains("c0 = 499, c1 = ä"));
        assert!(native.check().unwrap().findings.is_empty());
    }
}

use crate::{MemoryTable, batch::StoredBatch, row_id::row_id};
use std::{collections::BTreeSet, sync::Arc};
use volley_connector::{
    ColumnDefinition, KeyDefinition, RowChanges, RowUpdates, Table, TableDefinition,
};
use volley_error::{ErrorKind, Result};
use volley_memory::{CancellationToken, Pool, with_cancellation};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Rows, Vector};

fn batch(values: &[Option<i64>]) -> Batch {
    let values: Vec<_> = values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    let column = Vector::from_values(Type::BigInt, &values);
    Batch::new(vec![column], values.len())
}

#[test]
fn an_appended_version_leaves_the_old_one_as_it_was() {
    let pool = Pool::root("test", None);
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let old = MemoryTable::new("t", schema, vec![batch(&[Some(1), None])], &pool).unwrap();
    let new = old.append(vec![batch(&[Some(-5)])]).unwrap();
    assert_eq!((old.rows(), new.rows()), (2, 3));
    let statistics = new.statistics().unwrap();
    assert_eq!(statistics.columns[0].min, Some(Value::BigInt(-5)));
    assert_eq!(statistics.columns[0].max, Some(Value::BigInt(1)));
    assert_eq!(statistics.columns[0].nulls, Some(1));
    assert!(pool.stats().bytes > 0);
    drop((old, new));
    assert_eq!(pool.stats().bytes, 0);
}

fn table(values: &[Option<i64>], pool: &Pool) -> MemoryTable {
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    MemoryTable::new("t", schema, vec![batch(values)], pool).unwrap()
}

fn values(table: &MemoryTable) -> Vec<Value> {
    let rows = table.all_rows();
    rows.iter().flat_map(|it| it.column(0).to_values().unwrap()).collect()
}

fn updates(rows: &[(usize, i64)]) -> RowChanges {
    let ids = rows.iter().map(|it| row_id(0, it.0)).collect();
    let new: Vec<_> = rows.iter().map(|it| Some(it.1)).collect();
    let updates = vec![RowUpdates { ids, values: batch(&new) }];
    RowChanges { updates, updated_columns: vec![0], ..RowChanges::default() }
}

#[test]
fn a_version_shares_what_did_not_change() {
    let pool = Pool::root("test", None);
    // More than a pool gives at once.
    let rows: Vec<Option<i64>> = (0..100_000).map(Some).collect();
    let old = table(&rows, &pool);
    let bytes = pool.stats().bytes;
    let deleted = (0..10_000).map(|it| row_id(0, it)).collect();
    let changes = RowChanges { deleted, ..RowChanges::default() };
    let (new, changed) = old.change(changes).unwrap();
    assert_eq!((new.rows(), old.rows()), (90_000, 100_000));
    assert_eq!(changed.removed.iter().map(Batch::rows).sum::<usize>(), 10_000);
    drop(changed);
    assert_eq!(pool.stats().bytes, bytes, "rows were copied");
    let statistics = new.statistics().unwrap();
    assert_eq!(statistics.columns[0].min, Some(Value::BigInt(10_000)));
    assert_eq!(statistics.rows, Some(90_000));
    let deleted = (10_000..80_000).map(|it| row_id(0, it)).collect();
    let changes = RowChanges { deleted, ..RowChanges::default() };
    let small = new.change(changes).unwrap().0;
    drop((old, new));
    assert_eq!(small.rows(), 20_000);
    assert!(pool.stats().bytes < bytes, "deleted rows keep their memory");
    drop(small);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn rows_keep_their_place_when_they_change() {
    let pool = Pool::root("test", None);
    let old = table(&[Some(1), None, Some(3)], &pool);
    let (new, _) = old.change(updates(&[(2, 30), (0, 10)])).unwrap();
    assert_eq!(values(&new), [Value::BigInt(10), Value::Null, Value::BigInt(30)]);
    assert_eq!(values(&old), [Value::BigInt(1), Value::Null, Value::BigInt(3)]);
}

#[test]
fn an_id_of_another_version_is_an_error() {
    let pool = Pool::root("test", None);
    let table = table(&[Some(1)], &pool);
    assert!(table.change(updates(&[(1, 1)])).is_err());
    let changes = RowChanges { deleted: vec![row_id(1, 0)], ..RowChanges::default() };
    assert!(table.change(changes).is_err());
}

#[test]
fn keys_and_nulls_are_checked() {
    let pool = Pool::root("test", None);
    let definition = TableDefinition {
        columns: vec![ColumnDefinition { is_not_null: true, ..Default::default() }],
        keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
        ..TableDefinition::default()
    };
    let old = table(&[Some(1), Some(2), Some(3)], &pool).with_definition(Arc::new(definition));
    let insert = |values: &[Option<i64>]| {
        let changes = RowChanges { inserted: vec![batch(values)], ..RowChanges::default() };
        old.change(changes).map(|it| it.0.rows()).map_err(|it| it.to_string())
    };
    assert_eq!(insert(&[Some(4), Some(5)]), Ok(5));
    let duplicate = |value: i64| Err(format!("duplicate key of PRIMARY KEY: a = {value}"));
    assert_eq!(insert(&[Some(4), Some(2)]), duplicate(2));
    assert_eq!(insert(&[Some(4), Some(4)]), duplicate(4));
    assert_eq!(insert(&[None]), Err("null in a column that is NOT NULL: a".to_owned()));
    // All keys move at once.
    let (moved, _) = old.change(updates(&[(0, 2), (1, 3), (2, 4)])).unwrap();
    assert_eq!(values(&moved), [2, 3, 4].map(Value::BigInt));
    assert!(old.change(updates(&[(0, 3)])).is_err());
    let skipping = RowChanges {
        inserted: vec![batch(&[Some(2), Some(9), Some(9)])],
        skipping_keys: vec![0],
        ..RowChanges::default()
    };
    assert_eq!(old.change(skipping).unwrap().0.rows(), 4);
}

#[test]
fn rows_added_one_by_one_make_few_batches() {
    let pool = Pool::root("test", None);
    let mut table = table(&[], &pool);
    for value in 0..1000 {
        table = table.append(vec![batch(&[Some(value)])]).unwrap();
    }
    assert!(table.batches().len() < 12, "{} batches", table.batches().len());
    assert_eq!(values(&table), (0..1000).map(Value::BigInt).collect::<Vec<_>>());
    drop(table);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn of_updates_of_one_row_the_last_counts() {
    let pool = Pool::root("test", None);
    let old = table(&[Some(1), Some(2), Some(3)], &pool);
    let mut changes = updates(&[(2, 30), (0, 10), (2, 31)]);
    changes.updates.extend(updates(&[(0, 11)]).updates);
    let (new, changed) = old.change(changes).unwrap();
    assert_eq!(values(&new), [11, 2, 31].map(Value::BigInt));
    assert_eq!(changed.written.iter().map(Batch::rows).sum::<usize>(), 2);
    let deleted = [2, 0, 2].map(|it| row_id(0, it)).to_vec();
    let changes = RowChanges { deleted, ..RowChanges::default() };
    let (new, changed) = old.change(changes).unwrap();
    assert_eq!(values(&new), [Value::BigInt(2)]);
    assert_eq!(changed.removed.iter().map(Batch::rows).sum::<usize>(), 2);
}

#[test]
fn keys_are_looked_for_in_batches_of_every_size() {
    let pool = Pool::root("test", None);
    let definition = |columns: Vec<usize>| TableDefinition {
        keys: vec![KeyDefinition { columns, is_primary: false, index: None }],
        ..TableDefinition::default()
    };
    // Nulls are equal to nothing.
    let rows: Vec<Option<i64>> = (0..100_000).map(|it| (it % 1000 != 0).then_some(it)).collect();
    let mut parts: Vec<Batch> = rows.chunks(30_000).map(batch).collect();
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let new = |parts: &[Batch]| MemoryTable::new("t", schema.clone(), parts.to_vec(), &pool);
    let old = new(&parts).unwrap().promising(definition(vec![0])).unwrap();
    // A few rows, by an index, and many, by a hash of all.
    for added in [vec![Some(77_777), None], (77_777..90_000).map(Some).collect()] {
        let mut inserted = vec![batch(&added)];
        let mut changes = RowChanges { inserted, ..RowChanges::default() };
        let error = old.change(changes).map(drop).unwrap_err().to_string();
        assert_eq!(error, "duplicate key of UNIQUE: a = 77777");
        inserted = vec![batch(&added), batch(&[Some(-1), None])];
        changes = RowChanges { inserted, skipping_keys: vec![0], ..RowChanges::default() };
        let left: usize = old.change(changes).unwrap().1.written.iter().map(Batch::rows).sum();
        let there: BTreeSet<_> = rows.iter().flatten().collect();
        let fresh = added.iter().filter(|it| it.is_none_or(|it| !there.contains(&it)));
        assert_eq!(left, fresh.count() + 2);
    }
    parts.push(batch(&[Some(99_998)]));
    let error = new(&parts).unwrap().promising(definition(vec![0])).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "duplicate key of UNIQUE: a = 99998");
}

/// Stops `change` wherever it asks; how often it does.
#[track_caller]
fn stop_everywhere<T>(old: &MemoryTable, pool: &Pool, change: impl Fn() -> Result<T>) -> usize {
    let (before, bytes) = (values(old), pool.stats().bytes);
    for count in 0.. {
        match with_cancellation(&CancellationToken::after_checks(count), &change) {
            Ok(_) => return count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        }
        assert!(values(old) == before, "a change that was stopped is seen");
        assert_eq!(pool.stats().bytes, bytes, "what a stopped change took is not given back");
    }
    unreachable!()
}

#[test]
fn a_change_that_is_stopped_leaves_the_table_as_it_was() {
    let pool = Pool::root("test", None);
    let rows: Vec<Option<i64>> = (0..200_000).map(Some).collect();
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let parts: Vec<Batch> = rows.chunks(50_000).map(batch).collect();
    let plain = MemoryTable::new("t", schema, parts, &pool).unwrap();
    let definition = TableDefinition {
        columns: vec![ColumnDefinition { is_not_null: true, ..Default::default() }],
        keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
        ..TableDefinition::default()
    };
    let asked = stop_everywhere(&plain, &pool, || plain.promising(definition.clone()));
    assert!(asked >= 4 + 200_000 / (1 << 16), "asked {asked} times");
    let keyed = plain.promising(definition).unwrap();
    let inserted = |from: i64| vec![batch(&(from..from + 100_000).map(Some).collect::<Vec<_>>())];
    let changes = || RowChanges {
        inserted: inserted(300_000),
        deleted: (0..200_000).step_by(3).map(|it| row_id(it / 50_000, it % 50_000)).collect(),
        ..updates(&[(1, -1), (4, -4), (1, -10)])
    };
    let asked = stop_everywhere(&keyed, &pool, || keyed.change(changes()));
    assert!(asked >= 4 * 3, "asked {asked} times");
    let (new, _) = keyed.change(changes()).unwrap();
    assert_eq!(new.rows(), 200_000 - 66_667 + 100_000);
    assert!(plain.statistics().is_ok() && keyed.statistics().is_ok());
}

/// A table of 4 batches of 100 rows: 0..100, 100..200, ...
fn ordered_table(pool: &Pool) -> MemoryTable {
    let schema = Schema::new(vec![Field::new("a", Type::BigInt), Field::new("b", Type::BigInt)]);
    let batch = |start: i64| {
        let column = |from: i64| {
            Vector::native::<i64>(Type::BigInt, (from..from + 100).collect::<Vec<_>>(), None)
        };
        Batch::new(vec![column(start), column(-start)], 100)
    };
    let batches = (0..4).map(|it| batch(it * 100)).collect();
    MemoryTable::new("t", schema, batches, pool).unwrap()
}

fn known_summaries(table: &MemoryTable) -> Vec<Vec<bool>> {
    let columns = table.schema().len();
    let known = |it: &StoredBatch| (0..columns).map(|column| it.knows_summary(column)).collect();
    table.batches().iter().map(known).collect()
}

#[test]
fn a_change_keeps_the_summaries_of_what_it_does_not_change() {
    let pool = Pool::root("test", None);
    let table = ordered_table(&pool);
    let all = vec![vec![true, true]; 4];
    table.statistics().unwrap();
    assert_eq!(known_summaries(&table), all);

    let (updated, _) = table.change(updates(&[(50, 7_000)])).unwrap();
    let mut known = all.clone();
    known[0][0] = false;
    assert_eq!(known_summaries(&updated), known, "an update of column a of batch 0");
    assert_eq!(updated.statistics().unwrap().columns[0].max, Some(Value::BigInt(7_000)));
    assert_eq!(table.statistics().unwrap().columns[0].max, Some(Value::BigInt(399)));

    let delete = |table: &MemoryTable, id| {
        let changes = RowChanges { deleted: vec![id], ..RowChanges::default() };
        table.change(changes).unwrap().0
    };
    let inner = delete(&table, row_id(1, 50));
    assert_eq!(known_summaries(&inner), all, "a delete of a row within the ranges");
    assert_eq!(inner.statistics().unwrap().rows, Some(399));
    let last = delete(&table, row_id(3, 99));
    known = all.clone();
    known[3] = vec![false, false];
    // Column b descends from batch to batch but ascends within: row 99 has the greatest value.
    assert_eq!(known_summaries(&last), known, "a delete of the greatest value");
    assert_eq!(last.statistics().unwrap().columns[0].max, Some(Value::BigInt(398)));

    let values = table.batches().iter().enumerate().map(|(batch, rows)| RowUpdates {
        ids: (0..rows.rows()).map(|row| row_id(batch, row)).collect(),
        values: Batch::new(vec![Vector::constant(Type::BigInt, &Value::BigInt(5), 100)], 100),
    });
    let values: Vec<RowUpdates> = values.collect();
    let field = Field::new("z", Type::BigInt);
    let added = table.add_column(field, ColumnDefinition::default(), &values).unwrap();
    assert_eq!(known_summaries(&added), vec![vec![true, true, false]; 4]);
    assert_eq!(added.statistics().unwrap().columns[2].min, Some(Value::BigInt(5)));
    assert_eq!(known_summaries(&added.drop_column(0)), vec![vec![true, true]; 4]);
}

/// A value for each row that is left, from batches of these values: as they come, or flat.
fn values_for(
    table: &MemoryTable,
    value: &Value,
    is_flat: &dyn Fn(usize) -> bool,
) -> Vec<RowUpdates> {
    let update = |(index, batch): (usize, &StoredBatch)| {
        let live = batch.live().cloned().unwrap_or_else(|| Rows::all(batch.batch().rows()));
        let ids: Vec<i64> =
            live.to_indices().into_iter().map(|it| row_id(index, it as usize)).collect();
        let column = Vector::constant(Type::Integer, value, ids.len());
        let column = if is_flat(index) { column.flatten().unwrap() } else { column };
        RowUpdates { values: Batch::new(vec![column], ids.len()), ids }
    };
    table.batches().iter().enumerate().map(update).collect()
}

#[test]
fn a_column_of_one_value_is_made_once() {
    let pool = Pool::root("test", None);
    let whole = ordered_table(&pool);
    let deleted = RowChanges {
        deleted: vec![row_id(0, 3), row_id(2, 0), row_id(2, 99)],
        ..RowChanges::default()
    };
    let holes = whole.change(deleted).unwrap().0;
    for table in [&whole, &holes] {
        for value in [Value::Integer(5), Value::Null] {
            let add = |updates: &[RowUpdates]| {
                let field = Field::new("z", Type::Integer);
                table.add_column(field, ColumnDefinition::default(), updates).unwrap()
            };
            let rows = |table: &MemoryTable| {
                let columns =
                    |it: &Batch| it.columns().iter().map(|it| it.to_values().unwrap()).collect();
                table.all_rows().iter().map(columns).collect::<Vec<Vec<Vec<Value>>>>()
            };
            let start = |table: &MemoryTable, batch: usize| {
                let column = table.batches()[batch].batch().column(2);
                column.flat_values().unwrap().native::<i32>().unwrap().as_ptr()
            };
            let (fast, plain) = (
                add(&values_for(table, &value, &|_| false)),
                add(&values_for(table, &value, &|index| index == 1)),
            );
            assert_eq!(rows(&fast), rows(&plain));
            assert_eq!(start(&fast, 0), start(&fast, 3), "batches share the column");
            assert_ne!(start(&plain, 0), start(&plain, 3));
            let statistics = [&fast, &plain].map(|it| it.statistics().unwrap().columns[2].clone());
            assert_eq!(format!("{:?}", statistics[0]), format!("{:?}", statistics[1]));
        }
    }
    // Rows without a value.
    let some = values_for(&whole, &Value::Integer(5), &|_| false);
    let field = Field::new("z", Type::Integer);
    assert!(whole.add_column(field, ColumnDefinition::default(), &some[1..]).is_err());
}

mod filters;
mod golden;
mod keys;
mod without_manifest;

use super::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    task::Waker,
};
use tempfile::tempdir;
use volley_connector::{
    Access, BatchIndex, ColumnDefinition, Database, Definition, KeyDefinition, Maintenance,
    RowChanges, RowUpdates, Scan, ScanMetrics, ScanRequest, SourceStep, SplitStep, Table,
    TableDefinition, TableId, Transaction, WriteKind,
};
use volley_connector_testkit::{database, rows};
use volley_expression::{Expr, SpecialForm};
use volley_function::{QueryConstants, Registry};
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, TypeRegistry, Value};
use volley_vector::{Batch, Vector, random::Generator};

pub(crate) fn open(folder: &Path) -> NativeDatabase {
    NativeDatabase::open(folder, &Pool::root("test", None), Arc::new(TypeRegistry::default()))
        .unwrap()
}

#[test]
fn a_database_on_disk_conforms() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    database(&native);
    native.maintain(Maintenance::Checkpoint).unwrap();
    database(&native);
    drop(native);
    let native = open(folder.path());
    database(&native);
    let snapshot = native.snapshot().unwrap();
    assert!(snapshot.catalog().schemas.values().all(|it| it.is_empty()));
}

fn begin(native: &NativeDatabase) -> Box<dyn Transaction> {
    native.begin(Access::Any).unwrap()
}

/// Rows as a batch.
fn batch_of(types: &[Type], rows: &[Vec<Value>]) -> Batch {
    let column = |(column, data_type): (usize, &Type)| {
        let values: Vec<Value> = rows.iter().map(|it| it[column].clone()).collect();
        Vector::from_values(data_type.clone(), &values)
    };
    Batch::new(types.iter().enumerate().map(column).collect(), rows.len())
}

/// A table of columns `c0`, `c1` and so on.
fn create(
    transaction: &mut dyn Transaction,
    types: &[Type],
    definition: TableDefinition,
) -> TableId {
    let field = |it: (usize, &Type)| Field::new(format!("c{}", it.0), it.1.clone());
    let columns: Schema = types.iter().enumerate().map(field).collect();
    let (schema, name) = ("main".to_owned(), "t".to_owned());
    transaction.define(Definition::CreateTable { schema, name, columns, definition }).unwrap();
    let snapshot = transaction.snapshot();
    snapshot.catalog().relation("main", "t").unwrap().as_table().unwrap().id
}

fn table(native: &NativeDatabase, id: TableId) -> Arc<dyn Table> {
    native.snapshot().unwrap().table(id).unwrap()
}

/// A new table of columns `c0`, `c1` and so on, without keys.
pub(crate) fn table_of(native: &NativeDatabase, types: &[Type]) -> TableId {
    let mut transaction = begin(native);
    let id = create(&mut *transaction, types, TableDefinition::default());
    transaction.commit().unwrap();
    id
}

pub(crate) fn insert(native: &NativeDatabase, id: TableId, batches: Vec<Batch>) {
    let mut transaction = begin(native);
    transaction.change(id, RowChanges { inserted: batches, ..RowChanges::default() }).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_sample_says_how_many_values_are_distinct() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = table_of(&native, &[Type::BigInt, Type::Integer, Type::BigInt]);
    let rows = 70_000;
    // Four rows of each key, with gaps between keys; few values; as many as rows.
    let column = |of: fn(i64) -> i64| (0..rows).map(of).collect::<Vec<i64>>();
    let few: Vec<i32> = (0..rows).map(|it| (it % 10) as i32).collect();
    let vectors = vec![
        Vector::native::<i64>(Type::BigInt, column(|it| it / 4 * 1000), None),
        Vector::native::<i32>(Type::Integer, few, None),
        Vector::native::<i64>(Type::BigInt, column(|it| it), None),
    ];
    insert(&native, id, vec![Batch::new(vectors, rows as usize)]);
    let statistics = table(&native, id).statistics().unwrap();
    let distinct: Vec<Option<u64>> = statistics.columns.iter().map(|it| it.distinct).collect();
    assert_eq!(distinct, [Some(17_500), None, Some(70_000)]);
}

#[test]
fn a_snapshot_computes_the_statistics_of_a_table_once() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let mut transaction = begin(&native);
    let id = create(&mut *transaction, &[Type::Integer], TableDefinition::default());
    transaction.commit().unwrap();
    let snapshot = native.snapshot().unwrap();
    let statistics = || snapshot.table(id).unwrap().statistics().unwrap();
    assert!(Arc::ptr_eq(&statistics(), &statistics()));
}

fn values_of(batch: &Batch) -> Vec<Vec<Value>> {
    let columns: Vec<Vec<Value>> =
        batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
    (0..batch.rows()).map(|row| columns.iter().map(|it| it[row].clone()).collect()).collect()
}

/// Rows by id, as a model of a table.
fn with_ids(table: &Arc<dyn Table>) -> BTreeMap<i64, Vec<Value>> {
    let found = rows(&table.as_stored().unwrap().with_row_ids).unwrap();
    let split = |mut row: Vec<Value>| {
        let id = row.pop().unwrap().as_i128().unwrap() as i64;
        (id, row)
    };
    found.into_iter().map(split).collect()
}

fn sorted(rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<String> {
    let mut rows: Vec<String> = rows.into_iter().map(|it| format!("{it:?}")).collect();
    rows.sort();
    rows
}

#[test]
fn random_changes_of_all_types_survive_restarts_and_jobs() {
    for seed in 0..12 {
        let mut random = Generator::new(seed);
        let folder = tempdir().unwrap();
        let mut native = open(folder.path());
        let types: Vec<Type> = (0..1 + random.below(4)).map(|_| random.data_type(2)).collect();
        let mut transaction = begin(&native);
        let id = create(&mut *transaction, &types, TableDefinition::default());
        transaction.commit().unwrap();
        let mut model: Vec<Vec<Value>> = Vec::new();
        for _ in 0..14 {
            change(&native, id, &types, &mut random, &mut model);
            match random.below(5) {
                0 => native.maintain(Maintenance::Checkpoint).unwrap(),
                1 => native.maintain(Maintenance::Vacuum(Some(id))).unwrap(),
                2 => {
                    drop(native);
                    native = open(folder.path());
                }
                _ => {}
            }
            let table = table(&native, id);
            assert_eq!(sorted(rows(&table).unwrap()), sorted(model.clone()), "seed {seed}");
            assert_eq!(table.statistics().unwrap().rows, Some(model.len() as u64));
        }
    }
}

/// One transaction of a few statements.
fn change(
    native: &NativeDatabase,
    id: TableId,
    types: &[Type],
    random: &mut Generator,
    model: &mut Vec<Vec<Value>>,
) {
    let mut transaction = begin(native);
    for _ in 0..1 + random.below(3) {
        let table = transaction.snapshot().table(id).unwrap();
        let mut rows = with_ids(&table);
        let mut picked = || {
            let ids: Vec<i64> = rows.keys().copied().collect();
            ids.into_iter().filter(|_| random.below(6) == 0).collect::<Vec<i64>>()
        };
        let (updated, deleted) = (picked(), picked());
        let column = random.below(types.len());
        let values = random.batch(&types[column..=column], updated.len());
        let new_values = values.column(0).to_values().unwrap();
        let count = [0, 1, 3, 40][random.below(4)];
        let inserted = random.batch(types, count);
        for (id, value) in updated.iter().zip(new_values) {
            rows.get_mut(id).unwrap()[column] = value;
        }
        rows.retain(|it, _| !deleted.contains(it));
        let mut expected: Vec<Vec<Value>> = rows.into_values().collect();
        expected.extend(values_of(&inserted.clone().loaded().unwrap()));
        let changes = RowChanges {
            inserted: vec![inserted],
            updates: vec![RowUpdates { ids: updated, values }],
            updated_columns: vec![column],
            deleted,
            ..RowChanges::default()
        };
        transaction.change(id, changes).unwrap();
        *model = expected;
    }
    transaction.commit().unwrap();
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    registry
}

fn request(columns: Vec<usize>, filters: Vec<Expr>, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        columns,
        filters,
        dynamic_filters: Vec::new(),
        batch_rows,
        registry: Arc::new(registry()),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("scan", None),
    }
}

/// All batches of a scan, not loaded, and what it read.
fn scan(table: &dyn Table, request: ScanRequest) -> (Vec<Batch>, ScanMetrics) {
    let scan: Box<dyn Scan> = table.scan(request).unwrap();
    let (mut source, mut listing) = (scan.source().unwrap(), scan.splits().unwrap());
    let mut batches = Vec::new();
    while let SplitStep::Splits(splits) = listing.next(2, Waker::noop()).unwrap() {
        for split in splits {
            source.start(split).unwrap();
            loop {
                match source.step(Waker::noop()).unwrap() {
                    SourceStep::Batch(batch) => batches.push(batch),
                    SourceStep::NeedSplit => break,
                    SourceStep::Blocked | SourceStep::Progress => {}
                }
            }
        }
    }
    let mut metrics = source.metrics();
    metrics += scan.pruned();
    (batches, metrics)
}

/// 200,000 rows: a number that ascends, a text of few values, a constant.
fn large(native: &NativeDatabase) -> TableId {
    let mut transaction = begin(native);
    let types = [Type::Integer, Type::Varchar, Type::BigInt];
    let id = create(&mut *transaction, &types, TableDefinition::default());
    transaction.commit().unwrap();
    let batches = (0..20).map(|number| {
        let numbers = (number * 10_000..(number + 1) * 10_000).collect::<Vec<i32>>();
        let texts: Vec<Value> =
            numbers.iter().map(|it| Value::text(format!("value {}", it % 7))).collect();
        let columns = vec![
            Vector::native::<i32>(Type::Integer, numbers, None),
            Vector::from_values(Type::Varchar, &texts),
            Vector::constant(Type::BigInt, &Value::BigInt(5), 10_000),
        ];
        Batch::new(columns, 10_000)
    });
    insert(native, id, batches.collect());
    id
}

#[test]
fn many_rows_are_segments_in_compressed_form() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let table = table(&native, large(&native));
    let (batches, metrics) = scan(&*table, request(vec![1, 2, 0], Vec::new(), 1000));
    assert_eq!(batches.iter().map(Batch::rows).sum::<usize>(), 200_000);
    assert_eq!(metrics.groups_read, 2);
    // Nothing is read before a column is loaded.
    assert_eq!(metrics.bytes_read, 0);
    let first = batches[0].clone().loaded().unwrap();
    assert!(matches!(first.column(0).encoding(), volley_vector::Encoding::Dictionary { .. }));
    assert!(first.column(1).is_constant());
    assert_eq!(first.column(2).value(999).unwrap(), Value::Integer(999));
    let statistics = table.statistics().unwrap();
    assert!(statistics.is_exact && statistics.rows == Some(200_000));
    assert_eq!(statistics.columns[0].max, Some(Value::Integer(199_999)));
    let bytes: u64 = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .map(|it| it.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes < 200_000, "{bytes}");
}

#[test]
fn bounds_rule_out_segments_and_zones() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = large(&native);
    let compare = |name: &str, number: i32| {
        let column = Expr::column(0, Type::Integer);
        let constant = Expr::constant(Value::Integer(number), Type::Integer);
        vec![Expr::call(name, vec![column, constant], Type::Boolean)]
    };
    let found = |filters: Vec<Expr>| {
        let (batches, metrics) = scan(&*table(&native, id), request(vec![0], filters, 1000));
        let rows = batches.into_iter().flat_map(|it| values_of(&it.loaded().unwrap()));
        (rows.map(|it| it[0].as_i128().unwrap()).collect::<Vec<i128>>(), metrics)
    };
    let (rows, metrics) = found(compare("eq", 500_000));
    assert_eq!((rows.len(), metrics.groups_skipped, metrics.bytes_read), (0, 2, 0));
    let (rows, metrics) = found(compare("eq", 150_000));
    assert_eq!(rows, [150_000]);
    // One zone is read; the other block has no zone to be read.
    assert_eq!((metrics.rows_read, metrics.rows_pruned), (8192, 200_000 - 8192));
    let (rows, metrics) = found(compare("lt", 10_000));
    assert_eq!((rows.len(), metrics.rows_read), (10_000, 2 * 8192));
    // Modified and inserted rows are found wherever they are.
    let row_ids = with_ids(&table(&native, id));
    let row = row_ids.iter().find(|it| it.1[0] == Value::Integer(7)).unwrap();
    let value = Vector::native::<i32>(Type::Integer, vec![500_000], None);
    let inserted = Batch::new(
        vec![
            Vector::native::<i32>(Type::Integer, vec![500_000], None),
            Vector::nulls(Type::Varchar, 1),
            Vector::nulls(Type::BigInt, 1),
        ],
        1,
    );
    let mut transaction = begin(&native);
    let changes = RowChanges {
        updates: vec![RowUpdates { ids: vec![*row.0], values: Batch::new(vec![value], 1) }],
        updated_columns: vec![0],
        inserted: vec![inserted],
        ..RowChanges::default()
    };
    transaction.change(id, changes).unwrap();
    transaction.commit().unwrap();
    let (rows, metrics) = found(compare("eq", 500_000));
    assert_eq!(rows, [500_000, 500_000]);
    assert_eq!(metrics.rows_read, 8192 + 1);
    assert!(found(compare("eq", 7)).0.is_empty());
    assert_eq!(found(compare("gte", 199_990)).0.len(), 12);
    // Bounds of modified and of inserted values rule out as others do.
    let (rows, metrics) = found(compare("eq", 600_000));
    assert_eq!((rows.len(), metrics.groups_skipped, metrics.rows_read), (0, 2, 0));
    let (rows, metrics) = found(compare("eq", 450_000));
    assert_eq!((rows.len(), metrics.rows_read), (0, 8192));
}

#[test]
fn many_small_inserts_become_segments() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let mut transaction = begin(&native);
    let types = [Type::BigInt, Type::Varchar];
    let id = create(&mut *transaction, &types, TableDefinition::default());
    transaction.commit().unwrap();
    let mut random = Generator::new(5);
    for _ in 0..30 {
        insert(&native, id, vec![random.batch(&types, 5000)]);
    }
    let table = table(&native, id);
    let (batches, metrics) = scan(&*table, request(vec![0], Vec::new(), 1000));
    assert_eq!(batches.iter().map(Batch::rows).sum::<usize>(), 150_000);
    assert!(metrics.groups_read > 0, "{metrics:?}");
}

#[test]
fn keys_are_found_in_segments_and_changes() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let definition = TableDefinition {
        columns: vec![ColumnDefinition { is_not_null: true, ..ColumnDefinition::default() }],
        keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
        ..TableDefinition::default()
    };
    let mut transaction = begin(&native);
    let id = create(&mut *transaction, &[Type::BigInt, Type::BigInt], definition);
    transaction.commit().unwrap();
    let batch = |keys: std::ops::Range<i64>| {
        let keys: Vec<i64> = keys.collect();
        let rows = keys.len();
        let column = Vector::native::<i64>(Type::BigInt, keys, None);
        Batch::new(vec![column.clone(), column], rows)
    };
    insert(&native, id, vec![batch(0..70_000)]);
    insert(&native, id, vec![batch(70_000..70_010)]);
    let refused = |native: &NativeDatabase, keys: std::ops::Range<i64>| {
        let inserted = vec![batch(keys)];
        let changes = RowChanges { inserted, ..RowChanges::default() };
        let error = begin(native).change(id, changes).unwrap_err();
        assert!(error.to_string().contains("duplicate key of PRIMARY KEY: c0 = "), "{error}");
    };
    for key in [0, 12_345, 69_999, 70_000, 70_009] {
        refused(&native, key..key + 1);
    }
    // The key of a deleted row, and the old key of one that changed, are free.
    let ids = with_ids(&table(&native, id));
    let id_of = |key: i64| *ids.iter().find(|it| it.1[0] == Value::BigInt(key)).unwrap().0;
    let mut transaction = begin(&native);
    let value = Vector::native::<i64>(Type::BigInt, vec![90_000], None);
    let updates = vec![RowUpdates { ids: vec![id_of(7)], values: Batch::new(vec![value], 1) }];
    let changes = RowChanges {
        updates,
        updated_columns: vec![0],
        deleted: vec![id_of(70_003), id_of(5)],
        ..RowChanges::default()
    };
    transaction.change(id, changes).unwrap();
    transaction.commit().unwrap();
    refused(&native, 90_000..90_001);
    for key in [5, 7, 70_003] {
        insert(&native, id, vec![batch(key..key + 1)]);
        refused(&native, key..key + 1);
    }
    native.maintain(Maintenance::Vacuum(Some(id))).unwrap();
    for key in [5, 6, 7, 70_003, 90_000] {
        refused(&native, key..key + 1);
    }
    // Two transactions that insert the same key conflict, others do not.
    let transactions: Vec<_> = [100_000, 100_000, 100_001]
        .map(|key| {
            let mut transaction = begin(&native);
            let inserted = vec![batch(key..key + 1)];
            transaction.change(id, RowChanges { inserted, ..RowChanges::default() }).unwrap();
            transaction
        })
        .into_iter()
        .collect();
    let results: Vec<bool> = transactions.into_iter().map(|it| it.commit().is_ok()).collect();
    assert_eq!(results, [true, false, true]);
    assert_eq!(rows(&table(&native, id)).unwrap().len(), 70_013);
}

#[test]
fn batches_of_any_size_have_the_same_rows() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let mut transaction = begin(&native);
    let types = [Type::Integer, Type::Varchar];
    let id = create(&mut *transaction, &types, TableDefinition::default());
    transaction.commit().unwrap();
    let mut random = Generator::new(3);
    insert(&native, id, vec![random.batch(&types, 3000)]);
    native.maintain(Maintenance::Vacuum(Some(id))).unwrap();
    insert(&native, id, vec![random.batch(&types, 50)]);
    let ids: Vec<i64> = with_ids(&table(&native, id)).into_keys().step_by(5).collect();
    let mut transaction = begin(&native);
    let (deleted, updated) = ids.split_at(ids.len() / 2);
    let values = random.batch(&types[1..], updated.len());
    let changes = RowChanges {
        updates: vec![RowUpdates { ids: updated.to_vec(), values }],
        updated_columns: vec![1],
        deleted: deleted.to_vec(),
        ..RowChanges::default()
    };
    transaction.change(id, changes).unwrap();
    transaction.commit().unwrap();
    let table = table(&native, id);
    let expected = sorted(rows(&table).unwrap());
    for batch_rows in [1, 3, 1024, 100_000] {
        let (batches, _) = scan(&*table, request(vec![0, 1, 0], Vec::new(), batch_rows));
        assert!(batches.iter().all(|it| (1..=batch_rows).contains(&it.rows())));
        let found = batches.into_iter().flat_map(|it| {
            let rows = values_of(&it.loaded().unwrap());
            rows.into_iter().map(|it| {
                assert_eq!(format!("{:?}", it[0]), format!("{:?}", it[2]));
                it[..2].to_vec()
            })
        });
        assert_eq!(sorted(found), expected);
    }
}

#[test]
fn splits_of_other_versions_are_refused() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = large(&native);
    let (before, batch) = (
        table(&native, id),
        Batch::new(
            vec![
                Vector::nulls(Type::Integer, 1),
                Vector::nulls(Type::Varchar, 1),
                Vector::nulls(Type::BigInt, 1),
            ],
            1,
        ),
    );
    insert(&native, id, vec![batch]);
    let after = table(&native, id);
    let scans = [&before, &after].map(|it| it.scan(request(vec![0], Vec::new(), 10)).unwrap());
    let SplitStep::Splits(splits) = scans[0].splits().unwrap().next(1, Waker::noop()).unwrap()
    else {
        panic!("a table without splits")
    };
    scans[0].source().unwrap().start(splits[0].clone()).unwrap();
    let error = scans[1].source().unwrap().start(splits[0].clone()).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
}

#[test]
fn drivers_encode_the_rows_that_they_write() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let not_null = ColumnDefinition { is_not_null: true, ..ColumnDefinition::default() };
    let definition = TableDefinition {
        columns: vec![not_null],
        keys: vec![KeyDefinition { columns: vec![0], is_primary: false, index: None }],
        ..TableDefinition::default()
    };
    let mut transaction = begin(&native);
    let types = [Type::BigInt, Type::Varchar];
    let id = create(&mut *transaction, &types, definition);
    transaction.commit().unwrap();
    let batch = |keys: std::ops::Range<i64>| {
        let texts: Vec<Value> = keys.clone().map(|it| Value::text(format!("é{it}"))).collect();
        let keys: Vec<i64> = keys.collect();
        let columns = vec![
            Vector::native::<i64>(Type::BigInt, keys, None),
            Vector::from_values(Type::Varchar, &texts),
        ];
        Batch::new(columns, texts.len())
    };
    let pool = Pool::root("rows", None);
    let mut transaction = begin(&native);
    let skipping =
        |skipping_keys: &[usize]| WriteKind::Insert { skipping_keys: skipping_keys.to_vec() };
    let write =
        |transaction: &dyn Transaction, kind: WriteKind, keys: [std::ops::Range<i64>; 3]| {
            let writer = transaction.writer(id, &kind, &pool).unwrap();
            let sinks: Vec<_> = keys.iter().map(|_| writer.open().unwrap()).collect();
            std::thread::scope(|scope| {
                // The order is that of the source, not that in which sinks were opened.
                for ((mut sink, keys), index) in sinks.into_iter().rev().zip(keys).zip([0, 2, 4]) {
                    scope.spawn(move || {
                        sink.begin(BatchIndex(index)).unwrap();
                        for start in keys.clone().step_by(1000) {
                            sink.write(&batch(start..keys.end.min(start + 1000))).unwrap();
                        }
                        sink.finish().unwrap();
                    });
                }
            });
            writer
        };
    let bytes = |folder: &Path| -> u64 {
        let files = std::fs::read_dir(folder.join("data")).into_iter().flatten();
        files.map(|it| it.unwrap().metadata().unwrap().len()).sum()
    };
    assert_eq!(bytes(folder.path()), 0);
    let writer =
        write(&*transaction, skipping(&[]), [0..150_000, 150_000..150_010, 200_000..280_000]);
    // Two sinks had enough rows; the others are in memory until they are applied.
    assert!(bytes(folder.path()) > 100_000 && pool.stats().bytes > 0);
    let changed = transaction.apply(id, writer).unwrap();
    assert_eq!(pool.stats().bytes, 0);
    assert_eq!(changed.written.iter().map(Batch::rows).sum::<usize>(), 230_010);
    let first = changed.written[0].clone().loaded().unwrap();
    assert_eq!(first.column(1).value(7).unwrap(), Value::text("é7"));
    drop((first, changed));
    // Keys hold, in memory and on disk, and rows are left out where that was asked for.
    for keys in [[5..6, 0..0, 0..0], [300_000..400_000, 300_005..300_006, 0..0]] {
        let writer = write(&*transaction, skipping(&[]), keys);
        let error = transaction.apply(id, writer).unwrap_err();
        assert!(error.to_string().contains("duplicate key"), "{error}");
    }
    let writer = write(&*transaction, skipping(&[0]), [149_000..229_000, 0..0, 0..0]);
    let changed = transaction.apply(id, writer).unwrap();
    assert_eq!(changed.written.iter().map(Batch::rows).sum::<usize>(), 50_000 - 10);
    transaction.commit().unwrap();
    let expected: Vec<i64> =
        (0..150_010).chain(200_000..280_000).chain(150_010..199_999 + 1).collect();
    let read = |native: &NativeDatabase| -> Vec<i64> {
        let (batches, _) = scan(&*table(native, id), request(vec![0], Vec::new(), 10_000));
        let rows = batches.into_iter().flat_map(|it| values_of(&it.loaded().unwrap()));
        rows.map(|it| it[0].as_i128().unwrap() as i64).collect()
    };
    assert_eq!(read(&native), expected);
    // The rows that were written read the files.
    drop((changed, native));
    let native = open(folder.path());
    assert_eq!(read(&native), expected);
    // A null in a segment and in memory, and a transaction that is rolled back.
    let mut transaction = begin(&native);
    for rows in [1, 70_000] {
        let writer = transaction.writer(id, &skipping(&[]), &pool).unwrap();
        let mut sink = writer.open().unwrap();
        let columns = types.iter().map(|it| Vector::nulls(it.clone(), rows)).collect();
        sink.write(&Batch::new(columns, rows)).unwrap();
        sink.finish().unwrap();
        let error = transaction.apply(id, writer).unwrap_err();
        assert!(error.to_string().contains("NOT NULL: c0"), "{error}");
    }
    let files = || -> BTreeSet<std::ffi::OsString> {
        let files = std::fs::read_dir(folder.path().join("data")).unwrap();
        files.map(|it| it.unwrap().file_name()).collect()
    };
    let before = files();
    let writer = write(&*transaction, skipping(&[]), [500_000..600_000, 0..0, 0..0]);
    transaction.apply(id, writer).unwrap();
    let written: Vec<_> = files().difference(&before).cloned().collect();
    assert!(!written.is_empty());
    drop(transaction);
    insert(&native, id, vec![batch(900_000..900_001)]);
    native.maintain(Maintenance::Checkpoint).unwrap();
    let left = files();
    assert!(written.iter().all(|it| !left.contains(it)), "files of a rolled back transaction");
    assert_eq!(read(&native).len(), expected.len() + 1);
}

//! Keys: checks and scans by index, compared with a look at all rows.

use super::*;
use crate::key::LOOKED_UP;
use std::sync::atomic::Ordering;
use volley_expression::filter::{ColumnFilter, DynamicFilter, KeyFilter};

/// A table with a primary key of the first two columns, a unique third one, and a text.
fn keyed(native: &NativeDatabase, keys: Vec<KeyDefinition>) -> TableId {
    let mut transaction = begin(native);
    let types = [Type::BigInt, Type::Integer, Type::Double, Type::Varchar];
    let id = create(&mut *transaction, &types, TableDefinition { keys, ..Default::default() });
    transaction.commit().unwrap();
    id
}

fn keys() -> Vec<KeyDefinition> {
    let key = |columns: &[usize]| KeyDefinition {
        columns: columns.to_vec(),
        is_primary: false,
        index: None,
    };
    vec![key(&[0, 1]), key(&[2])]
}

type Row = (Option<i64>, i32, f64, &'static str);

fn batch(rows: &[Row]) -> Batch {
    let first: Vec<Value> = rows.iter().map(|it| it.0.map_or(Value::Null, Value::BigInt)).collect();
    let texts: Vec<Value> = rows.iter().map(|it| Value::text(it.3)).collect();
    let columns = vec![
        Vector::from_values(Type::BigInt, &first),
        Vector::native::<i32>(
            Type::Integer,
            rows.iter().map(|it| it.1).collect::<Vec<i32>>(),
            None,
        ),
        Vector::native::<f64>(Type::Double, rows.iter().map(|it| it.2).collect::<Vec<f64>>(), None),
        Vector::from_values(Type::Varchar, &texts),
    ];
    Batch::new(columns, rows.len())
}

fn try_insert(native: &NativeDatabase, id: TableId, rows: &[Row]) -> bool {
    let mut transaction = begin(native);
    let changes = RowChanges { inserted: vec![batch(rows)], ..RowChanges::default() };
    transaction.change(id, changes).is_ok() && transaction.commit().is_ok()
}

fn equal(column: usize, data_type: Type, value: Value) -> Expr {
    let constant = Expr::constant(value, data_type.clone());
    Expr::call("eq", vec![Expr::column(column, data_type), constant], Type::Boolean)
}

#[test]
fn keys_of_rows_are_checked_one_by_one() {
    let folder = tempdir().unwrap();
    let mut native = open(folder.path());
    let id = keyed(&native, keys());
    let before = LOOKED_UP.load(Ordering::Relaxed);
    for number in 0..300i64 {
        let row = (Some(number / 2), (number % 2) as i32, number as f64, "ä");
        assert!(try_insert(&native, id, &[row]));
        assert!(!try_insert(&native, id, &[row]));
        match number {
            100 => native.maintain(Maintenance::Checkpoint).unwrap(),
            150 => native.maintain(Maintenance::Vacuum(Some(id))).unwrap(),
            200 => {
                drop(native);
                native = open(folder.path());
            }
            _ => {}
        }
    }
    assert!(LOOKED_UP.load(Ordering::Relaxed) > before + 500);
    // Nulls differ from each other; -0.0 is 0.0, and NaN is NaN.
    assert!(try_insert(&native, id, &[(None, 1, 1000.0, ""), (None, 1, 1001.0, "")]));
    assert!(!try_insert(&native, id, &[(None, 2, -0.0, "")]));
    assert!(try_insert(&native, id, &[(None, 2, f64::NAN, "")]));
    assert!(!try_insert(&native, id, &[(None, 2, -f64::NAN, "")]));
    assert_eq!(rows(&table(&native, id)).unwrap().len(), 303);
}

#[test]
fn a_transaction_checks_keys_of_its_own_rows() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = keyed(&native, keys());
    let mut transaction = begin(&native);
    let mut add = |row: Row| {
        let changes = RowChanges { inserted: vec![batch(&[row])], ..RowChanges::default() };
        transaction.change(id, changes).is_ok()
    };
    for number in 0..200 {
        let row = (Some(number), 7, number as f64, "x");
        assert!(add(row) && !add(row));
    }
    let mark = transaction.mark();
    let changes = |number: i64| {
        let rows = batch(&[(Some(number), 7, number as f64, "y")]);
        RowChanges { inserted: vec![rows], ..RowChanges::default() }
    };
    transaction.change(id, changes(500)).unwrap();
    transaction.roll_back_to(&mark).unwrap();
    transaction.change(id, changes(500)).unwrap();
    assert!(transaction.change(id, changes(500)).is_err());
    transaction.commit().unwrap();
    assert_eq!(rows(&table(&native, id)).unwrap().len(), 201);
}

/// Rows and metrics of a scan of the table, and of one of the same rows without keys.
fn both(tables: [&Arc<dyn Table>; 2], request: &dyn Fn() -> ScanRequest) -> ScanMetrics {
    let read = |table: &Arc<dyn Table>| {
        let (batches, metrics) = scan(&**table, request());
        let rows = batches.into_iter().flat_map(|it| values_of(&it.loaded().unwrap()));
        (sorted(rows), metrics)
    };
    let ((found, metrics), (expected, _)) = (read(tables[0]), read(tables[1]));
    assert_eq!(found, expected);
    metrics
}

#[test]
fn scans_by_key_read_the_rows_with_the_key() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let ids = [keyed(&native, keys()), {
        let mut transaction = begin(&native);
        let name = || ("main".to_owned(), "plain".to_owned());
        let columns = table(&native, TableId(1)).schema().clone();
        let ((schema, name), definition) = (name(), TableDefinition::default());
        let change = Definition::CreateTable { schema, name, columns, definition };
        transaction.define(change).unwrap();
        transaction.commit().unwrap();
        let snapshot = native.snapshot().unwrap();
        snapshot.catalog().relation("main", "plain").unwrap().as_table().unwrap().id
    }];
    let fill: Vec<Row> =
        (0..70_000).map(|it| (Some(it / 3), (it % 3) as i32, it as f64, "a")).collect();
    let late: Vec<Row> = (70_000..70_040).map(|it| (Some(it), 0, it as f64, "late")).collect();
    for id in ids {
        assert!(try_insert(&native, id, &fill) && try_insert(&native, id, &late));
        assert!(try_insert(&native, id, &[(None, 0, -0.5, "null"), (None, 1, f64::NAN, "nan")]));
    }
    for round in 0..2 {
        let tables = ids.map(|it| table(&native, it));
        let tables = [&tables[0], &tables[1]];
        let pair = |a: i64, b: i32| {
            let filters = [
                equal(0, Type::BigInt, Value::BigInt(a)),
                equal(1, Type::Integer, Value::Integer(b)),
            ];
            both(tables, &|| request(vec![3, 0, 2], filters.to_vec(), 1000))
        };
        for (a, b, rows) in [(0, 0, 1), (23_000, 2, 1), (70_005, 0, 1), (70_005, 1, 0)] {
            assert_eq!(pair(a, b).rows_read, rows);
        }
        for number in [0.0, -0.0, 17.0, 70_039.0, 1e9, -0.5, f64::NAN] {
            let filter = equal(2, Type::Double, Value::Double(number));
            let metrics = both(tables, &|| request(vec![2, 3], vec![filter.clone()], 3));
            assert!(metrics.rows_read <= 1, "{metrics:?}");
        }
        // One column of the key alone, and values of a list.
        both(tables, &|| request(vec![1], vec![equal(0, Type::BigInt, Value::BigInt(7))], 10));
        let list = [5.0, 70_001.0, 5.0, -1.0, 60_000.0]
            .map(|it| Expr::constant(Value::Double(it), Type::Double));
        let args: Vec<Expr> = [Expr::column(2, Type::Double)].into_iter().chain(list).collect();
        let filter = Expr::special(SpecialForm::In, args, Type::Boolean);
        for batch_rows in [1, 3, 1024] {
            let metrics = both(tables, &|| request(vec![0, 2], vec![filter.clone()], batch_rows));
            assert_eq!(metrics.rows_read, 3);
        }
        // Keys of joins.
        let join = |column: usize, from: i64, to: i64| {
            let filter = DynamicFilter::default();
            filter.set(Some(Arc::new(KeyFilter::range(from, to))));
            ColumnFilter { column, filter: Arc::new(filter) }
        };
        let dynamic_filters = vec![join(0, 20, 29), join(1, 0, 1)];
        let metrics = both(tables, &|| ScanRequest {
            dynamic_filters: dynamic_filters.clone(),
            ..request(vec![0, 1, 2, 3], Vec::new(), 1000)
        });
        assert_eq!(metrics.rows_read, 20);
        if round == 0 {
            ids.iter().for_each(|it| native.maintain(Maintenance::Vacuum(Some(*it))).unwrap());
        }
    }
}

#[test]
fn statistics_follow_changes() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = keyed(&native, Vec::new());
    let statistics = || table(&native, id).statistics().unwrap();
    for number in 0..50i64 {
        assert!(try_insert(&native, id, &[(Some(number), 0, 1.0, "a")]));
        let known = statistics();
        assert_eq!(known.columns[0].max, Some(Value::BigInt(number)));
        assert!(known.is_exact && known.rows == Some(number as u64 + 1));
        if number % 20 == 7 {
            native.maintain(Maintenance::Checkpoint).unwrap();
        }
    }
    let row = *with_ids(&table(&native, id)).keys().next().unwrap();
    let mut transaction = begin(&native);
    let value = Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![-5], None)], 1);
    let updates = vec![RowUpdates { ids: vec![row], values: value }];
    let changes = RowChanges { updates, updated_columns: vec![0], ..RowChanges::default() };
    transaction.change(id, changes).unwrap();
    let own = transaction.snapshot().table(id).unwrap().statistics().unwrap();
    transaction.commit().unwrap();
    for known in [own, statistics()] {
        assert_eq!(known.columns[0].min, Some(Value::BigInt(-5)));
        assert!(!known.is_exact);
    }
    native.maintain(Maintenance::Checkpoint).unwrap();
    assert_eq!(statistics().columns[0].min, Some(Value::BigInt(-5)));
    native.maintain(Maintenance::Vacuum(Some(id))).unwrap();
    assert!(statistics().is_exact);
}

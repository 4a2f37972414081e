//! Filters on packed data, compared with a test of each row.

use super::*;
use std::cmp::Ordering;
use volley_codec::marks::{self as codec_marks, Mark as CodecMark};
use volley_connector::compare_values;
use volley_expression::marks::{self, Mark};

/// Columns whose blocks have many codecs: spread integers, dates in order, few values, runs, a
/// constant, texts, floats, decimals, booleans; with nulls in most of them.
const TYPES: [Type; 9] = [
    Type::BigInt,
    Type::Date,
    Type::Integer,
    Type::SmallInt,
    Type::BigInt,
    Type::Varchar,
    Type::Double,
    Type::Decimal { precision: 12, scale: 2 },
    Type::Boolean,
];

const ROWS: i64 = 70_000;

fn cell(column: usize, row: i64) -> Value {
    let spread = row * 7919 % 100_003;
    if row % 97 == column as i64 && column != 4 {
        return Value::Null;
    }
    match column {
        0 => Value::BigInt(if row % 1000 == 5 { i64::MAX - row } else { spread - 50_000 }),
        1 => Value::Date(8000 + (row / 30) as i32),
        2 => Value::Integer((spread % 7) as i32),
        3 => Value::SmallInt((row / 5000) as i16),
        4 => Value::BigInt(4),
        5 => Value::text(["", "ä", "bolt", "nut of great length"][(spread % 4) as usize]),
        6 if row % 50 == 1 => Value::Double(f64::NAN),
        6 if row % 50 == 2 => Value::Double(-0.0),
        6 => Value::Double((spread % 100) as f64 / 4.0),
        7 => Value::Decimal(i128::from(spread % 5000)),
        _ => Value::Boolean(spread % 2 == 0),
    }
}

fn make(native: &NativeDatabase) -> TableId {
    let mut transaction = begin(native);
    let id = create(&mut *transaction, &TYPES, TableDefinition::default());
    transaction.commit().unwrap();
    let batch = |start: i64| {
        let column = |it: usize| {
            let values: Vec<Value> = (start..start + 10_000).map(|row| cell(it, row)).collect();
            Vector::from_values(TYPES[it].clone(), &values)
        };
        Batch::new((0..TYPES.len()).map(column).collect(), 10_000)
    };
    insert(native, id, (0..ROWS / 10_000).map(|it| batch(it * 10_000)).collect());
    id
}

/// A comparison with a constant: column, function, value.
type Term = (usize, &'static str, Value);

fn expr((column, name, value): &Term) -> Expr {
    let data_type = TYPES[*column].clone();
    let operand = Expr::column(*column, data_type.clone());
    match *name {
        "is null" => Expr::special(SpecialForm::IsNull, vec![operand], Type::Boolean),
        "is not null" => {
            let is_null = Expr::special(SpecialForm::IsNull, vec![operand], Type::Boolean);
            Expr::call("not", vec![is_null], Type::Boolean)
        }
        name => {
            let constant = Expr::constant(value.clone(), data_type);
            Expr::call(name, vec![operand, constant], Type::Boolean)
        }
    }
}

fn holds(row: &[Value], (column, name, value): &Term) -> bool {
    let own = &row[*column];
    match (*name, own.is_null() || value.is_null()) {
        ("is null", _) => own.is_null(),
        ("is not null", _) => !own.is_null(),
        (_, true) => false,
        (name, false) => {
            let order = compare_values(own, value).unwrap();
            match name {
                "eq" => order == Ordering::Equal,
                "neq" => order != Ordering::Equal,
                "lt" => order == Ordering::Less,
                "lte" => order != Ordering::Greater,
                "gt" => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }
        }
    }
}

fn filters() -> Vec<Vec<Term>> {
    let decimal = |it: i128| Value::Decimal(it);
    vec![
        vec![(0, "lt", Value::BigInt(-49_000))],
        vec![(0, "gte", Value::BigInt(-1000)), (0, "lte", Value::BigInt(1000))],
        vec![(0, "gt", Value::BigInt(1 << 40)), (2, "neq", Value::Integer(3))],
        vec![(0, "neq", Value::Null)],
        vec![(1, "gte", Value::Date(8500)), (1, "lt", Value::Date(8530))],
        vec![(2, "eq", Value::Integer(3)), (5, "eq", Value::text("bolt"))],
        vec![(3, "gt", Value::SmallInt(3)), (3, "lte", Value::SmallInt(11))],
        vec![(4, "eq", Value::BigInt(4)), (0, "is null", Value::Null)],
        vec![(4, "gt", Value::BigInt(4))],
        vec![(5, "gte", Value::text("ä"))],
        vec![(6, "eq", Value::Double(0.0))],
        vec![(6, "gte", Value::Double(f64::NAN))],
        vec![(6, "lt", Value::Double(3.0)), (7, "gt", decimal(4000))],
        vec![(7, "gte", decimal(1000)), (7, "lte", decimal(1010)), (8, "is not null", Value::Null)],
        vec![(8, "eq", Value::Boolean(true)), (0, "lt", Value::BigInt(-49_900))],
    ]
}

#[track_caller]
fn check(table: &dyn Table, model: &[Vec<Value>], batch_rows: usize) {
    for terms in filters() {
        let expected: Vec<&Vec<Value>> =
            model.iter().filter(|row| terms.iter().all(|it| holds(row, it))).collect();
        let columns: Vec<usize> = (0..TYPES.len()).collect();
        let request = request(columns, terms.iter().map(expr).collect(), batch_rows);
        let (batches, _) = scan(table, request);
        let found: Vec<String> =
            batches.iter().flat_map(values_of).map(|it| format!("{it:?}")).collect();
        let expected: Vec<String> = expected.iter().map(|it| format!("{it:?}")).collect();
        assert_eq!(found.len(), expected.len(), "{terms:?}");
        assert!(found == expected, "{terms:?}");
    }
}

#[test]
fn filters_on_packed_values_leave_the_rows_that_pass() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = make(&native);
    let model: Vec<Vec<Value>> =
        (0..ROWS).map(|row| (0..TYPES.len()).map(|it| cell(it, row)).collect()).collect();
    let before = marks::count(Mark::PackedFilter);
    let packed = || {
        [
            CodecMark::PackedTest,
            CodecMark::DictionaryTest,
            CodecMark::RunTest,
            CodecMark::BoundsTest,
        ]
        .map(codec_marks::count)
    };
    let codecs = packed();
    for batch_rows in [1000, 1024, 8192] {
        check(&*table(&native, id), &model, batch_rows);
    }
    if cfg!(debug_assertions) {
        assert!(marks::count(Mark::PackedFilter) > before + 200);
        assert!(packed().iter().zip(codecs).all(|(after, before)| *after > before));
    }
}

#[test]
fn filters_on_packed_values_see_changes() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = make(&native);
    let ids: Vec<i64> = with_ids(&table(&native, id)).into_keys().collect();
    let deleted: Vec<i64> = ids.iter().copied().step_by(3).collect();
    let changed: Vec<i64> = ids.iter().copied().skip(1).step_by(30).collect();
    let new = |row: usize| if row % 7 == 3 { Value::Null } else { Value::BigInt(-49_999) };
    let values: Vec<Value> = (0..changed.len()).map(new).collect();
    let values = Batch::new(vec![Vector::from_values(Type::BigInt, &values)], changed.len());
    let updates = vec![RowUpdates { ids: changed, values }];
    let changes =
        RowChanges { updates, updated_columns: vec![0], deleted, ..RowChanges::default() };
    let mut transaction = begin(&native);
    transaction.change(id, changes).unwrap();
    transaction.commit().unwrap();
    let table = table(&native, id);
    let model = rows(&table).unwrap();
    for batch_rows in [100, 1000, 1024, 8192] {
        check(&*table, &model, batch_rows);
    }
    // Each batch has deleted rows, and modified values of the column.
    let terms = [(0, "lt", Value::BigInt(-49_000))];
    let before = marks::count(Mark::PackedFilter);
    let (batches, _) = scan(&*table, request(vec![1], terms.iter().map(expr).collect(), 1024));
    let expected = model.iter().filter(|it| holds(it, &terms[0])).count();
    assert_eq!(batches.iter().map(Batch::rows).sum::<usize>(), expected);
    if cfg!(debug_assertions) {
        assert_eq!(marks::count(Mark::PackedFilter), before + (ROWS as u64).div_ceil(1024));
    }
}

#[test]
fn scans_read_blocks_from_memory_the_second_time() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    let id = make(&native);
    let read = || {
        let (batches, _) = scan(&*table(&native, id), request(vec![0, 5], Vec::new(), 8192));
        batches.iter().flat_map(values_of).collect::<Vec<_>>()
    };
    let first = read();
    let before = native.cached_reads();
    let second = read();
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
    assert!(native.cached_reads() >= before + 2);
}

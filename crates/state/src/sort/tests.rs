use super::{Phase, RowSorter, Tie, key_prefixes};
use std::{cmp::Ordering, sync::Arc};
use volley_memory::Pool;
use volley_testkit::Random;
use volley_types::{Interval, SortKey, Type, Value};
use volley_vector::{Decoded, Vector, random::opaque_type};

/// Values of every type that are hard for an encoding.
fn edge_values(data_type: &Type) -> Vec<Value> {
    let text = |it: &str| Value::text(it);
    match data_type {
        Type::Boolean => vec![Value::Boolean(false), Value::Boolean(true)],
        Type::TinyInt => [i8::MIN, -1, 0, 1, i8::MAX].map(Value::TinyInt).to_vec(),
        Type::SmallInt => [i16::MIN, -1, 0, 256, i16::MAX].map(Value::SmallInt).to_vec(),
        Type::Integer => [i32::MIN, -1, 0, 65_536, i32::MAX].map(Value::Integer).to_vec(),
        Type::Date => [i32::MIN, -1, 0, 20_000].map(Value::Date).to_vec(),
        Type::BigInt => [i64::MIN, -1, 0, 1 << 40, i64::MAX].map(Value::BigInt).to_vec(),
        Type::HugeInt => {
            [i128::MIN, -1, 0, 1 << 70, 1 << 71, i128::MAX].map(Value::HugeInt).to_vec()
        }
        Type::Real => [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, 1.5, -1.5]
            .map(Value::Real)
            .to_vec(),
        Type::Double => {
            [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.5, -1.5, 1e-310]
                .map(Value::Double)
                .to_vec()
        }
        Type::Interval => vec![
            Value::Interval(Interval::new(1, 0, 0)),
            Value::Interval(Interval::new(0, 30, 0)),
            Value::Interval(Interval::new(0, 0, -1)),
            Value::Interval(Interval::new(-1, 31, 5)),
        ],
        Type::Varchar => vec![
            text(""),
            text("\0"),
            text("a"),
            text("a\0"),
            text("ab"),
            text("\u{fffd}"),
            text("abcdefghijkl"),
            text("abcdefghijklm"),
            text("abcdefghijklmnop"),
        ],
        Type::Array(_) => vec![
            Value::Array(Arc::new([])),
            Value::Array(Arc::new([Value::BigInt(1)])),
            Value::Array(Arc::new([Value::BigInt(1), Value::Null])),
            Value::Array(Arc::new([Value::BigInt(-1)])),
        ],
        Type::FixedArray(_) => vec![
            Value::Array(Arc::new([Value::BigInt(1), Value::Null])),
            Value::Array(Arc::new([Value::BigInt(1), Value::BigInt(2)])),
            Value::Array(Arc::new([Value::BigInt(-1), Value::BigInt(2)])),
        ],
        Type::Opaque(opaque) => (0..4).map(|it: i64| opaque.value(it)).collect(),
        _ => vec![Value::Null],
    }
}

fn types() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::SmallInt,
        Type::Integer,
        Type::Date,
        Type::BigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::Interval,
        Type::Varchar,
        Type::array(Type::BigInt),
        Type::fixed_array(Type::BigInt, 2),
        Type::Opaque(opaque_type()),
        Type::Unknown,
    ]
}

/// Some edge values, sometimes nulls, sometimes long strings with equal beginnings.
fn random_column(random: &mut Random, data_type: &Type, rows: usize) -> Vector {
    let edges = edge_values(data_type);
    let (has_nulls, has_long) = (random.below(2) == 0, random.below(2) == 0);
    let values: Vec<Value> = (0..rows)
        .map(|_| {
            if has_nulls && random.below(4) == 0 {
                Value::Null
            } else if has_long && *data_type == Type::Varchar {
                Value::text(format!("a long beginning that is equal {}", random.below(5)))
            } else {
                edges[random.below(edges.len())].clone()
            }
        })
        .collect();
    Vector::from_values(data_type.clone(), &values)
}

/// The specification.
fn naive(columns: &[Vector], rows: usize, keys: &[SortKey]) -> Vec<u32> {
    let ties: Vec<Tie> =
        columns.iter().zip(keys).map(|(it, key)| Tie::new(it, it, *key).unwrap()).collect();
    let compare = |a: &u32, b: &u32| {
        let orders = ties.iter().map(|it| it.compare(*a as usize, *b as usize));
        orders.into_iter().find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by(compare);
    order
}

#[track_caller]
fn check(columns: Vec<Vector>, rows: usize, keys: &[SortKey]) {
    let pool = Pool::root("test", None);
    let expected = naive(&columns, rows, keys);
    let types: Vec<Type> = columns.iter().map(|it| it.data_type().clone()).collect();
    let mut sorter = RowSorter::new(columns, rows, keys, pool.reservation()).unwrap();
    while !sorter.step().unwrap() {}
    assert!(sorter.rows(0, rows) == expected, "types {types:?}, keys {keys:?}, {rows} rows");
}

fn random_key(random: &mut Random, column: usize) -> SortKey {
    let (descending, nulls_first) = (random.below(2) == 0, random.below(2) == 0);
    SortKey { column, descending, nulls_first }
}

#[test]
fn every_type_sorts_as_the_naive_sort() {
    let mut random = Random(1);
    for data_type in types() {
        for _ in 0..8 {
            let column = random_column(&mut random, &data_type, 100);
            let key = random_key(&mut random, 0);
            check(vec![column], 100, &[key]);
        }
    }
}

#[test]
fn several_keys_sort_as_the_naive_sort() {
    let (mut random, types) = (Random(2), types());
    for _ in 0..200 {
        let rows = random.below(200);
        let count = 1 + random.below(6);
        let mut column = |_| {
            let data_type = &types[random.below(types.len())];
            random_column(&mut random, data_type, rows)
        };
        let columns: Vec<Vector> = (0..count).map(&mut column).collect();
        let keys: Vec<SortKey> = (0..count).map(|it| random_key(&mut random, it)).collect();
        check(columns, rows, &keys);
    }
}

#[test]
fn several_runs_merge_as_the_naive_sort() {
    let mut random = Random(3);
    for rows in [32 << 10, (32 << 10) + 1, 100_000, 300_000] {
        let integers: Vec<i64> = (0..rows).map(|_| random.below(50_000) as i64).collect();
        let integers = Vector::native::<i64>(Type::BigInt, integers, None);
        let long = random_column(&mut random, &Type::Varchar, rows);
        let keys = [random_key(&mut random, 0), random_key(&mut random, 1)];
        check(vec![integers.clone()], rows, &keys[..1]);
        check(vec![long, integers], rows, &keys);
    }
}

/// Texts that have long beginnings in common, zeros among them.
fn alike_texts(random: &mut Random, rows: usize) -> Vector {
    const PARTS: [&str; 4] = ["a", "\0", "gleicher Anfang ", "größer"];
    let text = |_| {
        if random.below(10) == 0 {
            return Value::Null;
        }
        // One text in four ends somewhere on the way of the others.
        let parts = if random.below(4) == 0 { random.below(8) } else { 7 };
        let end = "\0".repeat(random.below(3));
        let part = |at: usize| if at < 5 { PARTS[2] } else { PARTS[random.below(4)] };
        Value::text((0..parts).map(part).collect::<String>() + &end)
    };
    Vector::from_values(Type::Varchar, &(0..rows).map(text).collect::<Vec<_>>())
}

#[test]
fn texts_with_the_same_beginnings_sort_as_the_naive_sort() {
    let mut random = Random(7);
    for rows in [2, 7, 50, 1000, 5000] {
        for _ in 0..10 {
            let columns: Vec<Vector> = vec![
                random_column(&mut random, &Type::TinyInt, rows),
                alike_texts(&mut random, rows),
                alike_texts(&mut random, rows),
                random_column(&mut random, &Type::Integer, rows),
                random_column(&mut random, &Type::Double, rows),
            ];
            let first = random.below(2);
            let keys: Vec<SortKey> = (first..5).map(|it| random_key(&mut random, it)).collect();
            check(columns[first..].to_vec(), rows, &keys);
        }
    }
}

#[test]
fn many_rows_with_the_same_text_sort_as_the_naive_sort() {
    let (mut random, rows) = (Random(8), 100_000);
    let text = Value::text("ein langer Text, der in allen Zeilen derselbe ist; ".repeat(3));
    let same = Vector::from_values(Type::Varchar, &vec![text; rows]);
    for data_type in [Type::BigInt, Type::Double, Type::Varchar] {
        let second = random_column(&mut random, &data_type, rows);
        let keys = [random_key(&mut random, 0), random_key(&mut random, 1)];
        check(vec![same.clone(), second], rows, &keys);
    }
    check(vec![alike_texts(&mut random, rows)], rows, &[random_key(&mut random, 0)]);
}

/// Keys of many rows: what their first bits look like, and numbers that do.
fn many_keys(random: &mut Random, rows: usize) -> Vec<(&'static str, Vec<i64>)> {
    let mut keys = |number: &mut dyn FnMut(&mut Random) -> i64| {
        (0..rows).map(|_| number(random)).collect::<Vec<i64>>()
    };
    vec![
        ("spread", keys(&mut |random| random.below(1 << 40) as i64 - 1000)),
        ("few", keys(&mut |random| random.below(10) as i64)),
        (
            "skewed",
            keys(&mut |random| {
                let range = if random.below(10) == 0 { 1 << 60 } else { 5000 };
                random.below(range) as i64
            }),
        ),
        ("equal", vec![7; rows]),
    ]
}

#[test]
fn rows_sort_as_the_naive_sort_whether_buckets_are_even_or_not() {
    let (mut random, rows) = (Random(5), 300_000);
    for (name, integers) in many_keys(&mut random, rows) {
        let pool = Pool::root("test", None);
        let column = Vector::native::<i64>(Type::BigInt, integers, None);
        let key = random_key(&mut random, 0);
        let mut sorter =
            RowSorter::new(vec![column.clone()], rows, &[key], pool.reservation()).unwrap();
        let (mut merged, mut bucketed) = (false, false);
        while !sorter.step().unwrap() {
            merged |= matches!(sorter.phase, Phase::Merge(_));
            bucketed |= matches!(sorter.phase, Phase::Scatter(..));
        }
        assert_eq!((merged, bucketed), (name == "skewed", matches!(name, "spread" | "few")));
        assert!(sorter.rows(0, rows) == naive(std::slice::from_ref(&column), rows, &[key]));
        let second = random_column(&mut random, &Type::Varchar, rows);
        check(vec![column, second], rows, &[key, random_key(&mut random, 1)]);
    }
}

#[test]
fn changes_of_keys_are_those_of_the_values() {
    let (mut random, types) = (Random(6), types());
    let mut marked = 0;
    for _ in 0..300 {
        let rows = 1 + random.below(60);
        let mut column = |_| {
            let data_type = &types[random.below(types.len())];
            random_column(&mut random, data_type, rows)
        };
        let columns: Vec<Vector> = (0..3).map(&mut column).collect();
        let keys: Vec<SortKey> = (0..3).map(|it| random_key(&mut random, it)).collect();
        let pool = Pool::root("test", None);
        let mut sorter = RowSorter::new(columns.clone(), rows, &keys, pool.reservation()).unwrap();
        while !sorter.step().unwrap() {}
        let order = sorter.rows(0, rows);
        for count in (0..=3).filter(|it| sorter.settles(*it)) {
            let ties: Vec<Tie> = (0..count)
                .map(|it| Tie::new(&columns[it], &columns[it], keys[it]).unwrap())
                .collect();
            let differs = |pair: &[u32]| {
                ties.iter().any(|it| it.compare(pair[0] as usize, pair[1] as usize).is_ne())
            };
            let expected: Vec<bool> =
                std::iter::once(false).chain(order.windows(2).map(differs)).collect();
            let middle = random.below(rows);
            let mut found = vec![false; rows];
            let (first, second) = found.split_at_mut(middle);
            sorter.mark_changes(count, &(0..middle), first);
            sorter.mark_changes(count, &(middle..rows), second);
            assert_eq!(found, expected, "{count} keys of {columns:?}");
            marked += found.iter().filter(|it| **it).count();
        }
    }
    assert!(marked > 1000);
}

#[test]
fn no_key_keeps_the_order() {
    check(Vec::new(), 10, &[]);
}

#[test]
fn prefixes_never_decrease_in_the_order() {
    let mut random = Random(4);
    for data_type in types() {
        for _ in 0..8 {
            let column = random_column(&mut random, &data_type, 100);
            let key = random_key(&mut random, 0);
            let prefixes = key_prefixes(&Decoded::new(&column).unwrap(), key);
            let order = naive(std::slice::from_ref(&column), 100, &[key]);
            assert!(
                order.is_sorted_by_key(|row| prefixes[*row as usize]),
                "{data_type} {key:?} {column:?}"
            );
        }
    }
}

use super::{RowContainer, RowLayout, RowLinks};
use volley_memory::Pool;
use volley_testkit::RandomColumns;
use volley_types::{Type, Value};
use volley_vector::{Decoded, Vector};

fn container() -> (RowContainer, Pool) {
    let pool = Pool::root("test", None);
    let layout = RowLayout::new(&[Type::Varchar], &[], RowLinks::Single);
    (RowContainer::new(layout, &pool), pool)
}

/// Stores the column twice; what comes back, and the bytes that the container took.
fn stored(column: &Vector) -> (Vec<Value>, usize) {
    let (mut container, pool) = container();
    let mut all = container.new_list();
    let decoded = Decoded::new(column).unwrap();
    let rows: Vec<u32> = (0..column.len() as u32).collect();
    for _ in 0..2 {
        let mut list = container.new_list();
        container.append(rows.len(), &mut list).unwrap();
        container.scatter(0, &decoded, &rows, &list).unwrap();
        all.append(&list);
    }
    container.freeze().unwrap();
    let values = container.gather(0, &all).unwrap().to_values().unwrap();
    let bytes = container.bytes();
    assert!(pool.stats().bytes >= bytes);
    drop(container);
    assert_eq!(pool.stats().bytes, 0);
    (values, bytes)
}

/// `entries` texts of some 100 bytes, some of them short or null, and `rows` codes of them.
fn dictionary(entries: u64, rows: usize) -> Vector {
    let mut random = RandomColumns::new(entries);
    let text = |it: u64| match it % 10 {
        3 => Value::Null,
        4 => Value::text("kurz"),
        _ => Value::text(format!("{it:0100} größer")),
    };
    let values: Vec<Value> = (0..entries).map(text).collect();
    let base = Vector::from_values(Type::Varchar, &values);
    let codes: Vec<u32> = (0..rows).map(|_| random.below(entries) as u32).collect();
    Vector::dictionary(codes.into(), base.into(), None)
}

#[test]
fn texts_that_rows_of_a_batch_share_are_stored_once() {
    for entries in [1, 7, 1000, 5000] {
        let shared = dictionary(entries, 4000);
        let values = shared.to_values().unwrap();
        let flat = Vector::from_values(Type::Varchar, &values);
        let (from_shared, shared_bytes) = stored(&shared);
        let (from_flat, flat_bytes) = stored(&flat);
        let twice: Vec<Value> = values.iter().chain(&values).cloned().collect();
        assert_eq!(from_shared, twice);
        assert_eq!(from_flat, twice);
        // The short texts of the smallest dictionary, and those of large ones, gain little.
        assert!(entries > 1000 || shared_bytes * 2 < flat_bytes, "{shared_bytes}, {flat_bytes}");
    }
}

#[test]
fn a_cleared_container_forgets_what_it_knew() {
    let (mut container, _pool) = container();
    let column = dictionary(7, 100);
    let decoded = Decoded::new(&column).unwrap();
    let rows: Vec<u32> = (0..100).collect();
    for _ in 0..3 {
        let mut list = container.new_list();
        container.append(100, &mut list).unwrap();
        container.scatter(0, &decoded, &rows, &list).unwrap();
        container.freeze().unwrap();
        let values = container.gather(0, &list).unwrap().to_values().unwrap();
        assert_eq!(values, column.to_values().unwrap());
        container.restart();
    }
}

#[test]
fn arrays_go_with_the_blocks_of_their_rows() {
    let array = |row: usize, elements: usize| match row % 7 {
        0 => Value::Null,
        _ => Value::Array((0..elements).map(|it| Value::BigInt((row + it) as i64)).collect()),
    };
    let pool = Pool::root("test", None);
    let types = [Type::array(Type::BigInt), Type::Varchar];
    let layout = RowLayout::new(&types, &[], RowLinks::Single);
    let mut container = RowContainer::new(layout, &pool);
    let mut expected = Vec::new();
    for batch in 0..30 {
        let numbers = batch * 100..batch * 100 + 100;
        let arrays: Vec<Value> = numbers.clone().map(|it| array(it, 1000)).collect();
        let texts: Vec<Value> = numbers.map(|it| Value::text(format!("{it:0100}"))).collect();
        let mut list = container.new_list();
        container.append(100, &mut list).unwrap();
        for (column, values) in [&arrays, &texts].into_iter().enumerate() {
            let vector = Vector::from_values(types[column].clone(), values);
            let rows: Vec<u32> = (0..100).collect();
            container.scatter(column, &Decoded::new(&vector).unwrap(), &rows, &list).unwrap();
        }
        expected.extend(arrays.into_iter().zip(texts));
    }
    assert!(container.blocks() > 5, "{} blocks", container.blocks());
    container.freeze_strings();
    let mut bytes = container.bytes();
    assert!(bytes > 20 << 20);
    while let Some(block) = container.blocks().checked_sub(1) {
        let list = container.block_rows(block, 0, usize::MAX);
        let columns = [0, 1].map(|it| container.gather(it, &list).unwrap().to_values().unwrap());
        let rest = expected.split_off(expected.len() - list.len());
        let found: Vec<(Value, Value)> =
            columns[0].iter().cloned().zip(columns[1].clone()).collect();
        assert!(found == rest, "block {block}");
        container.pop_block();
        assert!(container.bytes() + (1 << 20) < bytes || expected.is_empty(), "block {block}");
        bytes = container.bytes();
    }
    assert_eq!((expected.len(), bytes), (0, 0));
}

#[test]
fn arrays_keep_elements_of_their_own_alone() {
    let values: Vec<Value> =
        (0..100).map(|it| Value::Array(vec![Value::BigInt(it); 1000].into())).collect();
    let all = Vector::from_values(Type::array(Type::BigInt), &values);
    let few = all.gather(&[3, 99, 50]).unwrap();
    let layout = RowLayout::new(&[few.data_type().clone()], &[], RowLinks::Single);
    let mut container = RowContainer::new(layout, &Pool::root("test", None));
    let mut list = container.new_list();
    container.append(3, &mut list).unwrap();
    container.scatter(0, &Decoded::new(&few).unwrap(), &[0, 1, 2], &list).unwrap();
    assert!(container.bytes() < 100_000, "{}", container.bytes());
    container.freeze().unwrap();
    let found = container.gather(0, &list).unwrap().to_values().unwrap();
    assert_eq!(found, [&values[3], &values[99], &values[50]].map(Value::clone));
}

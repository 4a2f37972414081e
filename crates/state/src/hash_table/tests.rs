//! Tables against maps, and proof of the modes that they were in.

use super::{GroupTable, JoinRows, JoinTable, JoinTableSpec, LookupMemory};
use crate::StateSizes;
use std::collections::HashMap;
use volley_memory::Pool;
use volley_testkit::RandomColumns;
use volley_types::{Type, Value};
use volley_vector::Vector;

/// A table of groups beside a map from keys to the group's number.
struct Checked {
    table: GroupTable,
    types: Vec<Type>,
    groups: HashMap<String, u64>,
    modes: Vec<&'static str>,
}

impl Checked {
    fn new(types: &[Type]) -> Checked {
        let table = GroupTable::new(
            types.to_vec(),
            Vec::new(),
            StateSizes::SMALL,
            &Pool::root("test", None),
        );
        Checked { table, types: types.to_vec(), groups: HashMap::new(), modes: Vec::new() }
    }

    /// Adds one batch; checks that rows of equal keys, and only those, are in the same group.
    fn add(&mut self, columns: &[Vec<Value>]) {
        let rows = columns[0].len();
        let vectors = self.types.iter().zip(columns);
        let vectors: Vec<Vector> =
            vectors.map(|(it, values)| Vector::from_values(it.clone(), values)).collect();
        let known = self.groups.len();
        self.table.find_or_insert(&vectors, rows).unwrap();
        for row in 0..rows {
            let key: Vec<&Value> = columns.iter().map(|it| &it[row]).collect();
            let group = self.table.groups().pointers()[row].expose();
            let expected = *self.groups.entry(format!("{key:?}")).or_insert(group);
            assert_eq!(group, expected, "{key:?}");
        }
        assert_eq!(self.table.len(), self.groups.len());
        assert_eq!(self.table.new_rows().len(), self.groups.len() - known);
        if self.modes.last() != Some(&self.table.mode()) {
            self.modes.push(self.table.mode());
        }
    }
}

fn integers(random: &mut RandomColumns, rows: usize, bits: u32) -> Vec<Value> {
    let value = |random: &mut RandomColumns| match random.below(20) {
        0 => Value::Null,
        _ => Value::BigInt((random.next() >> (64 - bits)) as i64 - (1 << (bits - 1))),
    };
    (0..rows).map(|_| value(random)).collect()
}

#[test]
fn growing_ranges_lead_from_array_to_exact_words_to_hashes() {
    let mut random = RandomColumns::new(1);
    let mut checked = Checked::new(&[Type::BigInt, Type::BigInt]);
    for bits in [3, 4, 5, 12, 20, 29, 40, 60] {
        for _ in 0..3 {
            let columns =
                [integers(&mut random, 50, bits), integers(&mut random, 50, 3 + bits / 2)];
            checked.add(&columns);
        }
    }
    assert_eq!(checked.modes, ["array", "exact", "hash"]);
}

#[test]
fn many_groups_in_a_range_lead_back_to_an_array() {
    let mut random = RandomColumns::new(2);
    let mut checked = Checked::new(&[Type::BigInt]);
    for _ in 0..100 {
        checked.add(&[integers(&mut random, 100, 14)]);
    }
    assert_eq!(checked.modes, ["exact", "array"]);
}

#[test]
fn few_strings_use_an_array_and_many_use_hashes() {
    let mut random = RandomColumns::new(3);
    let mut checked = Checked::new(&[Type::Varchar, Type::TinyInt]);
    for limit in [3, 40, 400, 10_000] {
        for _ in 0..10 {
            let texts = (0..300).map(|_| Value::text(format!("text {:>10}", random.below(limit))));
            let texts = texts.collect();
            let numbers = (0..300).map(|_| Value::TinyInt(random.below(3) as i8)).collect();
            checked.add(&[texts, numbers]);
        }
    }
    assert_eq!(checked.modes.first(), Some(&"array"));
    let mut checked = Checked::new(&[Type::Varchar]);
    for batch in 0..30 {
        let text = |it| Value::text(format!("{}", batch * 150 + it));
        checked.add(&[(0..200).map(text).collect()]);
    }
    assert_eq!(checked.modes, ["array", "hash"]);
    let mut checked = Checked::new(&[Type::Varchar]);
    checked.add(&[vec![Value::text("short"), Value::text("long".repeat(100))]]);
    assert_eq!(checked.modes, ["hash"]);
}

#[test]
fn dictionaries_and_their_copies_give_the_same_groups() {
    let values: Vec<Value> = ["a", "a long string of text", "b"].map(Value::text).to_vec();
    let flat = Vector::from_values(Type::Varchar, &values);
    let codes: Vec<u32> = vec![2, 1, 0, 1, 2, 2];
    let dictionary = flat.wrap(&codes.clone().into(), &mut Vec::new());
    let mut table = GroupTable::new(
        vec![Type::Varchar],
        Vec::new(),
        StateSizes::SMALL,
        &Pool::root("test", None),
    );
    let mut seen = Vec::new();
    for column in [dictionary.clone(), dictionary.clone(), dictionary.flatten().unwrap()] {
        table.find_or_insert(&[column], codes.len()).unwrap();
        seen.push(table.groups().pointers().to_vec());
    }
    assert_eq!(table.len(), 3);
    assert!(seen.iter().all(|it| *it == seen[0]));
}

#[test]
fn a_table_that_was_cleared_begins_anew() {
    let mut random = RandomColumns::new(4);
    let mut checked = Checked::new(&[Type::BigInt]);
    checked.add(&[integers(&mut random, 100, 5)]);
    checked.table.clear();
    checked.groups.clear();
    checked.add(&[integers(&mut random, 100, 60)]);
    checked.add(&[integers(&mut random, 100, 60)]);
    assert_eq!(checked.modes, ["array", "exact"]);
}

/// A table of these keys and their numbers.
fn join_table(key: &Vector, nulls_equal: bool) -> JoinTable {
    let pool = Pool::root("test", None);
    let columns = vec![key.data_type().clone(), Type::BigInt];
    let spec = JoinTableSpec {
        columns,
        nulls_equal: vec![nulls_equal],
        is_set: false,
        existence_only: false,
        sizes: StateSizes::SMALL,
    };
    let mut rows = JoinRows::new(&spec, &pool);
    let numbers: Vec<i64> = (0..key.len() as i64).collect();
    rows.append(&[key.clone(), Vector::native::<i64>(Type::BigInt, numbers, None)], key.len())
        .unwrap();
    let table = JoinTable::new(spec, vec![rows], &[], &pool).unwrap();
    while table.insert_next().unwrap() {}
    table
}

/// The mode of a table with these keys, after checking every lookup.
fn join_mode(keys: &[Value], data_type: &Type) -> &'static str {
    let key = Vector::from_values(data_type.clone(), keys);
    let table = join_table(&key, false);
    let mut cursor =
        table.lookup(std::slice::from_ref(&key), keys.len(), &mut LookupMemory::default()).unwrap();
    let mut pairs = Vec::new();
    while !cursor.is_done() {
        let found = table.next_pairs(&mut cursor, 7, |_| false);
        let mut equal = vec![true; found.rows.len()];
        if !found.same_keys {
            let key = std::slice::from_ref(&key);
            table.match_keys(key, &found.rows, &found.matches, &mut equal).unwrap();
        }
        let numbers = table.container().gather(1, &found.matches).unwrap().to_values().unwrap();
        let found = found.rows.iter().zip(numbers).zip(equal).filter(|(_, equal)| *equal);
        pairs.extend(found.map(|((row, number), _)| (*row as usize, number.as_i128().unwrap())));
    }
    pairs.sort_unstable();
    let mut expected = Vec::new();
    for (row, left) in keys.iter().enumerate().filter(|(_, it)| !it.is_null()) {
        let equal = keys.iter().enumerate().filter(|(_, right)| *right == left);
        expected.extend(equal.map(|(number, _)| (row, number as i128)));
    }
    assert_eq!(pairs, expected);
    table.mode()
}

#[test]
fn a_join_table_chooses_its_mode_by_the_ranges_of_keys() {
    let mut random = RandomColumns::new(5);
    assert_eq!(join_mode(&integers(&mut random, 500, 4), &Type::BigInt), "array");
    assert_eq!(join_mode(&integers(&mut random, 500, 13), &Type::BigInt), "exact");
    assert_eq!(join_mode(&integers(&mut random, 500, 63), &Type::BigInt), "exact");
    let ends = [i64::MIN, i64::MAX, 0, -1].map(Value::BigInt);
    assert_eq!(join_mode(&ends, &Type::BigInt), "hash");
    let texts: Vec<Value> = (0..400).map(|_| random.value(&Type::Varchar)).collect();
    assert_eq!(join_mode(&texts, &Type::Varchar), "hash");
    assert_eq!(join_mode(&[], &Type::BigInt), "array");
    assert_eq!(join_mode(&[Value::Null], &Type::BigInt), "array");
}

/// The pairs (probe row, number) that a key finds.
fn join_pairs(table: &JoinTable, key: &Vector, memory: &mut LookupMemory) -> Vec<(u32, i128)> {
    let mut cursor = table.lookup(std::slice::from_ref(key), key.len(), memory).unwrap();
    let found = table.next_pairs(&mut cursor, usize::MAX >> 1, |_| false);
    let mut equal = vec![true; found.rows.len()];
    if !found.same_keys {
        let key = std::slice::from_ref(key);
        table.match_keys(key, &found.rows, &found.matches, &mut equal).unwrap();
    }
    let numbers = table.container().gather(1, &found.matches).unwrap().to_values().unwrap();
    let pairs = found.rows.iter().zip(numbers).zip(equal).filter(|(_, equal)| *equal);
    pairs.map(|((row, number), _)| (*row, number.as_i128().unwrap())).collect()
}

#[test]
fn the_values_of_a_dictionary_are_looked_up_once_and_find_what_rows_find() {
    let mut random = RandomColumns::new(6);
    for data_type in [Type::BigInt, Type::Varchar, Type::Double] {
        for (build, nulls_equal) in [(0, false), (1, true), (40, false), (40, true), (900, true)] {
            let mut values = |count| {
                let value = |_| match random.below(9) {
                    0 => Value::Null,
                    _ => random.value(&data_type),
                };
                (0..count).map(value).collect::<Vec<_>>()
            };
            let built = values(build);
            let mut base = values(60);
            base.extend(built.iter().take(60).cloned());
            let table = join_table(&Vector::from_values(data_type.clone(), &built), nulls_equal);
            let base = Vector::from_values(data_type.clone(), &base);
            let mut memory = LookupMemory::default();
            let mut dictionary = None;
            for rows in [200, 3, 0, 1] {
                let codes: Vec<u32> =
                    (0..rows).map(|_| random.below(base.len() as u64) as u32).collect();
                let key = match &dictionary {
                    None => base.wrap(&codes.into(), &mut Vec::new()),
                    Some(first) => Vector::wrap(first, &codes.into(), &mut Vec::new()),
                };
                let found = join_pairs(&table, &key, &mut memory);
                let expected =
                    join_pairs(&table, &key.flatten().unwrap(), &mut LookupMemory::default());
                assert_eq!(found, expected, "{data_type} {build} {nulls_equal} {rows}");
                assert!(memory.knows(&key), "{data_type} {rows}");
                dictionary.get_or_insert(key);
            }
        }
    }
}

/// The mode of a table that only tells which keys are there, after checking what it tells of
/// `probes`; `parts`: the keys of each driver's batches.
fn asked_mode(parts: &[Vec<Vec<Value>>], probes: &[Value], data_type: &Type) -> &'static str {
    let pool = Pool::root("test", None);
    let (columns, nulls_equal) = (vec![data_type.clone()], vec![false]);
    let spec = JoinTableSpec {
        columns,
        nulls_equal,
        is_set: true,
        existence_only: true,
        sizes: StateSizes::SMALL,
    };
    let drivers = parts.iter().map(|batches| {
        let mut rows = JoinRows::new(&spec, &pool);
        for keys in batches {
            let keys: Vec<Value> = keys.iter().filter(|it| !it.is_null()).cloned().collect();
            rows.append(&[Vector::from_values(data_type.clone(), &keys)], keys.len()).unwrap();
        }
        rows
    });
    let table = JoinTable::new(spec.clone(), drivers.collect(), &[0], &pool).unwrap();
    while table.insert_next().unwrap() {}
    let probe = Vector::from_values(data_type.clone(), probes);
    let codes: Vec<u32> = (0..probes.len() as u32).rev().collect();
    let dictionary = probe.wrap(&codes.into(), &mut Vec::new());
    let is_there = |value: &Value| parts.iter().flatten().flatten().any(|it| it == value);
    for key in [probe, dictionary] {
        let values = key.to_values().unwrap();
        let rows = (0..values.len()).filter(|it| !values[*it].is_null() && is_there(&values[*it]));
        let expected: Vec<u32> = rows.map(|row| row as u32).collect();
        let cursor = table
            .lookup(std::slice::from_ref(&key), key.len(), &mut LookupMemory::default())
            .unwrap();
        assert_eq!(cursor.rows(), expected, "{data_type}");
        // What is there passes the filter of scans.
        let filter = table.filter(0).unwrap();
        let all = volley_vector::Rows::all(key.len());
        let passed = filter.select(&key, &all, &mut Default::default()).unwrap();
        assert!(expected.iter().all(|row| passed.contains(*row as usize)));
    }
    let different: std::collections::BTreeSet<String> = parts
        .iter()
        .flatten()
        .flatten()
        .filter(|it| !it.is_null())
        .map(|it| format!("{it:?}"))
        .collect();
    assert!(table.len() >= different.len());
    table.mode()
}

#[test]
fn a_table_that_is_only_asked_keeps_bits_unless_keys_are_far_apart() {
    let mut random = RandomColumns::new(7);
    let near = |random: &mut RandomColumns, base: i64| -> Vec<Value> {
        (0..300).map(|_| Value::BigInt(base.wrapping_add(random.below(200_000) as i64))).collect()
    };
    let mut probes: Vec<Value> = near(&mut random, -100_000);
    probes.extend([i64::MIN, i64::MAX, 0, -1, 65_536].map(Value::BigInt));
    probes.push(Value::Null);
    let first = near(&mut random, -100_000);
    let second = [near(&mut random, -50_000), vec![Value::Null], vec![Value::BigInt(-1)]];
    let big = &Type::BigInt;
    assert_eq!(asked_mode(&[vec![first.clone()], second.to_vec()], &probes, big), "set");
    assert_eq!(asked_mode(&[vec![], vec![]], &probes, big), "set");
    // Two drivers, each with its keys together, far from the other's.
    let (low, high) = (near(&mut random, i64::MIN), near(&mut random, i64::MAX - 200_000));
    let mut ends = low.clone();
    ends.extend(high.clone());
    ends.extend(probes.clone());
    assert_eq!(asked_mode(&[vec![low.clone()]], &ends, big), "set");
    assert_eq!(asked_mode(&[vec![high.clone()]], &ends, big), "set");
    assert_ne!(asked_mode(&[vec![low], vec![high]], &ends, big), "set");
    // One driver with keys anywhere, beside one with keys together.
    let far = integers(&mut random, 500, 60);
    ends.extend(far.iter().take(100).cloned());
    assert_ne!(asked_mode(&[vec![first.clone(), far.clone()], vec![first]], &ends, big), "set");
    let small: Vec<Value> = (-128..127).step_by(3).map(Value::TinyInt).collect();
    let all: Vec<Value> = (-128..=127).map(Value::TinyInt).collect();
    assert_eq!(asked_mode(&[vec![small]], &all, &Type::TinyInt), "set");
}

#[test]
fn drained_rows_give_their_memory_back_bit_by_bit() {
    let pool = Pool::root("test", None);
    let spec = JoinTableSpec {
        columns: vec![Type::BigInt, Type::Varchar],
        nulls_equal: vec![false],
        is_set: false,
        existence_only: false,
        sizes: StateSizes::SMALL,
    };
    let text = |it: i64| match it % 5 {
        0 => Value::Null,
        1 => Value::text("kurz"),
        _ => Value::text(format!("{it}, {}", "ein längerer Text ".repeat(1 + it as usize % 7))),
    };
    let (mut rows, mut count) = (JoinRows::new(&spec, &pool), 0);
    for batch in 0..60 {
        let numbers = batch * 10_000..batch * 10_000 + 1 + batch * 40;
        let keys: Vec<Value> = numbers.clone().map(Value::BigInt).collect();
        let texts: Vec<Value> = numbers.map(text).collect();
        let columns = [(Type::BigInt, &keys), (Type::Varchar, &texts)];
        let columns = columns.map(|(data_type, values)| Vector::from_values(data_type, values));
        rows.append(&columns, keys.len()).unwrap();
        count += keys.len();
    }
    let before = pool.stats().bytes;
    let mut kept = JoinRows::new(&spec, &pool);
    let mut seen = std::collections::BTreeSet::new();
    rows.drain(|batch| {
        for row in 0..batch.rows() {
            let number = batch.column(0).value(row).unwrap();
            let expected = text(number.as_i128().unwrap() as i64);
            assert_eq!(batch.column(1).value(row).unwrap(), expected);
            assert!(seen.insert(format!("{number:?}")), "{number:?} came twice");
        }
        kept.append(batch.columns(), batch.rows()).unwrap();
        // Blocks grow to a mebibyte, and so do the buffers of texts.
        assert!(pool.stats().bytes < before + (4 << 20), "{before} {}", pool.stats().bytes);
        Ok(())
    })
    .unwrap();
    assert_eq!((seen.len(), kept.rows()), (count, count));
    // Pools count in larger units.
    assert!(pool.stats().bytes - kept.bytes() < 256 << 10);
    assert!(before > 8 << 20, "{before}: too little to tell");
    drop(kept);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn blocks_of_groups_give_their_memory_back_the_last_first() {
    let pool = Pool::root("test", None);
    let mut table = GroupTable::new(vec![Type::Varchar], Vec::new(), StateSizes::SMALL, &pool);
    let text = |it: usize| Value::text(format!("a key longer than a view has room for: {it}"));
    let values: Vec<Value> = (0..50_000).map(text).collect();
    for part in values.chunks(1000) {
        table.find_or_insert(&[Vector::from_values(Type::Varchar, part)], part.len()).unwrap();
    }
    table.freeze().unwrap();
    let full = table.bytes();
    table.release_index();
    let without_index = table.bytes();
    assert!(without_index < full);
    let (mut left, mut seen) = (without_index, Vec::new());
    while let Some(mut cursor) = table.last_block() {
        loop {
            let groups = table.next_groups(&mut cursor, 300);
            if groups.is_empty() {
                break;
            }
            let keys = table.keys_of(&groups).unwrap();
            seen.extend((0..groups.len()).map(|it| format!("{:?}", keys[0].value(it).unwrap())));
        }
        table.pop_block();
        // Texts may lie in a buffer that the block before has begun.
        assert!(table.bytes() < left);
        left = table.bytes();
        assert!(pool.stats().bytes < left + (64 << 10));
    }
    assert_eq!(left, 0);
    let mut expected: Vec<String> = values.iter().map(|it| format!("{it:?}")).collect();
    seen.sort_unstable();
    expected.sort_unstable();
    assert!(seen == expected);
    table.clear();
    table.find_or_insert(&[Vector::from_values(Type::Varchar, &values[..10])], 10).unwrap();
    assert_eq!(table.len(), 10);
}

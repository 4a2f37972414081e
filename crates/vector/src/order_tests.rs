//! Tests of hashing and comparing together: rows that are equal hash alike, in every encoding.

use crate::{ScalarBuffer, Vector, comparator, hash_columns};
use std::{cmp::Ordering, sync::Arc};
use volley_types::{ComparisonKey, Custom, CustomType, Field, Interval, Type, Value};

/// `classes`: equal values stand together; classes ascend.
fn check(data_type: &Type, classes: &[Vec<Value>]) {
    let values: Vec<Value> = classes.iter().flatten().cloned().chain([Value::Null]).collect();
    let class_of: Vec<usize> = classes
        .iter()
        .enumerate()
        .flat_map(|(class, values)| values.iter().map(move |_| class))
        .chain([classes.len()])
        .collect();
    let flat = Vector::from_values(data_type.clone(), &values);
    for (left, rows) in encodings(&flat) {
        let mut hashes = vec![0; left.len()];
        left.hash_into(&mut hashes).unwrap();
        let mut combined = vec![7; left.len()];
        left.hash_combine_into(&mut combined).unwrap();
        let comparator = comparator(&left, &flat).unwrap();
        let mut flat_hashes = vec![0; flat.len()];
        hash_columns(std::slice::from_ref(&flat), &mut flat_hashes).unwrap();
        let mut flat_combined = vec![7; flat.len()];
        flat.hash_combine_into(&mut flat_combined).unwrap();
        for (i, &row) in rows.iter().enumerate() {
            for j in 0..flat.len() {
                let expected = class_of[row].cmp(&class_of[j]);
                assert_eq!(comparator.compare(i, j), expected, "{:?} {:?}", values[row], values[j]);
                assert_eq!(hashes[i] == flat_hashes[j], expected == Ordering::Equal);
                assert_eq!(combined[i] == flat_combined[j], expected == Ordering::Equal);
            }
        }
    }
}

/// The vector in several encodings, and which of its rows each row is.
fn encodings(flat: &Vector) -> Vec<(Vector, Vec<usize>)> {
    let len = flat.len();
    let base = Arc::new(flat.clone());
    let reversed: Vec<u32> = (0..len as u32).rev().collect();
    let reversed_rows = (0..len).rev().collect();
    let dictionary = Vector::dictionary(ScalarBuffer::from(reversed), Arc::clone(&base), None);
    let few = Vector::dictionary(ScalarBuffer::from(vec![1u32]), Arc::clone(&base), None);
    let ends: Vec<u32> = (1..=len as u32).map(|it| it * 2).collect();
    let runs = Vector::run_length(ScalarBuffer::from(ends), base);
    let mut all = vec![
        (flat.clone(), (0..len).collect()),
        (dictionary, reversed_rows),
        (few, vec![1]),
        (runs, (0..2 * len).map(|it| it / 2).collect()),
    ];
    all.extend((0..len).map(|row| (Vector::repeat(flat.slice(row, 1), 2), vec![row; 2])));
    all
}

#[test]
fn numbers_compare_and_hash() {
    let integers = [-5i64, 0, 7].map(|it| vec![Value::BigInt(it)]);
    check(&Type::BigInt, &integers);
    let wide = [-1i128 << 100, -1, 0, 1 << 70].map(|it| vec![Value::HugeInt(it)]);
    check(&Type::HugeInt, &wide);
    let doubles = [
        vec![Value::Double(f64::NEG_INFINITY)],
        vec![Value::Double(-0.0), Value::Double(0.0)],
        vec![Value::Double(f64::INFINITY)],
        vec![Value::Double(f64::NAN), Value::Double(-f64::NAN)],
    ];
    check(&Type::Double, &doubles);
    check(&Type::Boolean, &[vec![Value::Boolean(false)], vec![Value::Boolean(true)]]);
    check(&Type::decimal(30, 2), &[vec![Value::Decimal(1)], vec![Value::Decimal(1 << 90)]]);
}

#[test]
fn strings_compare_and_hash() {
    let texts = ["", "a", "a\0", "ab", "abc1", "abc2", "abcdefghijkl", "abcdefghijklm", "größe"];
    check(&Type::Varchar, &texts.map(|it| vec![Value::text(it)]));
}

#[test]
fn intervals_compare_by_length() {
    let interval = |months, days, hours: i64| {
        Value::Interval(Interval::new(months, days, hours * 3_600_000_000_000))
    };
    let classes = [
        vec![interval(0, -1, 0), interval(0, 0, -24)],
        vec![interval(0, 0, 0), interval(1, -30, 0)],
        vec![interval(1, 0, 0), interval(0, 30, 0)],
    ];
    check(&Type::Interval, &classes);
}

#[test]
fn nested_values_compare_element_by_element() {
    let list = |values: &[Option<i32>]| {
        Value::Array(values.iter().map(|it| it.map_or(Value::Null, Value::Integer)).collect())
    };
    let lists = [
        vec![list(&[])],
        vec![list(&[Some(1), Some(2)])],
        vec![list(&[Some(1), Some(2), Some(0)])],
        vec![list(&[Some(1), None]), list(&[Some(1), None])],
        vec![list(&[None])],
    ];
    check(&Type::array(Type::Integer), &lists);
    let row = |a: Option<i32>, b: &str| {
        Value::Row([a.map_or(Value::Null, Value::Integer), Value::text(b)].into())
    };
    let row_type = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    let rows =
        [vec![row(Some(1), "x")], vec![row(Some(1), "y")], vec![row(None, "a"), row(None, "a")]];
    check(&row_type, &rows);
    let map = |value: i32| Value::Map([(Value::text("k"), Value::Integer(value))].into());
    check(&Type::map(Type::Varchar, Type::Integer), &[vec![map(1)], vec![map(2)]]);
}

/// A number with a digit that does not count; the greatest comes first.
#[derive(Debug)]
struct Tagged {
    storage: Type,
}

impl CustomType for Tagged {
    fn name(&self) -> &str {
        "TAGGED"
    }

    fn storage(&self) -> &Type {
        &self.storage
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(&format!("{stored:?}"));
    }

    fn parse(&self, _text: &str) -> Option<Value> {
        None
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }
}

impl ComparisonKey for Tagged {
    fn data_type(&self) -> &Type {
        &Type::BigInt
    }

    fn key(&self, stored: &Value) -> Value {
        let stored = stored.as_i128().unwrap_or_default() as i64;
        Value::BigInt(stored.div_euclid(10).wrapping_neg())
    }

    fn integer_keys(&self, stored: &[i64], keys: &mut [i64]) -> bool {
        let pairs = keys.iter_mut().zip(stored);
        pairs.for_each(|(key, it)| *key = it.div_euclid(10).wrapping_neg());
        true
    }
}

#[test]
fn types_with_keys_compare_and_hash_by_them_also_within_nested_types() {
    // As 64-bit integers all keys are made at once, else value by value.
    for storage in [Type::BigInt, Type::HugeInt] {
        let is_wide = storage == Type::HugeInt;
        let tagged = Type::Custom(Custom::new(Tagged { storage }));
        let value = |it: i64| if is_wide { Value::HugeInt(it.into()) } else { Value::BigInt(it) };
        let numbers = [vec![25, 20], vec![11, 12, 19], vec![0], vec![-1, -9]];
        let of = |make: &dyn Fn(Value) -> Value| -> Vec<Vec<Value>> {
            let class = |class: &Vec<i64>| class.iter().map(|it| make(value(*it))).collect();
            numbers.iter().map(class).collect()
        };
        check(&tagged, &of(&|it| it));
        check(&Type::array(tagged.clone()), &of(&|it| Value::Array([value(7), it].into())));
        let row = Type::row([
            Field::new("a", Type::Varchar),
            Field::new("b", Type::array(tagged.clone())),
        ]);
        let nested = |it| Value::Row([Value::text("x"), Value::Array([it].into())].into());
        check(&row, &of(&nested));
        let map = Type::map(Type::Integer, tagged.clone());
        check(&map, &of(&|it| Value::Map([(Value::Integer(1), it)].into())));
    }
}

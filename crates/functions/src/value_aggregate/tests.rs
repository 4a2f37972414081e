//! Maps of values, and columns as values.

use super::{Keys, ValueMap, reader::Reader};
use volley_types::{Field, Type, Value};
use volley_vector::{Decoded, random::Generator};

#[test]
fn keys_are_equal_as_sql_says() {
    let keys = Keys::of(&Type::Double);
    let mut counts = ValueMap::default();
    for value in [f64::NAN, -f64::NAN, 0.0, -0.0, 1.0] {
        *counts.entry(&keys, Value::Double(value), || 0) += 1;
    }
    *counts.entry(&keys, Value::Null, || 0) += 1;
    let counts: Vec<i32> = counts.sorted(&keys).into_iter().map(|it| *it.1).collect();
    assert_eq!(counts, [2, 1, 2, 1]);
}

#[test]
fn a_map_of_many_keys_finds_each_of_them() {
    let keys = Keys::of(&Type::BigInt);
    let mut map = ValueMap::default();
    for round in 0..2 {
        for key in 0..1000i64 {
            *map.entry(&keys, Value::BigInt(key * 7919), || 0) += 1;
        }
        assert_eq!(map.len(), 1000, "round {round}");
    }
    assert!(map.iter().all(|it| *it.1 == 2));
    assert_eq!(map.get(&keys, &Value::BigInt(7919)), Some(&2));
    assert_eq!(map.get(&keys, &Value::BigInt(1)), None);
    assert!(map.bytes() >= 1000 * size_of::<(Value, i32)>());
}

#[test]
fn nested_columns_are_read_as_row_by_row() {
    let pair = Type::row([Field::new("a", Type::Varchar), Field::new("b", Type::BigInt)]);
    let map = Type::map(Type::Integer, Type::array(Type::Boolean));
    let mut random = Generator::new(7);
    for data_type in [Type::array(pair.clone()), map.clone(), Type::row([Field::new("m", map)])] {
        for rows in [1, 3, 200] {
            let batch = random.batch(std::slice::from_ref(&data_type), rows);
            let column = Decoded::new(batch.column(0)).unwrap();
            let reader = Reader::new(&column).unwrap();
            for row in (0..rows).filter(|it| !column.is_null(*it)) {
                let expected = batch.column(0).value(row).unwrap();
                assert_eq!(reader.at(column.index(row)), expected, "{data_type}");
            }
        }
    }
}

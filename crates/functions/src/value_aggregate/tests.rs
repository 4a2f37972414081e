//! Maps of values, and columns as values.

use super::{Keys, ValueMap, hash_bytes, mix, reader::Reader};
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

/// Sketches keep hashes, and people keep sketches: a change of these is one of the format.
#[test]
fn hashes_are_the_same_in_every_release() {
    // XXH64 and SplitMix64 of others.
    assert_eq!(hash_bytes(b""), 0xEF46_DB37_51D8_E999);
    assert_eq!(hash_bytes(b"abc"), 0x44BC_2CF5_AD77_0999);
    assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
    let pinned = |data_type: Type, value: &Value, hash: u64| {
        assert_eq!(Keys::of(&data_type).hash(value), hash, "{value:?}");
    };
    let texts = Value::Array([Value::text("abc"), Value::Null].into());
    pinned(Type::BigInt, &Value::BigInt(1), 0x08B4_FDA8_C892_B50E);
    pinned(Type::Varchar, &Value::text("abc"), 0x44BC_2CF5_AD77_0999);
    pinned(Type::array(Type::Varchar), &texts, 0x0ADB_0F29_FC73_63C2);
}

//! Whatever its encoding, a vector behaves as the list of its values.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrow_array::Array;
use volley_types::{Type, Value};
use volley_vector::{
    ScalarBuffer, Vector,
    arrow::{ArrowLayout, from_arrow, to_arrow, to_arrow_encoded, type_to_arrow},
    comparator,
    random::{Generator, Shape},
};

const SEEDS: u64 = 400;

/// Runs `check` on random vectors with their values, and says which seed failed.
fn for_random_vectors(check: impl Fn(&mut Generator, &Vector, &[Value])) {
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = random.data_type(2);
        let len = random.below(40);
        let vector = random.vector(&data_type, len);
        let summary = vector.summary();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            vector.validate().unwrap();
            let values = vector.to_values().unwrap();
            check(&mut random, &vector, &values);
        }));
        assert!(outcome.is_ok(), "seed {seed}: {summary}");
    }
}

/// Equality of values in which NaN equals itself.
#[track_caller]
fn assert_same(left: &[Value], right: &[Value]) {
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
}

#[test]
fn every_shape_of_every_type_keeps_its_values_when_flattened() {
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = random.data_type(2);
        for shape in Shape::ALL {
            let vector = random.encoded(shape, &data_type, 17);
            let flat = vector.flatten().unwrap();
            flat.validate().unwrap();
            assert!(flat.flat_values().is_some());
            assert_same(&flat.to_values().unwrap(), &vector.to_values().unwrap());
        }
    }
}

#[test]
fn rows_are_gathered_wrapped_and_sliced_in_every_encoding() {
    for_random_vectors(|random, vector, values| {
        let len = values.len();
        let rows: Vec<u32> =
            (0..if len == 0 { 0 } else { 9 }).map(|_| random.below(len) as u32).collect();
        let expected: Vec<Value> = rows.iter().map(|it| values[*it as usize].clone()).collect();
        let gathered = vector.gather(&rows).unwrap();
        gathered.validate().unwrap();
        assert_same(&gathered.to_values().unwrap(), &expected);
        let wrapped = vector.wrap(&ScalarBuffer::from(rows), &mut Vec::new());
        wrapped.validate().unwrap();
        assert_same(&wrapped.to_values().unwrap(), &expected);
        let start = random.below(len + 1);
        let end = start + random.below(len - start + 1);
        let slice = vector.loaded().unwrap().slice(start, end - start);
        slice.validate().unwrap();
        assert_same(&slice.to_values().unwrap(), &values[start..end]);
    });
}

#[test]
fn vectors_in_different_encodings_are_concatenated() {
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = random.data_type(2);
        let parts: Vec<Vector> = (0..random.below(4))
            .map(|_| {
                let len = random.below(9);
                random.vector(&data_type, len)
            })
            .collect();
        let expected: Vec<Value> = parts.iter().flat_map(|it| it.to_values().unwrap()).collect();
        let whole = Vector::concat(&data_type, &parts).unwrap();
        whole.validate().unwrap();
        assert_same(&whole.to_values().unwrap(), &expected);
    }
}

#[test]
fn every_type_survives_the_trip_through_arrow() {
    for_random_vectors(|_, vector, values| {
        for (layout, encoded) in [
            (ArrowLayout::Native, false),
            (ArrowLayout::Portable, false),
            (ArrowLayout::Native, true),
            (ArrowLayout::Portable, true),
        ] {
            let array = if encoded {
                to_arrow_encoded(vector, layout).unwrap()
            } else {
                let array = to_arrow(vector, layout).unwrap();
                assert_eq!(*array.data_type(), type_to_arrow(vector.data_type(), layout));
                array
            };
            array.to_data().validate_full().unwrap();
            let back = from_arrow(array.as_ref()).unwrap();
            back.validate().unwrap();
            // Arrow has no HUGEINT: it comes back as DECIMAL(38, 0).
            let came = format!("{:?}", back.to_values().unwrap());
            assert_eq!(came, format!("{values:?}").replace("HugeInt(", "Decimal("));
        }
    });
}

#[test]
fn comparison_and_hash_do_not_see_the_encoding() {
    for_random_vectors(|random, vector, values| {
        let len = values.len();
        let flat = Vector::from_values(vector.data_type().clone(), values);
        let loaded = vector.loaded().unwrap();
        let compare = comparator(&loaded, &flat).unwrap();
        for _ in 0..len {
            let row = random.below(len);
            assert!(compare.is_equal(row, row), "row {row} differs from itself");
        }
        let hash = |vector: &Vector| {
            let mut hashes = vec![0; len];
            vector.hash_into(&mut hashes).unwrap();
            hashes
        };
        assert_eq!(hash(&loaded), hash(&flat));
    });
}

#[test]
fn printing_shows_encodings_and_the_first_values() {
    let words = Vector::from_values(Type::Varchar, &[Value::text("a"), Value::Null]);
    let codes: Vec<u32> = vec![0, 1, 0];
    let vector = Vector::dictionary(codes.into(), words.into(), None);
    let expected = "VARCHAR x 3: dictionary > x 2: flat, 1 null [a, NULL, a]";
    assert_eq!(vector.to_string(), expected);
    for_random_vectors(|_, vector, _| assert!(!vector.to_string().is_empty()));
}

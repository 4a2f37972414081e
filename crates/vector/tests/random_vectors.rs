//! In every encoding, a vector behaves like the list of its values.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrow_array::Array;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::Result;
use volley_types::{Type, Value};
use volley_vector::{
    CopyRange, Encoding, Loader, Rows, ScalarBuffer, ValueCallback, Vector, VectorBuilder,
    arrow::{ArrowLayout, from_arrow, to_arrow, to_arrow_encoded, type_to_arrow},
    comparator,
    random::{Generator, Shape, opaque_type},
};

const SEEDS: u64 = 400;

/// A type of any kind, opaque ones included.
fn any_type(random: &mut Generator) -> Type {
    let thing = Type::Opaque(opaque_type());
    match random.below(12) {
        0 => thing,
        1 => Type::array(thing),
        2 => Type::fixed_array(thing, 2),
        _ => random.data_type(2),
    }
}

/// Runs `check` on random vectors of any type with their values, and says which seed failed.
fn for_random_vectors(check: impl Fn(&mut Generator, &Vector, &[Value])) {
    for_vectors_of(any_type, check);
}

fn for_vectors_of(
    data_type: fn(&mut Generator) -> Type,
    check: impl Fn(&mut Generator, &Vector, &[Value]),
) {
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = data_type(&mut random);
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
        let data_type = any_type(&mut random);
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
        let data_type = any_type(&mut random);
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
    for_vectors_of(
        |it| it.data_type(2),
        |_, vector, values| {
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
        },
    );
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

#[test]
fn ranges_are_copied_over_rows_of_every_encoding() {
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = any_type(&mut random);
        let (len, count) = (random.below(20), random.below(20));
        let (target, source) = (random.vector(&data_type, len), random.vector(&data_type, count));
        let mut expected = target.to_values().unwrap();
        let values = source.to_values().unwrap();
        let mut ranges = Vec::new();
        for _ in 0..random.below(4) {
            let (from, to) = (random.below(count + 1), random.below(len + 1));
            let rows = random.below((count - from).min(len - to) + 1);
            ranges.push(CopyRange { from, to, rows });
            expected[to..to + rows].clone_from_slice(&values[from..from + rows]);
        }
        let kept = target.clone();
        let before = kept.to_values().unwrap();
        let changed = target.copy_ranges(&source, &ranges).unwrap();
        changed.validate().unwrap();
        assert_same(&changed.to_values().unwrap(), &expected);
        assert_same(&kept.to_values().unwrap(), &before);
        // Without another holder.
        let changed = changed.copy_ranges(&source, &ranges).unwrap();
        changed.validate().unwrap();
        assert_same(&changed.to_values().unwrap(), &expected);
    }
}

#[test]
fn vectors_of_every_encoding_become_shorter_and_longer() {
    for_random_vectors(|random, vector, values| {
        let len = random.below(60);
        let mut expected = values.to_vec();
        expected.resize(len, Value::Null);
        let resized = vector.clone().resize(len).unwrap();
        resized.validate().unwrap();
        assert_same(&resized.to_values().unwrap(), &expected);
        let again = resized.resize(len + 3).unwrap();
        again.validate().unwrap();
        expected.extend([Value::Null, Value::Null, Value::Null]);
        assert_same(&again.to_values().unwrap(), &expected);
    });
}

#[test]
fn a_builder_takes_rows_of_every_encoding_and_single_values() {
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = any_type(&mut random);
        let mut builder = VectorBuilder::new(data_type.clone());
        let mut expected = Vec::new();
        for _ in 0..random.below(6) {
            let len = random.below(9);
            match random.below(3) {
                0 => {
                    builder.append_nulls(len);
                    expected.resize(expected.len() + len, Value::Null);
                }
                1 => {
                    let values = random.values(&data_type, len);
                    values.iter().for_each(|it| builder.append_value(it.clone()));
                    expected.extend(values);
                }
                _ => {
                    let vector = random.vector(&data_type, len);
                    let start = random.below(len + 1);
                    builder.append(&vector, start..len).unwrap();
                    expected.extend_from_slice(&vector.to_values().unwrap()[start..]);
                }
            }
            assert_eq!(builder.len(), expected.len());
        }
        let vector = builder.finish().unwrap();
        vector.validate().unwrap();
        assert_same(&vector.to_values().unwrap(), &expected);
    }
}

#[test]
fn a_bias_has_the_values_and_takes_less_memory() {
    let mut made = 0;
    for seed in 0..SEEDS {
        let mut random = Generator::new(seed);
        let data_type = random.data_type(0);
        let len = 1 + random.below(200);
        let vector = random.encoded(Shape::Bias, &data_type, len);
        let Some(bias) = vector.to_bias().unwrap() else { continue };
        made += 1;
        bias.validate().unwrap();
        assert!(matches!(bias.encoding(), Encoding::Bias { .. }));
        assert_same(&bias.to_values().unwrap(), &vector.to_values().unwrap());
        let flat = vector.flatten().unwrap();
        assert!(bias.retained_bytes() < flat.retained_bytes() + 64, "{bias}");
    }
    assert!(made > SEEDS as usize / 5, "{made} made");
}

#[test]
fn callbacks_get_the_values_of_the_rows_asked_for() {
    for_random_vectors(|random, vector, values| {
        let rows = (0..values.len()).filter(|_| random.below(2) == 0);
        let rows = Rows::from_indices(values.len(), rows);
        let mut found: Vec<(u32, Value)> = Vec::new();
        let mut callback = |rows: &[u32], values: &Vector| -> Result<()> {
            found.extend(rows.iter().copied().zip(values.to_values()?));
            Ok(())
        };
        vector.clone().load_into(&rows, &mut callback).unwrap();
        let expected: Vec<(u32, Value)> =
            rows.to_indices().into_iter().map(|it| (it, values[it as usize].clone())).collect();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    });
}

/// Decodes the numbers from 0 in pieces of three, and counts what it decodes.
struct Counting {
    len: u32,
    decoded: Arc<AtomicUsize>,
}

impl Counting {
    fn decode(&self, rows: &[u32]) -> Vector {
        self.decoded.fetch_add(rows.len(), Ordering::Relaxed);
        let values: Vec<i32> = rows.iter().map(|it| *it as i32).collect();
        Vector::native::<i32>(Type::Integer, values, None)
    }
}

impl Loader for Counting {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let all: Vec<u32> = (0..self.len).collect();
        Ok(self.decode(rows.unwrap_or(&all)))
    }

    fn load_into(&mut self, rows: Option<&[u32]>, callback: &mut dyn ValueCallback) -> Result<()> {
        let all: Vec<u32> = (0..self.len).collect();
        rows.unwrap_or(&all).chunks(3).try_for_each(|it| callback.take(it, &self.decode(it)))
    }
}

#[test]
fn lazy_vectors_decode_only_the_rows_asked_for_and_in_pieces() {
    let decoded = Arc::new(AtomicUsize::new(0));
    let lazy = |len: u32| {
        let loader = Counting { len, decoded: Arc::clone(&decoded) };
        Vector::lazy(Type::Integer, len as usize, Box::new(loader))
    };
    let (mut sum, mut pieces) = (0, 0);
    let mut add = |_: &[u32], values: &Vector| -> Result<()> {
        pieces += 1;
        let values = values.to_values()?;
        sum += values.iter().filter_map(Value::as_i128).sum::<i128>();
        Ok(())
    };
    let rows = Rows::from_indices(100, [1, 5, 50, 99]);
    lazy(100).load_into(&rows, &mut add).unwrap();
    // Through a filter, too.
    let filtered = lazy(100).wrap(&ScalarBuffer::from(vec![2u32, 3, 4, 90]), &mut Vec::new());
    filtered.load_into(&Rows::all(4), &mut add).unwrap();
    assert_eq!((sum, pieces), (1 + 5 + 50 + 99 + 2 + 3 + 4 + 90, 4));
    assert_eq!(decoded.load(Ordering::Relaxed), 8);
}

/// Putting together and taking apart again and again must not keep everything that ever was.
#[test]
fn elements_that_no_row_has_do_not_pile_up() {
    let data_type = Type::array(Type::array(Type::BigInt));
    let value = |from: i64| {
        let inner = |it: i64| Value::Array([1, 2, 3].map(|by| Value::BigInt(it * by)).into());
        Value::Array((from..from + 5).map(inner).collect())
    };
    let mut state = Vector::from_values(data_type.clone(), &[value(0), Value::Null, value(10)]);
    let expected = state.to_values().unwrap();
    for _ in 0..100 {
        let all = Vector::concat(&data_type, &[state.clone(), state.clone(), state]).unwrap();
        state = all.gather(&[6, 4, 2]).unwrap();
        state.validate().unwrap();
        assert_eq!(state.to_values().unwrap(), expected);
        assert!(state.retained_bytes() < 1 << 20, "{}", state.retained_bytes());
    }
}

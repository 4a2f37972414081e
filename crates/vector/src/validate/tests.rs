use crate::{
    Deltas, Encoding, FixedArrays, Nested, Values, Vector,
    random::{Generator, Shape, opaque_type},
};
use std::sync::Arc;
use volley_types::{Type, Value};

fn numbers(len: usize) -> Arc<Vector> {
    Arc::new(Vector::native::<i32>(Type::Integer, vec![7; len], None))
}

fn encoded(data_type: Type, len: usize, encoding: Encoding) -> Vector {
    Vector::unchecked(data_type, len, None, encoding)
}

#[track_caller]
fn check(vector: &Vector, promise: &str) {
    let error = vector.validate().unwrap_err();
    assert!(error.message().contains(promise), "{error}");
}

#[test]
fn codes_runs_and_constants_that_do_not_fit_are_reported() {
    let dictionary = |codes: Vec<u32>, len: usize| {
        let encoding = Encoding::Dictionary { codes: codes.into(), base: numbers(2) };
        encoded(Type::Integer, len, encoding)
    };
    check(&dictionary(vec![0, 2], 2), "code beyond the dictionary");
    check(&dictionary(vec![0], 2), "codes of another length");
    let runs = |ends: Vec<u32>| {
        encoded(Type::Integer, 3, Encoding::RunLength { ends: ends.into(), base: numbers(2) })
    };
    check(&runs(vec![3, 2]), "run ends out of order");
    check(&runs(vec![1, 2]), "last run ends elsewhere");
    check(&runs(vec![3]), "not one end per run");
    check(&encoded(Type::Integer, 3, Encoding::Constant(numbers(2))), "constant over");
    check(&encoded(Type::Date, 3, Encoding::Constant(numbers(1))), "base of another type");
}

#[test]
fn sums_beyond_the_type_are_reported() {
    let bias = |data_type: Type, base: i128, deltas: Vec<u8>| {
        encoded(data_type, 2, Encoding::Bias { base, deltas: Deltas::U8(deltas.into()) })
    };
    bias(Type::TinyInt, 100, vec![0, 27]).validate().unwrap();
    check(&bias(Type::TinyInt, 100, vec![0, 28]), "sum beyond the layout");
    check(&bias(Type::TinyInt, -129, vec![1, 1]), "sum beyond the layout");
    check(&bias(Type::HugeInt, i128::MAX, vec![0, 1]), "sum beyond the layout");
    check(&bias(Type::Varchar, 0, vec![0, 0]), "sum beyond the layout");
    check(&bias(Type::BigInt, 0, vec![0]), "deltas of another length");
}

#[test]
#[should_panic(expected = "bias out of range")]
fn a_bias_beyond_the_type_is_not_made() {
    Vector::bias(Type::SmallInt, 32_700, Deltas::U8(vec![0u8, 68].into()), None);
}

#[test]
fn arrays_without_their_elements_are_reported() {
    let fixed = |size: usize, elements: usize| {
        let arrays = FixedArrays { size, len: 2, elements: numbers(elements) };
        let data_type = Type::fixed_array(Type::Integer, 3);
        encoded(data_type, 2, Encoding::Flat(Values::FixedArray(arrays)))
    };
    fixed(3, 6).validate().unwrap();
    check(&fixed(2, 4), "arrays of another size");
    check(&fixed(3, 5), "not `size` elements per row");
    let lists = |offset: i32, size: i32| {
        let (offsets, sizes) = (vec![offset].into(), vec![size].into());
        let nested = Nested { offsets, sizes, elements: numbers(2) };
        encoded(Type::array(Type::Integer), 1, Encoding::Flat(Values::Array(nested)))
    };
    for (offset, size) in [(0, 3), (-1, 1), (2, 1), (0, -1), (i32::MAX, 1)] {
        check(&lists(offset, size), "row beyond its elements");
    }
}

#[test]
fn objects_that_are_missing_or_of_another_type_are_reported() {
    let opaque = opaque_type();
    let thing = Type::Opaque(opaque.clone());
    let objects = |it: Option<Value>| {
        let objects = [it.and_then(|it| it.as_object().cloned())].into_iter().collect();
        encoded(thing.clone(), 1, Encoding::Flat(Values::Object(objects)))
    };
    objects(Some(opaque.value(5i64))).validate().unwrap();
    check(&objects(None), "object missing");
}

/// What each encoding keeps alive, counted by hand.
#[test]
fn retained_bytes_are_those_of_all_parts() {
    for seed in 0..50 {
        let mut random = Generator::new(seed).with_null_ratio(0.0);
        let len = 1 + random.below(50);
        for shape in [Shape::Flat, Shape::Dictionary, Shape::RunLength, Shape::Bias] {
            let vector = random.encoded(shape, &Type::BigInt, len);
            let expected = match vector.encoding() {
                Encoding::Flat(_) => 8 * len,
                Encoding::Dictionary { base, .. } => 4 * len + base.retained_bytes(),
                Encoding::RunLength { ends, base } => 4 * ends.len() + base.retained_bytes(),
                Encoding::Bias { deltas, .. } => deltas.width() * len,
                _ => continue,
            };
            assert_eq!(vector.retained_bytes(), expected, "{vector}");
        }
    }
    let row = Value::Array([Value::Integer(1), Value::Integer(2)].into());
    let pairs = Vector::from_values(Type::fixed_array(Type::Integer, 2), &[row.clone(), row]);
    assert_eq!(pairs.retained_bytes(), 2 * 2 * 4);
    let opaque = opaque_type();
    let value = opaque.value(1i64);
    let things = Vector::from_values(Type::Opaque(opaque), &[value.clone(), value]);
    let reference = size_of::<Option<volley_types::Object>>();
    assert_eq!(things.retained_bytes(), 2 * reference + size_of::<i64>(), "one object, shared");
}

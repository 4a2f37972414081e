//! Random Arrow arrays of every type and nesting come through the C data interface with their
//! values, in both directions.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod maker;
mod model;

use arrow_array::{
    Array,
    ffi::{from_ffi, to_ffi},
    make_array,
};
use maker::Maker;
use model::values_of;
use std::{collections::BTreeSet, panic::AssertUnwindSafe};
use volley_types::Value;
use volley_vector::{
    Vector,
    arrow::{ArrowLayout, CArray, type_from_arrow},
};

const SEEDS: std::ops::Range<u64> = 0..1500;

/// The seeds to run; `VOLLEY_FUZZ_SEEDS=1000..2000` sets others.
fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("VOLLEY_FUZZ_SEEDS") else { return SEEDS };
    let (start, end) = text.split_once("..").unwrap();
    start.parse().unwrap()..end.parse().unwrap()
}

fn import(array: &dyn Array) -> Vector {
    let (array, schema) = to_ffi(&array.to_data()).unwrap();
    // SAFETY: the structures are those of an array of Arrow's own implementation.
    let vector = unsafe { CArray { array, schema }.into_vector() }.unwrap();
    vector.validate().unwrap();
    vector
}

/// What another library gets.
fn export(c_array: CArray) -> arrow_array::ArrayRef {
    // SAFETY: the structures were just made by this library.
    let data = unsafe { from_ffi(c_array.array, &c_array.schema) }.unwrap();
    data.validate_full().unwrap();
    make_array(data)
}

/// Equality of values in which NaN equals itself, and HUGEINT is the decimal that Arrow has.
#[track_caller]
fn assert_same(left: &[Value], right: &[Value]) {
    let text = |it: &[Value]| format!("{it:?}").replace("HugeInt(", "Decimal(");
    assert_eq!(text(left), text(right));
}

fn check(maker: &mut Maker) -> arrow_schema::DataType {
    let data_type = maker.data_type(2);
    let len = maker.below(20);
    let array = maker.array(&data_type, len);
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        array.to_data().validate_full().unwrap();
        let expected = values_of(array.as_ref());
        let vector = import(array.as_ref());
        assert_eq!(*vector.data_type(), type_from_arrow(&data_type).unwrap());
        assert_same(&vector.to_values().unwrap(), &expected);
        for layout in [ArrowLayout::Native, ArrowLayout::Portable] {
            let flat = export(CArray::new(&vector, layout).unwrap());
            assert_same(&values_of(flat.as_ref()), &expected);
            let encoded = export(CArray::encoded(&vector, layout).unwrap());
            assert_same(&values_of(encoded.as_ref()), &expected);
            assert_same(&import(encoded.as_ref()).to_values().unwrap(), &expected);
        }
    }));
    assert!(outcome.is_ok(), "{data_type}: {array:?}");
    data_type
}

#[test]
fn arrays_of_every_type_come_through_the_c_data_interface() {
    let mut seen = BTreeSet::new();
    for seed in seeds() {
        let outcome = std::panic::catch_unwind(|| check(&mut Maker::new(seed)));
        match outcome {
            Ok(data_type) => seen.insert(maker::kind_of(&data_type)),
            Err(_) => panic!("seed {seed}"),
        };
    }
    if seeds().end - seeds().start >= SEEDS.end {
        assert_eq!(seen, maker::kinds(), "types that were tried");
    }
}

#[test]
fn every_type_without_rows_and_with_nulls_alone_comes_through() {
    for seed in 0..200 {
        let mut maker = Maker::new(seed);
        let data_type = maker.data_type(2);
        let empty = arrow_array::new_empty_array(&data_type);
        assert_eq!(import(empty.as_ref()).len(), 0, "{data_type}");
        let nulls = arrow_array::new_null_array(&data_type, 5);
        let expected = values_of(nulls.as_ref());
        assert_same(&import(nulls.as_ref()).to_values().unwrap(), &expected);
    }
}

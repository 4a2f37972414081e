//! Fast paths of functions with lambdas, which results alone do not prove.

use super::{elements::Collections, key_search::KeySearch};
use std::ops::Range;
use volley_function::{CHUNK_ELEMENTS, EvalContext};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector, comparator};

fn arrays(sizes: &[usize]) -> Vector {
    let mut next = 0;
    let mut array = |size: &usize| {
        let elements = next..next + *size as i32;
        next = elements.end;
        Value::Array(elements.map(Value::Integer).collect())
    };
    let values: Vec<Value> = sizes.iter().map(&mut array).collect();
    Vector::from_values(Type::array(Type::Integer), &values)
}

#[test]
fn long_arrays_come_in_pieces_whose_elements_are_not_copied() {
    let vector = arrays(&[3, 0, 2 * CHUNK_ELEMENTS, 1]);
    let collections = Collections::new(&vector).unwrap();
    let all = collections.columns().unwrap().remove(0);
    let mut seen = Vec::new();
    let mut owners = Vec::new();
    collections
        .for_each_chunk(&Rows::all(4), |chunk| {
            assert!(chunk.positions.len() <= CHUNK_ELEMENTS);
            let elements = chunk.take_from(&all);
            assert!(elements.flat_values().is_some(), "a range is a slice");
            seen.extend(elements.to_values().unwrap());
            owners.extend(chunk.owners);
            Ok(())
        })
        .unwrap();
    let expected: Vec<Value> = (0..4 + 2 * CHUNK_ELEMENTS as i32).map(Value::Integer).collect();
    assert_eq!(seen, expected);
    assert_eq!(owners.iter().filter(|it| **it == 2).count(), 2 * CHUNK_ELEMENTS);
}

#[test]
fn elements_of_rows_that_are_not_active_are_left_out() {
    let vector = arrays(&[2, 2, 2]);
    let collections = Collections::new(&vector).unwrap();
    let all = collections.columns().unwrap().remove(0);
    let rows = Rows::from_indices(3, [0, 2]);
    assert_eq!(collections.sizes(&rows).unwrap(), [2, 0, 2]);
    collections
        .for_each_chunk(&rows, |chunk| {
            assert_eq!(chunk.owners, [0, 0, 2, 2]);
            let elements = chunk.take_from(&all).to_values().unwrap();
            assert_eq!(elements, [0, 1, 4, 5].map(Value::Integer));
            Ok(())
        })
        .unwrap();
}

/// Every key of `wanted` is found where each is compared, in maps of all sizes.
#[track_caller]
fn check_search(data_type: &Type, wanted: &[Value], keys: &[Value]) {
    let [wanted, keys] = [wanted, keys].map(|it| Vector::from_values(data_type.clone(), it));
    let order = comparator(&wanted, &keys).unwrap();
    let mut ctx = EvalContext::default();
    let mut search = KeySearch::new(&wanted, &keys, keys.len(), &mut ctx).unwrap();
    for range in [0..keys.len(), 0..0, 3..7, 1..keys.len() - 1, 0..keys.len()] {
        search.enter(range.clone()).unwrap();
        for at in 0..wanted.len() {
            let expected = range.clone().find(|it| order.is_equal(at, *it));
            assert_eq!(search.find(at), expected, "{data_type} {at} in {range:?}");
        }
    }
}

#[test]
fn keys_of_large_maps_are_found_by_their_hashes() {
    let numbers = |range: Range<i64>| range.map(Value::BigInt).collect::<Vec<_>>();
    check_search(&Type::BigInt, &numbers(0..100), &numbers(50..150));
    check_search(&Type::BigInt, &numbers(0..100), &numbers(50..60));
    let text = |it: i64| Value::text(format!("{it}, and é that makes it longer than a view"));
    let texts = |range: Range<i64>| range.map(text).collect::<Vec<_>>();
    check_search(&Type::Varchar, &texts(0..100), &texts(50..150));
    let special = [-f64::NAN, -0.0, f64::INFINITY, 1.0];
    let doubles = (0..40).map(f64::from).map(|it| if it == 7.0 { f64::NAN } else { it });
    let doubles: Vec<Value> = doubles.map(Value::Double).collect();
    check_search(&Type::Double, &special.map(Value::Double), &doubles);
}

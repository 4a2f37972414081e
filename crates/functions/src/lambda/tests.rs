//! Paths of functions with lambdas that answers alone do not show.

use super::elements::Collections;
use volley_function::CHUNK_ELEMENTS;
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

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

use super::*;
use crate::{
    Deltas,
    arrow::{ArrowLayout, CArray},
};
use volley_types::{Field, Value};

fn address(vector: &Vector) -> *const u8 {
    vector.flat_values().unwrap().fixed_buffer().unwrap().as_ptr()
}

fn numbers(values: &[i64]) -> Vector {
    Vector::native::<i64>(Type::BigInt, values.to_vec(), None)
}

const FIRST: [CopyRange; 1] = [CopyRange { from: 1, to: 0, rows: 1 }];

#[test]
fn rows_are_copied_in_place_when_nobody_else_holds_the_buffer() {
    let target = numbers(&[1, 2, 3]);
    let before = address(&target);
    let target = target.copy_ranges(&numbers(&[8, 9]), &FIRST).unwrap();
    assert_eq!(target.to_values().unwrap(), numbers(&[9, 2, 3]).to_values().unwrap());
    assert_eq!(address(&target), before);
}

#[test]
fn rows_are_copied_to_a_new_buffer_when_somebody_else_holds_it() {
    let shared = numbers(&[1, 2, 3]);
    let changed = shared.clone().copy_ranges(&numbers(&[8, 9]), &FIRST).unwrap();
    assert_ne!(address(&changed), address(&shared));
    assert_eq!(shared.to_values().unwrap(), numbers(&[1, 2, 3]).to_values().unwrap());
}

#[test]
fn fields_of_rows_that_nobody_else_holds_are_changed_in_place() {
    let data_type = Type::row([Field::new("a", Type::BigInt)]);
    let row = |it: i64| Value::Row([Value::BigInt(it)].into());
    let field = |it: &Vector| match it.flat_values() {
        Some(Values::Row { children, .. }) => address(&children[0]),
        _ => panic!("a row"),
    };
    let target = Vector::from_values(data_type.clone(), &[row(1), row(2)]);
    let source = Vector::from_values(data_type, &[row(8), row(9)]);
    let before = field(&target);
    let target = target.copy_ranges(&source, &FIRST).unwrap();
    assert_eq!(target.to_values().unwrap(), [row(9), row(2)]);
    assert_eq!(field(&target), before);
    let shared = target.clone();
    let changed = target.copy_ranges(&source, &FIRST).unwrap();
    assert_ne!(field(&changed), field(&shared));
}

#[test]
fn memory_of_somebody_else_is_not_written() {
    let own = numbers(&[1, 2, 3]);
    let c_array = CArray::new(&own, ArrowLayout::Native).unwrap();
    // SAFETY: the structures are our own.
    let viewed = unsafe { c_array.into_vector() }.unwrap();
    assert_eq!(address(&viewed), address(&own));
    let changed = viewed.copy_ranges(&numbers(&[8, 9]), &FIRST).unwrap();
    assert_eq!(own.to_values().unwrap(), numbers(&[1, 2, 3]).to_values().unwrap());
    assert_eq!(changed.to_values().unwrap(), numbers(&[9, 2, 3]).to_values().unwrap());
}

#[test]
fn elements_are_updated_in_place_or_in_a_copy() {
    let vector = numbers(&[1, 2]);
    let before = address(&vector);
    let vector = vector.update::<i64>(|it| it.iter_mut().for_each(|it| *it += 1)).unwrap();
    assert_eq!(address(&vector), before);
    let changed = vector.clone().update::<i64>(|it| it[0] = 7).unwrap();
    assert_eq!(vector.to_values().unwrap(), numbers(&[2, 3]).to_values().unwrap());
    assert_eq!(changed.to_values().unwrap(), numbers(&[7, 3]).to_values().unwrap());
}

#[test]
fn a_longer_vector_keeps_its_encoding() {
    let base = Arc::new(numbers(&[5, 6]));
    let encodings = [
        Vector::dictionary(vec![1u32, 0].into(), Arc::clone(&base), None),
        Vector::run_length(vec![1u32, 2].into(), base),
        Vector::bias(Type::BigInt, 5, Deltas::U8(vec![0u8, 1].into()), None),
        Vector::nulls(Type::BigInt, 2),
        numbers(&[5, 6]),
    ];
    for vector in encodings {
        let kind = std::mem::discriminant(vector.encoding());
        let mut expected = vector.to_values().unwrap();
        expected.extend([Value::Null, Value::Null]);
        let longer = vector.resize(4).unwrap();
        longer.validate().unwrap();
        assert_eq!(std::mem::discriminant(longer.encoding()), kind, "{longer}");
        assert_eq!(longer.to_values().unwrap(), expected);
    }
}

#[test]
fn growing_again_and_again_does_not_copy_again_and_again() {
    let mut vector = numbers(&[0]);
    let mut moves = 0;
    for len in 2..5000 {
        let before = address(&vector);
        vector = vector.resize(len).unwrap();
        moves += usize::from(address(&vector) != before);
    }
    assert!(moves < 100, "{moves} moves");
}

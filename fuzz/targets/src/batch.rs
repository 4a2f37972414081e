//! Batches as bytes, as spill files hold them.

use crate::{ROWS_MAX, look_at};
use std::sync::LazyLock;
use volley_types::{Field, Type};
use volley_wire::{decode, encode};

static TYPES: LazyLock<Vec<Vec<Type>>> = LazyLock::new(|| {
    let decimal = Type::Decimal { precision: 30, scale: 2 };
    let row = Type::row(vec![Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    vec![
        vec![Type::BigInt],
        vec![Type::Varchar, Type::Boolean],
        vec![Type::TinyInt, Type::Double, Type::Varbinary],
        vec![decimal, Type::Interval, Type::Unknown],
        vec![Type::array(Type::Varchar)],
        vec![Type::map(Type::Varchar, Type::BigInt), Type::Date],
        vec![Type::fixed_array(Type::SmallInt, 3), row.clone()],
        vec![Type::array(Type::array(row)), Type::fixed_array(Type::Boolean, 2)],
    ]
});

/// The lists of types whose batches [`spill`] reads; the first byte says which.
pub fn spill_types() -> &'static [Vec<Type>] {
    &TYPES
}

/// Decodes a batch; if it is one, it is the same after it was encoded.
pub fn spill(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let types = &TYPES[usize::from(*first) % TYPES.len()];
    let Ok(batch) = decode(bytes, types) else { return };
    let valid = batch.validate();
    assert!(valid.is_ok(), "invalid batch: {valid:?}");
    if batch.rows() > ROWS_MAX {
        return;
    }
    look_at(&batch);
    let mut again = Vec::new();
    let encoded = encode(&batch, &mut again);
    assert!(encoded.is_ok(), "not encoded: {encoded:?}");
    let decoded = decode(&again, types);
    assert!(decoded.is_ok(), "not decoded: {decoded:?}");
    for (a, b) in batch.columns().iter().zip(decoded.iter().flat_map(|it| it.columns())) {
        // As texts: NaN is not equal to itself as a Rust number.
        assert_eq!(format!("{:?}", a.to_values()), format!("{:?}", b.to_values()));
    }
}

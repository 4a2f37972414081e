//! Batches as bytes, as spill files and Presto's pages hold them.

use crate::{ROWS_MAX, look_at};
use std::sync::LazyLock;
use volley_types::{Field, Type};
use volley_wire::{
    decode, encode,
    presto_page::{PageCompression, PageReader, PrestoPageOptions, write_page},
};

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

static PAGE_TYPES: LazyLock<Vec<Vec<Type>>> = LazyLock::new(|| {
    let row = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    vec![
        vec![Type::BigInt, Type::Varchar],
        vec![Type::Boolean, Type::TinyInt, Type::SmallInt, Type::Unknown],
        vec![Type::Real, Type::Double, Type::decimal(30, 2)],
        vec![Type::Date, Type::Time, Type::Timestamp, Type::Varbinary],
        vec![Type::array(Type::array(row.clone()))],
        vec![Type::map(Type::Varchar, Type::BigInt), row],
    ]
});

/// The lists of types whose pages [`presto_page`] reads; the first byte says which.
pub fn page_types() -> &'static [Vec<Type>] {
    &PAGE_TYPES
}

/// Reads pages of Presto; the second byte says how they are compressed. What is read is the same
/// after it was written.
pub fn presto_page(bytes: &[u8]) {
    let Some(([first, second], bytes)) = bytes.split_first_chunk() else { return };
    let types = &PAGE_TYPES[usize::from(*first) % PAGE_TYPES.len()];
    let compression = PageCompression::ALL[usize::from(*second) % PageCompression::ALL.len()];
    let format =
        PrestoPageOptions { compression, has_checksum: true, uncompressed_bytes_max: 1 << 20 };
    for batch in PageReader::new(bytes, types, format).flatten() {
        let valid = batch.validate();
        assert!(valid.is_ok(), "invalid batch: {valid:?}");
        if batch.rows() > ROWS_MAX {
            return;
        }
        look_at(&batch);
        let mut again = Vec::new();
        let written = write_page(&batch, &format, &mut again);
        assert!(written.is_ok(), "not written: {written:?}");
        let read: Vec<_> = PageReader::new(&again, types, format).flatten().collect();
        assert_eq!(read.len(), 1);
        for (a, b) in batch.columns().iter().zip(read.iter().flat_map(|it| it.columns())) {
            assert_eq!(format!("{:?}", a.to_values()), format!("{:?}", b.to_values()));
        }
    }
}

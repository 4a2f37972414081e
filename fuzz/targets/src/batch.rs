//! Batches as bytes, as spill files, pages between tasks and Presto's pages hold them.

use crate::{ROWS_MAX, look_at};
use std::{ops::Range, sync::LazyLock};
use twox_hash::XxHash3_64;
use volley_types::{Field, Type};
use volley_vector::Buffer;
use volley_wire::{
    NativeFormat, PageFormat, decode, encode,
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

/// Where a native page has the bytes of its body, and its checksum, which seals what is before it.
const PAGE_BODY_BYTES: Range<usize> = 16..20;
const PAGE_CHECKSUM: Range<usize> = 24..32;

/// The lists of types whose batches [`spill`] and [`native_page`] read; the first byte says which.
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

/// Decodes a page after its checksum was made right; if it is one, it is the same after it was
/// written again.
pub fn native_page(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let types = &TYPES[usize::from(*first) % TYPES.len()];
    let mut page = bytes.to_vec();
    sign(&mut page);
    let format = NativeFormat::Plain;
    let Ok(batch) = format.decode(&Buffer::from_vec(page), types) else { return };
    let valid = batch.validate();
    assert!(valid.is_ok(), "invalid batch: {valid:?}");
    if batch.rows() > ROWS_MAX {
        return;
    }
    look_at(&batch);
    for format in [NativeFormat::Plain, NativeFormat::Packed] {
        let mut again = Vec::new();
        let written = format.writer(types).and_then(|mut it| it.write(&batch, &mut again));
        assert!(written.is_ok(), "not written: {written:?}");
        let decoded = format.decode(&Buffer::from_vec(again), types);
        assert!(decoded.is_ok(), "not decoded: {decoded:?}");
        for (a, b) in batch.columns().iter().zip(decoded.iter().flat_map(|it| it.columns())) {
            assert_eq!(format!("{:?}", a.to_values()), format!("{:?}", b.to_values()));
        }
    }
}

/// Writes the length and the checksum that the bytes of a page have.
fn sign(page: &mut [u8]) {
    let Some((header, body)) = page.split_at_mut_checked(PAGE_CHECKSUM.end) else { return };
    header[PAGE_BODY_BYTES].copy_from_slice(&(body.len() as u32).to_le_bytes());
    let seed = XxHash3_64::oneshot(&header[..PAGE_CHECKSUM.start]);
    let checksum = XxHash3_64::oneshot_with_seed(seed, body);
    header[PAGE_CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

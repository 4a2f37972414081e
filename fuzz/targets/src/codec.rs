//! Columns of a segment, as storage keeps them.

use crate::{ROWS_MAX, assert_not_internal, look_at};
use std::sync::LazyLock;
use volley_codec::{ColumnReader, Options, encode};
use volley_types::{Field, Type, Value};
use volley_vector::{Batch, Buffer, ColumnTest, Rows};

static TYPES: LazyLock<Vec<Type>> = LazyLock::new(|| {
    let row = Type::row(vec![Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    vec![
        Type::BigInt,
        Type::Integer,
        Type::TinyInt,
        Type::Varchar,
        Type::Varbinary,
        Type::Double,
        Type::Real,
        Type::Boolean,
        Type::Decimal { precision: 30, scale: 2 },
        Type::Interval,
        Type::array(Type::Varchar),
        Type::map(Type::Varchar, Type::BigInt),
        Type::fixed_array(Type::SmallInt, 3),
        row,
    ]
});

/// The types of columns that [`codec`] reads; the first byte says which.
pub fn codec_types() -> &'static [Type] {
    &TYPES
}

/// Opens a column; if it is one, its rows are the same after they were encoded again, and a test on
/// packed data finds the rows that it finds in what was read.
pub fn codec(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let data_type = &TYPES[usize::from(*first) % TYPES.len()];
    let mut reader = match ColumnReader::open(Buffer::from(bytes), data_type) {
        Ok(reader) => reader,
        Err(error) => return assert_not_internal(&error),
    };
    let rows = reader.rows().min(ROWS_MAX) as u32;
    let vector = match reader.read(0..rows, None) {
        Ok(vector) => vector,
        Err(error) => return assert_not_internal(&error),
    };
    look_at(&Batch::new(vec![vector.clone()], vector.len()));
    let picked: Vec<u32> = (0..rows).step_by(97).collect();
    if let (Ok(some), Ok(expected)) = (reader.read(0..rows, Some(&picked)), vector.gather(&picked))
    {
        assert_eq!(format!("{:?}", some.to_values()), format!("{:?}", expected.to_values()));
    }
    for test in [ColumnTest::IsNull, ColumnTest::In(vec![Value::Null])] {
        let among = Rows::all(vector.len());
        if let (Ok(Some(found)), Ok(expected)) =
            (reader.select(0..rows, &test, &among), test.matches(&vector))
        {
            assert_eq!(found.words(), Rows::from_bits(&expected).words());
        }
    }
    let Ok(again) = encode(&vector, Options::default()) else { return };
    let again = ColumnReader::open(Buffer::from_vec(again), data_type);
    assert!(again.is_ok(), "not a column: {:?}", again.err());
    let read = again.and_then(|mut it| it.read(0..rows, None));
    let texts = [Ok(vector), read].map(|it| format!("{:?}", it.and_then(|it| it.to_values())));
    assert_eq!(texts[0], texts[1]);
}

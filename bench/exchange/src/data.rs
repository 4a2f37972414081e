//! The rows that are exchanged.

use fastrand::Rng;
use volley_types::{Type, Value};
use volley_vector::{Batch, NullBuffer, StringBuilder, Vector};

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// Batches of nine columns: keys, numbers of all widths, dates, short and long strings, booleans;
/// two of them with nulls.
pub fn mixed() -> Vec<Batch> {
    let mut random = Rng::with_seed(1);
    (0..48).map(|_| mixed_batch(&mut random)).collect()
}

/// Batches of one BIGINT column.
pub fn numbers() -> Vec<Batch> {
    let mut random = Rng::with_seed(2);
    let batch = |_| Batch::new(vec![integers(Type::BigInt, &mut random, 1 << 60)], BATCH_ROWS);
    (0..256).map(batch).collect()
}

fn mixed_batch(random: &mut Rng) -> Batch {
    let doubles: Vec<f64> = (0..BATCH_ROWS).map(|_| random.f64()).collect();
    let days: Vec<i32> = (0..BATCH_ROWS).map(|_| random.i32(8000..11000)).collect();
    let small: Vec<i32> = (0..BATCH_ROWS).map(|_| random.i32(..50)).collect();
    let flags: Vec<Value> = (0..BATCH_ROWS).map(|_| Value::Boolean(random.bool())).collect();
    let columns = vec![
        integers(Type::BigInt, random, 1 << 40),
        integers(Type::BigInt, random, 1 << 20),
        Vector::native(Type::Integer, small, None),
        integers(Type::decimal(12, 2), random, 10_000_000),
        Vector::native(Type::Double, doubles, Some(nulls(random))),
        Vector::native(Type::Date, days, None),
        strings(random, 4..11, Some(nulls)),
        strings(random, 10..44, None),
        Vector::from_values(Type::Boolean, &flags),
    ];
    Batch::new(columns, BATCH_ROWS)
}

fn integers(data_type: Type, random: &mut Rng, end: i64) -> Vector {
    let values: Vec<i64> = (0..BATCH_ROWS).map(|_| random.i64(..end)).collect();
    Vector::native(data_type, values, None)
}

/// One row in ten is null.
fn nulls(random: &mut Rng) -> NullBuffer {
    NullBuffer::from_iter((0..BATCH_ROWS).map(|_| random.u8(..10) != 0))
}

fn strings(
    random: &mut Rng,
    lengths: std::ops::Range<usize>,
    nulls: Option<fn(&mut Rng) -> NullBuffer>,
) -> Vector {
    let mut builder = StringBuilder::with_capacity(BATCH_ROWS);
    for _ in 0..BATCH_ROWS {
        let len = random.usize(lengths.clone());
        let text: Vec<u8> = (0..len).map(|_| random.u8(b'a'..=b'z')).collect();
        builder.push(&text);
    }
    let nulls = nulls.map(|it| it(random));
    Vector::strings(Type::Varchar, builder.finish(), nulls)
}

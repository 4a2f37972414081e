//! What is written is read again: random batches of all types, in stripes and row groups of any
//! size.

use super::{any_file, read_batches, request};
use crate::{Codec, OrcFile, OrcWriteOptions, OrcWriter};
use volley_types::{Field, Schema, Type, Value, custom::TimestampTz};
use volley_vector::{Batch, Vector, random::Generator};

const CODECS: [Option<Codec>; 5] =
    [None, Some(Codec::Zlib), Some(Codec::Snappy), Some(Codec::Lz4), Some(Codec::Zstd)];

/// Whether ORC has the type, and reads it back as it is.
fn is_stored(data_type: &Type) -> bool {
    match data_type {
        Type::Array(element) => is_stored(element),
        Type::Map(entry) => is_stored(&entry.0) && is_stored(&entry.1),
        Type::Row(fields) => {
            fields.iter().all(|it| !it.name.is_empty() && is_stored(&it.data_type))
        }
        Type::Custom(_) => TimestampTz::is(data_type),
        Type::Unknown | Type::HugeInt | Type::Time | Type::Interval => false,
        Type::FixedArray(_) | Type::Opaque(_) => false,
        _ => true,
    }
}

fn random_type(random: &mut Generator) -> Type {
    loop {
        let depth = *random.choose(&[0, 0, 1, 2, 3]);
        let data_type = random.data_type(depth);
        if is_stored(&data_type) {
            return data_type;
        }
    }
}

/// Whether a value has a timestamp that ORC does not hold.
fn has_last_second(value: &Value) -> bool {
    match value {
        Value::Timestamp(micros) => (-999_000..0).contains(micros),
        Value::Array(values) | Value::Row(values) => values.iter().any(has_last_second),
        Value::Map(entries) => {
            entries.iter().any(|it| has_last_second(&it.0) || has_last_second(&it.1))
        }
        _ => false,
    }
}

#[track_caller]
fn check_round_trip(random: &mut Generator, seed: u64) {
    let columns = 1 + random.below(4);
    let types: Vec<Type> = (0..columns).map(|_| random_type(random)).collect();
    let fields = types.iter().enumerate();
    let fields = fields.map(|(place, it)| Field::new(format!("c{place}"), it.clone()));
    let schema = Schema::new(fields.collect());
    let options = OrcWriteOptions {
        codec: *random.choose(&CODECS),
        stripe_bytes: *random.choose(&[1, 10_000, 1 << 26]),
        row_index_stride: *random.choose(&[1, 7, 8, 100, 10_000]),
        block_bytes: *random.choose(&[10, 100, 4096, 1 << 18]),
    };
    let mut writer = OrcWriter::new(Vec::new(), &schema, options).unwrap();
    let mut expected = vec![Vec::new(); columns];
    for _ in 0..random.below(5) {
        let rows = 1 + random.below(300);
        let vectors: Vec<Vector> = types.iter().map(|it| random.vector(it, rows)).collect();
        let values = vectors.iter().map(|it| it.to_values().unwrap());
        let values: Vec<Vec<Value>> = values.collect();
        if values.iter().flatten().any(has_last_second) {
            continue;
        }
        values.into_iter().zip(&mut expected).for_each(|(new, all)| all.extend(new));
        writer.write(&Batch::new(vectors, rows)).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let file = OrcFile::open(any_file(random, bytes.into())).unwrap();
    assert_eq!(*file.schema(), schema, "seed {seed}");
    let request = request((0..columns).collect(), 1 + random.below(200));
    let batches = read_batches(&file, &request).unwrap();
    let found = super::columns_of(&batches, columns).unwrap();
    for (column, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let place = format!("seed {seed}, {}, {options:?}", types[column]);
        super::check_identical(found, expected, &place);
        check_bounds(&file, column, expected, &place);
    }
}

fn check_bounds(file: &OrcFile, column: usize, values: &[Value], place: &str) {
    let bounds = file.file_bounds(column);
    let nulls = values.iter().filter(|it| it.is_null()).count() as u64;
    assert_eq!(bounds.nulls, Some(nulls), "{place}");
    let order = |bound: &Option<Value>, value: &Value| {
        bound.as_ref().and_then(|it| volley_connector::compare_values(it, value))
    };
    for value in values {
        assert!(order(&bounds.min, value).is_none_or(|it| it.is_le()), "{place} {bounds:?}");
        assert!(order(&bounds.max, value).is_none_or(|it| it.is_ge()), "{place} {bounds:?}");
    }
}

#[test]
fn random_batches_come_back() {
    let seeds = std::env::var("VOLLEY_FUZZ_SEEDS").ok();
    let range = seeds.as_deref().and_then(|it| it.split_once(".."));
    let (start, end) = match range {
        Some((start, end)) => (start.parse().unwrap(), end.parse().unwrap()),
        None => (0, 300),
    };
    for seed in start..end {
        let mut random = Generator::new(seed);
        let nulls = *random.choose(&[0.0, 0.1, 0.5, 1.0]);
        let mut random = random.with_null_ratio(nulls);
        check_round_trip(&mut random, seed);
    }
}

#[test]
fn what_orc_cannot_hold_is_an_error() {
    let check = |data_type: Type, value: Value, message: &str| {
        let schema = Schema::new(vec![Field::new("c", data_type.clone())]);
        let batch = Batch::new(vec![Vector::from_values(data_type, &[value])], 1);
        let written = OrcWriter::new(Vec::new(), &schema, OrcWriteOptions::default())
            .and_then(|mut writer| writer.write(&batch).and_then(|()| writer.finish()));
        assert!(written.unwrap_err().to_string().contains(message));
    };
    check(Type::Interval, Value::Null, "ORC files do not hold INTERVAL");
    check(Type::HugeInt, Value::Null, "ORC files do not hold HUGEINT");
    check(Type::Timestamp, Value::Timestamp(-500_000), "last second before 1970");
    check(Type::array(Type::Time), Value::Null, "ORC files do not hold TIME");
}

#[test]
fn stripes_end_when_they_are_large_or_asked_to() {
    let schema = Schema::new(vec![Field::new("c", Type::BigInt)]);
    let options = OrcWriteOptions { stripe_bytes: 10_000, ..OrcWriteOptions::default() };
    let mut writer = OrcWriter::new(Vec::new(), &schema, options).unwrap();
    writer.end_stripe().unwrap();
    assert_eq!(writer.held_bytes(), 0);
    for batch in 0..4 {
        let values: Vec<i64> = (0..1000).map(|it| batch * 1000 + it).collect();
        writer
            .write(&Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], 1000))
            .unwrap();
        if batch == 0 {
            assert!(writer.held_bytes() >= 8000);
            writer.end_stripe().unwrap();
            assert_eq!(writer.held_bytes(), 0);
        }
    }
    let file = super::open_bytes(writer.finish().unwrap().into());
    let rows: Vec<usize> = (0..file.stripes()).map(|it| file.rows(it)).collect();
    assert_eq!(rows, [1000, 2000, 1000]);
    assert_eq!(file.bounds(1, 0).min, Some(Value::BigInt(1000)));
    assert_eq!(file.file_bounds(0).max, Some(Value::BigInt(3999)));
}

#[test]
fn a_file_without_rows_has_its_columns() {
    let schema = Schema::new(vec![Field::new("c", Type::Varchar)]);
    let writer = OrcWriter::new(Vec::new(), &schema, OrcWriteOptions::default()).unwrap();
    let file = super::open_bytes(writer.finish().unwrap().into());
    assert_eq!((file.stripes(), file.schema()), (0, &schema));
}

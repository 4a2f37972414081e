use crate::{CodecId, ColumnReader, Options, encode, marks, marks::Mark};
use arrow_buffer::Buffer;
use std::sync::Arc;
use volley_kernels::compare::Comparison;
use volley_types::{
    Custom, Type, Value,
    custom::{UnsignedInteger, Uuid},
};
use volley_vector::{
    ColumnTest, Encoding, Rows, Vector,
    random::{Generator, SCALAR_TYPES, opaque_type},
};

const ROWS: [usize; 7] = [0, 1, 3, 100, 1024, 1025, 2600];

fn text(vector: &Vector) -> String {
    format!("{:?}", vector.to_values().unwrap())
}

fn forced(codec: CodecId) -> Options {
    Options { codec: Some(codec), ..Options::default() }
}

fn open(vector: &Vector, options: Options) -> ColumnReader {
    let bytes = encode(vector, options).unwrap();
    ColumnReader::open(Buffer::from_vec(bytes), vector.data_type()).unwrap()
}

/// All rows, ranges and picks are those of the vector.
#[track_caller]
fn check(vector: &Vector, options: Options, random: &mut Generator) -> CodecId {
    let mut reader = open(vector, options);
    let rows = vector.len();
    assert_eq!(reader.rows(), rows);
    let vector = vector.loaded().unwrap().flatten().unwrap();
    for round in 0..5 {
        let start = if round == 0 { 0 } else { random.below(rows + 1) };
        let end = if round == 0 { rows } else { start + random.below(rows - start + 1) };
        let slice = vector.slice(start, end - start);
        let read = reader.read(start as u32..end as u32, None).unwrap();
        read.validate().unwrap();
        assert_eq!(text(&read), text(&slice), "{start}..{end}, {:?}", reader.codec());
        let every = 1 + random.below(200);
        // Few rows, or all but few.
        let is_few = random.below(2) == 0;
        let pick: Vec<u32> =
            (0..(end - start) as u32).filter(|_| (random.below(every) == 0) == is_few).collect();
        let read = reader.read(start as u32..end as u32, Some(&pick)).unwrap();
        read.validate().unwrap();
        assert_eq!(text(&read), text(&slice.gather(&pick).unwrap()), "{:?}", reader.codec());
    }
    reader.codec()
}

fn types(random: &mut Generator) -> Vec<Type> {
    let mut types = SCALAR_TYPES.to_vec();
    types.extend([Type::decimal(12, 2), Type::decimal(30, 2), Type::Unknown]);
    types.push(Type::Custom(Custom::new(Uuid)));
    types.extend(UnsignedInteger::ALL.map(UnsignedInteger::data_type));
    types.extend((0..6).map(|_| random.data_type(3)));
    types
}

#[test]
fn random_vectors_of_all_types_come_back() {
    for seed in 0..12 {
        let mut random = Generator::new(seed);
        for data_type in types(&mut random) {
            let rows = *random.choose(&ROWS);
            let vector = random.vector(&data_type, rows);
            check(&vector, Options::default(), &mut random);
        }
    }
}

#[test]
fn every_codec_holds_what_it_can() {
    let mut random = Generator::new(5);
    let mut used = std::collections::BTreeSet::new();
    for codec in CodecId::ALL {
        for data_type in types(&mut random) {
            let rows = *random.choose(&ROWS);
            let vector = random.vector(&data_type, rows);
            used.insert(check(&vector, forced(codec), &mut random));
        }
    }
    assert_eq!(used.into_iter().collect::<Vec<_>>(), CodecId::ALL);
}

/// Columns that some codec is best for.
fn columns() -> Vec<(CodecId, Vector)> {
    let mut random = fastrand::Rng::with_seed(1);
    let rows = 5000;
    let mut integers = |value: &mut dyn FnMut(i64, &mut fastrand::Rng) -> i64| {
        let values: Vec<i64> = (0..rows).map(|row| value(row, &mut random)).collect();
        Vector::native::<i64>(Type::BigInt, values, None)
    };
    let pfor = integers(&mut |_, random| random.i64(1_000_000..2_000_000));
    let delta = integers(&mut |row, random| row * 100_000 + random.i64(0..8));
    let dictionary = integers(&mut |_, random| random.i64(0..12) * 10_i64.pow(15));
    let runs = integers(&mut |row, _| (row / 200) * (row / 200) * 7_777_777);
    let constant = integers(&mut |_, _| 42);
    let mut random = fastrand::Rng::with_seed(2);
    let prices: Vec<f64> = (0..rows).map(|_| f64::from(random.i32(0..99_999)) / 100.0).collect();
    let floats: Vec<f64> = (0..rows).map(|_| random.f64()).collect();
    let words = ["quick", "foxes", "carefully", "express", "accounts", "sleep", "about", "ironic"];
    let mut comment = || {
        let words: Vec<&str> = (0..6).map(|_| words[random.usize(..8)]).collect();
        Value::text(format!("{} {}", words.join(" "), random.u32(..)))
    };
    let comments: Vec<Value> = (0..rows).map(|_| comment()).collect();
    let modes: Vec<Value> = (0..rows).map(|it| Value::text(words[it as usize * 7 % 8])).collect();
    vec![
        (CodecId::Pfor, pfor),
        (CodecId::PforDelta, delta),
        (CodecId::Pdict, dictionary),
        (CodecId::Rle, runs),
        (CodecId::Constant, constant),
        (CodecId::Alp, Vector::native::<f64>(Type::Double, prices, None)),
        (CodecId::AlpRd, Vector::native::<f64>(Type::Double, floats, None)),
        (CodecId::Fsst, Vector::from_values(Type::Varchar, &comments)),
        (CodecId::Pdict, Vector::from_values(Type::Varchar, &modes)),
    ]
}

#[test]
fn the_codec_that_suits_a_column_is_chosen() {
    let mut random = Generator::new(6);
    for (codec, vector) in columns() {
        assert_eq!(check(&vector, Options::default(), &mut random), codec);
    }
    let repeated: Vec<Value> =
        (0..4000).map(|it| Value::text(format!("{it}").repeat(200))).collect();
    let vector = Vector::from_values(Type::Varchar, &repeated);
    assert_eq!(check(&vector, Options::default(), &mut random), CodecId::Lz4);
    let zstd = Options { zstd_level: Some(3), ..Options::default() };
    assert_eq!(check(&vector, zstd, &mut random), CodecId::Zstd);
}

#[test]
fn a_sample_that_misleads_is_made_up_for() {
    let mut random = fastrand::Rng::with_seed(4);
    // Of 40 vectors, numbers 0, 9, 18 and 27 are the sample.
    let value = |row: i64| match row / 1024 % 9 {
        0 => row * 1_000_000,
        _ => random.i64(0..1 << 40),
    };
    let values: Vec<i64> = (0..40 * 1024).map(value).collect();
    let vector = Vector::native::<i64>(Type::BigInt, values, None);
    let before = marks::count(Mark::SecondChoice);
    check(&vector, Options::default(), &mut Generator::new(1));
    assert!(marks::count(Mark::SecondChoice) > before);
}

#[test]
fn rows_come_encoded_where_the_codec_is_an_encoding() {
    for (codec, vector) in columns() {
        let mut reader = open(&vector, Options::default());
        let all = reader.read(100..4900, None).unwrap();
        match (codec, all.encoding()) {
            (CodecId::Constant, Encoding::Constant(_)) => {}
            (CodecId::Rle, Encoding::RunLength { .. }) => {}
            (CodecId::Pdict, Encoding::Dictionary { base, .. }) => {
                let again = reader.read(0..10, Some(&[1, 5])).unwrap();
                let Encoding::Dictionary { base: same, .. } = again.encoding() else { continue };
                assert!(Arc::ptr_eq(base, same));
            }
            (CodecId::Constant | CodecId::Rle | CodecId::Pdict, other) => {
                unreachable!("{codec:?}: {other:?}")
            }
            _ => assert!(all.flat_values().is_some(), "{codec:?}"),
        }
    }
}

/// Tests with values of the column, and others.
fn some_tests(vector: &Vector, random: &mut Generator) -> Vec<ColumnTest> {
    let value = |random: &mut Generator| match random.below(3) {
        0 => random.value(vector.data_type()),
        _ if vector.is_empty() => Value::Null,
        _ => vector.value(random.below(vector.len())).unwrap(),
    };
    let comparison = *random.choose(&[
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let count = random.below(12);
    vec![
        ColumnTest::IsNull,
        ColumnTest::IsNotNull,
        ColumnTest::Compare { comparison, value: value(random) },
        ColumnTest::Between { low: value(random), high: value(random) },
        ColumnTest::In((0..count).map(|_| value(random)).collect()),
    ]
}

/// How many of the tests were answered without decoding.
#[track_caller]
fn check_tests(vector: &Vector, options: Options, random: &mut Generator) -> usize {
    let mut reader = open(vector, options);
    let vector = vector.loaded().unwrap().flatten().unwrap();
    let mut answered = 0;
    for test in some_tests(&vector, random) {
        let start = random.below(vector.len() + 1);
        let end = start + random.below(vector.len() - start + 1);
        let expected = test.matches(&vector.slice(start, end - start)).unwrap();
        let every = 1 + random.below(3);
        let among: Vec<usize> = (0..end - start).filter(|_| random.below(every) == 0).collect();
        let among = Rows::from_indices(end - start, among);
        let Some(found) = reader.select(start as u32..end as u32, &test, &among).unwrap() else {
            continue;
        };
        answered += 1;
        let mut rows = Rows::from_bits(&expected);
        rows.intersect(&among);
        assert_eq!(found.words(), rows.words(), "{test:?} of {:?}", reader.codec());
    }
    answered
}

#[test]
fn tests_on_packed_data_find_the_rows_that_pass() {
    let mut answered = 0;
    for seed in 0..40 {
        let mut random = Generator::new(seed);
        for data_type in [Type::Integer, Type::TinyInt, Type::BigInt, Type::Varchar, Type::Double] {
            for codec in [CodecId::Pfor, CodecId::Pdict, CodecId::Rle, CodecId::Raw] {
                let rows = *random.choose(&ROWS);
                let vector = random.vector(&data_type, rows);
                answered += check_tests(&vector, forced(codec), &mut random);
            }
        }
    }
    assert!(answered > 1000, "{answered}");
}

#[test]
fn tests_take_the_packed_paths() {
    let mut random = Generator::new(3);
    let mut hits = |mark: Mark, run: &mut dyn FnMut(&mut Generator)| {
        let before = marks::count(mark);
        run(&mut random);
        assert!(marks::count(mark) > before, "{mark:?}");
    };
    let all = columns();
    let column = |wanted: CodecId| all.iter().find(|it| it.0 == wanted).unwrap().1.clone();
    let less = |value| ColumnTest::Compare { comparison: Comparison::Less, value };
    let select = |codec: CodecId, value: i64| {
        let mut reader = open(&column(codec), Options::default());
        let test = less(Value::BigInt(value));
        assert!(reader.select(0..5000, &test, &Rows::all(5000)).unwrap().is_some());
    };
    hits(Mark::PackedTest, &mut |_| select(CodecId::Pfor, 1_500_000));
    hits(Mark::BoundsTest, &mut |_| select(CodecId::Pfor, 5));
    hits(Mark::DictionaryTest, &mut |_| select(CodecId::Pdict, 5));
    hits(Mark::RunTest, &mut |_| select(CodecId::Rle, 5));
    hits(Mark::NullTest, &mut |_| {
        let mut reader = open(&column(CodecId::Pfor), Options::default());
        let found = reader.select(0..5000, &ColumnTest::IsNull, &Rows::all(5000)).unwrap();
        assert!(found.unwrap().is_empty());
    });
    hits(Mark::Compacted, &mut |_| {
        let mut reader = open(&column(CodecId::Pfor), Options::default());
        let pick: Vec<u32> = (0..5000).filter(|it| it % 70 != 3).collect();
        assert_eq!(reader.read(0..5000, Some(&pick)).unwrap().len(), pick.len());
    });
    hits(Mark::Runs, &mut |_| {
        let mut reader = open(&column(CodecId::Rle), Options::default());
        let pick: Vec<u32> = (0..5000).filter(|it| it % 70 != 3).collect();
        let read = reader.read(0..5000, Some(&pick)).unwrap();
        assert!(matches!(read.encoding(), Encoding::RunLength { .. }));
    });
    hits(Mark::Single, &mut |_| {
        let mut reader = open(&column(CodecId::Pfor), Options::default());
        assert_eq!(reader.read(0..5000, Some(&[7, 2000])).unwrap().len(), 2);
    });
}

/// Bytes with a few random changes.
fn damaged(bytes: &[u8], random: &mut Generator) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        if bytes.is_empty() {
            return bytes;
        }
        // The beginning says most about what follows.
        let end = if random.below(2) == 0 { bytes.len().min(60) } else { bytes.len() };
        let at = random.below(end);
        match random.below(5) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = *random.choose(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => drop(bytes.drain(at..(at + 1 + random.below(9)).min(end))),
            3 => bytes.truncate(at),
            _ => bytes.insert(at, random.below(256) as u8),
        }
    }
    bytes
}

#[test]
fn damaged_bytes_are_errors_or_valid_vectors() {
    let (mut errors, mut vectors) = (0, 0);
    for seed in 0..60 {
        let mut random = Generator::new(seed);
        for codec in CodecId::ALL {
            let data_type = random.data_type(2);
            let rows = *random.choose(&ROWS);
            let vector = random.vector(&data_type, rows);
            let bytes = encode(&vector, forced(codec)).unwrap();
            for _ in 0..4 {
                let bytes = damaged(&bytes, &mut random);
                match read_all(bytes, &data_type, &mut random) {
                    Ok(()) => vectors += 1,
                    Err(error) => {
                        assert_eq!(error.kind(), volley_error::ErrorKind::Corruption, "{error}");
                        errors += 1;
                    }
                }
            }
        }
    }
    assert!(errors > 1000 && vectors > 100, "{errors} {vectors}");
}

fn read_all(bytes: Vec<u8>, data_type: &Type, random: &mut Generator) -> volley_error::Result<()> {
    let mut reader = ColumnReader::open(Buffer::from_vec(bytes), data_type)?;
    let rows = reader.rows().min(10_000) as u32;
    let vector = reader.read(0..rows, None)?;
    vector.validate().unwrap();
    if rows > 0 {
        let row = random.below(rows as usize) as u32;
        let picked = reader.read(0..rows, Some(&[row]))?;
        picked.validate().unwrap();
        assert_eq!(text(&picked), text(&vector.slice(row as usize, 1)));
        reader.select(0..rows, &ColumnTest::IsNull, &Rows::all(rows as usize))?;
    }
    let mut again = open(&vector, Options::default());
    assert_eq!(text(&again.read(0..rows, None)?), text(&vector));
    Ok(())
}

#[test]
fn what_cannot_be_stored_is_an_error() {
    let objects = Vector::nulls(Type::Opaque(opaque_type()), 0);
    assert!(encode(&objects, Options::default()).is_err());
    let rows = crate::SEGMENT_ROWS_MAX + 1;
    let error = encode(&Vector::nulls(Type::Integer, rows), Options::default()).unwrap_err();
    assert_eq!(error.kind(), volley_error::ErrorKind::Unsupported);
    let mut reader = open(&Vector::nulls(Type::Integer, 5), Options::default());
    assert!(reader.read(0..6, None).is_err());
    assert!(reader.read(0..5, Some(&[3, 3])).is_err());
}

use super::*;
use std::{ops::Range, sync::Arc};
use volley_error::ErrorKind;
use volley_types::{Field, Type, Value, custom::Uuid};
use volley_vector::{
    Batch, Encoding, Vector,
    random::{Generator, SCALAR_TYPES, Shape, opaque_type},
};

fn encoded(batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(batch, &mut bytes).unwrap();
    bytes
}

pub(crate) fn types_of(batch: &Batch) -> Vec<Type> {
    batch.columns().iter().map(|it| it.data_type().clone()).collect()
}

/// The rows as text, in which NaN is itself and -0.0 is not 0.0.
fn text(batch: &Batch) -> String {
    let values = batch.columns().iter().map(|it| it.to_values().unwrap());
    format!("{} rows: {:?}", batch.rows(), values.collect::<Vec<_>>())
}

#[track_caller]
pub(crate) fn assert_same(found: &Batch, expected: &Batch) {
    found.validate().unwrap();
    assert_eq!(types_of(found), types_of(expected));
    assert_eq!(text(found), text(expected));
}

/// One type of each layout and kind.
pub(crate) fn all_types() -> Vec<Type> {
    let with_parts = [
        Type::Unknown,
        Type::decimal(12, 2),
        Type::decimal(38, 4),
        Uuid::data_type(),
        Type::array(Uuid::data_type()),
        Type::array(Type::Varchar),
        Type::array(Type::array(Type::BigInt)),
        Type::array(Type::Unknown),
        Type::fixed_array(Type::Varchar, 3),
        Type::fixed_array(Type::fixed_array(Type::Boolean, 2), 2),
        Type::map(Type::Varchar, Type::array(Type::Integer)),
        Type::row([]),
        Type::row([
            Field::new("a", Type::Varchar),
            Field::new("b", Type::fixed_array(Type::Integer, 2)),
        ]),
    ];
    SCALAR_TYPES.into_iter().chain(with_parts).collect()
}

#[test]
fn batches_of_every_type_encoding_and_size_come_back() {
    for rows in [0, 1, 3, 17, 1024] {
        for seed in 0..20 {
            let mut random = Generator::new(seed);
            let batch = random.batch(&all_types(), rows);
            assert_same(&decode(&encoded(&batch), &all_types()).unwrap(), &batch);
        }
    }
}

#[test]
fn batches_of_random_types_come_back() {
    for seed in 0..600 {
        let mut random = Generator::new(seed);
        let types: Vec<Type> = (0..random.below(4)).map(|_| random.data_type(3)).collect();
        let rows = random.below(200);
        let batch = random.batch(&types, rows);
        assert_same(&decode(&encoded(&batch), &types).unwrap(), &batch);
    }
}

#[test]
fn appended_rows_come_back_as_one_batch() {
    for seed in 0..300 {
        let mut random = Generator::new(seed);
        let types: Vec<Type> = match seed % 3 {
            0 => all_types(),
            _ => (0..3).map(|_| random.data_type(3)).collect(),
        };
        let mut encoder = Encoder::new(&types).unwrap();
        for _ in 0..2 {
            let mut parts = Vec::new();
            for _ in 0..random.below(5) {
                let rows = random.below(40);
                let batch = random.batch(&types, rows).loaded().unwrap();
                let range = part(&mut random, rows);
                encoder.append(&batch, range.clone()).unwrap();
                parts.push(batch.slice(range.start, range.len()));
            }
            let expected = Batch::concat(&types, &parts).unwrap();
            assert_eq!(encoder.rows(), expected.rows());
            let mut bytes = Vec::new();
            encoder.take(&mut bytes).unwrap();
            assert_same(&decode(&bytes, &types).unwrap(), &expected);
            assert_eq!((encoder.rows(), encoder.bytes()), (0, 0));
        }
    }
}

fn part(random: &mut Generator, rows: usize) -> Range<usize> {
    let (one, other) = (random.below(rows + 1), random.below(rows + 1));
    one.min(other)..one.max(other)
}

#[test]
fn a_batch_without_columns_has_its_rows() {
    let batch = Batch::new(Vec::new(), 7);
    assert_eq!(decode(&encoded(&batch), &[]).unwrap().rows(), 7);
}

#[test]
fn constants_and_dictionaries_of_few_values_stay_what_they_are() {
    let words = ["one", "another word, a long one", "unused"].map(Value::text);
    let base = Arc::new(Vector::from_values(Type::Varchar, &words));
    let codes = |count: u32| (0..100).map(|it| it % count).collect::<Vec<u32>>();
    let dictionary = Vector::dictionary(codes(2).into(), base, None);
    let constant = Vector::constant(Type::Varchar, &words[1], 100);
    let many = Generator::new(1).encoded(Shape::Flat, &Type::BigInt, 100);
    let many = Vector::dictionary(codes(100).into(), Arc::new(many), None);
    let batch = Batch::new(vec![dictionary, constant, many], 100);
    let bytes = encoded(&batch);
    let found = decode(&bytes, &types_of(&batch)).unwrap();
    assert_same(&found, &batch);
    let Encoding::Dictionary { base, .. } = found.column(0).encoding() else {
        panic!("{}", found.column(0).summary());
    };
    assert_eq!(base.len(), 2, "without what is not used");
    assert!(found.column(1).is_constant());
    assert!(found.column(2).flat_values().is_some());
    assert!(bytes.len() < 1100, "{}", bytes.len());
}

#[test]
fn unused_elements_and_strings_of_null_rows_are_not_written() {
    let text = Value::text("x".repeat(1000));
    let texts = Vector::from_values(Type::Varchar, &vec![text; 50]);
    let arrays = vec![Value::Array(texts.to_values().unwrap().into()); 4];
    let arrays = Vector::from_values(Type::array(Type::Varchar), &arrays);
    let is_valid = |len: usize| Some((0..len).map(|row| row == 1).collect());
    let flat = |it: &Vector| {
        let values = it.flat_values().unwrap().clone();
        Vector::flat(it.data_type().clone(), values, is_valid(it.len()))
    };
    let (texts, arrays) = (flat(&texts), flat(&arrays));
    let texts = Batch::new(vec![texts], 50);
    let arrays = Batch::new(vec![arrays], 4);
    assert!(encoded(&texts).len() < 1200);
    assert!((50_000..51_000).contains(&encoded(&arrays).len()));
    assert!(encoded(&arrays.slice(2, 2)).len() < 100);
}

#[test]
fn what_batches_take_is_estimated() {
    for seed in 0..300 {
        let mut random = Generator::new(seed);
        let types: Vec<Type> = (0..3).map(|_| random.data_type(2)).collect();
        let batch = random.batch(&types, 300).loaded().unwrap();
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&types).unwrap();
        encoder.append(&batch, 0..300).unwrap();
        encoder.take(&mut bytes).unwrap();
        let estimate = flat_bytes(&batch).unwrap();
        // Elements that rows share are treated as equal in size; lengths count as they are in
        // memory.
        assert!(bytes.len() < 3 * estimate + 500, "seed {seed}: {} of {estimate}", bytes.len());
        assert!(
            estimate < 12 * bytes.len() + 3 * 300 * 5,
            "seed {seed}: {} of {estimate}",
            bytes.len()
        );
        assert!(encoded(&batch).len() < 3 * encoded_bytes(&batch).unwrap() + 500, "seed {seed}");
    }
}

#[test]
fn shared_elements_of_arrays_are_estimated_without_a_list_of_them() {
    let text = Value::Array(vec![Value::text("some text, a long one"); 1000].into());
    let array = Vector::from_values(Type::array(Type::Varchar), &[text]);
    let rows = 5_000_000;
    let batch = Batch::new(vec![Vector::repeat(array, rows)], rows);
    assert!(flat_bytes(&batch).unwrap() > rows * 1000 * 20);
    let mut encoder = Encoder::new(&types_of(&batch)).unwrap();
    let error = encoder.append(&batch, 0..rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(decode(&encoded(&batch), &types_of(&batch)).unwrap().rows(), rows);
}

#[test]
fn objects_have_no_bytes() {
    let opaque = Type::Opaque(opaque_type());
    for data_type in [opaque.clone(), Type::array(opaque)] {
        let batch = Batch::new(vec![Vector::nulls(data_type.clone(), 1)], 1);
        let error = encode(&batch, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let error = decode(&[1, 0, 0, 0, 0, 0, 1, 0, 0], &[data_type]).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Internal);
    }
}

/// Decoding gives a valid batch or a corruption error.
fn check_untrusted(bytes: &[u8], types: &[Type]) {
    match decode(bytes, types) {
        Ok(batch) => batch.validate().unwrap(),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption, "{error}"),
    }
}

#[test]
fn bytes_cut_off_anywhere_are_an_error() {
    for seed in 0..10 {
        let bytes = encoded(&Generator::new(seed).batch(&all_types(), 12));
        for end in 0..bytes.len() {
            let error = decode(&bytes[..end], &all_types()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(decode(&longer, &all_types()).unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn flipped_bits_and_any_bytes_are_an_error_or_a_valid_batch() {
    let mut random = fastrand::Rng::with_seed(3);
    for seed in 0..60 {
        let rows = [1, 20, 300][seed as usize % 3];
        let bytes = encoded(&Generator::new(seed).batch(&all_types(), rows));
        for _ in 0..100 {
            let mut damaged = bytes.clone();
            for _ in 0..random.usize(1..4) {
                damaged[random.usize(..bytes.len())] ^= 1 << random.u32(..8);
            }
            check_untrusted(&damaged, &all_types());
        }
    }
    for _ in 0..20_000 {
        let mut bytes = vec![0; random.usize(4..60)];
        bytes.fill_with(|| if random.bool() { random.u8(..4) } else { random.u8(..) });
        bytes[1..4].fill(0); // Few rows.
        let start = random.usize(..all_types().len());
        check_untrusted(&bytes, &all_types()[start..start + 1]);
    }
}

#[test]
fn each_string_is_utf_8_by_itself() {
    // "é" is two bytes: as one string it is text, cut in two it is not.
    let bytes = |lengths: &[u8], text: &[u8]| {
        let rows = (lengths.len() as u32).to_le_bytes();
        [&rows[..], &[FLAT, 0, 1], lengths, text].concat()
    };
    let whole = bytes(&[0, 2, 0], "é".as_bytes());
    assert_eq!(
        decode(&whole, &[Type::Varchar]).unwrap().column(0).to_values().unwrap()[1],
        Value::text("é")
    );
    for cut in
        [bytes(&[1, 1], "é".as_bytes()), bytes(&[1, 0, 1], "é".as_bytes()), bytes(&[1], b"\xff")]
    {
        assert_eq!(decode(&cut, &[Type::Varchar]).unwrap_err().kind(), ErrorKind::Corruption);
        decode(&cut, &[Type::Varbinary]).unwrap();
    }
    let long = bytes(&[13, 13], format!("{}é{}", "x".repeat(12), "x".repeat(12)).as_bytes());
    assert_eq!(decode(&long, &[Type::Varchar]).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn lengths_beyond_the_bytes_take_no_memory() {
    let rows = u32::MAX.to_le_bytes();
    for data_type in all_types() {
        for form in [FLAT, DICTIONARY] {
            for width in [1, 2, 4] {
                let bytes = [&rows[..], &[form, 0, width, 255, 255, 255, 255, 9, 9]].concat();
                check_untrusted(&bytes, std::slice::from_ref(&data_type));
            }
        }
    }
}

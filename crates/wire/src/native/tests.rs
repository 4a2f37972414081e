use super::*;
use crate::tests::{all_types, assert_same, types_of};
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_types::Value;
use volley_vector::{
    Encoding, NullBuffer, Vector,
    random::{Generator, Shape as VectorShape},
};

const FORMATS: [NativeFormat; 2] = [NativeFormat::Plain, NativeFormat::Packed];

fn written(format: NativeFormat, batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    format.writer(&types_of(batch)).unwrap().write(batch, &mut bytes).unwrap();
    bytes
}

fn decoded(format: NativeFormat, bytes: &[u8], types: &[Type]) -> Result<Batch> {
    format.decode(&Buffer::from(bytes), types)
}

#[test]
fn batches_of_every_type_encoding_and_size_come_back() {
    for rows in [0, 1, 3, 17, 1024] {
        for seed in 0..20 {
            let batch = Generator::new(seed).batch(&all_types(), rows);
            for format in FORMATS {
                let bytes = written(format, &batch);
                assert_same(&decoded(format, &bytes, &all_types()).unwrap(), &batch);
            }
        }
    }
}

#[test]
fn batches_of_random_types_come_back_in_any_encoding() {
    for seed in 0..400 {
        let mut random = Generator::new(seed);
        let types: Vec<Type> = (0..random.below(4)).map(|_| random.data_type(3)).collect();
        let rows = random.below(300);
        let batch = random.batch(&types, rows);
        for format in FORMATS {
            let bytes = written(format, &batch);
            assert_same(&decoded(format, &bytes, &types).unwrap(), &batch);
        }
    }
}

#[test]
fn pages_follow_each_other_in_one_buffer() {
    let types = all_types();
    for format in FORMATS {
        let (mut writer, mut bytes) = (format.writer(&types).unwrap(), vec![7; 5]);
        let mut pages = Vec::new();
        for seed in 0..5 {
            let batch = Generator::new(seed).batch(&types, 30);
            let start = bytes.len();
            writer.write(&batch, &mut bytes).unwrap();
            pages.push((start..bytes.len(), batch));
        }
        for (range, batch) in pages {
            assert_same(&decoded(format, &bytes[range], &types).unwrap(), &batch);
        }
    }
}

#[test]
fn plain_pages_keep_encodings_and_are_views() {
    let words = ["one", "another word, a long one", "unused"].map(Value::text);
    let base = Arc::new(Vector::from_values(Type::Varchar, &words));
    let codes: Vec<u32> = (0..400).map(|it| it % 2).collect();
    let nulls = NullBuffer::from_iter((0..400).map(|it| it % 7 != 0));
    let mut random = Generator::new(3).with_null_ratio(0.0);
    let columns = vec![
        Vector::dictionary(codes.into(), base, Some(nulls)),
        Vector::constant(Type::Varchar, &words[1], 400),
        Vector::run_length(
            vec![100, 400].into(),
            Arc::new(Vector::from_values(Type::Varchar, &words[..2])),
        ),
        random.encoded(VectorShape::Bias, &Type::BigInt, 400),
        random.encoded(VectorShape::Flat, &Type::BigInt, 400),
        random.encoded(VectorShape::Flat, &Type::Varchar, 400),
    ];
    let batch = Batch::new(columns, 400);
    let page = Buffer::from(written(NativeFormat::Plain, &batch));
    let page = frame::aligned(&page);
    let found = NativeFormat::Plain.decode(&page, &types_of(&batch)).unwrap();
    assert_same(&found, &batch);
    let Encoding::Dictionary { base, codes } = found.column(0).encoding() else { panic!() };
    assert_eq!(base.len(), 2, "without values that no row has");
    assert!(found.column(1).is_constant());
    assert!(matches!(found.column(2).encoding(), Encoding::RunLength { .. }));
    assert!(matches!(found.column(3).encoding(), Encoding::Bias { .. }));
    let within = page.as_slice().as_ptr_range();
    assert!(within.contains(&codes.inner().as_ptr()));
    for column in [4, 5] {
        let values = found.column(column).flat_values().unwrap();
        assert!(within.contains(&values.fixed_buffer().unwrap().as_ptr()), "a copy");
    }
}

#[test]
fn misaligned_pages_are_copied_and_come_back() {
    let types = all_types();
    let batch = Generator::new(5).batch(&types, 50);
    let bytes = [&[0][..], &written(NativeFormat::Plain, &batch)].concat();
    let page = Buffer::from(bytes);
    for page in [page.slice(1), frame::aligned(&page.slice(1))] {
        assert_same(&NativeFormat::Plain.decode(&page, &types).unwrap(), &batch);
    }
}

#[test]
fn packed_pages_are_compressed_only_if_a_sample_shrinks() {
    let column = |value: &dyn Fn(u64) -> String| {
        let values: Vec<Value> = (0..4000).map(|it| Value::text(value(it))).collect();
        Batch::new(vec![Vector::from_values(Type::Varchar, &values)], 4000)
    };
    let repeated = column(&|it| format!("the same words for all of the rows {}", it % 10));
    let mut random = fastrand::Rng::with_seed(1);
    let mut noise: Vec<String> = (0..4000).map(|_| format!("{:032x}", random.u128(..))).collect();
    // Hexadecimal digits shrink by 2 at most; bytes above them do not.
    noise
        .iter_mut()
        .for_each(|it| *it = it.chars().map(|it| ((it as u8) ^ random.u8(..64)) as char).collect());
    let noise = column(&|it| noise[it as usize].clone());
    for (batch, shape) in [(repeated, 2), (noise, 1)] {
        let bytes = written(NativeFormat::Packed, &batch);
        assert_eq!(bytes[4], shape);
        assert_same(&decoded(NativeFormat::Packed, &bytes, &types_of(&batch)).unwrap(), &batch);
    }
}

#[test]
fn unused_strings_and_elements_are_not_written() {
    let text = Value::text("x".repeat(1000));
    let texts = Vector::from_values(Type::Varchar, &vec![text; 50]);
    let arrays = vec![Value::Array(texts.to_values().unwrap().into()); 4];
    let arrays = Vector::from_values(Type::array(Type::Varchar), &arrays);
    for (vector, limit) in [(texts, 3500), (arrays, 110_000)] {
        let batch = Batch::new(vec![vector.slice(1, 2)], 2);
        let bytes = written(NativeFormat::Plain, &batch);
        assert!(bytes.len() < limit, "{}", bytes.len());
    }
}

/// Decoding gives a valid batch or an error of the bytes.
fn check_untrusted(page: &[u8], types: &[Type]) {
    match decoded(NativeFormat::Plain, page, types) {
        Ok(batch) => batch.validate().unwrap(),
        Err(error) => assert!(
            matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Unsupported),
            "{error}"
        ),
    }
}

/// The page with the checksum of its bytes.
fn signed(mut page: Vec<u8>) -> Vec<u8> {
    frame::sign(&mut page);
    page
}

#[test]
fn damaged_pages_are_refused() {
    for format in FORMATS {
        let page = written(format, &Generator::new(2).batch(&all_types(), 12));
        for end in 0..page.len() {
            let error = decoded(format, &page[..end], &all_types()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        }
        for bit in 0..page.len() * 8 {
            let mut damaged = page.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decoded(format, &damaged, &all_types()).is_err(), "bit {bit}");
        }
        let other = decoded(format, &page, &all_types()[1..]).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Corruption);
    }
}

#[test]
fn damage_under_a_right_checksum_is_an_error_or_a_valid_batch() {
    let mut random = fastrand::Rng::with_seed(4);
    for seed in 0..60 {
        for format in FORMATS {
            let rows = [1, 20, 300][seed as usize % 3];
            let page = written(format, &Generator::new(seed).batch(&all_types(), rows));
            for _ in 0..60 {
                let mut damaged = page.clone();
                for _ in 0..random.usize(1..4) {
                    // Half of the time in the description, at the end of plain pages.
                    let from = if random.bool() { 8 } else { page.len() - page.len().min(400) };
                    damaged[random.usize(from..page.len())] ^= 1 << random.u32(..8);
                }
                if random.bool() {
                    damaged.truncate(random.usize(32..=damaged.len()));
                }
                check_untrusted(&signed(damaged), &all_types());
            }
        }
    }
}

#[test]
fn objects_and_other_types_are_refused() {
    let opaque = Type::Opaque(volley_vector::random::opaque_type());
    for format in FORMATS {
        let error = format.writer(std::slice::from_ref(&opaque)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let (mut writer, mut out) = (format.writer(&[Type::BigInt]).unwrap(), vec![1]);
        let batch = Generator::new(1).batch(&[Type::Varchar], 3);
        let error = writer.write(&batch, &mut out).unwrap_err();
        assert_eq!((error.kind(), out), (ErrorKind::Internal, vec![1]));
    }
}

#[test]
fn a_newer_version_is_unsupported() {
    let mut page = written(NativeFormat::Plain, &Generator::new(2).batch(&[Type::BigInt], 12));
    page[3] += 1;
    let error = decoded(NativeFormat::Plain, &page, &[Type::BigInt]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

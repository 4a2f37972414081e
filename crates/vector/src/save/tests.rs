use super::*;
use crate::{
    Encoding,
    random::{Generator, Shape, opaque_type},
};
use std::sync::Arc;
use volley_types::{Type, Value, custom::Uuid};

fn types() -> TypeRegistry {
    let mut types = TypeRegistry::default();
    types.add_plain(Uuid);
    types
}

/// The names of the encodings from the outside in, a lazy one loaded.
fn layers(vector: &Vector) -> String {
    let _ = vector.loaded();
    vector.summary()
}

#[track_caller]
fn assert_same(left: &Vector, right: &Vector) {
    assert_eq!(layers(left), layers(right));
    let (left, right) = (left.to_values().unwrap(), right.to_values().unwrap());
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
}

#[test]
fn vectors_of_every_type_and_encoding_come_back() {
    for seed in 0..400 {
        let mut random = Generator::new(seed);
        let data_type = match random.below(10) {
            0 => Uuid::data_type(),
            1 => Type::array(Uuid::data_type()),
            _ => random.data_type(3),
        };
        let len = random.below(40);
        let vector = random.vector(&data_type, len);
        let bytes = vector_to_bytes(&vector).unwrap();
        let back = vector_from_bytes(&bytes, &types()).unwrap();
        assert_same(&back, &vector);
        assert_eq!(vector_to_bytes(&back).unwrap(), bytes, "seed {seed}");
    }
}

#[test]
fn a_lazy_vector_comes_back_lazy() {
    let vector = Generator::new(3).encoded(Shape::Lazy, &Type::Varchar, 5);
    let back = vector_from_bytes(&vector_to_bytes(&vector).unwrap(), &types()).unwrap();
    assert!(back.is_lazy());
    assert_same(&back, &vector);
}

#[test]
fn columns_that_share_codes_and_a_base_still_do() {
    let mut random = Generator::new(5);
    let types = [Type::Varchar, Type::BigInt];
    let columns = types.iter().map(|it| random.encoded(Shape::Flat, it, 10)).collect();
    let batch = Batch::new(columns, 10).wrap(&vec![9u32, 0, 9, 4].into());
    let batch = Batch::new(
        vec![batch.column(0).clone(), batch.column(1).clone(), batch.column(0).clone()],
        4,
    );
    let back = batch_from_bytes(&batch_to_bytes(&batch).unwrap(), &self::types()).unwrap();
    let parts = |index: usize| match back.column(index).encoding() {
        Encoding::Dictionary { codes, base } => (codes.as_ptr(), Arc::as_ptr(base)),
        _ => panic!("a dictionary"),
    };
    assert_eq!(parts(0).0, parts(1).0, "codes");
    assert_ne!(parts(0).1, parts(1).1, "bases");
    assert_eq!(parts(0), parts(2));
    for (left, right) in batch.columns().iter().zip(back.columns()) {
        assert_same(left, right);
    }
}

#[test]
fn what_cannot_be_saved_is_an_error() {
    let opaque = opaque_type();
    let things = Vector::from_values(Type::Opaque(opaque.clone()), &[opaque.value(1i64)]);
    assert!(vector_to_bytes(&things).unwrap_err().message().contains("THING"));
    let mut deep = Type::Integer;
    for _ in 0..DEPTH_MAX {
        deep = Type::array(deep);
    }
    let error = vector_to_bytes(&Vector::nulls(deep, 1)).unwrap_err();
    assert!(error.message().contains("levels"), "{error}");
    let ids = Vector::from_values(Uuid::data_type(), &[Value::HugeInt(1)]);
    let bytes = vector_to_bytes(&ids).unwrap();
    let error = vector_from_bytes(&bytes, &TypeRegistry::default()).unwrap_err();
    assert_eq!(error.message(), "no such type: UUID");
}

/// Files of several shapes, small enough to damage in every place.
fn samples() -> Vec<Vec<u8>> {
    (0..40)
        .map(|seed| {
            let mut random = Generator::new(seed);
            let types = [random.data_type(2), random.data_type(1)];
            batch_to_bytes(&random.batch(&types, 4)).unwrap()
        })
        .collect()
}

/// Gives the content the checksum that it has.
fn sign(bytes: &mut [u8]) {
    let Some(content) = bytes.len().checked_sub(CHECKSUM_BYTES) else { return };
    let sum = checksum(&bytes[..content]);
    bytes[content..].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn files_that_end_too_early_or_late_are_errors() {
    for bytes in samples() {
        batch_from_bytes(&bytes, &types()).unwrap();
        for len in 0..bytes.len() {
            assert!(batch_from_bytes(&bytes[..len], &types()).is_err(), "cut at {len}");
            if len > HEADER_BYTES + CHECKSUM_BYTES {
                let mut cut = bytes[..len].to_vec();
                sign(&mut cut);
                assert!(batch_from_bytes(&cut, &types()).is_err(), "cut and signed at {len}");
            }
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(batch_from_bytes(&longer, &types()).is_err());
        sign(&mut longer);
        assert!(batch_from_bytes(&longer, &types()).is_err());
    }
}

#[test]
fn every_changed_bit_is_an_error() {
    for bytes in samples().into_iter().take(5) {
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(batch_from_bytes(&changed, &types()).is_err(), "bit {bit}");
        }
    }
}

#[test]
fn a_changed_content_with_a_right_checksum_is_an_error_or_a_valid_batch() {
    let (mut refused, mut taken) = (0, 0);
    for (seed, bytes) in samples().into_iter().enumerate() {
        let mut random = Generator::new(seed as u64);
        for _ in 0..300 {
            let mut changed = bytes.clone();
            for _ in 0..1 + random.below(3) {
                let place = random.below(changed.len());
                changed[place] = [0, 1, 0x7f, 0xff, random.below(256) as u8][random.below(5)];
            }
            sign(&mut changed);
            match batch_from_bytes(&changed, &types()) {
                Ok(batch) => {
                    taken += 1;
                    batch.validate().unwrap();
                    let shown = batch.columns().iter().map(|it| it.to_string().len());
                    assert!(shown.sum::<usize>() > 0);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 1000 && taken > 1000, "{refused} refused, {taken} taken");
}

#[test]
fn files_are_written_and_read() {
    let vector = Generator::new(1).vector(&Type::Varchar, 9);
    let path = std::env::temp_dir().join(format!("volley-save-{}", std::process::id()));
    write_file(&path, &vector_to_bytes(&vector).unwrap()).unwrap();
    let back = vector_from_bytes(&read_file(&path).unwrap(), &types()).unwrap();
    assert_same(&back, &vector);
    std::fs::remove_file(&path).unwrap();
    assert!(read_file(&path).is_err());
}

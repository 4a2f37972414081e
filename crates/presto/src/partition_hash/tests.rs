//! Expected hashes are those of Presto 0.296: `TypeUtils.hashPosition` over blocks of these values.

use super::*;
use volley_types::Value;

fn check(data_type: &Type, values: &[Value], expected: &[u64]) {
    let mut hashes = vec![0; values.len()];
    combine_hashes(&Vector::from_values(data_type.clone(), values), &mut hashes).unwrap();
    assert_eq!(hashes, expected, "{data_type}");
    // A dictionary has the hashes of its values.
    let codes: Vec<u32> = (0..values.len() as u32).rev().collect();
    let base = Vector::from_values(data_type.clone(), values);
    let mut reversed = vec![0; values.len()];
    combine_hashes(&Vector::dictionary(codes.into(), base.into(), None), &mut reversed).unwrap();
    reversed.reverse();
    assert_eq!(reversed, expected, "{data_type}");
}

const ONE: u64 = 0x7f0e_345b_e364_9cd2;
const MINUS_ONE: u64 = 0xa5b0_3736_16af_98a7;

#[test]
fn integers_have_prestos_hashes() {
    let bigint = |it| Value::BigInt(it);
    check(
        &Type::BigInt,
        &[0, 1, -1, i64::MIN, i64::MAX, 60175].map(bigint),
        &[0, ONE, MINUS_ONE, 0x617a_f2a1_c000_0000, 0x072b_29d7_d6af_98a7, 0x4982_8d0a_563b_b4fe],
    );
    check(&Type::BigInt, &[Value::Null, bigint(1)], &[0, ONE]);
    check(
        &Type::Integer,
        &[0, 1, -1, i32::MIN, i32::MAX].map(Value::Integer),
        &[0, ONE, MINUS_ONE, 0xd55d_7e7f_daa6_b234, 0x9348_9df9_bc08_e673],
    );
    let smallint = [0, 1, -1, i16::MIN].map(Value::SmallInt);
    check(&Type::SmallInt, &smallint, &[0, ONE, MINUS_ONE, 0xc120_abc1_c441_e346]);
    let tinyint = [0, 1, -1, i8::MIN].map(Value::TinyInt);
    check(&Type::TinyInt, &tinyint, &[0, ONE, MINUS_ONE, 0x5efe_6894_9789_0bfa]);
    let dates = [0, 1, -1, 18000].map(Value::Date);
    check(&Type::Date, &dates, &[0, ONE, MINUS_ONE, 0x15c0_f25d_9d56_1a00]);
}

#[test]
fn times_are_hashed_as_milliseconds() {
    let timestamps = [0, 1000, -1000, 1_600_000_000_123_000, 1_600_000_000_123_999];
    let hash = 0xac3d_dd2b_775f_f5da;
    check(&Type::Timestamp, &timestamps.map(Value::Timestamp), &[0, ONE, MINUS_ONE, hash, hash]);
    let times = [0, 1000, 86_399_999_000].map(Value::Time);
    check(&Type::Time, &times, &[0, ONE, 0xf469_8b22_b2a0_7975]);
}

#[test]
fn floats_and_booleans_have_prestos_hashes() {
    let nan = 0xa755_1cc4_8d5c_0000;
    check(
        &Type::Double,
        &[0.0, -0.0, 1.5, f64::NAN, f64::NEG_INFINITY, f64::from_bits(0xfff8_0000_0000_0001)]
            .map(Value::Double),
        &[0, 0, 0xd812_9615_6d5c_0000, nan, 0x4eaa_3989_1ab8_0000, nan],
    );
    check(
        &Type::Real,
        &[0.0, -0.0, 1.5, f32::NAN, -1.0].map(Value::Real),
        &[0, 0, 0x9faf_7013_37e1_d194, 0x5385_be31_8a8e_787a, 0x7931_bfb2_7da9_78fd],
    );
    let booleans = [true, false].map(Value::Boolean);
    check(&Type::Boolean, &booleans, &[TRUE_HASH, FALSE_HASH]);
}

const TEXTS: [&str; 7] = [
    "",
    "a",
    "ü",
    "MED BAG",
    "12345678",
    "123456789012",
    "a text that is longer than 32 bytes, for all steps of XXH64!",
];

#[test]
fn texts_and_decimals_have_prestos_hashes() {
    let expected = [
        0xef46_db37_51d8_e999,
        0xd24e_c4f1_a98c_6e5b,
        0x01e0_3879_e435_793d,
        0xc0bd_72fb_6a22_c024,
        0xd2d0_2f08_cf7c_fd4a,
        0xb5ce_e4c9_43d4_3c7e,
        0x1ad1_5ae7_9efc_349e,
    ];
    check(&Type::Varchar, &TEXTS.map(Value::text), &expected);
    let short = Type::decimal(10, 2);
    check(&short, &[0, 1, -1, 123_456].map(Value::Decimal), &[0, 1, u64::MAX, 123_456]);
    let large = 12_345_678_901_234_567_890_123_456_789;
    let (one, hash) = (0xabe0_a1da_687f_822e, 0x3178_57d9_21a9_3d5e);
    check(
        &Type::decimal(38, 0),
        &[0, 1, -1, large, -large].map(Value::Decimal),
        &[0, one, one, hash, hash],
    );
}

#[test]
fn rows_have_prestos_partitions() {
    let numbers = [Some(0), Some(1), None, Some(4), Some(5), Some(6), Some(7)];
    let numbers = numbers.map(|it| it.map_or(Value::Null, Value::BigInt));
    let mut hashes = vec![0; numbers.len()];
    combine_hashes(&Vector::from_values(Type::BigInt, &numbers), &mut hashes).unwrap();
    let texts = Vector::from_values(Type::Varchar, &TEXTS.map(Value::text));
    combine_hashes(&texts, &mut hashes).unwrap();
    let partitions = |count| hashes.iter().map(|it| bucket_of(*it, count)).collect::<Vec<_>>();
    assert_eq!(partitions(1), [0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(partitions(2), [1, 0, 1, 1, 0, 0, 1]);
    assert_eq!(partitions(3), [2, 0, 2, 2, 0, 0, 2]);
    assert_eq!(partitions(7), [5, 0, 6, 4, 2, 1, 5]);
    assert_eq!(partitions(64), [47, 1, 57, 45, 20, 12, 54]);
}

#[test]
fn other_types_have_equal_hashes_for_equal_values() {
    let array = |it: i64| Value::Array(vec![Value::BigInt(it), Value::Null].into());
    let values = Vector::from_values(Type::array(Type::BigInt), &[array(1), array(2), array(1)]);
    let mut hashes = vec![0; 3];
    combine_hashes(&values, &mut hashes).unwrap();
    assert!(hashes[0] == hashes[2] && hashes[0] != hashes[1]);
}

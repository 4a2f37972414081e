//! The examples of the specification, and runs taken in any way.

use super::*;
use crate::tests::stream_of;

#[track_caller]
fn check(version: Version, sign: Sign, bytes: &[u8], expected: &[i64]) {
    let rle = || IntegerRle::new(stream_of(bytes), version, sign);
    let mut out = Vec::new();
    let mut all = rle();
    all.read(expected.len(), &mut out).unwrap();
    assert_eq!(out, expected);
    assert!(all.read(1, &mut out).is_err());
    // In steps; each third one is passed over.
    for step in [1, 2, 3, 7, 100] {
        let mut rle = rle();
        for (round, values) in expected.chunks(step).enumerate() {
            if round % 3 == 1 {
                rle.skip(values.len()).unwrap();
            } else {
                rle.read(values.len(), &mut out).unwrap();
                assert_eq!(out, values, "step {step}");
            }
        }
    }
    for len in 0..bytes.len() {
        let mut rle = IntegerRle::new(stream_of(bytes.get(..len).unwrap()), version, sign);
        assert!(rle.read(expected.len(), &mut out).is_err(), "{len} bytes");
        let mut rle = IntegerRle::new(stream_of(bytes.get(..len).unwrap()), version, sign);
        assert!(rle.skip(expected.len()).is_err(), "{len} bytes");
    }
}

#[test]
fn version_1_has_runs_and_literals() {
    check(Version::V1, Sign::Unsigned, &[0x61, 0x00, 0x07], &[7; 100]);
    let down: Vec<i64> = (1..=100).rev().collect();
    check(Version::V1, Sign::Unsigned, &[0x61, 0xff, 0x64], &down);
    check(Version::V1, Sign::Unsigned, &[0xfb, 0x02, 0x03, 0x06, 0x07, 0xb], &[2, 3, 6, 7, 11]);
    check(Version::V1, Sign::Signed, &[0x00, 0x02, 0x01], &[-1, 1, 3]);
    check(Version::V1, Sign::Signed, &[0xfe, 0x01, 0x80, 0x01], &[-1, 64]);
}

#[test]
fn short_repeats_are_read() {
    check(Version::V2, Sign::Unsigned, &[0x0a, 0x27, 0x10], &[10_000; 5]);
    check(Version::V2, Sign::Signed, &[0x00, 0x01], &[-1; 3]);
    let most = [&[0x38], [0xff; 8].as_slice()].concat();
    check(Version::V2, Sign::Signed, &most, &[i64::MIN; 3]);
}

#[test]
fn direct_runs_are_read() {
    let bytes = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
    check(Version::V2, Sign::Unsigned, &bytes, &[23713, 43806, 57005, 48879]);
}

#[test]
fn patched_bases_are_read() {
    let bytes = [
        0x8e, 0x09, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50,
        0x5a, 0xfc, 0xe8,
    ];
    let expected = [2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090];
    check(Version::V2, Sign::Unsigned, &bytes, &expected);
}

#[test]
fn a_negative_base_has_its_sign_in_the_highest_bit() {
    // Base -5 in a byte, values of 1 bit, one patch of 2 bits at place 2 (gap of 2 bits).
    let bytes = [0x80, 0x03, 0x01, 0x21, 0x85, 0b0110_0000, 0b1011_0000];
    check(Version::V2, Sign::Signed, &bytes, &[-5, -4, -5 + (1 | 3 << 1), -5]);
}

#[test]
fn gaps_may_be_longer_than_a_patch_can_say() {
    // 300 values of 1 bit, all 0; patches of 2 bits with gaps of 8: 255 (no patch), then 35 (3).
    let mut bytes = vec![0x81, 0x2b, 0x01, 0xe2, 0x00];
    bytes.extend([0; 38]);
    let entries: u32 = (255 << 2) << 10 | (35 << 2 | 3);
    bytes.extend((entries << 12).to_be_bytes().get(..3).unwrap());
    let mut expected = [0; 300];
    expected[290] = 3 << 1;
    check(Version::V2, Sign::Unsigned, &bytes, &expected);
}

#[test]
fn patches_beyond_the_run_are_an_error() {
    let bytes = [0x80, 0x03, 0x01, 0xe1, 0x05, 0b0110_0000, 0xff, 0xc0];
    let mut rle = IntegerRle::new(stream_of(&bytes), Version::V2, Sign::Unsigned);
    assert!(rle.read(4, &mut Vec::new()).is_err());
}

#[test]
fn deltas_are_read() {
    let bytes = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
    check(Version::V2, Sign::Unsigned, &bytes, &[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    // A fixed delta, downwards, and the shortest run.
    check(Version::V2, Sign::Signed, &[0xc0, 0x03, 0x00, 0x03], &[0, -2, -4, -6]);
    check(Version::V2, Sign::Signed, &[0xc0, 0x00, 0x02, 0x00], &[1]);
}

#[test]
fn runs_may_follow_each_other() {
    let bytes = [&[0x0a, 0x27, 0x10][..], &[0xc0, 0x03, 0x00, 0x02], &[0x0a, 0x27, 0x10]].concat();
    let expected = [&[10_000; 5][..], &[0, 1, 2, 3], &[10_000; 5]].concat();
    check(Version::V2, Sign::Unsigned, &bytes, &expected);
}

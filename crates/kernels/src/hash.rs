//! Hashes of columns, 64 bits per row.
//!
//! Fixed-width values are mixed by shifts and multiplications, which compilers turn into vector
//! instructions; strings and combinations by folded multiplications: the two halves of a 128-bit
//! product, joined by exclusive or. Equal values have equal hashes in every encoding and in every
//! process.

use crate::order::Ordered;

/// The hash of a null.
pub const NULL_HASH: u64 = 0x6d1f_3a8c_94b7_e255;

const MULTIPLIER: u64 = 0x9fb2_1c65_1e98_df25;
const COMBINE: u64 = 0xd6e8_feb8_6659_fd93;

/// The product of both, its halves folded together.
#[inline(always)]
fn folded_multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left).wrapping_mul(u128::from(right));
    (product as u64) ^ ((product >> 64) as u64)
}

/// Mixes 64 bits into a hash: a bijection in which every input bit moves every output bit (the top
/// ones choose partitions, the low ones buckets). The constants are "moremur"'s by Pelle Evensen.
#[inline(always)]
pub fn hash_bits(bits: u64) -> u64 {
    let mixed = (bits ^ (bits >> 27)).wrapping_mul(0x3c79_ac49_2ba7_b653);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0x1c69_b3f7_4ac4_ae35);
    mixed ^ (mixed >> 27)
}

/// Joins the hash of a further column to that of the columns before it; the order counts.
#[inline(always)]
pub fn hash_combine(hash: u64, next: u64) -> u64 {
    folded_multiply(hash.rotate_left(23) ^ next, COMBINE)
}

/// The hash of a string.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = (bytes.len() as u64).wrapping_mul(MULTIPLIER) ^ 0x8bb8_4b93_962e_acc9;
    let (chunks, rest) = bytes.as_chunks::<16>();
    for chunk in chunks {
        hash = mix_chunk(hash, chunk);
    }
    if !rest.is_empty() {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        hash = mix_chunk(hash, &last);
    }
    hash ^ (hash >> 32)
}

#[inline(always)]
fn mix_chunk(hash: u64, chunk: &[u8; 16]) -> u64 {
    let bits = u128::from_le_bytes(*chunk);
    folded_multiply(hash ^ bits as u64, (bits >> 64) as u64 ^ MULTIPLIER).rotate_left(29) ^ hash
}

/// Hashes of fixed-width values.
pub fn hash_values<T: Ordered>(values: &[T], hashes: &mut [u64]) {
    assert_eq!(values.len(), hashes.len(), "one hash per value");
    for (value, hash) in values.iter().zip(hashes) {
        *hash = hash_bits(value.key_bits());
    }
}

/// Joins hashes of fixed-width values to those of the columns before.
pub fn hash_combine_values<T: Ordered>(values: &[T], hashes: &mut [u64]) {
    assert_eq!(values.len(), hashes.len(), "one hash per value");
    for (value, hash) in values.iter().zip(hashes) {
        *hash = hash_combine(*hash, hash_bits(value.key_bits()));
    }
}

/// Joins hashes to those of the columns before.
pub fn hash_combine_hashes(next: &[u64], hashes: &mut [u64]) {
    assert_eq!(next.len(), hashes.len(), "one hash per value");
    for (next, hash) in next.iter().zip(hashes) {
        *hash = hash_combine(*hash, *next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn near_values_have_distant_hashes() {
        let mut hashes = vec![0; 1 << 16];
        let values: Vec<i64> = (0..1 << 16).collect();
        hash_values(&values, &mut hashes);
        for shift in [0, 16, 32, 48] {
            let buckets: HashSet<u64> = hashes.iter().map(|it| it >> shift & 0xffff).collect();
            // A random function leaves 1/e of the buckets empty.
            let expected = (0.60 * 65536.0) as usize..(0.67 * 65536.0) as usize;
            assert!(expected.contains(&buckets.len()), "{shift}: {}", buckets.len());
        }
    }

    #[test]
    fn strings_with_a_common_part_differ() {
        let texts: HashSet<u64> =
            (0..10_000).map(|it| hash_bytes(format!("customer#{it:020}").as_bytes())).collect();
        assert_eq!(texts.len(), 10_000);
        assert_ne!(hash_bytes(b"a"), hash_bytes(b"a\0"));
        assert_ne!(hash_bytes(b""), hash_bytes(b"\0"));
    }

    #[test]
    fn order_of_columns_counts() {
        let (a, b) = (hash_bits(1), hash_bits(2));
        assert_ne!(hash_combine(a, b), hash_combine(b, a));
        let mut hashes = [a, b];
        hash_combine_values(&[2i32, 1], &mut hashes);
        assert_eq!(hashes, [hash_combine(a, b), hash_combine(b, a)]);
    }
}

//! Presto's hashes of values, by which it partitions rows.
//!
//! ```text
//! hash of a row    for each key: 31 * hash of the keys before + hash of the key, from 0; null: 0
//! bucket           the 32 bits (hash ^ hash >> 32), times the number of buckets, >> 32
//! integers, dates, times in milliseconds, bits of floats
//!                  rotate_left(value * C2B2AE3D27D4EB4F, 31) * 9E3779B185EBCA87
//! decimals up to 18 digits   the unscaled value
//! longer decimals  XXH64 of the lower 8 bytes ^ XXH64 of the upper 8 bytes of the magnitude
//! booleans         1231, 1237
//! texts, bytes     XXH64
//! ```
//!
//! These are `TypeUtils.hashPosition`, `CombineHashFunction` and `HashGenerator.getPartition` of
//! Presto 0.296. Values of other types have the engine's own hashes: workers of Volley agree on
//! them.

#[cfg(test)]
mod tests;

use twox_hash::XxHash64;
use volley_error::Result;
use volley_types::{Native, PhysicalType, Type};
use volley_vector::{Decoded, Vector};

/// Microseconds in a millisecond.
const MICROS: i64 = 1000;

/// The seed of XXH64.
const SEED: u64 = 0;

const TRUE_HASH: u64 = 1231;
const FALSE_HASH: u64 = 1237;

/// Combines the hashes of rows with those of a further key.
///
/// # Errors
///
/// What a lazy column reports.
pub(crate) fn combine_hashes(key: &Vector, hashes: &mut [u64]) -> Result<()> {
    let decoded = Decoded::new(key)?;
    match key.data_type() {
        Type::Boolean => combine(&decoded, hashes, |row| match decoded.boolean(row) {
            true => TRUE_HASH,
            false => FALSE_HASH,
        }),
        Type::TinyInt => combine_native(&decoded, hashes, |it: i8| hash_long(it.into())),
        Type::SmallInt => combine_native(&decoded, hashes, |it: i16| hash_long(it.into())),
        Type::Integer | Type::Date => {
            combine_native(&decoded, hashes, |it: i32| hash_long(it.into()));
        }
        Type::BigInt => combine_native(&decoded, hashes, hash_long),
        Type::Time | Type::Timestamp => {
            combine_native(&decoded, hashes, |it: i64| hash_long(it.div_euclid(MICROS)));
        }
        Type::Real => combine_native(&decoded, hashes, hash_real),
        Type::Double => combine_native(&decoded, hashes, hash_double),
        Type::Varchar | Type::Varbinary => {
            combine(&decoded, hashes, |row| XxHash64::oneshot(SEED, decoded.bytes(row)));
        }
        Type::Decimal { .. } => match key.data_type().physical() {
            PhysicalType::I64 => combine_native(&decoded, hashes, |it: i64| it as u64),
            _ => combine_native(&decoded, hashes, hash_long_decimal),
        },
        _ => {
            let mut own = vec![0; key.len()];
            volley_vector::hash_columns(std::slice::from_ref(key), &mut own)?;
            combine(&decoded, hashes, |row| own.get(row).copied().unwrap_or(0));
        }
    }
    Ok(())
}

/// The bucket of a row with this hash.
pub(crate) fn bucket_of(hash: u64, buckets: u32) -> u32 {
    let bits = (hash ^ (hash >> 32)) as u32;
    ((u64::from(bits) * u64::from(buckets)) >> 32) as u32
}

fn combine_native<T: Native>(decoded: &Decoded<'_>, hashes: &mut [u64], hash: impl Fn(T) -> u64) {
    let values = decoded.native::<T>();
    combine(decoded, hashes, |row| values.get(decoded.index(row)).map_or(0, |it| hash(*it)));
}

/// `hash` is called for rows that are not null.
fn combine(decoded: &Decoded<'_>, hashes: &mut [u64], hash: impl Fn(usize) -> u64) {
    let has_nulls = decoded.has_nulls();
    for (row, combined) in hashes.iter_mut().enumerate() {
        let of_value = if has_nulls && decoded.is_null(row) { 0 } else { hash(row) };
        *combined = combined.wrapping_mul(31).wrapping_add(of_value);
    }
}

fn hash_long(value: i64) -> u64 {
    let mixed = (value as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    mixed.rotate_left(31).wrapping_mul(0x9e37_79b1_85eb_ca87)
}

/// -0.0 has the hash of 0.0, and all NaNs have one.
fn hash_double(value: f64) -> u64 {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
    hash_long(bits as i64)
}

fn hash_real(value: f32) -> u64 {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits: u32 = if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
    hash_long(i64::from(bits as i32))
}

fn hash_long_decimal(value: i128) -> u64 {
    let magnitude = value.unsigned_abs();
    let [low, high] = [magnitude as u64, (magnitude >> 64) as u64];
    XxHash64::oneshot(SEED, &low.to_le_bytes()) ^ XxHash64::oneshot(SEED, &high.to_le_bytes())
}

//! Hashes and buckets of values, alone or in arrays.

use crate::doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{ArrayView, ArrayWriter},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let description = "A hash of an id, or of each id of an array, from 0 to below max_value. Equal \
                       ids have other hashes with another salt.";
    registry.simple(
        "sigrid_hash",
        doc("sigrid_hash(ids, salt, max_value) -> bigint or array(bigint)", description),
        |id: i64, salt: i64, max_value: i64| sigrid_hash(id, salt, max_value),
    );
    registry.simple(
        "sigrid_hash",
        FunctionDoc::default(),
        |ids: ArrayView<i64>, salt: i64, max_value: i64, out: &mut ArrayWriter<i64>| {
            hash_all(ids, salt, max_value, out)
        },
    );
    let description = "The number of borders that are less than a value, or than each value of an \
                       array: 0 for values up to the first border. Borders must not decrease.";
    registry.simple(
        "bucketize",
        doc("bucketize(values, borders) -> integer or array(integer)", description),
        |value: f64, borders: ArrayView<f64>| bucket(value, borders),
    );
    registry.simple(
        "bucketize",
        FunctionDoc::default(),
        |values: ArrayView<f64>, borders: ArrayView<f64>, out: &mut ArrayWriter<i32>| {
            let found: Option<Vec<i32>> =
                values.iter().map(|it| it.and_then(|it| bucket(it, borders))).collect();
            found.map(|found| out.extend(found))
        },
    );
}

fn hash_all(
    ids: ArrayView<i64>,
    salt: i64,
    max_value: i64,
    out: &mut ArrayWriter<i64>,
) -> Result<Option<()>> {
    if ids.iter().any(|it| it.is_none()) {
        return Ok(None);
    }
    for id in ids.iter().flatten() {
        out.push(sigrid_hash(id, salt, max_value)?);
    }
    Ok(Some(()))
}

/// The hash of an id and a salt, as a remainder that is never negative.
fn sigrid_hash(id: i64, salt: i64, max_value: i64) -> Result<i64> {
    if max_value <= 0 {
        return Err(Error::invalid_value("max_value of sigrid_hash must be greater than 0"));
    }
    let hash = combine(salt as u64, mix(id as u64)) as i64;
    Ok(hash.rem_euclid(max_value))
}

/// Thomas Wang's mix of 64 bits ("Integer Hash Function", 2007).
fn mix(key: u64) -> u64 {
    let key = (!key).wrapping_add(key << 21);
    let key = key ^ key >> 24;
    let key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    let key = key ^ key >> 14;
    let key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    let key = key ^ key >> 28;
    key.wrapping_add(key << 31)
}

/// Two hashes of 64 bits as one (CityHash, `Hash128to64`).
fn combine(upper: u64, lower: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;
    let a = (lower ^ upper).wrapping_mul(MULTIPLIER);
    let a = a ^ a >> 47;
    let b = (upper ^ a).wrapping_mul(MULTIPLIER);
    let b = b ^ b >> 47;
    b.wrapping_mul(MULTIPLIER)
}

/// How many borders are less than the value; all for NaN. `None` for a null border.
fn bucket(value: f64, borders: ArrayView<f64>) -> Option<i32> {
    let (mut low, mut high) = (0, borders.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if value <= borders.get(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    i32::try_from(low).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_torcharrow() {
        let found = (1..=16).map(|it| sigrid_hash(it, 0, 100).unwrap());
        let expected = [60, 54, 54, 9, 4, 91, 11, 67, 79, 2, 25, 92, 98, 83, 66, 2];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn hashes_are_in_range_and_depend_on_the_salt() {
        for id in [i64::MIN, -1, 0, 1, i64::MAX] {
            for max_value in [1, 2, 7, 1 << 40, i64::MAX] {
                let hash = sigrid_hash(id, 5, max_value).unwrap();
                assert!((0..max_value).contains(&hash), "{id} {max_value}: {hash}");
            }
        }
        assert_ne!(sigrid_hash(1, 1, 1 << 40).unwrap(), sigrid_hash(1, 2, 1 << 40).unwrap());
        assert!(sigrid_hash(1, 0, 0).is_err());
        assert!(sigrid_hash(1, 0, -5).is_err());
    }
}

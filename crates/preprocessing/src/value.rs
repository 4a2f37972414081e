//! Hashes and buckets of values, alone or in arrays.

use crate::{
    constant::{for_constants, loop_of},
    doc,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry, ScalarFunction,
    simple::{ArrayView, ArrayWriter},
};
use volley_types::{Type, Value};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let description = "A hash of an id, or of each id of an array, from 0 to below max_value. Equal \
                       ids have other hashes with another salt.";
    registry.add_scalar(
        "sigrid_hash",
        doc("sigrid_hash(ids, salt, max_value) -> bigint or array(bigint)", description),
        for_constants(
            |id: i64, salt: i64, max_value: i64| sigrid_hash(id, salt, max_value),
            hash_loop,
        ),
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
    registry.add_scalar(
        "bucketize",
        doc("bucketize(values, borders) -> integer or array(integer)", description),
        for_constants(|value: f64, borders: ArrayView<f64>| bucket(value, borders), bucket_loop),
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

/// The loop of [`sigrid_hash`] for a constant salt and a constant maximum.
fn hash_loop(constants: &[Value]) -> Option<Arc<dyn ScalarFunction>> {
    let &[Value::BigInt(salt), Value::BigInt(max_value)] = constants else { return None };
    let remainder = Remainder::new(u64::try_from(max_value).ok().filter(|it| *it > 0)?);
    let hash = move |id: i64| remainder.of(combine(salt as u64, mix(id as u64)) as i64) as i64;
    loop_of(hash, &Type::BigInt)
}

/// A divisor with its reciprocal, for remainders without a division: loops over them become vector
/// instructions.
#[derive(Clone, Copy)]
struct Remainder {
    divisor: u64,
    /// (2^64 - 1) / divisor, so that the upper half of a product with it is the quotient, or one
    /// less.
    reciprocal: u64,
    /// 2^64 modulo the divisor.
    of_2_to_64: u64,
}

impl Remainder {
    /// Remainders of a divisor from 1 to 2^63 - 1.
    fn new(divisor: u64) -> Remainder {
        let of_max = u64::MAX % divisor;
        let of_2_to_64 = (of_max + 1) % divisor;
        Remainder { divisor, reciprocal: u64::MAX / divisor, of_2_to_64 }
    }

    /// The remainder of a number, which is not negative.
    #[inline(always)]
    fn of(self, number: i64) -> u64 {
        let bits = number as u64;
        let quotient = upper_half(bits, self.reciprocal);
        let remainder = bits.wrapping_sub(quotient.wrapping_mul(self.divisor));
        let remainder = below(remainder, self.divisor);
        // The bits of a negative number are 2^64 too many.
        let excess = if number < 0 { self.of_2_to_64 } else { 0 };
        below(remainder.wrapping_add(self.divisor).wrapping_sub(excess), self.divisor)
    }
}

/// `number` modulo `divisor`, for numbers less than twice the divisor.
#[inline(always)]
fn below(number: u64, divisor: u64) -> u64 {
    // Whichever is less: the difference of a smaller number wraps around.
    number.min(number.wrapping_sub(divisor))
}

/// The upper 64 bits of a product, from products of 32 bits, which vector instructions have.
#[inline(always)]
fn upper_half(a: u64, b: u64) -> u64 {
    const LOW: u64 = 0xffff_ffff;
    let (a_high, a_low, b_high, b_low) = (a >> 32, a & LOW, b >> 32, b & LOW);
    let middle = a_high.wrapping_mul(b_low).wrapping_add(a_low.wrapping_mul(b_low) >> 32);
    let other = a_low.wrapping_mul(b_high).wrapping_add(middle & LOW);
    a_high.wrapping_mul(b_high).wrapping_add(middle >> 32).wrapping_add(other >> 32)
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

/// The loop of [`bucket`] for few constant borders, in ascending order: it compares a value with
/// all of them.
fn bucket_loop(constants: &[Value]) -> Option<Arc<dyn ScalarFunction>> {
    let [Value::Array(borders)] = constants else { return None };
    let border = |it: &Value| match it {
        Value::Double(it) if !it.is_nan() => Some(*it),
        _ => None,
    };
    let borders = borders.iter().map(border).collect::<Option<Vec<_>>>()?;
    match borders.len() {
        0..=4 => compared_with_all::<4>(&borders),
        5..=8 => compared_with_all::<8>(&borders),
        9..=16 => compared_with_all::<16>(&borders),
        _ => None,
    }
}

fn compared_with_all<const N: usize>(borders: &[f64]) -> Option<Arc<dyn ScalarFunction>> {
    if !borders.is_sorted() {
        return None;
    }
    let mut all = [f64::INFINITY; N];
    all.get_mut(..borders.len())?.copy_from_slice(borders);
    let count = i32::try_from(borders.len()).ok()?;
    let bucket = move |value: f64| {
        // Only NaN is not up to infinity.
        let passed = all.iter().map(|it| i32::from(value > *it || value.is_nan())).sum::<i32>();
        passed.min(count)
    };
    loop_of(bucket, &Type::Double)
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
    use volley_function::{Argument, EvalContext};
    use volley_vector::{Rows, Vector};

    #[test]
    fn hashes_are_those_of_torcharrow() {
        let found = (1..=16).map(|it| sigrid_hash(it, 0, 100).unwrap());
        let expected = [60, 54, 54, 9, 4, 91, 11, 67, 79, 2, 25, 92, 98, 83, 66, 2];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    /// The function of one argument over all values, by the loop for constants.
    fn over<T: Copy>(
        function: &Arc<dyn ScalarFunction>,
        argument: Type,
        result: &Type,
        values: &[T],
        value: impl Fn(T) -> Value,
    ) -> Vec<Value> {
        let values: Vec<Value> = values.iter().map(|it| value(*it)).collect();
        let vector = Vector::from_values(argument, &values);
        let rows = Rows::all(values.len());
        let found = function.evaluate(&rows, &[vector], result, &mut EvalContext::default());
        found.unwrap().to_values().unwrap()
    }

    #[test]
    fn the_loop_over_hashes_agrees_with_the_function() {
        let mut ids = vec![i64::MIN, -1, 0, 1, i64::MAX];
        ids.extend((0..3000).map(|it: i64| it.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)));
        for max_value in [1, 2, 3, 7, 100, 1_000_000, 1 << 31, (1 << 32) + 15, 1 << 40, i64::MAX] {
            for salt in [0, 7, -1, i64::MIN] {
                let made = hash_loop(&[Value::BigInt(salt), Value::BigInt(max_value)]).unwrap();
                let found = over(&made, Type::BigInt, &Type::BigInt, &ids, Value::BigInt);
                let expected = ids.iter().map(|it| sigrid_hash(*it, salt, max_value).unwrap());
                assert_eq!(found, expected.map(Value::BigInt).collect::<Vec<_>>(), "{max_value}");
            }
        }
        assert!(hash_loop(&[Value::BigInt(0), Value::BigInt(0)]).is_none());
        assert!(hash_loop(&[Value::BigInt(0), Value::Null]).is_none());
    }

    #[test]
    fn remainders_are_those_of_a_division() {
        let numbers = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 6, 1 << 32, i64::MAX - 1, i64::MAX];
        for divisor in [1, 2, 3, 5, 1 << 32, (1 << 32) + 1, i64::MAX - 1, i64::MAX] {
            let remainder = Remainder::new(divisor as u64);
            for number in numbers.iter().copied().chain((-500..500).map(|it| it * 0x0102_0304_0506))
            {
                assert_eq!(
                    remainder.of(number) as i64,
                    number.rem_euclid(divisor),
                    "{number} {divisor}"
                );
            }
        }
        let pairs =
            [(u64::MAX, u64::MAX), (u64::MAX, 1), (1 << 63, 2), (0x1234_5678_9abc_def0, 77)];
        for (a, b) in pairs {
            assert_eq!(upper_half(a, b), ((u128::from(a) * u128::from(b)) >> 64) as u64);
        }
    }

    #[test]
    fn the_loop_over_borders_agrees_with_a_search() {
        let values = [
            f64::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            0.5,
            1.0,
            2.0,
            2.5,
            1e300,
            f64::INFINITY,
            f64::NAN,
        ];
        for count in [1, 2, 4, 5, 8, 9, 16] {
            let mut borders: Vec<f64> = (0..count).map(|it| it as f64 * 0.5).collect();
            if count > 2 {
                borders[count - 1] = f64::INFINITY;
            }
            let constant = Value::Array(borders.iter().map(|it| Value::Double(*it)).collect());
            let made = bucket_loop(&[constant]).unwrap();
            let found = over(&made, Type::Double, &Type::Integer, &values, Value::Double);
            let is_less = |border: f64, value: f64| {
                border.partial_cmp(&value).is_none_or(std::cmp::Ordering::is_lt)
            };
            let less = |value| borders.iter().filter(|it| is_less(**it, value)).count() as i32;
            let expected: Vec<_> = values.iter().map(|it| Value::Integer(less(*it))).collect();
            assert_eq!(found, expected, "{count} borders");
        }
        let array = |values: &[Value]| Value::Array(values.into());
        assert!(bucket_loop(&[array(&[Value::Null])]).is_none());
        assert!(bucket_loop(&[array(&[Value::Double(2.0), Value::Double(1.0)])]).is_none());
        assert!(bucket_loop(&[array(&vec![Value::Double(0.0); 17])]).is_none());
    }

    #[test]
    fn constants_choose_the_loops() {
        let mut registry = Registry::new();
        register(&mut registry);
        let bound =
            registry.resolve_scalar("sigrid_hash", &[Type::BigInt, Type::BigInt, Type::BigInt]);
        let argument = |constant| Argument { data_type: Type::BigInt, constant };
        let number = |it| argument(Some(Value::BigInt(it)));
        let specialize =
            |args: &[Argument]| bound.as_ref().unwrap().function.specialize(args).unwrap();
        assert!(specialize(&[argument(None), number(1), number(100)]).is_some());
        assert!(specialize(&[argument(None), number(1), argument(None)]).is_none());
        assert!(specialize(&[argument(None), number(1), number(0)]).is_none());
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

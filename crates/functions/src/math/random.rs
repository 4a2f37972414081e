//! A different value in every row: `random`, `uuid`.

use crate::documentation::doc;
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
};
use volley_function::{BoundScalar, EvalContext, Registry, ScalarTraits, simple};
use volley_types::{
    Type,
    custom::{Uuid, stored_bits},
};
use volley_vector::Vector;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "random() -> double",
        "A random number from 0 up to, but without, 1.",
        "math",
        &[("random() < 1", "true")],
    );
    registry.add_scalar("random", doc, Arc::new(bind));
    let uuid = crate::documentation::doc(
        "uuid() -> uuid",
        "A random UUID (version 4).",
        "math",
        &[("length(cast(uuid() AS VARCHAR))", "36")],
    );
    for name in ["uuid", "gen_random_uuid", "uuidv4"] {
        registry.add_scalar(name, uuid.clone(), Arc::new(bind_uuid));
    }
}

fn bind_uuid(args: &[Type]) -> Option<BoundScalar> {
    let function = simple::vectorized(|rows, _, to, _: &mut EvalContext| {
        let mut seeds =
            [RandomState::new(), RandomState::new()].map(|it| it.build_hasher().finish());
        let mut next = || {
            let [high, low] = seeds.each_mut().map(|it| u128::from(split_mix(it)));
            stored_bits(version_4(high << 64 | low))
        };
        let values: Vec<i128> = (0..rows.len()).map(|_| next()).collect();
        Ok(Vector::native::<i128>(to.clone(), values, None))
    });
    args.is_empty().then(|| BoundScalar {
        name: String::new(),
        args: Vec::new(),
        result: Uuid::data_type(),
        traits: ScalarTraits { deterministic: false, ..ScalarTraits::INFALLIBLE },
        function,
    })
}

/// The bits with the version and variant of a random UUID (RFC 9562, section 5.4).
fn version_4(bits: u128) -> u128 {
    const VERSION: u128 = 0xF << 76;
    const VARIANT: u128 = 0x3 << 62;
    bits & !(VERSION | VARIANT) | 0x4 << 76 | 0x2 << 62
}

fn bind(args: &[Type]) -> Option<BoundScalar> {
    let function = simple::vectorized(|rows, _, _, _: &mut EvalContext| {
        // Seeded by the system for each batch.
        let mut state = RandomState::new().build_hasher().finish();
        let values: Vec<f64> = (0..rows.len()).map(|_| unit(split_mix(&mut state))).collect();
        Ok(Vector::native::<f64>(Type::Double, values, None))
    });
    args.is_empty().then(|| BoundScalar {
        name: String::new(),
        args: Vec::new(),
        result: Type::Double,
        traits: ScalarTraits { deterministic: false, ..ScalarTraits::INFALLIBLE },
        function,
    })
}

/// SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut x = *state;
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// The top 53 bits as a fraction.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

//! The hashes that plans of Presto compute by themselves: `xxhash64_internal` of a value of any
//! simple type, and `combine_hash_internal`.

use super::doc;
use twox_hash::XxHash64;
use volley_function::{
    FunctionDoc, Registry,
    simple::{DateDays, TimestampMicros, scalar},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let hash = doc(
        "xxhash64_internal(x) -> bigint",
        "The XXH64 hash of a value: of its bytes, or of the eight bytes of an integer, the least \
         significant first. That of a TIMESTAMP is of its milliseconds.",
        &[("xxhash64_internal(0)", "3803688792395291579")],
    );
    registry.simple("presto.xxhash64_internal", hash, of_integer);
    let mut add = |function| {
        let function: volley_function::simple::Simple = function;
        let (name, none) = ("presto.xxhash64_internal", FunctionDoc::default());
        registry.add_scalar(name, none, function.into_bind());
    };
    add(scalar(|x: i8| of_integer(x.into())));
    add(scalar(|x: i16| of_integer(x.into())));
    add(scalar(|x: i32| of_integer(x.into())));
    add(scalar(|x: bool| of_integer(x.into())));
    add(scalar(|x: DateDays| of_integer(x.0.into())));
    add(scalar(|x: TimestampMicros| of_integer(x.0.div_euclid(1000))));
    add(scalar(|x: &str| of_bytes(x.as_bytes())));
    add(scalar(of_bytes));
    // Equal numbers have equal hashes: all NaN, and both zeros.
    add(scalar(|x: f32| {
        let x = if x.is_nan() { f32::NAN } else { x + 0.0 };
        of_bytes(&x.to_le_bytes())
    }));
    add(scalar(|x: f64| {
        let x = if x.is_nan() { f64::NAN } else { x + 0.0 };
        of_bytes(&x.to_le_bytes())
    }));
    let combine = doc(
        "combine_hash_internal(bigint, bigint) -> bigint",
        "31 times the first hash plus the second one, in 64 bits.",
        &[("combine_hash_internal(2, 5)", "67")],
    );
    registry.simple("presto.combine_hash_internal", combine, |hash: i64, next: i64| {
        hash.wrapping_mul(31).wrapping_add(next)
    });
}

fn of_integer(x: i64) -> i64 {
    of_bytes(&x.to_le_bytes())
}

fn of_bytes(bytes: &[u8]) -> i64 {
    XxHash64::oneshot(0, bytes) as i64
}

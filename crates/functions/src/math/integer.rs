//! Functions on integers: `gcd`, `lcm`, `factorial`.

use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{BigInt, HugeInt, Integer, binary, unary},
};

/// Registers the functions on integers.
pub(super) fn register(registry: &mut Registry) {
    let gcd_doc = doc(
        "gcd(bigint, bigint) -> bigint",
        "The greatest common divisor.",
        "math",
        &[("gcd(42, 57)", "3")],
    );
    for name in ["gcd", "greatest_common_divisor"] {
        let bind = binary::<BigInt, BigInt, BigInt, _>(|a: i64, b: i64| {
            narrow(gcd(a.into(), b.into()), "gcd")
        });
        registry.add_scalar(name, gcd_doc.clone(), bind);
    }
    let lcm_doc = doc(
        "lcm(bigint, bigint) -> bigint",
        "The least common multiple.",
        "math",
        &[("lcm(42, 57)", "798")],
    );
    for name in ["lcm", "least_common_multiple"] {
        let bind = binary::<BigInt, BigInt, BigInt, _>(|a: i64, b: i64| {
            let (a, b) = (i128::from(a), i128::from(b));
            let divisor = gcd(a, b);
            narrow(if divisor == 0 { 0 } else { (a / divisor * b).abs() }, "lcm")
        });
        registry.add_scalar(name, lcm_doc.clone(), bind);
    }
    let factorial_doc = doc(
        "factorial(integer) -> hugeint",
        "The product of the integers from 1 up to it.",
        "math",
        &[("factorial(5)", "120")],
    );
    registry.add_scalar("factorial", factorial_doc, unary::<Integer, HugeInt, _>(factorial));
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn narrow(value: i128, name: &str) -> Result<i64, Error> {
    i64::try_from(value).map_err(|_| Error::invalid_value(format!("overflow in {name}")))
}

fn factorial(value: i32) -> Result<i128, Error> {
    if value < 0 {
        let message = format!("factorial of a negative number: {value}");
        return Err(Error::invalid_value(message));
    }
    let product = (2..=i128::from(value)).try_fold(1i128, i128::checked_mul);
    product.ok_or_else(|| Error::invalid_value(format!("overflow in factorial: {value}")))
}

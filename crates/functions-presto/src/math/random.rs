//! `random` and `secure_random`.

use super::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{Simple, scalar, vectorized},
};
use volley_types::Type;
use volley_vector::Vector;

/// Registers `random`, `secure_random` and their short names.
pub(super) fn register(registry: &mut Registry) {
    let random = doc(
        "random([[low, ]high]) -> double or as the bounds",
        "A random number from 0 up to, but without, 1; or a random integer from 0 or `low` up to, \
         but without, `high`.",
        &[("random() < 1", "true"), ("random(1)", "0"), ("random(5, 6)", "5")],
    );
    let secure = doc(
        "secure_random([low, high]) -> double or as the bounds",
        "A random number from 0 up to, but without, 1, or from `low` up to, but without, `high`, \
         made by the operating system's generator for cryptography.",
        &[("secure_random() < 1", "true"), ("secure_random(5, 6)", "5")],
    );
    for name in ["random", "rand"] {
        add(registry, name, &random, of_rows(|| Ok(fastrand::f64())));
        for bind in integers(|span| Ok(fastrand::u64(..span))) {
            add(registry, name, &FunctionDoc::default(), bind);
        }
    }
    for name in ["secure_random", "secure_rand"] {
        add(registry, name, &secure, of_rows(|| Ok(unit(secure_bits()?))));
        for bind in ranges(secure_below) {
            add(registry, name, &FunctionDoc::default(), bind);
        }
        let between = |low: f64, high: f64| -> Result<f64> {
            check_range(low < high)?;
            let value = low + unit(secure_bits()?) * (high - low);
            // Rounding may lead to the bound.
            Ok(if value < high { value } else { high.next_down() })
        };
        add(registry, name, &FunctionDoc::default(), bound(scalar(between)));
    }
}

fn add(registry: &mut Registry, name: &str, doc: &FunctionDoc, bind: BindScalar) {
    registry.add_scalar(&format!("presto.{name}"), doc.clone(), bind);
}

fn bound(function: Simple) -> BindScalar {
    function.nondeterministic().into_bind()
}

/// A function without arguments: another value in every row.
fn of_rows(next: fn() -> Result<f64>) -> BindScalar {
    let function = vectorized(move |rows, _, _, _: &mut EvalContext| {
        let values = (0..rows.len()).map(|_| next()).collect::<Result<Vec<f64>>>()?;
        Ok(Vector::native::<f64>(Type::Double, values, None))
    });
    let traits = ScalarTraits { deterministic: false, ..ScalarTraits::DEFAULT };
    Arc::new(move |args: &[Type]| {
        let function = Arc::clone(&function);
        args.is_empty().then(|| BoundScalar::new(Vec::new(), Type::Double, traits, function))
    })
}

/// The functions of a bound and of two bounds, for integers of all widths; `below` makes a number
/// below another one that is not 0.
fn integers(below: fn(u64) -> Result<u64>) -> Vec<BindScalar> {
    let upto = move |high: i64| -> Result<i64> {
        if high > 0 {
            return Ok(below(high as u64)? as i64);
        }
        Err(Error::invalid_value(format!("bound must be positive, not {high}")))
    };
    let mut functions = vec![
        bound(scalar(move |high: i8| upto(high.into()).map(|it| it as i8))),
        bound(scalar(move |high: i16| upto(high.into()).map(|it| it as i16))),
        bound(scalar(move |high: i32| upto(high.into()).map(|it| it as i32))),
        bound(scalar(upto)),
    ];
    functions.extend(ranges(below));
    functions
}

/// The functions of two bounds. Results lie between them, and so are of their type.
fn ranges(below: fn(u64) -> Result<u64>) -> Vec<BindScalar> {
    let between = move |low: i64, high: i64| -> Result<i64> {
        check_range(low < high)?;
        Ok(low.wrapping_add(below(high.wrapping_sub(low) as u64)? as i64))
    };
    vec![
        bound(scalar(move |low: i8, high: i8| between(low.into(), high.into()).map(|it| it as i8))),
        bound(scalar(move |low: i16, high: i16| {
            between(low.into(), high.into()).map(|it| it as i16)
        })),
        bound(scalar(move |low: i32, high: i32| {
            between(low.into(), high.into()).map(|it| it as i32)
        })),
        bound(scalar(between)),
    ]
}

fn check_range(is_range: bool) -> Result<()> {
    let error = || Error::invalid_value("upper bound must be greater than lower bound");
    if is_range { Ok(()) } else { Err(error()) }
}

fn secure_bits() -> Result<u64> {
    getrandom::u64().map_err(|error| {
        Error::internal("the operating system gives no random numbers").at("error", error)
    })
}

/// A number below `span`; those of the last, incomplete span of all bits are drawn again.
fn secure_below(span: u64) -> Result<u64> {
    let rest = (u64::MAX % span + 1) % span;
    loop {
        let bits = secure_bits()?;
        if bits <= u64::MAX - rest {
            return Ok(bits % span);
        }
    }
}

/// The top 53 bits as a fraction.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

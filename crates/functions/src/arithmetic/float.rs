//! Floats, by IEEE 754.

use super::{Operator, division_by_zero, double::DoubleOperator};
use std::sync::Arc;
use volley_function::{
    BoundScalar, ScalarFunction, ScalarTraits, block_binary,
    simple::{Double, Real, function1, function2, with_block},
};
use volley_types::Type;

/// A sum, difference or product of floats of type `common`, in both widths.
pub(super) fn bind_operator(
    operator: Operator,
    common: Type,
    narrow: impl Fn(f32, f32) -> f32 + Copy + Send + Sync + 'static,
    wide: impl Fn(f64, f64) -> f64 + Copy + Send + Sync + 'static,
) -> Option<BoundScalar> {
    match common {
        Type::Double => {
            let function = function2::<Double, Double, Double, _>(wide);
            bound(common, with_block(function, DoubleOperator(operator)))
        }
        _ => bind(common, narrow, wide),
    }
}

/// A function of two floats of type `common`, in both widths.
pub(super) fn bind(
    common: Type,
    narrow: impl Fn(f32, f32) -> f32 + Copy + Send + Sync + 'static,
    wide: impl Fn(f64, f64) -> f64 + Copy + Send + Sync + 'static,
) -> Option<BoundScalar> {
    let function = match common {
        Type::Real => {
            let function = function2::<Real, Real, Real, _>(narrow);
            with_block(function, block_binary(move |a: f32, b: f32| (narrow(a, b), false)))
        }
        _ => {
            let function = function2::<Double, Double, Double, _>(wide);
            with_block(function, block_binary(move |a: f64, b: f64| (wide(a, b), false)))
        }
    };
    bound(common, function)
}

fn bound(common: Type, function: Arc<dyn ScalarFunction>) -> Option<BoundScalar> {
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::INFALLIBLE, function))
}

/// `//`: the quotient, an error for a zero divisor.
pub(super) fn bind_checked_divide(common: Type) -> Option<BoundScalar> {
    let function = match common {
        Type::Real => function2::<Real, Real, Real, _>(|a: f32, b: f32| {
            if b == 0.0 { Err(division_by_zero()) } else { Ok(a / b) }
        }),
        _ => function2::<Double, Double, Double, _>(|a: f64, b: f64| {
            if b == 0.0 { Err(division_by_zero()) } else { Ok(a / b) }
        }),
    };
    Some(BoundScalar::new(vec![common.clone(); 2], common, ScalarTraits::DEFAULT, function))
}

/// The negative float.
pub(super) fn bind_negate(data_type: Type) -> Option<BoundScalar> {
    let function = match data_type {
        Type::Real => function1::<Real, Real, _>(|a: f32| -a),
        _ => function1::<Double, Double, _>(|a: f64| -a),
    };
    Some(BoundScalar::new(vec![data_type.clone()], data_type, ScalarTraits::INFALLIBLE, function))
}

//! Decimals: exact sums and products of unscaled integers.
//!
//! ```text
//! a(p1,s1) ± b(p2,s2)   scale s = max(s1, s2), precision max(p1-s1, p2-s2) + s + 1
//! a(p1,s1) * b(p2,s2)   scale s1 + s2, precision p1 + p2; cut to 18 when both have at most 18
//!                       digits (so that the product stays in 64 bits) and else to 38
//! ```
//!
//! Where the precision was cut, rows are checked; elsewhere the result always fits. Operands stay
//! in their own scale: the loop multiplies by powers of ten. Each operand and the result are 64 or
//! 128 bits wide, and each combination gets its own loop.

use super::{Operator, integer::BlockProduct};
use std::sync::Arc;
use volley_function::{BoundScalar, ScalarFunction, ScalarTraits, block_binary, simple};
use volley_types::{DECIMAL_PRECISION_MAX, Native, Type, text::push_decimal};

/// The maximum number of digits of a 64-bit decimal.
const PRECISION_I64: u8 = 18;

/// Precision and scale.
type Shape = (u8, u8);

fn decimal((precision, scale): Shape) -> Type {
    Type::Decimal { precision, scale }
}

/// `+` or `-`.
pub(super) fn bind_sum(operator: Operator, left: Shape, right: Shape) -> Option<BoundScalar> {
    let scale = left.1.max(right.1);
    let needed = (left.0 - left.1).max(right.0 - right.1) + scale + 1;
    let precision = needed.min(DECIMAL_PRECISION_MAX);
    let result = decimal((precision, scale));
    let plan = Plan {
        operator,
        left,
        right,
        left_factor: power_of_ten(scale - left.1),
        right_factor: power_of_ten(scale - right.1),
        limit: (needed > precision).then(|| power_of_ten(precision)),
    };
    bind(plan, result)
}

/// `*`.
pub(super) fn bind_product(left: Shape, right: Shape) -> Option<BoundScalar> {
    let scale = left.1 + right.1;
    let needed = left.0 + right.0;
    if scale > DECIMAL_PRECISION_MAX {
        return None;
    }
    let stays_narrow = left.0.max(right.0) <= PRECISION_I64 && scale < PRECISION_I64;
    let precision_max = if stays_narrow { PRECISION_I64 } else { DECIMAL_PRECISION_MAX };
    let precision = needed.min(precision_max);
    let limit = (needed > precision).then(|| power_of_ten(precision));
    let plan =
        Plan { operator: Operator::Multiply, left, right, left_factor: 1, right_factor: 1, limit };
    bind(plan, decimal((precision, scale)))
}

fn power_of_ten(exponent: u8) -> i128 {
    10i128.pow(exponent.into())
}

/// What a loop needs.
#[derive(Clone, Copy)]
struct Plan {
    operator: Operator,
    left: Shape,
    right: Shape,
    left_factor: i128,
    right_factor: i128,
    /// Results must be below this; `None` when they always are.
    limit: Option<i128>,
}

fn bind(plan: Plan, result: Type) -> Option<BoundScalar> {
    let is_wide = |shape: Shape| shape.0 > PRECISION_I64;
    let result_is_wide =
        matches!(&result, Type::Decimal { precision, .. } if is_wide((*precision, 0)));
    let function = match (is_wide(plan.left), is_wide(plan.right), result_is_wide) {
        (false, false, false) => narrow(plan),
        (false, false, true) => wide::<i64, i64>(plan),
        (true, false, _) => wide::<i128, i64>(plan),
        (false, true, _) => wide::<i64, i128>(plan),
        (true, true, _) => wide::<i128, i128>(plan),
    };
    let traits = match plan.limit {
        Some(_) => ScalarTraits::DEFAULT,
        None => ScalarTraits::INFALLIBLE,
    };
    Some(BoundScalar::new(vec![decimal(plan.left), decimal(plan.right)], result, traits, function))
}

/// All in 64 bits. Without a limit nothing can overflow: sums have at most 18 digits then.
fn narrow(plan: Plan) -> Arc<dyn ScalarFunction> {
    let (left, right) = (plan.left_factor as i64, plan.right_factor as i64);
    // Rows that are not active hold anything, so that the arithmetic wraps.
    match (plan.operator, plan.limit) {
        (Operator::Plus, _) => unchecked::<i64, i64, i64>(move |a, b| {
            a.wrapping_mul(left).wrapping_add(b.wrapping_mul(right))
        }),
        (Operator::Minus, _) => unchecked::<i64, i64, i64>(move |a, b| {
            a.wrapping_mul(left).wrapping_sub(b.wrapping_mul(right))
        }),
        (_, None) => unchecked::<i64, i64, i64>(i64::wrapping_mul),
        (_, Some(limit)) => product_below(plan, limit as i64),
    }
}

/// Products are not checked where the arguments' magnitudes say that all are below the limit.
fn product_below(plan: Plan, limit: i64) -> Arc<dyn ScalarFunction> {
    let checked = checked::<i64, i64, i64>(plan, move |a, b| {
        let (product, overflow) = a.overflowing_mul(b);
        (product, overflow | (product >= limit) | (product <= -limit))
    });
    // 2^bits is below the limit.
    simple::with_block(checked, BlockProduct { bits: (limit - 1).ilog2() })
}

/// A result in 128 bits.
fn wide<A: Native + Into<i128>, B: Native + Into<i128>>(plan: Plan) -> Arc<dyn ScalarFunction> {
    let (left, right) = (plan.left_factor, plan.right_factor);
    match (plan.operator, plan.limit) {
        (Operator::Plus, None) => unchecked::<A, B, i128>(move |a, b| {
            a.into().wrapping_mul(left).wrapping_add(b.into().wrapping_mul(right))
        }),
        (Operator::Minus, None) => unchecked::<A, B, i128>(move |a, b| {
            a.into().wrapping_mul(left).wrapping_sub(b.into().wrapping_mul(right))
        }),
        (_, None) => unchecked::<A, B, i128>(|a, b| a.into().wrapping_mul(b.into())),
        (operator, Some(limit)) => checked::<A, B, i128>(plan, move |a, b| {
            let (a, first) = a.into().overflowing_mul(left);
            let (b, second) = b.into().overflowing_mul(right);
            let (value, third) = match operator {
                Operator::Plus => a.overflowing_add(b),
                Operator::Minus => a.overflowing_sub(b),
                _ => a.overflowing_mul(b),
            };
            (value, first | second | third | (value >= limit) | (value <= -limit))
        }),
    }
}

fn unchecked<A: Native, B: Native, R: Native + simple::Plain>(
    f: impl Fn(A, B) -> R + Copy + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction>
where
    R: simple::Stored<simple::NativeColumn<R>>,
{
    type Marker<T> = simple::Physical<T>;
    let function = simple::function2::<Marker<A>, Marker<B>, Marker<R>, R>(f);
    simple::with_block(function, block_binary(move |a, b| (f(a, b), false)))
}

fn checked<A: Native + Into<i128>, B: Native + Into<i128>, R: Native>(
    plan: Plan,
    f: impl Fn(A, B) -> (R, bool) + Copy + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction>
where
    R: simple::Stored<simple::NativeColumn<R>>,
{
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let error = |a: A, b: B| {
            let left = text(a.into(), plan.left);
            plan.operator.overflow(to, left, text(b.into(), plan.right))
        };
        type Marker<T> = simple::Physical<T>;
        simple::map_checked2::<Marker<A>, Marker<B>, Marker<R>, R>(rows, args, to, ctx, &f, error)
    });
    simple::with_block(function, block_binary(f))
}

fn text(unscaled: i128, (precision, scale): Shape) -> String {
    let mut out = String::new();
    push_decimal(&mut out, unscaled, precision, scale);
    out
}

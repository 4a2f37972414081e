//! Arrays of numbers: sums, the average, norms.

use super::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, BoundScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, ArrayView, ArrayWriter},
};
use volley_functions::nested::nested_of;
use volley_types::{Native, PhysicalType, Type};
use volley_vector::{Decoded, NullBuffer, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.array_average",
        doc(
            "array_average(array of double) -> double",
            "The average of the elements that are not null; null if there is none.",
            &[("array_average(ARRAY[1, NULL, 4])", "2.5")],
        ),
        |array: ArrayView<f64>| {
            let (sum, count) =
                array.iter().flatten().fold((0.0, 0u32), |(sum, count), it| (sum + it, count + 1));
            (count > 0).then(|| sum / f64::from(count))
        },
    );
    let sum = doc(
        "array_sum(array) -> bigint or double",
        "The sum of the elements that are not null, 0 if there is none: BIGINT of integers, \
         DOUBLE of other numbers.",
        &[("array_sum(ARRAY[1, NULL, 4])", "5"), ("array_sum(ARRAY[0.5, 0.25])", "0.75")],
    );
    registry.simple("presto.array_sum", sum.clone(), |array: ArrayView<i64>| whole_sum(array));
    registry.simple("presto.array_sum", sum, |array: ArrayView<f64>| {
        array.iter().flatten().sum::<f64>() + 0.0
    });
    let strict_sum = doc(
        "array_sum_propagate_element_null(array) -> bigint or double",
        "The sum of the elements, null when one of them is null and 0 if there is none: BIGINT \
         of integers, DOUBLE of other numbers.",
        &[("array_sum_propagate_element_null(ARRAY[1, 4])", "5")],
    );
    let name = "presto.array_sum_propagate_element_null";
    registry.simple(name, strict_sum.clone(), |array: ArrayView<i64>| -> Result<Option<i64>> {
        if array.has_nulls() { Ok(None) } else { whole_sum(array).map(Some) }
    });
    registry.simple(name, strict_sum, |array: ArrayView<f64>| -> Option<f64> {
        (!array.has_nulls()).then(|| array.iter().flatten().sum::<f64>() + 0.0)
    });
    let cumulative = doc(
        "array_cum_sum(array) -> array",
        "For each element the sum of all up to it; from a null on, null.",
        &[("array_cum_sum(ARRAY[1, 2, NULL, 3])", "[1, 3, NULL, NULL]")],
    );
    registry.add_scalar("presto.array_cum_sum", cumulative, Arc::new(bind_cumulative));
    let normalized = doc(
        "array_normalize(array, p) -> array",
        "Each element divided by the p-norm of the array, for REAL and DOUBLE; null when an \
         element is null. The array itself when p or the norm is 0.",
        &[("array_normalize(ARRAY[3e0, 4e0], 2)", "[0.6, 0.8]")],
    );
    registry.simple(
        "presto.array_normalize",
        normalized,
        |array: ArrayView<f64>, p: f64, out: &mut ArrayWriter<f64>| -> Result<Option<()>> {
            let Some(norm) = norm(array.iter(), p)? else { return Ok(None) };
            out.extend(array.iter().flatten().map(|it| it / norm));
            Ok(Some(()))
        },
    );
    registry.add_scalar("presto.array_normalize", FunctionDoc::default(), normalize_real());
}

fn whole_sum(array: ArrayView<'_, i64>) -> Result<i64> {
    let sum = array.iter().flatten().try_fold(0i64, i64::checked_add);
    sum.ok_or_else(|| overflow(&Type::BigInt))
}

fn overflow(of: &Type) -> Error {
    Error::invalid_value(format!("the sum of the elements is out of range for {of}"))
}

/// What elements are divided by; `None` when one of them is null.
fn norm(mut elements: impl Iterator<Item = Option<f64>>, p: f64) -> Result<Option<f64>> {
    if p < 0.0 || p.is_nan() {
        let message = format!("array_normalize only supports non-negative p: {p}");
        return Err(Error::invalid_value(message));
    }
    let sum = elements.try_fold(0.0, |sum, it| Some(sum + it?.abs().powf(p)));
    Ok(sum.map(|it| if p == 0.0 || it == 0.0 { 1.0 } else { it.powf(1.0 / p) }))
}

fn normalize_real() -> BindScalar {
    let normalize =
        |array: ArrayView<f32>, p: f32, out: &mut ArrayWriter<f32>| -> Result<Option<()>> {
            let elements = array.iter().map(|it| it.map(f64::from));
            let Some(norm) = norm(elements, f64::from(p))? else { return Ok(None) };
            out.extend(array.iter().flatten().map(|it| (f64::from(it) / norm) as f32));
            Ok(Some(()))
        };
    simple::scalar(normalize).into_bind()
}

/// Numbers of every type have sums of their own type.
fn bind_cumulative(args: &[Type]) -> Option<BoundScalar> {
    let [array @ Type::Array(element)] = args else { return None };
    let function = match element.physical() {
        _ if !element.is_numeric() => return None,
        PhysicalType::I8 => cumulative(i8::checked_add),
        PhysicalType::I16 => cumulative(i16::checked_add),
        PhysicalType::I32 => cumulative(i32::checked_add),
        PhysicalType::F32 => cumulative(|a: f32, b: f32| Some(a + b)),
        PhysicalType::F64 => cumulative(|a: f64, b: f64| Some(a + b)),
        PhysicalType::I64 => {
            let limit = decimal_limit(element).and_then(|it| i64::try_from(it).ok());
            cumulative(move |a: i64, b: i64| within(a.checked_add(b)?, limit))
        }
        PhysicalType::I128 => {
            let limit = decimal_limit(element);
            cumulative(move |a: i128, b: i128| within(a.checked_add(b)?, limit))
        }
        _ => return None,
    };
    Some(BoundScalar::new(vec![array.clone()], array.clone(), ScalarTraits::DEFAULT, function))
}

/// The least number that is too large for the digits of a decimal; `None` of other types.
fn decimal_limit(of: &Type) -> Option<i128> {
    match of {
        Type::Decimal { precision, .. } => Some(10i128.pow(u32::from(*precision))),
        _ => None,
    }
}

fn within<T: Copy + PartialOrd + std::ops::Neg<Output = T>>(
    value: T,
    limit: Option<T>,
) -> Option<T> {
    limit.is_none_or(|limit| -limit < value && value < limit).then_some(value)
}

fn cumulative<T: Native>(
    add: impl Fn(T, T) -> Option<T> + Copy + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, to, ctx| {
        let arrays = Decoded::new(&args[0])?;
        let (Values::Array(nested), Type::Array(element)) = (arrays.values(), to) else {
            return Err(Error::internal("array_cum_sum of a vector of an unexpected layout"));
        };
        let elements = Decoded::new(&nested.elements)?;
        let values = elements.native::<T>();
        let mut total = 0;
        rows.for_each(|row| total += nested.range(arrays.index(row)).len());
        ctx.charge(total * (size_of::<T>() + size_of::<bool>()))?;
        let (mut sums, mut valid) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let mut sizes = vec![0i32; rows.len()];
        rows.for_each(|row| {
            let begun = sums.len();
            // The sum so far, until a null comes.
            let mut sum = None;
            for (place, at) in nested.range(arrays.index(row)).enumerate() {
                let value = (!elements.is_null(at)).then(|| values[elements.index(at)]);
                sum = match (place, sum, value) {
                    (0, _, value) => value,
                    (_, Some(sum), Some(value)) => {
                        let Some(sum) = add(sum, value) else {
                            ctx.fail(row, || overflow(element));
                            break;
                        };
                        Some(sum)
                    }
                    _ => None,
                };
                sums.push(sum.unwrap_or_default());
                valid.push(sum.is_some());
            }
            sizes[row] = (sums.len() - begun) as i32;
        });
        let nulls = NullBuffer::from(valid);
        let sums = Vector::native::<T>(element.as_ref().clone(), sums, Some(nulls));
        Ok(Vector::flat(to.clone(), Values::Array(nested_of(sizes, sums)?), None))
    })
}

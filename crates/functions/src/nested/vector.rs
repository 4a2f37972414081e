//! Arrays of floats as vectors: products, distances, similarity.

use super::{LIST_OR_ARRAY, nested_doc};
use std::ops::{AddAssign, Mul, Neg, Sub};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Arg, ArrayView, ArrayWriter, IntoSimple},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    for prefix in LIST_OR_ARRAY {
        register_products(registry, prefix);
        register_cosines(registry, prefix);
        let name = format!("{prefix}_distance");
        let doc = described(&name, "The Euclidean distance of two vectors", "1.4142135623730951");
        let of_real = |x: ArrayView<f32>, y: ArrayView<f32>| distance(x, y).map(f32::sqrt);
        let of_double = |x: ArrayView<f64>, y: ArrayView<f64>| distance(x, y).map(f64::sqrt);
        add(registry, &name, doc, of_real, of_double);
    }
    let cross = nested_doc(
        "array_cross_product(array, array) -> array",
        "The cross product of two vectors of three elements.",
        &[("array_cross_product([1e0, 2e0, 3e0], [2e0, 3e0, 4e0])", "[-1.0, 2.0, -1.0]")],
    );
    registry.simple(
        "array_cross_product",
        cross,
        |x: ArrayView<f64>, y: ArrayView<f64>, out: &mut ArrayWriter<f64>| -> Result<()> {
            let ([a, b, c], [d, e, f]) = (three(x)?, three(y)?);
            out.extend([b * f - c * e, c * d - a * f, a * e - b * d]);
            Ok(())
        },
    );
}

fn described(name: &str, text: &str, result: &str) -> FunctionDoc {
    nested_doc(
        &format!("{name}(array, array) -> double or real"),
        &format!("{text}, arrays of the same length without nulls."),
        &[(&format!("{name}([1e0, 2e0], [2e0, 3e0])"), result)],
    )
}

/// Adds a function of REAL and of DOUBLE arrays; those of other numbers are cast to DOUBLE.
fn add<M, N>(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    of_real: impl IntoSimple<M>,
    of_double: impl IntoSimple<N>,
) {
    registry.simple(name, doc, of_double);
    registry.simple(name, FunctionDoc::default(), of_real);
}

fn register_products(registry: &mut Registry, prefix: &str) {
    for word in ["inner_product", "dot_product"] {
        let name = format!("{prefix}_{word}");
        let doc = described(&name, "The sum of the products of the elements of two vectors", "8.0");
        add(registry, &name, doc, inner::<f32>, inner::<f64>);
        let name = format!("{prefix}_negative_{word}");
        let doc = described(&name, "The inner product of two vectors, negated", "-8.0");
        let of_real = |x: ArrayView<f32>, y: ArrayView<f32>| inner(x, y).map(f32::neg);
        let of_double = |x: ArrayView<f64>, y: ArrayView<f64>| inner(x, y).map(f64::neg);
        add(registry, &name, doc, of_real, of_double);
    }
}

fn register_cosines(registry: &mut Registry, prefix: &str) {
    let name = format!("{prefix}_cosine_similarity");
    let text = "The cosine of the angle between two vectors";
    let doc = described(&name, text, "0.9922778767136677");
    add(registry, &name, doc, cosine_real, cosine);
    let name = format!("{prefix}_cosine_distance");
    let doc = described(&name, &format!("1 minus {}", text.to_lowercase()), "0.007722123286332261");
    let of_real = |x: ArrayView<f32>, y: ArrayView<f32>| {
        Ok::<_, Error>(cosine_real(x, y)?.map(|it| 1.0 - it))
    };
    let of_double =
        |x: ArrayView<f64>, y: ArrayView<f64>| Ok::<_, Error>(cosine(x, y)?.map(|it| 1.0 - it));
    add(registry, &name, doc, of_real, of_double);
}

/// The sum of `f` for the pairs of elements.
///
/// # Errors
///
/// Arrays of different lengths; null elements.
pub fn sum_of_pairs<A>(x: ArrayView<'_, A>, y: ArrayView<'_, A>, f: impl Fn(A, A) -> A) -> Result<A>
where
    A: for<'a> Arg<Value<'a> = A> + Default + AddAssign + Copy,
{
    if x.len() != y.len() {
        let message = format!("arrays must have the same length: {} and {}", x.len(), y.len());
        return Err(Error::invalid_value(message));
    }
    let mut sum = A::default();
    for pair in x.iter().zip(y.iter()) {
        let (Some(a), Some(b)) = pair else {
            return Err(Error::invalid_value("arrays must not have null elements"));
        };
        sum += f(a, b);
    }
    Ok(sum)
}

fn inner<A>(x: ArrayView<'_, A>, y: ArrayView<'_, A>) -> Result<A>
where
    A: for<'a> Arg<Value<'a> = A> + Default + AddAssign + Copy + Mul<Output = A>,
{
    sum_of_pairs(x, y, |a, b| a * b)
}

fn distance<A>(x: ArrayView<'_, A>, y: ArrayView<'_, A>) -> Result<A>
where
    A: for<'a> Arg<Value<'a> = A> + Default + AddAssign + Copy + Mul<Output = A> + Sub<Output = A>,
{
    sum_of_pairs(x, y, |a, b| (a - b) * (a - b))
}

/// Null of empty vectors, NaN when one has no length.
fn cosine(x: ArrayView<f64>, y: ArrayView<f64>) -> Result<Option<f64>> {
    let product = inner(x, y)?;
    let similarity = product / (inner(x, x)? * inner(y, y)?).sqrt();
    Ok((!x.is_empty()).then(|| similarity.clamp(-1.0, 1.0)))
}

fn cosine_real(x: ArrayView<f32>, y: ArrayView<f32>) -> Result<Option<f32>> {
    let product = inner(x, y)?;
    let similarity = product / (inner(x, x)? * inner(y, y)?).sqrt();
    Ok((!x.is_empty()).then(|| similarity.clamp(-1.0, 1.0)))
}

fn three(x: ArrayView<f64>) -> Result<[f64; 3]> {
    match (x.len(), x.get(0), x.get(1), x.get(2)) {
        (3, Some(a), Some(b), Some(c)) => Ok([a, b, c]),
        _ => Err(Error::invalid_value("a cross product is of arrays of three elements, not null")),
    }
}

//! Functions on vectors: arrays of floats, or maps of their parts that are not zero.

use super::doc;
use std::collections::HashMap;
use volley_error::Result;
use volley_function::{
    FunctionDoc, Registry,
    simple::{ArrayView, MapView, Varchar},
};
use volley_functions::nested::sum_of_pairs;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let cosine = doc(
        "cosine_similarity(x, y) -> double",
        "The cosine of the angle between two vectors: arrays of the same length, or sparse vectors \
         as maps. Null when a value of a map is null.",
        &[
            ("cosine_similarity(ARRAY[3.0, 4.0], ARRAY[3.0, 4.0])", "1.0"),
            ("cosine_similarity(MAP(ARRAY['a'], ARRAY[1.0]), MAP(ARRAY['a'], ARRAY[2.0]))", "1.0"),
        ],
    );
    registry.simple("presto.cosine_similarity", cosine, cosine_of_arrays);
    let none = FunctionDoc::default;
    registry.simple("presto.cosine_similarity", none(), cosine_of_maps);
    let dot = doc(
        "dot_product(x, y) -> double or real",
        "The sum of the products of the elements of two arrays of the same length.",
        &[("dot_product(ARRAY[1.0, 2.0], ARRAY[3.0, 4.0])", "11.0")],
    );
    registry.simple("presto.dot_product", dot, |x: ArrayView<f64>, y: ArrayView<f64>| {
        sum_of_pairs(x, y, |a, b| a * b)
    });
    registry.simple("presto.dot_product", none(), |x: ArrayView<f32>, y: ArrayView<f32>| {
        sum_of_pairs(x, y, |a, b| a * b)
    });
    let squared = doc(
        "l2_squared(x, y) -> double or real",
        "The square of the distance of two arrays of the same length.",
        &[("l2_squared(ARRAY[1.0, 2.0], ARRAY[3.0, 4.0])", "8.0")],
    );
    registry.simple("presto.l2_squared", squared, |x: ArrayView<f64>, y: ArrayView<f64>| {
        sum_of_pairs(x, y, |a, b| (a - b) * (a - b))
    });
    registry.simple("presto.l2_squared", none(), |x: ArrayView<f32>, y: ArrayView<f32>| {
        sum_of_pairs(x, y, |a, b| (a - b) * (a - b))
    });
    let norm_doc = doc(
        "l2_norm(x) -> double or real",
        "The length of the vector: the root of the sum of the squares.",
        &[("l2_norm(ARRAY[3.0, 4.0])", "5.0")],
    );
    registry.simple("presto.l2_norm", norm_doc, norm);
    registry.simple("presto.l2_norm", none(), |x: ArrayView<f32>| {
        sum_of_pairs(x, x, |a, b| a * b).map(f32::sqrt)
    });
}

fn cosine_of_arrays(x: ArrayView<f64>, y: ArrayView<f64>) -> Result<f64> {
    let dot = sum_of_pairs(x, y, |a, b| a * b)?;
    Ok(dot / (norm(x)? * norm(y)?))
}

fn norm(x: ArrayView<f64>) -> Result<f64> {
    sum_of_pairs(x, x, |a, b| a * b).map(f64::sqrt)
}

fn cosine_of_maps(x: MapView<Varchar, f64>, y: MapView<Varchar, f64>) -> Option<f64> {
    let norm = |it: MapView<'_, Varchar, f64>| {
        it.values().iter().try_fold(0.0, |sum, value| Some(sum + value? * value?)).map(f64::sqrt)
    };
    let norms = norm(x)? * norm(y)?;
    let of_y: HashMap<&str, f64> = y.iter().filter_map(|it| Some((it.0, it.1?))).collect();
    let products = x.iter().filter_map(|(key, value)| Some(value? * of_y.get(key)?));
    // The sum of no floats is -0.0.
    Some(products.fold(0.0, |sum, it| sum + it) / norms)
}

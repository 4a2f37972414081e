//! Functions on arrays, maps and rows.
//!
//! Constructors put elements of all rows one after the other; access gathers from the elements
//! without touching the others.

mod construct;
mod access;
mod search;
mod series;
mod slice;
mod list;
mod sorted;
mod set;
mod pick;
mod zip;
mod vector;
mod record;
mod entries;
mod aggregate;

pub(crate) use aggregate::register as register_aggregates;
pub use entries::MapEntries;
pub use search::add_search;
pub use set::overlap;
pub use vector::sum_of_pairs;
pub(crate) use volley_function::simple::{MapKeys as Keys, reject_bad_keys};
pub use zip::bind as bind_zip;

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{EvalContext, FunctionDoc, Registry, ScalarFunction, simple};
use volley_types::Type;
use volley_vector::{Nested, NullBuffer, Rows, Values, Vector};

/// Registers the functions on nested values.
pub(crate) fn register(registry: &mut Registry) {
    construct::register(registry);
    access::register(registry);
    list::register(registry);
    series::register(registry);
    slice::register(registry);
    sorted::register(registry);
    set::register(registry);
    pick::register(registry);
    zip::register(registry);
    vector::register(registry);
    record::register(registry);
    entries::register(registry);
}

/// What the names of functions of arrays begin with.
const LIST_OR_ARRAY: [&str; 2] = ["list", "array"];

fn nested_doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    doc(signature, description, "nested", examples)
}

/// Elements one row after the other.
///
/// # Errors
///
/// More elements than 31 bits count.
pub fn nested_of(sizes: Vec<i32>, elements: Vector) -> Result<Nested> {
    let mut offsets = Vec::with_capacity(sizes.len());
    let mut end = 0i32;
    for size in &sizes {
        offsets.push(end);
        end = end.checked_add(*size).ok_or_else(too_many_elements)?;
    }
    Ok(Nested { offsets: offsets.into(), sizes: sizes.into(), elements: elements.into() })
}

fn too_many_elements() -> Error {
    Error::invalid_value("more than 2^31 array elements in one batch")
        .hint("use a smaller batch_rows")
}

/// The ROW(key, value) behind a MAP: its type, the keys and the values.
pub fn entries_of(data_type: &Type, children: [Vector; 2]) -> Vector {
    let len = children[0].len();
    Vector::flat(data_type.clone(), Values::Row { children: children.into(), len }, None)
}

/// A vectorized function that fails no row.
fn infallible(
    f: impl Fn(&Rows, &[Vector], &Type) -> Result<Vector> + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, to, _: &mut EvalContext| f(rows, args, to))
}

/// The offsets, sizes and elements of a flat ARRAY or MAP.
fn nested_values(flat: &Vector) -> Result<&Nested> {
    match flat.flat_values() {
        Some(Values::Array(nested) | Values::Map(nested)) => Ok(nested),
        _ => Err(Error::internal("function got a vector of an unexpected layout")),
    }
}

/// A field of the ROW(key, value) behind a MAP: 0 for the keys, 1 for the values.
///
/// # Errors
///
/// Internal, when `nested` is no map.
pub fn entry_field(nested: &Nested, index: usize) -> Result<Vector> {
    let entries = nested.elements.flatten()?;
    match entries.flat_values() {
        Some(Values::Row { children, .. }) if index < children.len() => Ok(children[index].clone()),
        _ => Err(Error::internal("entries of a map are no rows")),
    }
}

/// Rows `indices` of `elements`; `None` is null.
///
/// # Errors
///
/// What a lazy vector's loader reports.
pub fn gather_or_null(elements: &Vector, indices: &[Option<u32>]) -> Result<Vector> {
    if elements.is_empty() {
        return Ok(Vector::nulls(elements.data_type().clone(), indices.len()));
    }
    let codes: Vec<u32> = indices.iter().map(|it| it.unwrap_or(0)).collect();
    let nulls = NullBuffer::from_iter(indices.iter().map(Option::is_some));
    let base = Arc::new(elements.loaded()?);
    Ok(Vector::dictionary(codes.into(), base, Some(nulls)))
}

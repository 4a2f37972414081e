//! Functions that take lambdas, over arrays and maps.
//!
//! A lambda runs once per element of all active rows, in slices of
//! [`CHUNK_ELEMENTS`](volley_function::CHUNK_ELEMENTS), so that intermediate results stay small
//! however long the arrays are, and a cancel does not wait. `reduce` runs it once per position, for
//! all rows that have an element there; `array_sort` once for many pairs.

mod elements;
mod key_search;
mod transform;
mod filter;
mod quantified;
mod zip;
mod reduce;
mod sort;
#[cfg(test)]
mod tests;

use volley_function::{ArgumentType, LambdaType, Registry};
use volley_types::Type;

/// Registers the functions that take lambdas.
pub(crate) fn register(registry: &mut Registry) {
    transform::register(registry);
    filter::register(registry);
    quantified::register(registry);
    zip::register(registry);
    reduce::register(registry);
    sort::register(registry);
}

/// The type of an array's elements; NULL is an array, too.
fn element_type(arg: &ArgumentType) -> Option<Type> {
    match arg.value()? {
        Type::Array(element) => Some(element.as_ref().clone()),
        Type::Unknown => Some(Type::Unknown),
        _ => None,
    }
}

/// The types of a map's keys and values; NULL is a map, too.
fn entry_types(arg: &ArgumentType) -> Option<(Type, Type)> {
    match arg.value()? {
        Type::Map(entry) => Some((**entry).clone()),
        Type::Unknown => Some((Type::Unknown, Type::Unknown)),
        _ => None,
    }
}

/// The parameters of a lambda that takes an element and, if it likes, its place from 1.
fn element_and_place(element: &Type, lambda: &LambdaType) -> Option<Vec<Type>> {
    match lambda.parameters.len() {
        1 => Some(vec![element.clone()]),
        2 => Some(vec![element.clone(), Type::BigInt]),
        _ => None,
    }
}

/// The type of a body, while it is not known a stand-in.
fn body_type(lambda: &LambdaType) -> Type {
    lambda.result.clone().unwrap_or(Type::Unknown)
}

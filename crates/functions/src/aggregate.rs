//! Aggregate functions.
//!
//! Each is a short form ([`form::Form`]): a state, how a row is added, how states merge, how a
//! result comes out. The adapter in `form` decodes arguments, drops nulls and loops.

mod form;
mod count;
mod sum;
mod float_sum;
mod average;
mod held;
mod chosen;
mod variance;
mod boolean;
mod position;
mod string_agg;
mod array_agg;
mod approx_distinct;
mod sketch;
#[cfg(test)]
mod tests;

use form::{Form, Formed};
use std::sync::Arc;
use volley_function::{BoundAggregate, Registry};
use volley_types::Type;

/// Registers all aggregate functions.
pub(crate) fn register(registry: &mut Registry) {
    count::register(registry);
    sum::register(registry);
    average::register(registry);
    chosen::register(registry);
    variance::register(registry);
    boolean::register(registry);
    position::register(registry);
    string_agg::register(registry);
    array_agg::register(registry);
    approx_distinct::register(registry);
}

/// The binding of a form: argument types, intermediate and result type.
fn bound<F: Form>(args: Vec<Type>, intermediate: Type, result: Type, form: F) -> BoundAggregate {
    BoundAggregate {
        name: String::new(),
        args,
        intermediate,
        result,
        order_sensitive: false,
        ignores_nulls: F::IGNORES_NULLS,
        function: Arc::new(Formed(form)),
    }
}

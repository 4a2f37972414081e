//! Aggregate functions.
//!
//! Most are a short form ([`form::Form`]): a state, how a row is added, how states merge, how a
//! result comes out. The adapter in `form` decodes arguments, drops nulls and loops. `array_agg`
//! collects the rows of each group.

mod form;
mod count;
mod sum;
mod float_sum;
mod average;
mod held;
mod chosen;
mod keyed;
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
use volley_function::{AggregateKind, BoundAggregate, CollectingFunction, Registry};
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
        function: AggregateKind::Folding(Arc::new(Formed(form))),
    }
}

/// The binding of a function that collects rows, nulls included.
fn bound_collecting(
    args: Vec<Type>,
    intermediate: Type,
    result: Type,
    function: impl CollectingFunction + 'static,
) -> BoundAggregate {
    BoundAggregate {
        name: String::new(),
        args,
        intermediate,
        result,
        order_sensitive: true,
        ignores_nulls: false,
        function: AggregateKind::Collecting(Arc::new(function)),
    }
}

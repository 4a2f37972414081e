//! Aggregate functions.
//!
//! Most implement [`typed::TypedAggregate`]: a state, and how to add a row, merge states and
//! extract a result. `array_agg` collects the rows of each group.

mod count;
mod sum;
mod float_sum;
mod average;
mod owned_value;
mod min_max;
mod keyed;
mod variance;
mod boolean;
mod position;
mod string_agg;
mod collected;
mod array_agg;
mod ordered;
mod approx_distinct;
mod approx_set;
mod sketch;
mod arg_min_max;
mod arg_min_max_typed;
mod compensated;
mod fold;
mod frequency;
mod frequency_typed;
mod frequent;
mod json_group;
mod percentile;
#[cfg(test)]
#[path = "../tests/chapters/states.rs"]
mod states;

pub use approx_distinct::{hash_bytes, mix};
pub use arg_min_max::{bind_arg_min_max, bind_top_by};
pub use frequent::bind_most_frequent;
pub use owned_value::value_bytes;
pub use percentile::{Number, bind_percentile, weights_overflow};
pub use sketch::estimate_registers;

use volley_function::{
    Registry,
    aggregate::typed::{self, bound, bound_collecting},
};

/// Registers all aggregate functions.
pub(crate) fn register(registry: &mut Registry) {
    count::register(registry);
    sum::register(registry);
    average::register(registry);
    min_max::register(registry);
    variance::register(registry);
    boolean::register(registry);
    position::register(registry);
    string_agg::register(registry);
    array_agg::register(registry);
    ordered::register(registry);
    approx_distinct::register(registry);
    approx_set::register(registry);
    arg_min_max::register(registry);
    fold::register(registry);
    frequency::register(registry);
    percentile::register(registry);
    frequent::register(registry);
    compensated::register(registry);
    json_group::register(registry);
    crate::statistics::register(registry);
}

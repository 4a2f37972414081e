//! The function packages.
//!
//! ```text
//! register(&mut Registry) ─> one register() per chapter: aggregate, ...
//! ```
//!
//! A chapter is a file (or folder) with its `register` on top and the functions below. Semantics
//! follow DuckDB where SQL leaves a choice. This crate does not know execution.

mod documentation;
mod order;
mod comparison;
mod boolean;
pub mod cast;
mod arithmetic;
mod math;
mod string;
mod pattern;
pub mod format;
mod date;
pub mod nested;
mod lambda;
mod special_forms;
mod custom;
mod enumeration;
pub mod json;
pub mod constant_cache;
mod constant_argument;
mod failure;
mod sequence;
mod aggregate;
pub mod kll;
pub mod statistics;
pub mod value_aggregate;
mod window;
pub mod text;

pub use date::{check_time_format, read_timestamp};
pub use pattern::{Compiled, PatternCache, compile_within, matches_like};

use volley_function::Registry;

/// Registers all functions.
pub fn register(registry: &mut Registry) {
    comparison::register(registry);
    boolean::register(registry);
    cast::register(registry);
    arithmetic::register(registry);
    math::register(registry);
    string::register(registry);
    pattern::register(registry);
    format::register(registry);
    date::register(registry);
    nested::register(registry);
    lambda::register(registry);
    special_forms::register(registry);
    custom::register(registry);
    enumeration::register(registry);
    json::register(registry);
    failure::register(registry);
    sequence::register(registry);
    aggregate::register(registry);
    nested::register_aggregates(registry);
    window::register(registry);
}

//! Presto's functions, aggregates and casts.
//!
//! ```text
//! register(&mut Registry) ─> one register() per chapter: math, string, ..., aggregate, cast
//! ```
//!
//! A name here is `presto.NAME` in the registry. Functions with the same meaning in the core are
//! shared: [`Registry::share`]. Semantics are those of the chapter "Functions and Operators" of
//! Presto's manual (0.29x). `reference/names.txt` lists the names of the package,
//! `reference/absent.txt` those that are left out on purpose. This crate does not know execution.

mod comparison;
mod math;
mod bitwise;
mod probability;
mod string;
mod binary;
mod url;
mod regexp;
mod json;
mod date;
mod array;
mod map;
mod network;
mod color;
mod bing_tile;
mod failure;
mod sketch;
mod aggregate;
mod window;
mod cast;

use volley_function::Registry;
use volley_functions::constant_cache;

/// Registers the package.
pub fn register(registry: &mut Registry) {
    comparison::register(registry);
    math::register(registry);
    bitwise::register(registry);
    probability::register(registry);
    string::register(registry);
    binary::register(registry);
    url::register(registry);
    regexp::register(registry);
    json::register(registry);
    date::register(registry);
    array::register(registry);
    map::register(registry);
    network::register(registry);
    color::register(registry);
    bing_tile::register(registry);
    failure::register(registry);
    sketch::register(registry);
    aggregate::register(registry);
    window::register(registry);
    cast::register(registry);
}

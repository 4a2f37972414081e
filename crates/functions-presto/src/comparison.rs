//! Comparison functions and operators, arithmetic operators, and functions on types.
//!
//! Comparisons are the core's: NaN is the greatest number and equals itself; but equality of
//! arrays, maps and rows is unknown where a null inside leaves it open. Arithmetic differs where
//! types follow from it: `/` of integers truncates, and results of decimals are exact or rounded
//! half up to the scale that the manual's chapter on decimals gives.

mod arithmetic;
mod decimal;
mod like;
mod nested;

use std::sync::Arc;
use volley_function::{
    BindScalar, BoundScalar, FunctionDoc, Package, Registry, ScalarTraits,
    simple::{AnyValue, OrderableValue},
};
use volley_types::Type;

/// What means the same in the core: Presto's name, and the core's.
const SHARED: [(&str, &str); 10] = [
    ("eq", "eq"),
    ("neq", "neq"),
    ("lt", "lt"),
    ("lte", "lte"),
    ("gt", "gt"),
    ("gte", "gte"),
    ("not", "not"),
    ("distinct_from", "is_distinct_from"),
    ("typeof", "typeof"),
    ("like", "like"),
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    SHARED.into_iter().for_each(|(name, core)| registry.share(Package::Presto, name, core));
    like::register(registry);
    nested::register(registry);
    arithmetic::register(registry);
    let between_doc = doc(
        "between(x, low, high) -> boolean",
        "Whether x is at least `low` and at most `high`. With a null bound it is false where the \
         other one says so, and else null.",
        &[("between(3, 2, 6)", "true"), ("between('Paul', 'Quinn', NULL)", "false")],
    );
    registry.simple("presto.between", between_doc, between);
    let is_null = doc("is_null(x) -> boolean", "Whether x is null.", &[("is_null(NULL)", "true")]);
    registry.simple("presto.is_null", is_null, |it: Option<AnyValue<0>>| {
        it.is_none_or(|it| it.is_null())
    });
    let greatest = doc(
        "greatest(x, ...) -> the common type",
        "The greatest value; null when one is null.",
        &[("greatest(1, 3, 2)", "3"), ("greatest(1, NULL)", "NULL")],
    );
    let least = doc(
        "least(x, ...) -> the common type",
        "The least value; null when one is null.",
        &[("least(2, 1, 3)", "1"), ("least(1, NULL)", "NULL")],
    );
    for (name, doc) in [("greatest", greatest), ("least", least)] {
        for bind in core(registry, name) {
            let bind = move |args: &[Type]| {
                let bound = bind(args)?;
                let traits = ScalarTraits { propagates_nulls: true, ..bound.traits };
                Some(BoundScalar { traits, ..bound })
            };
            registry.add_scalar(&format!("presto.{name}"), doc.clone(), Arc::new(bind));
        }
    }
}

fn between(
    x: OrderableValue<0>,
    low: Option<OrderableValue<0>>,
    high: Option<OrderableValue<0>>,
) -> Option<bool> {
    let (from, to) = (low.map(|it| x >= it), high.map(|it| x <= it));
    if from == Some(false) || to == Some(false) { Some(false) } else { Some(from? && to?) }
}

/// The overloads of a function of the core, which is registered before this package.
fn core(registry: &Registry, name: &str) -> Vec<BindScalar> {
    registry.scalars().get(name).map_or_else(Vec::new, |it| it.overloads.clone())
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "comparison", examples)
}

//! Aggregate functions.

mod map;
mod set;
mod sum;
mod average;
mod statistic;
mod classification;
mod checksum;
mod frequent;
mod numeric_histogram;
mod vector_sum;
mod reservoir;
mod entropy;
mod noisy;
mod reduce;
mod percentile;

pub(crate) use volley_functions::value_aggregate::{Number, weights_overflow};

use std::sync::Arc;
use volley_function::{BindAggregate, FunctionDoc, Package, Registry};
use volley_functions::value_aggregate::{Choice, bind_arg_min_max, bind_top_by};

/// Aggregates that mean the same in the core: Presto's name, and the core's.
const SHARED: [(&str, &str); 26] = [
    ("any_value", "any_value"),
    ("arbitrary", "arbitrary"),
    ("array_agg", "array_agg"),
    ("bool_and", "bool_and"),
    ("bool_or", "bool_or"),
    ("every", "every"),
    ("count", "count"),
    ("count_if", "count_if"),
    ("max", "max"),
    ("min", "min"),
    ("histogram", "histogram"),
    ("geometric_mean", "geomean"),
    ("approx_distinct", "approx_distinct"),
    ("stddev", "stddev"),
    ("stddev_pop", "stddev_pop"),
    ("stddev_samp", "stddev_samp"),
    ("variance", "variance"),
    ("var_pop", "var_pop"),
    ("var_samp", "var_samp"),
    ("covar_pop", "covar_pop"),
    ("covar_samp", "covar_samp"),
    ("regr_avgx", "regr_avgx"),
    ("regr_avgy", "regr_avgy"),
    ("bitwise_and_agg", "bit_and"),
    ("bitwise_or_agg", "bit_or"),
    ("bitwise_xor_agg", "bit_xor"),
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    for (name, target) in SHARED {
        registry.share(Package::Presto, name, target);
    }
    register_choices(registry);
    map::register(registry);
    set::register(registry);
    sum::register(registry);
    average::register(registry);
    statistic::register(registry);
    classification::register(registry);
    checksum::register(registry);
    frequent::register(registry);
    numeric_histogram::register(registry);
    vector_sum::register(registry);
    reservoir::register(registry);
    entropy::register(registry);
    noisy::register(registry);
    reduce::register(registry);
    percentile::register(registry);
}

/// `min_by` and `max_by`: other than in the core, the value may be null.
fn register_choices(registry: &mut Registry) {
    for (name, choice, word) in
        [("min_by", Choice::Least, "least"), ("max_by", Choice::Greatest, "greatest")]
    {
        let one = doc(
            &format!("{name}(x, y) -> as x"),
            &format!("The x, which may be null, of the row with the {word} y that is not null."),
            &[(&format!("{name}(x, y) FROM (VALUES ('a', 1)) v(x, y)"), "a")],
        );
        let several = doc(
            &format!("{name}(x, y, n) -> array(as x)"),
            &format!("The x of the n rows with the {word} y, in that order."),
            &[(&format!("{name}(x, y, 2) FROM (VALUES (NULL, 1)) v(x, y)"), "[NULL]")],
        );
        registry.add_aggregate(&presto(name), one, bind_arg_min_max::<false>(choice));
        registry.add_aggregate(&presto(name), several, bind_top_by::<false>(choice));
    }
}

/// The name in the registry.
fn presto(name: &str) -> String {
    format!("{}{name}", Package::Presto.prefix())
}

/// Documentation of the chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "aggregate", examples)
}

/// The core's binding of an aggregate, for arguments that mean the same there.
fn core_binding(registry: &Registry, name: &str) -> BindAggregate {
    let entry = registry.aggregates().get(name);
    let overloads = entry.map(|it| it.overloads.clone()).unwrap_or_default();
    Arc::new(move |args| overloads.iter().find_map(|bind| bind(args)))
}

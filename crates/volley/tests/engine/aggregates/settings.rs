//! Arguments for aggregates with settings among their arguments, and for aggregates that fail for
//! most random values.

use volley::{Type, Value};

/// Aggregates of sketches, which random bytes are not; `tests/slt` has them.
pub const OF_SKETCHES: [&str; 3] = ["merge", "presto.merge", "presto.merge_set_digest"];

/// Aggregates whose setting must be a constant in SQL, where a column gives it here; `tests/slt`
/// has them.
pub const OF_CONSTANTS: [&str; 3] = ["quantile", "quantile_cont", "quantile_disc"];

/// Arguments, and for each the value that it has in all rows.
pub type Arguments = (Vec<Type>, Vec<Option<Value>>);

/// Whether random values of these types make the aggregate fail, or depend on the way through the
/// steps.
pub fn needs_settings(name: &str, args: &[Type]) -> bool {
    let has_interval = args.contains(&Type::Interval);
    match name {
        "approx_set"
        | "presto.approx_set"
        | "approx_distinct"
        | "approx_count_distinct"
        | "max"
        | "min" => args.len() > 1,
        "quantile" | "quantile_cont" | "quantile_disc" => args.len() > 1,
        "approx_quantile" | "approx_top_k" | "json_group_object" => true,
        // A month equals 30 days: which of them is shown depends on the order of the rows.
        "histogram" | "mode" | "presto.set_agg" | "presto.sum" => {
            has_interval || (name == "presto.sum" && args == [Type::BigInt])
        }
        "min_by" | "max_by" | "arg_min" | "arg_max" | "argmin" | "argmax" | "presto.min_by"
        | "presto.max_by" => has_interval,
        "presto.entropy" | "presto.vector_sum" | "presto.numeric_histogram" => true,
        // The bytes of a KLL sketch have the values in the order of the rows.
        "presto.approx_percentile" | "presto.sketch_kll" | "presto.sketch_kll_with_k" => true,
        "presto.tdigest_agg" | "presto.qdigest_agg" | "presto.differential_entropy" => true,
        // Identities are integers or texts.
        "presto.khyperloglog_agg" => args.get(1) == Some(&Type::Double),
        _ => name.starts_with("presto.noisy_"),
    }
}

/// An argument and the value that it has in all rows.
type Argument = (Type, Option<Value>);

fn integer(value: i64) -> Argument {
    (Type::BigInt, Some(Value::BigInt(value)))
}

fn double(value: f64) -> Argument {
    (Type::Double, Some(Value::Double(value)))
}

fn any(data_type: Type) -> Argument {
    (data_type, None)
}

fn text() -> Argument {
    any(Type::Varchar)
}

fn array(values: &[f64]) -> Argument {
    let values = values.iter().copied().map(Value::Double).collect();
    (Type::array(Type::Double), Some(Value::Array(values)))
}

/// What an aggregate is tried with besides random values.
pub fn of(name: &str) -> Vec<Arguments> {
    let lists = match name {
        "approx_set" | "presto.approx_set" => vec![vec![text(), double(0.05)]],
        "approx_distinct" => vec![vec![text(), double(0.05)], vec![any(Type::Real), double(0.2)]],
        "quantile_cont" => vec![vec![any(Type::Double), double(0.3)]],
        "quantile" | "quantile_disc" => vec![vec![text(), double(0.7)]],
        "max" | "min" => {
            vec![vec![text(), integer(3)], vec![any(Type::Double), integer(100)]]
        }
        "min_by" | "max_by" | "presto.min_by" | "presto.max_by" => vec![
            vec![text(), any(Type::Integer), integer(3)],
            vec![any(Type::Integer), any(Type::Double), integer(2)],
        ],
        _ => of_presto(name),
    };
    lists.into_iter().map(|list| list.into_iter().unzip()).collect()
}

fn of_presto(name: &str) -> Vec<Vec<Argument>> {
    match name {
        "presto.sum" => vec![vec![integer(7)], vec![any(Type::Real)]],
        "presto.entropy" => vec![vec![double(3.0)]],
        "presto.differential_entropy" => entropies(),
        "presto.vector_sum" => vec![vec![array(&[1.0, 2.5])]],
        "presto.map_union_sum" => {
            let entries = [(Value::Integer(1), Value::BigInt(2))];
            let map = Value::Map(entries.into());
            vec![vec![(Type::map(Type::Integer, Type::BigInt), Some(map))]]
        }
        "presto.numeric_histogram" => vec![
            vec![integer(100), any(Type::Real)],
            vec![integer(100), any(Type::Real), double(0.5)],
        ],
        "approx_quantile" => vec![
            vec![any(Type::Integer), double(0.3)],
            vec![any(Type::Double), array(&[0.0, 0.5, 1.0])],
        ],
        "approx_top_k" => vec![vec![text(), integer(100)], vec![any(Type::Double), integer(2)]],
        "json_group_object" => {
            vec![vec![(Type::Varchar, Some(Value::text("a"))), any(Type::Double)]]
        }
        "presto.approx_percentile" => vec![
            vec![any(Type::Integer), double(0.3)],
            vec![any(Type::Double), array(&[0.0, 0.5, 1.0])],
            vec![any(Type::Real), integer(3), double(0.7), double(0.001)],
            vec![any(Type::BigInt), integer(2), array(&[0.25])],
        ],
        "presto.approx_most_frequent" => {
            vec![vec![integer(100), text(), integer(100)]]
        }
        "presto.reservoir_sample" => {
            let none = (Type::array(Type::Integer), Some(Value::Array([].into())));
            vec![vec![none, integer(0), any(Type::Integer), integer(100)]]
        }
        "presto.tdigest_agg" => vec![vec![double(2.0)], vec![double(2.0), integer(3)]],
        "presto.qdigest_agg" => {
            vec![vec![double(2.0)], vec![integer(5), integer(3), double(0.01)]]
        }
        "presto.approx_winsorized_mean" => {
            vec![vec![double(2.0), double(0.1), double(0.9)]]
        }
        "presto.sketch_kll" => vec![vec![double(2.0)]],
        "presto.sketch_kll_with_k" => vec![vec![double(2.0), integer(100)]],
        "presto.noisy_count_gaussian" => vec![vec![text(), double(0.0)]],
        "presto.noisy_count_if_gaussian" => {
            vec![vec![any(Type::Boolean), double(2.0), integer(9)]]
        }
        "presto.noisy_sum_gaussian" | "presto.noisy_avg_gaussian" => vec![
            vec![any(Type::Double), double(1.0), integer(42)],
            vec![any(Type::Double), double(0.0), double(-9.0), double(9.0)],
        ],
        // With an infinite epsilon no bit is flipped.
        "presto.noisy_approx_set_sfm" | "presto.noisy_approx_distinct_sfm" => vec![
            vec![text(), double(f64::INFINITY)],
            vec![any(Type::BigInt), double(f64::INFINITY), integer(64), integer(24)],
        ],
        "presto.noisy_approx_set_sfm_from_index_and_zeros" => {
            vec![vec![integer(3), integer(2), double(f64::INFINITY), integer(16)]]
        }
        _ if name.starts_with("presto.classification_") => vec![
            vec![integer(10), any(Type::Boolean), double(0.25)],
            vec![integer(10), any(Type::Boolean), double(0.25), double(2.0)],
        ],
        _ => vec![],
    }
}

fn entropies() -> Vec<Vec<Argument>> {
    let method = |name: &str| (Type::Varchar, Some(Value::text(name)));
    let histogram =
        |method| vec![integer(9), double(0.25), double(2.0), method, double(0.0), double(1.0)];
    vec![
        vec![integer(100), any(Type::Double)],
        vec![integer(100), any(Type::Double), double(0.5)],
        histogram(method("fixed_histogram_mle")),
        histogram(method("fixed_histogram_jacknife")),
    ]
}

//! Every deterministic scalar function and cast of the package, called with random vectors in random
//! encodings, alone and in each other's arguments, answers as the plain evaluator.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../functions/tests/random_expressions/harness.rs"]
mod harness;

use harness::{Suite, candidates};
use std::path::Path;
use volley_function::{Package, Registry};
use volley_types::{Field, Type, Value, custom::ZonedTimestamp};

/// Functions that are not called.
const LEFT_OUT: [(&str, &str); 8] = [
    ("presto.fail", "it fails"),
    ("presto.merge_sfm", "random where a sketch is private"),
    ("presto.noisy_empty_approx_set_sfm", "random"),
    ("presto.rand", "random"),
    ("presto.random", "random"),
    ("presto.secure_rand", "random"),
    ("presto.secure_random", "random"),
    ("presto.shuffle", "random"),
];

/// Functions with an overload for types without random values here; records of the corpus call them.
const CALLED_IN_PART: [(&str, &str); 16] = [
    ("presto.at_timezone", "ids of zones"),
    ("presto.bar", "colors"),
    ("presto.bing_tile_children", "tiles"),
    ("presto.bing_tile_coordinates", "tiles"),
    ("presto.bing_tile_parent", "tiles"),
    ("presto.bing_tile_quadkey", "tiles"),
    ("presto.bing_tile_zoom_level", "tiles"),
    ("presto.cardinality", "sketches"),
    ("presto.color", "colors"),
    ("presto.intersection_cardinality", "sketches of keys"),
    ("presto.jaccard_index", "sketches of keys"),
    ("presto.merge_khll", "sketches of keys"),
    ("presto.minus", "times with a zone"),
    ("presto.plus", "times with a zone"),
    ("presto.reidentification_potential", "sketches of keys"),
    ("presto.render", "colors"),
];

fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    volley_functions_presto::register(&mut registry);
    registry
}

/// The type of this name.
fn named(registry: &Registry, name: &str, parameters: &[&str]) -> Type {
    let parameters: Vec<String> = parameters.iter().map(|it| it.to_string()).collect();
    registry.types().make(name, &parameters).unwrap().unwrap()
}

fn types(registry: &Registry) -> Vec<Type> {
    let entry = Type::row([Field::new("k", Type::Varchar), Field::new("v", Type::BigInt)]);
    let mut types = candidates();
    types.extend([
        Type::SmallInt,
        Type::array(Type::BigInt),
        Type::array(Type::Double),
        Type::array(Type::array(Type::Integer)),
        Type::array(Type::map(Type::Varchar, Type::Integer)),
        Type::array(entry),
        Type::map(Type::Varchar, Type::BigInt),
        Type::map(Type::BigInt, Type::array(Type::Double)),
        ZonedTimestamp::data_type(),
        named(registry, "JSON", &[]),
        named(registry, "IPPREFIX", &[]),
        named(registry, "HYPERLOGLOG", &[]),
        named(registry, "TDIGEST", &["DOUBLE"]),
        named(registry, "QDIGEST", &["BIGINT"]),
        named(registry, "QDIGEST", &["DOUBLE"]),
        named(registry, "KLLSKETCH", &["BIGINT"]),
        named(registry, "SETDIGEST", &[]),
        named(registry, "SFMSKETCH", &[]),
    ]);
    types
}

/// Texts that some function reads: numbers, points in time and their formats, paths, patterns, ...
const TEXTS: [&str; 48] = [
    "%Y-%m-%d %H:%i:%s.%f",
    "yyyy-MM-dd'T'HH:mm:ss.SSSZZ",
    "EEEE, d MMMM yyyy G, KK:mm a zzz",
    "2024-02-29 23:59:59.999",
    "2024-03-31T02:30:00.5+02:00",
    "-0044-03-15",
    "2020-W53-7",
    "1:02:03.456",
    "Europe/Berlin",
    "America/New_York",
    "+05:45",
    "day",
    "week",
    "quarter",
    "millisecond",
    "1.5d",
    "3 days",
    "5GB",
    "2.25kB",
    "0x1F",
    "7fffffffffffffff",
    "-zz",
    "1e308",
    "-1E-400",
    "NaN",
    "Infinity",
    "99999999999999999999999999999999999999.5",
    "(a)(b)?",
    "[a-z]+",
    "(?i)^\\w*$",
    "(x*)*",
    "$1-${name}\\$",
    "$.a[0]['b']",
    "$..*",
    r#"{"a": [1, {"b": "é"}, null, 1e400], "a": 2}"#,
    r#"["x", "\ud83e\udd80", -0.0]"#,
    "[[[[]]]]",
    "http://user@example.com:8080/a/b?q=%C3%A9&k&q=2#frag",
    "%zz%",
    "10.0.0.0/8",
    "2001:db8::1/64",
    "aGVsbG8=",
    "NBSWY3DP",
    "a:1;b:2;a:3",
    ";",
    ":",
    "fr",
    "nfkd",
];

/// Values beside those that the generator makes up: what functions read, and bytes of sketches.
fn examples(registry: &Registry) -> Vec<(Type, Vec<Value>)> {
    let numbers = [2, 37, 63, 64, 1000, 10_001, 1 << 31, 1 << 53, -(1 << 31), i64::MIN + 1];
    let doubles = [0.5, 1.0, 0.9999, 5e-324, f64::MAX, -f64::MAX, 9.3e18, -9.3e18, 4.5e15, 1e-9];
    let parsed = |data_type: Type, texts: &[&str]| {
        let Type::Custom(custom) = &data_type else { panic!("{data_type} is no custom type") };
        let values = texts.iter().map(|it| custom.parse(it).unwrap()).collect();
        (data_type, values)
    };
    let bytes = |data_type: Type, values: &[Vec<u8>]| {
        let values = values.iter().map(|it| Value::Varbinary(it.as_slice().into()));
        (data_type, values.collect())
    };
    let digest = t_digest(&[-1.5, 2.0, 2.0, 1e9]);
    let integers = kll(0, [-3i64, 5, 8, 8].map(i64::to_le_bytes));
    let floats = kll(1, [-0.5f64, 0.0, 7.25, 1e300].map(f64::to_le_bytes));
    let set = |hashes: &[u64]| {
        let entries = hashes.iter().flat_map(|it| it.to_le_bytes().into_iter().chain([2, 0]));
        [1].into_iter().chain(entries).collect::<Vec<u8>>()
    };
    let exact = |hashes: &[u64]| {
        [0, 12].into_iter().chain(hashes.iter().flat_map(|it| it.to_be_bytes())).collect()
    };
    let dense = [1, 4].into_iter().chain(0..16).collect::<Vec<u8>>();
    vec![
        (Type::Varchar, TEXTS.map(Value::text).to_vec()),
        (Type::BigInt, numbers.map(Value::BigInt).to_vec()),
        (Type::Double, doubles.map(Value::Double).to_vec()),
        (named(registry, "JSON", &[]), TEXTS.map(Value::text).to_vec()),
        parsed(named(registry, "IPPREFIX", &[]), &["10.0.0.0/8", "::/0", "2001:db8::1/128"]),
        parsed(
            ZonedTimestamp::data_type(),
            &["2024-03-31 02:30:00 Europe/Berlin", "1969-12-31 23:59:59.999 -05:00"],
        ),
        bytes(named(registry, "HYPERLOGLOG", &[]), &[exact(&[1, u64::MAX]), dense]),
        bytes(named(registry, "TDIGEST", &["DOUBLE"]), &[digest, t_digest(&[7.0])]),
        bytes(named(registry, "QDIGEST", &["BIGINT"]), std::slice::from_ref(&integers)),
        bytes(named(registry, "QDIGEST", &["DOUBLE"]), &[floats]),
        bytes(named(registry, "KLLSKETCH", &["BIGINT"]), &[integers]),
        bytes(named(registry, "SETDIGEST", &[]), &[set(&[]), set(&[1, 2]), set(&[2, u64::MAX])]),
    ]
}

/// The bytes of a T-digest of sorted values, each with a weight of 1.
fn t_digest(values: &[f64]) -> Vec<u8> {
    let (count, sum) = (values.len() as f64, values.iter().sum());
    let head = [values[0], values[values.len() - 1], sum, 100.0, count];
    let mut bytes = vec![1, 0];
    bytes.extend(head.iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend((values.len() as u32).to_le_bytes());
    bytes.extend(values.iter().flat_map(|_| 1f64.to_le_bytes()));
    bytes.extend(values.iter().flat_map(|it| it.to_le_bytes()));
    bytes
}

/// The bytes of a KLL sketch of sorted items, all of them on the lowest level.
fn kll(tag: u8, items: [[u8; 8]; 4]) -> Vec<u8> {
    let mut bytes = vec![1, tag];
    bytes.extend(200u16.to_le_bytes());
    bytes.extend(4u64.to_le_bytes());
    bytes.extend(items[0].into_iter().chain(items[3]));
    bytes.push(1);
    bytes.extend(4u32.to_le_bytes());
    bytes.extend(items.concat());
    bytes
}

/// Arguments of overloads that few combinations of types fit.
fn signatures(registry: &Registry) -> Vec<Vec<Type>> {
    let (text, number, double) = (Type::Varchar, Type::BigInt, Type::Double);
    let digest = named(registry, "TDIGEST", &["DOUBLE"]);
    let doubles = Type::array(Type::Double);
    let parts = [doubles.clone(), doubles, double.clone(), double.clone(), double.clone()];
    let mut signatures = harness::signatures();
    signatures.extend([
        vec![number.clone(), number.clone(), double.clone()],
        vec![digest.clone(), double.clone(), double.clone()],
        vec![Type::Timestamp, Type::Timestamp, Type::Interval],
        vec![Type::array(digest)],
        vec![Type::array(named(registry, "HYPERLOGLOG", &[]))],
        vec![Type::array(named(registry, "IPPREFIX", &[]))],
        parts.into_iter().chain([double, number.clone()]).collect(),
    ]);
    let zoned = ZonedTimestamp::data_type();
    signatures.push(vec![text.clone(), number, zoned.clone()]);
    signatures.push(vec![text, zoned.clone(), zoned]);
    signatures
}

/// First arguments of functions with lambdas.
fn collections() -> Vec<Type> {
    vec![
        Type::Varchar,
        Type::array(Type::Integer),
        Type::array(Type::Varchar),
        Type::array(Type::array(Type::Double)),
        Type::map(Type::Varchar, Type::Integer),
        Type::map(Type::Integer, Type::Varchar),
    ]
}

fn suite(registry: &Registry) -> Suite<'_> {
    Suite {
        is_included: |name| Package::split(name).0 == Package::Presto,
        types: types(registry),
        signatures: signatures(registry),
        collections: collections(),
        examples: examples(registry),
        left_out: &LEFT_OUT,
        called_in_part: &CALLED_IN_PART,
        ..Suite::new(registry)
    }
}

/// Runs the case in the file that `VOLLEY_REPLAY` names.
#[test]
#[ignore = "needs a file that a failure left behind"]
fn replay_a_saved_case() {
    let path = std::env::var("VOLLEY_REPLAY").expect("VOLLEY_REPLAY names a file");
    if let Err(message) = harness::replay(&registry(), Path::new(&path)) {
        panic!("{message}");
    }
}

#[test]
fn every_function_answers_as_the_plain_evaluator() {
    harness::check_functions(&suite(&registry()));
}

#[test]
fn every_cast_answers_as_the_plain_evaluator() {
    harness::check_casts(&suite(&registry()), Package::Presto);
}

#[test]
fn every_function_with_lambdas_answers_as_the_plain_evaluator() {
    harness::check_functions_with_lambdas(&suite(&registry()));
}

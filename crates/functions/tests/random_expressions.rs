//! Every deterministic scalar function and cast, called with random vectors in random encodings,
//! alone and in each other's arguments, answers as the plain evaluator.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "random_expressions/harness.rs"]
mod harness;

use harness::{Suite, check, replay};
use std::{panic::AssertUnwindSafe, path::Path};
use volley_expression::Expr;
use volley_function::{Package, Registry};
use volley_types::{Field, Type, custom::Enumeration};
use volley_vector::random::Generator;

fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry
}

/// Functions that are not called.
const LEFT_OUT: [(&str, &str); 9] = [
    ("currval", "of a sequence"),
    ("error", "it fails"),
    ("gen_random_uuid", "random"),
    ("list_merge", "it takes sketches"),
    ("nextval", "of a sequence"),
    ("random", "random"),
    ("struct_extract", "the binder gives it a constant name and the type of that field"),
    ("uuid", "random"),
    ("uuidv4", "random"),
];

/// Functions of which some overload may not be called.
const CALLED_IN_PART: [(&str, &str); 2] = [
    ("generate_series", "random timestamps are far from each other, and the series long"),
    ("range", "the same"),
];

/// Arguments of overloads that few combinations of types fit.
fn signatures() -> Vec<Vec<Type>> {
    let truths = Type::array(Type::Boolean);
    let groups = Type::row(vec![Field::new("a", Type::Varchar)]);
    let sizes = ["small", "medium", "it's large"].map(str::to_owned).to_vec();
    let size = Enumeration::data_type(sizes).unwrap();
    let mut signatures = harness::signatures();
    signatures.extend([
        vec![truths.clone()],
        vec![Type::array(Type::Integer), truths],
        vec![Type::Varchar, Type::Boolean, Type::Varchar],
        vec![Type::Varchar, Type::Varchar, groups],
        vec![Type::Interval, Type::Timestamp, Type::Interval],
        vec![Type::Interval, Type::Timestamp, Type::Timestamp],
        vec![Type::Interval, Type::Date, Type::Interval],
        vec![Type::Interval, Type::Date, Type::Date],
        vec![size.clone()],
        vec![size.clone(), size],
    ]);
    signatures
}

fn suite(registry: &Registry) -> Suite<'_> {
    Suite {
        signatures: signatures(),
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
    if let Err(message) = replay(&registry(), Path::new(&path)) {
        panic!("{message}");
    }
}

#[test]
fn a_failure_leaves_a_file_behind_that_fails_again() {
    let registry = registry();
    // Differs from itself at every call.
    let random = Expr::call("random", Vec::new(), Type::Double);
    let both = Expr::call("plus", vec![random, Expr::column(0, Type::Double)], Type::Double);
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut random = Generator::new(1).with_null_ratio(0.0);
        check(&registry, &both, &[Type::Double], &mut random)
    }));
    let message = *outcome.unwrap_err().downcast::<String>().unwrap();
    let path = message.split("VOLLEY_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
    let again = replay(&registry, Path::new(path)).unwrap_err();
    assert!(again.starts_with("plus(random(), #0):"), "{again}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn every_function_answers_as_the_plain_evaluator() {
    harness::check_functions(&suite(&registry()));
}

#[test]
fn every_cast_answers_as_the_plain_evaluator() {
    harness::check_casts(&suite(&registry()), Package::Core);
}

#[test]
fn every_function_with_lambdas_answers_as_the_plain_evaluator() {
    harness::check_functions_with_lambdas(&suite(&registry()));
}

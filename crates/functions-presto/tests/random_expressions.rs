//! Every deterministic scalar function of the package, called with random vectors in random
//! encodings, alone and in each other's arguments, answers as the plain evaluator.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../functions/tests/random_expressions/harness.rs"]
mod harness;

use std::path::Path;
use volley_function::{Package, Registry};

fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    volley_functions_presto::register(&mut registry);
    registry
}

fn is_of_the_package(name: &str) -> bool {
    Package::split(name).0 == Package::Presto
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
    harness::check_functions(&registry(), is_of_the_package);
}

#[test]
fn every_function_with_lambdas_answers_as_the_plain_evaluator() {
    harness::check_functions_with_lambdas(&registry(), is_of_the_package);
}

//! What unit tests of this crate share: its own build of the test kit's harness.

#[path = "../../exec-testkit/src/harness.rs"]
#[expect(dead_code, reason = "tests of operators use all of it")]
mod harness;

pub(crate) use harness::Harness;

use std::sync::Arc;
use volley_function::Registry;
use volley_testkit::{RowValues, rows_of};

/// No functions.
fn registry() -> Arc<Registry> {
    Arc::default()
}

//! `approx_percentile`.

use super::{doc, presto};
use std::sync::Arc;
use volley_function::Registry;
use volley_functions::value_aggregate::bind_percentile;

/// Registers `approx_percentile`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "approx_percentile(x[, weight], percentage(s)[, accuracy]) -> as x, or array(as x)",
        "The value at a percentage from 0 to 1 of the values, or an array of those at several: by \
         nearest rank, exact for up to 200 values, and then with a rank that is wrong by at most \
         the accuracy, 0.0133 when left out (99 %). A value counts `weight` times, a bigint.",
        &[
            ("approx_percentile(x, 0.5) FROM (VALUES (1), (2), (9)) t(x)", "2"),
            ("approx_percentile(x, ARRAY[0.1, 0.9]) FROM (VALUES (1), (2), (9)) t(x)", "[1, 9]"),
        ],
    );
    registry.add_aggregate(&presto("approx_percentile"), doc, Arc::new(bind_percentile));
}

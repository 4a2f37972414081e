//! `approx_most_frequent`.

use super::{doc, presto};
use std::sync::Arc;
use volley_function::Registry;
use volley_functions::value_aggregate::bind_most_frequent;

/// Registers `approx_most_frequent`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "approx_most_frequent(buckets, value, capacity) -> map(value, bigint)",
        "The values that come most often, at most `buckets` of them, and about how often: too few \
         by at most the number of rows divided by `capacity`.",
        &[("approx_most_frequent(1, x, 10) FROM (VALUES ('a'), ('b'), ('b')) t(x)", "{b=2}")],
    );
    registry.add_aggregate(&presto("approx_most_frequent"), doc, Arc::new(bind_most_frequent));
}

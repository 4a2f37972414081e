//! `width_bucket`.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{Registry, simple::ArrayView};

/// Registers both forms.
pub(super) fn register(registry: &mut Registry) {
    let equal = doc(
        "width_bucket(x, bound1, bound2, count) -> bigint",
        "The bucket of x among `count` ones of equal width between the bounds, from 1; 0 below \
         them, and `count` + 1 from the upper one on. Bounds in reverse count from the other end.",
        &[("width_bucket(3.14e0, 0, 4, 3)", "3"), ("width_bucket(3.14e0, 4, 0, 3)", "1")],
    );
    registry.simple("presto.width_bucket", equal, equal_width);
    let bins = doc(
        "width_bucket(x, array of bins) -> bigint",
        "How many of the bins, which are in ascending order, begin at x or below.",
        &[("width_bucket(3.14e0, ARRAY[0, 2, 4])", "2")],
    );
    registry.simple("presto.width_bucket", bins, by_bins);
}

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::invalid_value(format!("width_bucket: {message}")))
}

fn equal_width(x: f64, bound1: f64, bound2: f64, count: i64) -> Result<i64> {
    if count <= 0 {
        return invalid("the number of buckets must be greater than 0");
    }
    if x.is_nan() {
        return invalid("x must not be NaN");
    }
    if !bound1.is_finite() || !bound2.is_finite() {
        return invalid("bounds must be finite");
    }
    if bound1 == bound2 {
        return invalid("bounds must differ");
    }
    let (lower, upper) = (bound1.min(bound2), bound1.max(bound2));
    let bucket = if x < lower {
        0
    } else if x >= upper {
        match count.checked_add(1) {
            Some(bucket) => bucket,
            None => return invalid("the bucket is out of range"),
        }
    } else {
        (count as f64 * (x - lower) / (upper - lower) + 1.0) as i64
    };
    if bound1 <= bound2 {
        return Ok(bucket);
    }
    match (count - bucket).checked_add(1) {
        Some(bucket) => Ok(bucket),
        None => invalid("the bucket is out of range"),
    }
}

fn by_bins(x: f64, bins: ArrayView<f64>) -> Result<i64> {
    if bins.is_empty() {
        return invalid("there must be a bin");
    }
    if x.is_nan() {
        return invalid("x must not be NaN");
    }
    // As in Presto, those bins are inspected that a binary search comes by.
    let (mut lower, mut upper) = (0, bins.len());
    while lower < upper {
        let middle = (lower + upper) / 2;
        let looked_at = (bins.get(lower), bins.get(middle), bins.get(upper - 1));
        let (Some(first), Some(bin), Some(last)) = looked_at else {
            return invalid("bins must not be null");
        };
        if first > last || first > bin || bin > last {
            return invalid("bins must be in ascending order");
        }
        if !first.is_finite() || !bin.is_finite() || !last.is_finite() {
            return invalid("bins must be finite");
        }
        if x < bin {
            upper = middle;
        } else {
            lower = middle + 1;
        }
    }
    Ok(lower as i64)
}

//! Statistics that answer other than in the core: NaN where values are equal, null where a result
//! is not finite, `entropy` of counts.

use super::{doc, presto};
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::Double,
};
use volley_functions::statistics::{Moments, PairMoments, bind_moments, bind_pairs};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let skewness = doc(
        "skewness(x) -> double",
        "Fisher's moment coefficient of skewness; null for fewer than three values, NaN when they \
         are equal.",
        &[("round(skewness(x), 6) FROM (VALUES (1), (1), (2)) t(x)", "0.707107")],
    );
    let bind = bind_moments(Moments::population_skewness);
    registry.add_aggregate(&presto("skewness"), skewness, bind);
    let kurtosis = doc(
        "kurtosis(x) -> double",
        "The unbiased excess kurtosis; null for fewer than four values, NaN when they are equal.",
        &[("kurtosis(x) FROM (VALUES (1), (1), (1), (2)) t(x)", "4.0")],
    );
    registry.add_aggregate(&presto("kurtosis"), kurtosis, bind_moments(Moments::sample_kurtosis));
    let pairs: [(&str, &str, &str, fn(&PairMoments) -> Option<f64>); 8] = [
        ("corr", "The coefficient of correlation; null when y or x is constant.", "1.0", |it| {
            finite(it, it.correlation())
        }),
        (
            "regr_slope",
            "The slope of the line of least squares; null when x is constant.",
            "2.0",
            |it| finite(it, it.slope()),
        ),
        (
            "regr_intercept",
            "Where the line of least squares meets the axis of y; null when x is constant.",
            "1.0",
            |it| finite(it, it.intercept()),
        ),
        ("regr_count", "The number of rows where neither is null.", "3.0", |it| Some(it.count)),
        (
            "regr_r2",
            "The square of the correlation; 1 when y is constant, null when x is.",
            "1.0",
            |it| it.r2().filter(|it| it.is_finite()),
        ),
        ("regr_sxx", "The sum of squared distances of x from its mean.", "2.0", |it| {
            finite(it, it.m2_x)
        }),
        ("regr_syy", "The sum of squared distances of y from its mean.", "8.0", |it| {
            finite(it, it.m2_y)
        }),
        ("regr_sxy", "The sum of products of the distances from the means.", "4.0", |it| {
            finite(it, it.c2)
        }),
    ];
    for (name, description, example, finish) in pairs {
        let call = format!("{name}(y, x) FROM (VALUES (3, 1), (5, 2), (7, 3)) t(y, x)");
        let doc = doc(&format!("{name}(y, x) -> double"), description, &[(&call, example)]);
        registry.add_aggregate(&presto(name), doc, bind_pairs(finish));
    }
    let entropy = doc(
        "entropy(c) -> double",
        "The entropy in bits of counts of values; 0 when their sum is. A negative count is an \
         error.",
        &[("entropy(c) FROM (VALUES (1), (1), (2), (0)) t(c)", "1.5")],
    );
    registry.add_aggregate(&presto("entropy"), entropy, simple::bind(Entropy));
}

fn finite(pairs: &PairMoments, value: f64) -> Option<f64> {
    pairs.some(value).filter(|it| it.is_finite())
}

/// Of counts c: `log2(sum c) - sum(c log2 c) / sum c`.
struct Entropy;

impl SimpleAggregate for Entropy {
    /// The sum of the counts, and that of `c log2 c`.
    type State = (f64, f64);
    type Args = Double;
    type Partial = (Double, Double);
    type Result = Double;

    fn add(&self, state: &mut (f64, f64), count: f64) -> Result<()> {
        if count < 0.0 {
            let message = format!("entropy takes counts that are not negative: {count}");
            return Err(Error::invalid_value(message));
        }
        if count != 0.0 {
            state.0 += count;
            state.1 += count * count.log2();
        }
        Ok(())
    }

    fn merge(&self, state: &mut (f64, f64), partial: (f64, f64)) -> Result<()> {
        state.0 += partial.0;
        state.1 += partial.1;
        Ok(())
    }

    fn partial(&self, state: &(f64, f64)) -> Result<Option<(f64, f64)>> {
        Ok(Some(*state))
    }

    fn result(&self, (sum, weighted): &(f64, f64)) -> Result<Option<f64>> {
        let entropy = sum.log2() - weighted / sum;
        Ok(Some(if *sum == 0.0 { 0.0 } else { if entropy < 0.0 { 0.0 } else { entropy } }))
    }
}

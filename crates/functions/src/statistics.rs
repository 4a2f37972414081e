//! Aggregates of moments: of one number ([`Moments`]) or of pairs ([`PairMoments`]).
//!
//! Both are kept as central moments, which merge without losing digits (Pébay: "Formulas for
//! robust, one-pass parallel computation of covariances and arbitrary-order statistical moments",
//! 2008).

mod moments;
mod pairs;

pub use moments::{Moments, bind_moments};
pub use pairs::{PairMoments, bind_pairs};

use crate::documentation::doc;
use volley_function::Registry;

/// Registers the aggregates of the core.
pub(crate) fn register(registry: &mut Registry) {
    let one: [(&str, &str, &str, fn(&Moments) -> Option<f64>); 3] = [
        (
            "skewness",
            "The skewness of a sample; null for fewer than three values or equal ones.",
            "1.732051",
            Moments::sample_skewness,
        ),
        (
            "kurtosis",
            "The excess kurtosis of a sample; null for fewer than four values or equal ones.",
            "4.0",
            |it| it.sample_kurtosis().filter(|it| it.is_finite()),
        ),
        (
            "kurtosis_pop",
            "The excess kurtosis of a population; null for fewer than two values or equal ones.",
            "-0.666667",
            Moments::population_kurtosis,
        ),
    ];
    for (name, description, example, finish) in one {
        let rows = if name == "skewness" { "(1), (1), (2)" } else { "(1), (1), (1), (2)" };
        let call = format!("round({name}(x), 6) FROM (VALUES {rows}) v(x)");
        let signature = format!("{name}(number) -> double");
        let doc = doc(&signature, description, "aggregate", &[(&call, example)]);
        registry.add_aggregate(name, doc, bind_moments(finish));
    }
    register_pairs(registry);
}

fn register_pairs(registry: &mut Registry) {
    let pairs: [(&str, &str, &str, fn(&PairMoments) -> Option<f64>); 11] = [
        ("covar_pop", "The covariance of a population.", "0.6666666666666666", |it| {
            it.covariance(0.0)
        }),
        ("covar_samp", "The covariance of a sample; null for fewer than two rows.", "1.0", |it| {
            it.covariance(1.0)
        }),
        ("corr", "The coefficient of correlation; NaN when x or y is constant.", "1.0", |it| {
            it.some(it.correlation())
        }),
        ("regr_slope", "The slope of the line of least squares through the points.", "2.0", |it| {
            it.some(it.slope())
        }),
        (
            "regr_intercept",
            "Where the line of least squares meets the axis of y; null when x is constant.",
            "1.0",
            |it| it.some(it.intercept()).filter(|it| !it.is_nan()),
        ),
        (
            "regr_r2",
            "The square of the correlation; 1 when y is constant, null when x is.",
            "1.0",
            PairMoments::r2,
        ),
        ("regr_sxx", "The sum of squared distances of x from its mean.", "2.0", |it| {
            it.some(it.m2_x)
        }),
        ("regr_syy", "The sum of squared distances of y from its mean.", "8.0", |it| {
            it.some(it.m2_y)
        }),
        ("regr_sxy", "The sum of products of the distances from the means.", "4.0", |it| {
            it.some(it.c2)
        }),
        ("regr_avgx", "The mean of x.", "2.0", |it| it.some(it.mean_x)),
        ("regr_avgy", "The mean of y.", "5.0", |it| it.some(it.mean_y)),
    ];
    for (name, description, example, finish) in pairs {
        add_pair(registry, name, description, example, finish);
    }
    let doc = doc(
        "regr_count(y, x) -> bigint",
        "The number of rows where neither is null.",
        "aggregate",
        &[("regr_count(y, x) FROM (VALUES (3, 1), (5, NULL)) v(y, x)", "1")],
    );
    registry.add_aggregate("regr_count", doc, pairs::bind_count());
}

fn add_pair(
    registry: &mut Registry,
    name: &str,
    description: &str,
    example: &str,
    finish: fn(&PairMoments) -> Option<f64>,
) {
    let rows = match name {
        "covar_pop" | "covar_samp" => "(1, 1), (2, 2), (3, 3)",
        _ => "(3, 1), (5, 2), (7, 3)",
    };
    let call = format!("{name}(y, x) FROM (VALUES {rows}) v(y, x)");
    let signature = format!("{name}(y, x) -> double");
    let description = format!("{description} Rows where one of them is null do not count.");
    let doc = doc(&signature, &description, "aggregate", &[(&call, example)]);
    registry.add_aggregate(name, doc, bind_pairs(finish));
}

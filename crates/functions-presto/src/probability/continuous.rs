//! Distributions of real numbers.

use super::{
    check, check_positive, check_probability, check_shape, doc,
    inverse::{both_ways, from_zero},
    special::{beta_lower, gamma_lower, gamma_upper},
};
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use volley_error::Result;
use volley_function::Registry;

/// Registers the distributions and their inverses.
pub(super) fn register(registry: &mut Registry) {
    normal(registry);
    of_one_parameter(registry);
    of_two_parameters(registry);
    positive_of_two_parameters(registry);
}

/// Adds a function of two parameters and a value, and its inverse of a probability.
fn add(
    registry: &mut Registry,
    name: &str,
    [first, second]: [&str; 2],
    description: &str,
    example: (&str, &str),
    cdf: fn(f64, f64, f64) -> Result<f64>,
) {
    let signature = format!("{name}_cdf({first}, {second}, value) -> double");
    let doc = doc(&signature, description, &[example]);
    registry.simple(&format!("presto.{name}_cdf"), doc, cdf);
}

fn add_inverse(
    registry: &mut Registry,
    name: &str,
    [first, second]: [&str; 2],
    example: (&str, &str),
    inverse: fn(f64, f64, f64) -> Result<f64>,
) {
    let signature = format!("inverse_{name}_cdf({first}, {second}, p) -> double");
    let description = format!("The value at which `{name}_cdf` is p.");
    let doc = doc(&signature, &description, &[example]);
    registry.simple(&format!("presto.inverse_{name}_cdf"), doc, inverse);
}

fn normal(registry: &mut Registry) {
    let names = ["mean", "sd"];
    let description = "The probability of a value below the given one in the normal distribution.";
    add(registry, "normal", names, description, ("normal_cdf(0, 1, 0)", "0.5"), |mean, sd, x| {
        check_positive(sd, "the standard deviation")?;
        Ok(standard_normal((x - mean) / sd))
    });
    let example = ("inverse_normal_cdf(0, 1, 0.5)", "0.0");
    add_inverse(registry, "normal", names, example, |mean, sd, p| {
        check(p > 0.0 && p < 1.0, "p must be in the interval (0, 1)")?;
        check_positive(sd, "the standard deviation")?;
        Ok(mean + sd * symmetric_quantile(p, standard_normal))
    });
}

fn standard_normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The value at which a distribution that is symmetric to 0 reaches p; `cdf` is exact below 0.
fn symmetric_quantile(p: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    // Both halves of a probability above one half are exact.
    let tail = p.min(1.0 - p);
    let distance = if tail > 0.0 { from_zero(|x| cdf(-x) <= tail) } else { f64::INFINITY };
    if p == 0.5 {
        0.0
    } else if p < 0.5 {
        -distance
    } else {
        distance
    }
}

fn of_one_parameter(registry: &mut Registry) {
    let chi_doc = doc(
        "chi_squared_cdf(df, value) -> double",
        "The probability of a value below the given one, which is not negative, in the chi-square \
         distribution.",
        &[("round(chi_squared_cdf(2, 2), 6)", "0.632121")],
    );
    registry.simple("presto.chi_squared_cdf", chi_doc, |df: f64, x: f64| -> Result<f64> {
        check(x >= 0.0, "value must not be negative")?;
        check_shape(df, "df")?;
        Ok(gamma_lower(df / 2.0, x / 2.0))
    });
    let chi_inverse = doc(
        "inverse_chi_squared_cdf(df, p) -> double",
        "The value at which `chi_squared_cdf` is p.",
        &[("round(inverse_chi_squared_cdf(2, 0.5), 6)", "1.386294")],
    );
    registry.simple("presto.inverse_chi_squared_cdf", chi_inverse, |df: f64, p: f64| {
        check_probability(p)?;
        check_shape(df, "df")?;
        Ok::<f64, volley_error::Error>(gamma_quantile(df / 2.0, 2.0, p))
    });
    let t_doc = doc(
        "t_cdf(df, value) -> double",
        "The probability of a value below the given one in Student's t-distribution.",
        &[("t_cdf(1, 0)", "0.5")],
    );
    registry.simple("presto.t_cdf", t_doc, |df: f64, x: f64| -> Result<f64> {
        check_shape(df, "df")?;
        Ok(student(df, x))
    });
    let t_inverse = doc(
        "inverse_t_cdf(df, p) -> double",
        "The value at which `t_cdf` is p.",
        &[("inverse_t_cdf(1, 0.5)", "0.0")],
    );
    registry.simple("presto.inverse_t_cdf", t_inverse, |df: f64, p: f64| -> Result<f64> {
        check_probability(p)?;
        check_shape(df, "df")?;
        Ok(symmetric_quantile(p, |x| student(df, x)))
    });
}

fn student(df: f64, x: f64) -> f64 {
    // Near 0 the first form would lose the digits of x.
    let square = x * x;
    let tail = if square > df {
        0.5 * beta_lower(df / 2.0, 0.5, df / (df + square))
    } else {
        0.5 * (1.0 - beta_lower(0.5, df / 2.0, square / (df + square)))
    };
    if x > 0.0 { 1.0 - tail } else { tail }
}

fn of_two_parameters(registry: &mut Registry) {
    let names = ["median", "scale"];
    let description = "The probability of a value below the given one in the Cauchy distribution.";
    add(registry, "cauchy", names, description, ("cauchy_cdf(0, 1, 1)", "0.75"), |m, scale, x| {
        check_positive(scale, "scale")?;
        let z = (x - m) / scale;
        // The tail by its own formula, so that it does not vanish in the 0.5.
        Ok(if z < -1.0 { (-1.0 / z).atan() / PI } else { 0.5 + z.atan() / PI })
    });
    let example = ("inverse_cauchy_cdf(0, 1, 0.5)", "0.0");
    add_inverse(registry, "cauchy", names, example, |median, scale, p| {
        check_probability(p)?;
        check_positive(scale, "scale")?;
        let z = match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            p if p < 0.25 => -1.0 / (PI * p).tan(),
            p => (PI * (p - 0.5)).tan(),
        };
        Ok(median + scale * z)
    });
    let names = ["mean", "scale"];
    let description = "The probability of a value below the given one in the Laplace distribution.";
    add(registry, "laplace", names, description, ("laplace_cdf(0, 1, 0)", "0.5"), |m, scale, x| {
        check_positive(scale, "scale")?;
        let z = (x - m) / scale;
        Ok(if z < 0.0 { 0.5 * z.exp() } else { 1.0 - 0.5 * (-z).exp() })
    });
    let example = ("inverse_laplace_cdf(0, 1, 0.5)", "0.0");
    add_inverse(registry, "laplace", names, example, |mean, scale, p| {
        check_probability(p)?;
        check_positive(scale, "scale")?;
        let z = if p < 0.5 { (2.0 * p).ln() } else { -(2.0 * (1.0 - p)).ln() };
        Ok(mean + scale * z)
    });
}

fn positive_of_two_parameters(registry: &mut Registry) {
    let description = "The probability of a value below the given one, from 0 to 1, in the beta \
                       distribution.";
    add(
        registry,
        "beta",
        ["a", "b"],
        description,
        ("round(beta_cdf(1, 1, 0.25), 6)", "0.25"),
        |a, b, x| {
            check((0.0..=1.0).contains(&x), "value must be in the interval [0, 1]")?;
            check_shape(a, "a")?;
            check_shape(b, "b")?;
            Ok(beta_lower(a, b, x))
        },
    );
    let example = ("round(inverse_beta_cdf(2, 2, 0.5), 6)", "0.5");
    add_inverse(registry, "beta", ["a", "b"], example, |a, b, p| {
        check_probability(p)?;
        check_shape(a, "a")?;
        check_shape(b, "b")?;
        Ok(both_ways(p, 1.0, |x| beta_lower(a, b, x), |x| beta_lower(b, a, 1.0 - x)))
    });
    let names = ["df1", "df2"];
    let description = "The probability of a value below the given one, which is not negative, in \
                       the F-distribution.";
    let example = ("round(f_cdf(2, 2, 1), 6)", "0.5");
    add(registry, "f", names, description, example, |df1, df2, x| {
        check(x >= 0.0, "value must not be negative")?;
        check_shape(df1, "the numerator's df")?;
        check_shape(df2, "the denominator's df")?;
        Ok(fisher(df1, df2, x).0)
    });
    add_inverse(
        registry,
        "f",
        names,
        ("round(inverse_f_cdf(2, 2, 0.5), 6)", "1.0"),
        |df1, df2, p| {
            check_probability(p)?;
            check_shape(df1, "the numerator's df")?;
            check_shape(df2, "the denominator's df")?;
            Ok(both_ways(p, f64::INFINITY, |x| fisher(df1, df2, x).0, |x| fisher(df1, df2, x).1))
        },
    );
    let names = ["shape", "scale"];
    let description = "The probability of a value below the given one, which is not negative, in \
                       the gamma distribution.";
    let example = ("round(gamma_cdf(1, 2, 2), 6)", "0.632121");
    add(registry, "gamma", names, description, example, |shape, scale, x| {
        check(x >= 0.0, "value must not be negative")?;
        check_shape(shape, "shape")?;
        check_positive(scale, "scale")?;
        Ok(gamma_lower(shape, x / scale))
    });
    let example = ("round(inverse_gamma_cdf(1, 2, 0.5), 6)", "1.386294");
    add_inverse(registry, "gamma", names, example, |shape, scale, p| {
        check_probability(p)?;
        check_shape(shape, "shape")?;
        check_positive(scale, "scale")?;
        Ok(gamma_quantile(shape, scale, p))
    });
    weibull(registry);
}

/// The distribution function of Fisher's F, and what is missing to 1.
fn fisher(df1: f64, df2: f64, x: f64) -> (f64, f64) {
    let (a, b) = (df1 / 2.0, df2 / 2.0);
    if x.is_infinite() {
        return (1.0, 0.0);
    }
    // x in units of the denominator, so that neither part is a difference.
    let ratio = df1 / df2 * x;
    let (below, above) = (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio));
    if ratio < 1.0 {
        let lower = beta_lower(a, b, below);
        (lower, 1.0 - lower)
    } else {
        let upper = beta_lower(b, a, above);
        (1.0 - upper, upper)
    }
}

fn gamma_quantile(shape: f64, scale: f64, p: f64) -> f64 {
    scale * both_ways(p, f64::INFINITY, |x| gamma_lower(shape, x), |x| gamma_upper(shape, x))
}

fn weibull(registry: &mut Registry) {
    let names = ["a", "b"];
    let description = "The probability of a value below the given one in the Weibull distribution \
                       of shape a and scale b.";
    let example = ("round(weibull_cdf(1, 1, 1), 6)", "0.632121");
    add(registry, "weibull", names, description, example, |a, b, x| {
        check_positive(a, "a")?;
        check_positive(b, "b")?;
        Ok(if x <= 0.0 { 0.0 } else { -(-(x / b).powf(a)).exp_m1() })
    });
    let example = ("round(inverse_weibull_cdf(1, 1, 0.5), 6)", "0.693147");
    add_inverse(registry, "weibull", names, example, |a, b, p| {
        check_probability(p)?;
        check_positive(a, "a")?;
        check_positive(b, "b")?;
        Ok(b * (-(-p).ln_1p()).powf(1.0 / a))
    });
}

//! Wilson's score interval of a proportion.

use super::{check, doc};
use volley_error::Result;
use volley_function::Registry;

/// Registers both bounds.
pub(super) fn register(registry: &mut Registry) {
    let bounds: [(&str, f64, &str); 2] = [("lower", -1.0, "0.736166"), ("upper", 1.0, "0.775804")];
    for (name, sign, result) in bounds {
        let function = format!("wilson_interval_{name}");
        let doc = doc(
            &format!("{function}(successes, trials, z) -> double"),
            &format!(
                "The {name} bound of Wilson's score interval of a Bernoulli process, at the \
                 confidence of a z-score."
            ),
            &[(&format!("round({function}(1361, 1799, 1.96), 6)"), result)],
        );
        registry.simple(&format!("presto.{function}"), doc, move |x: i64, n: i64, z: f64| {
            bound(x, n, z, sign)
        });
    }
}

fn bound(successes: i64, trials: i64, z: f64, sign: f64) -> Result<f64> {
    check(successes >= 0, "the number of successes must not be negative")?;
    check(trials > 0, "the number of trials must be greater than 0")?;
    check(successes <= trials, "there must not be more successes than trials")?;
    check(z >= 0.0, "the z-score must not be negative")?;
    let n = trials as f64;
    let p = successes as f64 / n;
    let per_trial = z * z / n;
    let deviation = z * (p * (1.0 - p) / n + per_trial / n / 4.0).sqrt();
    Ok((p + per_trial / 2.0 + sign * deviation) / (1.0 + per_trial))
}

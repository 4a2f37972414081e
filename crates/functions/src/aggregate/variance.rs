//! Variances and standard deviations.
//!
//! ```text
//! add     Welford: mean += (x - mean) / n; m2 += (x - old mean) * (x - mean)
//! merge   Chan, Golub, LeVeque: m2 += m2' + (mean' - mean)^2 * n * n' / (n + n')
//! ```

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundAggregate, Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::{BigInt, Double},
};
use volley_types::{Field, Type, implicit_cast_cost};

/// Registers the families `stddev` and `variance`.
pub(super) fn register(registry: &mut Registry) {
    let variance = "The variance of the values that are not null";
    let deviation = "The standard deviation of the values that are not null";
    let of_sample = "of a sample: null for fewer than two";
    let of_population = "of the whole population";
    for name in ["var_samp", "variance"] {
        add(registry, name, &format!("{variance}, {of_sample}."), "0.5", Moments::of_sample);
    }
    add(
        registry,
        "var_pop",
        &format!("{variance}, {of_population}."),
        "0.25",
        Moments::of_population,
    );
    for name in ["stddev_samp", "stddev"] {
        let root = |sum: Moments| sum.of_sample().map(f64::sqrt);
        let text = format!("{deviation}, {of_sample}.");
        add(registry, name, &text, "0.7071067811865476", root);
    }
    let root = |sum: Moments| sum.of_population().map(f64::sqrt);
    let error = |sum: Moments| Some(sum.of_population()?.sqrt() / (sum.count as f64).sqrt());
    let text = "The standard error of the mean of the values that are not null.";
    add(registry, "sem", text, "0.35355339059327373", error);
    add(registry, "stddev_pop", &format!("{deviation}, {of_population}."), "0.5", root);
}

fn add(
    registry: &mut Registry,
    name: &str,
    description: &str,
    example: &str,
    finish: fn(Moments) -> Option<f64>,
) {
    let call = format!("{name}(x) FROM (VALUES (1), (2)) v(x)");
    let signature = format!("{name}(number) -> double");
    let doc = doc(&signature, description, "aggregate", &[(call.as_str(), example)]);
    registry.add_aggregate(name, doc, Arc::new(move |args: &[Type]| bind(args, finish)));
}

fn bind(args: &[Type], finish: fn(Moments) -> Option<f64>) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    implicit_cast_cost(arg, &Type::Double)?;
    Some(simple::bound(vec![Type::Double], partial_type(), Type::Double, Variance { finish }))
}

fn partial_type() -> Type {
    Type::row([
        Field::new("count", Type::BigInt),
        Field::new("mean", Type::Double),
        Field::new("m2", Type::Double),
    ])
}

/// Number, mean and sum of squared distances from the mean.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: u64,
    mean: f64,
    m2: f64,
}

impl Moments {
    #[inline(always)]
    fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.m2 += distance * (value - self.mean);
    }

    fn of_sample(self) -> Option<f64> {
        (self.count > 1).then(|| self.m2 / (self.count - 1) as f64)
    }

    fn of_population(self) -> Option<f64> {
        (self.count > 0).then(|| self.m2 / self.count as f64)
    }

    fn merge(&mut self, other: Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let distance = other.mean - self.mean;
        self.m2 += other.m2 + distance * distance * n * m / (n + m);
        self.mean = (n * self.mean + m * other.mean) / (n + m);
        self.count += other.count;
    }
}

struct Variance {
    finish: fn(Moments) -> Option<f64>,
}

impl SimpleAggregate for Variance {
    type State = Moments;
    type Args = Double;
    type Partial = (BigInt, Double, Double);
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut Moments, value: f64) -> Result<()> {
        state.add(value);
        Ok(())
    }

    #[inline(always)]
    fn merge(&self, state: &mut Moments, (count, mean, m2): (i64, f64, f64)) -> Result<()> {
        state.merge(Moments { count: count as u64, mean, m2 });
        Ok(())
    }

    fn partial(&self, state: &Moments) -> Result<Option<(i64, f64, f64)>> {
        Ok(Some((state.count as i64, state.mean, state.m2)))
    }

    fn result(&self, state: &Moments) -> Result<Option<f64>> {
        Ok((self.finish)(*state))
    }
}

//! Compensated sums of floats: `kahan_sum`, `favg`, `weighted_avg`.

use crate::documentation::doc;
use volley_error::Result;
use volley_function::{
    Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::{BigInt, Double},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    for name in ["kahan_sum", "fsum", "sumkahan"] {
        let sum = doc(
            &format!("{name}(number) -> double"),
            "The sum of the values that are not null, with few errors of rounding; null if there \
             is none.",
            "aggregate",
            &[(&format!("{name}(x) FROM (VALUES (0.1), (0.2), (0.3)) v(x)"), "0.6")],
        );
        registry.add_aggregate(name, sum, simple::bind(Compensated { is_average: false }));
    }
    let average = doc(
        "favg(number) -> double",
        "The average of the values that are not null, with few errors of rounding; null if there \
         is none.",
        "aggregate",
        &[("favg(x) FROM (VALUES (1), (2), (NULL)) v(x)", "1.5")],
    );
    registry.add_aggregate("favg", average, simple::bind(Compensated { is_average: true }));
    for name in ["weighted_avg", "wavg"] {
        let weighted = doc(
            &format!("{name}(number, weight) -> double"),
            "The average of the values, each of which counts as much as its weight; null if \
             there is none. Rows where one of them is null do not count.",
            "aggregate",
            &[(&format!("{name}(x, w) FROM (VALUES (1, 1), (4, 2)) v(x, w)"), "3.0")],
        );
        registry.add_aggregate(name, weighted, simple::bind(Weighted));
    }
}

/// A sum, and what was lost when it was rounded (Neumaier, 1974).
#[derive(Clone, Copy, Default)]
struct Sum {
    sum: f64,
    lost: f64,
    count: i64,
}

impl Sum {
    #[inline(always)]
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += match self.sum.abs() >= value.abs() {
            true => (self.sum - sum) + value,
            false => (value - sum) + self.sum,
        };
        self.sum = sum;
    }

    /// Infinities lose nothing.
    fn total(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

struct Compensated {
    is_average: bool,
}

impl SimpleAggregate for Compensated {
    type State = Sum;
    type Args = Double;
    type Partial = (BigInt, Double, Double);
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut Sum, value: f64) -> Result<()> {
        state.count += 1;
        state.add(value);
        Ok(())
    }

    fn merge(&self, state: &mut Sum, (count, sum, lost): (i64, f64, f64)) -> Result<()> {
        state.count += count;
        state.add(sum);
        state.lost += lost;
        Ok(())
    }

    fn partial(&self, state: &Sum) -> Result<Option<(i64, f64, f64)>> {
        Ok((state.count > 0).then_some((state.count, state.sum, state.lost)))
    }

    fn result(&self, state: &Sum) -> Result<Option<f64>> {
        let divisor = if self.is_average { state.count as f64 } else { 1.0 };
        Ok((state.count > 0).then(|| state.total() / divisor))
    }
}

/// The sum of weighted values, and that of the weights.
#[derive(Clone, Copy, Default)]
struct WeightedSum {
    sum: f64,
    weights: f64,
    count: i64,
}

struct Weighted;

impl SimpleAggregate for Weighted {
    type State = WeightedSum;
    type Args = (Double, Double);
    type Partial = (BigInt, Double, Double);
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut WeightedSum, (value, weight): (f64, f64)) -> Result<()> {
        self.merge(state, (1, value * weight, weight))
    }

    #[inline(always)]
    fn merge(&self, state: &mut WeightedSum, (count, sum, weights): (i64, f64, f64)) -> Result<()> {
        state.count += count;
        state.sum += sum;
        state.weights += weights;
        Ok(())
    }

    fn partial(&self, state: &WeightedSum) -> Result<Option<(i64, f64, f64)>> {
        Ok((state.count > 0).then_some((state.count, state.sum, state.weights)))
    }

    fn result(&self, state: &WeightedSum) -> Result<Option<f64>> {
        let is_some = state.count > 0 && state.weights != 0.0;
        Ok(is_some.then(|| state.sum / state.weights))
    }
}

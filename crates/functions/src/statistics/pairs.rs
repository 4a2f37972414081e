//! Moments of pairs of numbers.

use volley_error::Result;
use volley_function::{
    BindAggregate,
    aggregate::simple::{self, SimpleAggregate, Write},
    simple::{Array, ArrayView, ArrayWriter, BigInt, Double},
};

/// Number, means, and sums of products of distances from the means, of pairs of y and x.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairMoments {
    /// How many pairs.
    pub count: f64,
    /// The mean of x.
    pub mean_x: f64,
    /// The mean of y.
    pub mean_y: f64,
    /// The sum of squares of x.
    pub m2_x: f64,
    /// The sum of squares of y.
    pub m2_y: f64,
    /// The sum of products of x and y.
    pub c2: f64,
}

impl PairMoments {
    fn add(&mut self, y: f64, x: f64) {
        self.count += 1.0;
        let (delta_x, delta_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += delta_x / self.count;
        self.mean_y += delta_y / self.count;
        self.m2_x += delta_x * (x - self.mean_x);
        self.m2_y += delta_y * (y - self.mean_y);
        self.c2 += delta_x * (y - self.mean_y);
    }

    fn merge(&mut self, other: &PairMoments) {
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let total = self.count + other.count;
        let (delta_x, delta_y) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let weight = self.count * other.count / total;
        self.m2_x += other.m2_x + delta_x * delta_x * weight;
        self.m2_y += other.m2_y + delta_y * delta_y * weight;
        self.c2 += other.c2 + delta_x * delta_y * weight;
        self.mean_x += delta_x * other.count / total;
        self.mean_y += delta_y * other.count / total;
        self.count = total;
    }

    /// `value`, unless there is no pair.
    pub fn some(&self, value: f64) -> Option<f64> {
        (self.count > 0.0).then_some(value)
    }

    /// The covariance; `fewer`: 1 for that of a sample, 0 for that of a population.
    pub fn covariance(&self, fewer: f64) -> Option<f64> {
        (self.count > fewer).then(|| self.c2 / (self.count - fewer))
    }

    /// The coefficient of correlation; not finite when x or y is constant.
    pub fn correlation(&self) -> f64 {
        self.c2 / (self.m2_x * self.m2_y).sqrt()
    }

    /// The slope of the line of least squares; not finite when x is constant.
    pub fn slope(&self) -> f64 {
        self.c2 / self.m2_x
    }

    /// Where the line of least squares meets the axis of y; not finite when x is constant.
    pub fn intercept(&self) -> f64 {
        self.mean_y - self.slope() * self.mean_x
    }

    /// The square of the correlation: 1 when y is constant; `None` when x is.
    pub fn r2(&self) -> Option<f64> {
        if self.count == 0.0 || self.m2_x == 0.0 {
            return None;
        }
        if self.m2_y == 0.0 {
            return Some(1.0);
        }
        Some(self.c2 * self.c2 / (self.m2_x * self.m2_y))
    }
}

/// The binding of an aggregate that is made of the moments of pairs of y and x.
pub fn bind_pairs(finish: fn(&PairMoments) -> Option<f64>) -> BindAggregate {
    simple::bind(OfPairs { finish })
}

struct OfPairs {
    finish: fn(&PairMoments) -> Option<f64>,
}

impl SimpleAggregate for OfPairs {
    type State = PairMoments;
    type Args = (Double, Double);
    type Partial = Array<Double>;
    type Result = Double;

    fn add(&self, state: &mut PairMoments, (y, x): (f64, f64)) -> Result<()> {
        state.add(y, x);
        Ok(())
    }

    fn merge(&self, state: &mut PairMoments, partial: ArrayView<'_, Double>) -> Result<()> {
        let mut parts = partial.iter().map(Option::unwrap_or_default);
        let mut next = || parts.next().unwrap_or_default();
        let (count, mean_x, mean_y) = (next(), next(), next());
        let (m2_x, m2_y, c2) = (next(), next(), next());
        state.merge(&PairMoments { count, mean_x, mean_y, m2_x, m2_y, c2 });
        Ok(())
    }

    fn partial<'s>(
        &self,
        state: &'s PairMoments,
    ) -> Result<Option<Write<'s, ArrayWriter<Double>>>> {
        let PairMoments { count, mean_x, mean_y, m2_x, m2_y, c2 } = *state;
        let parts = [count, mean_x, mean_y, m2_x, m2_y, c2];
        let write = move |out: &mut ArrayWriter<Double>| out.extend(parts);
        Ok((count > 0.0).then(|| Box::new(write) as Write<'s, _>))
    }

    fn result(&self, state: &PairMoments) -> Result<Option<f64>> {
        Ok((self.finish)(state))
    }
}

/// The binding of `regr_count`.
pub(super) fn bind_count() -> BindAggregate {
    simple::bind(Count)
}

struct Count;

impl SimpleAggregate for Count {
    type State = i64;
    type Args = (Double, Double);
    type Partial = BigInt;
    type Result = BigInt;

    fn add(&self, state: &mut i64, _pair: (f64, f64)) -> Result<()> {
        *state += 1;
        Ok(())
    }

    fn merge(&self, state: &mut i64, partial: i64) -> Result<()> {
        *state += partial;
        Ok(())
    }

    fn partial(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }

    fn result(&self, state: &i64) -> Result<Option<i64>> {
        Ok(Some(*state))
    }
}

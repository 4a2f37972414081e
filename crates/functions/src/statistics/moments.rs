//! Moments of one number.

use volley_error::Result;
use volley_function::{
    BindAggregate,
    aggregate::simple::{self, SimpleAggregate, Write},
    simple::{Array, ArrayView, ArrayWriter, Double},
};

/// Number, mean and the sums of powers of distances from the mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// How many values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// The sum of squares.
    pub m2: f64,
    /// The sum of cubes.
    pub m3: f64,
    /// The sum of fourth powers.
    pub m4: f64,
}

impl Moments {
    fn of(value: f64) -> Moments {
        Moments { count: 1.0, mean: value, ..Moments::default() }
    }

    fn merge(&mut self, other: &Moments) {
        if other.count == 0.0 {
            return;
        }
        if self.count == 0.0 {
            *self = *other;
            return;
        }
        let (n, m) = (self.count, other.count);
        let total = n + m;
        let delta = other.mean - self.mean;
        let (delta2, nm) = (delta * delta, n * m);
        let m4 = self.m4
            + other.m4
            + delta2 * delta2 * nm * (n * n - nm + m * m) / (total * total * total)
            + 6.0 * delta2 * (n * n * other.m2 + m * m * self.m2) / (total * total)
            + 4.0 * delta * (n * other.m3 - m * self.m3) / total;
        let m3 = self.m3
            + other.m3
            + delta * delta2 * nm * (n - m) / (total * total)
            + 3.0 * delta * (n * other.m2 - m * self.m2) / total;
        self.m2 += other.m2 + delta2 * nm / total;
        self.mean += delta * m / total;
        (self.m3, self.m4, self.count) = (m3, m4, total);
    }

    /// Fisher's moment coefficient of skewness, `sqrt(n) m3 / m2^1.5`; `None` for fewer than three
    /// values.
    pub fn population_skewness(&self) -> Option<f64> {
        (self.count > 2.0).then(|| self.count.sqrt() * self.m3 / self.m2.powf(1.5))
    }

    /// The skewness with the correction for a sample; `None` also for equal values.
    pub fn sample_skewness(&self) -> Option<f64> {
        let skewness = self.population_skewness().filter(|it| it.is_finite())?;
        let n = self.count;
        Some((n * (n - 1.0)).sqrt() / (n - 2.0) * skewness)
    }

    /// The unbiased excess kurtosis; `None` for fewer than four values, NaN for equal ones.
    pub fn sample_kurtosis(&self) -> Option<f64> {
        let n = self.count;
        let fourth = || n * (n + 1.0) * (n - 1.0) * self.m4 / (self.m2 * self.m2);
        let excess = || 3.0 * (n - 1.0) * (n - 1.0);
        (n > 3.0).then(|| (fourth() - excess()) / ((n - 2.0) * (n - 3.0)))
    }

    /// The excess kurtosis of a population; `None` for fewer than two values or equal ones.
    pub fn population_kurtosis(&self) -> Option<f64> {
        let kurtosis = self.count * self.m4 / (self.m2 * self.m2) - 3.0;
        (self.count > 1.0 && kurtosis.is_finite()).then_some(kurtosis)
    }
}

/// The binding of an aggregate that is made of the moments of numbers.
pub fn bind_moments(finish: fn(&Moments) -> Option<f64>) -> BindAggregate {
    simple::bind(OfMoments { finish })
}

struct OfMoments {
    finish: fn(&Moments) -> Option<f64>,
}

impl SimpleAggregate for OfMoments {
    type State = Moments;
    type Args = Double;
    type Partial = Array<Double>;
    type Result = Double;

    fn add(&self, state: &mut Moments, value: f64) -> Result<()> {
        state.merge(&Moments::of(value));
        Ok(())
    }

    fn merge(&self, state: &mut Moments, partial: ArrayView<'_, Double>) -> Result<()> {
        let mut parts = partial.iter().map(Option::unwrap_or_default);
        let mut next = || parts.next().unwrap_or_default();
        let (count, mean, m2, m3, m4) = (next(), next(), next(), next(), next());
        state.merge(&Moments { count, mean, m2, m3, m4 });
        Ok(())
    }

    fn partial<'s>(&self, state: &'s Moments) -> Result<Option<Write<'s, ArrayWriter<Double>>>> {
        let Moments { count, mean, m2, m3, m4 } = *state;
        let write = move |out: &mut ArrayWriter<Double>| out.extend([count, mean, m2, m3, m4]);
        Ok((count > 0.0).then(|| Box::new(write) as Write<'s, _>))
    }

    fn result(&self, state: &Moments) -> Result<Option<f64>> {
        Ok((self.finish)(state))
    }
}

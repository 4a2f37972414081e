//! The sum and the average of floats.

use volley_error::Result;
use volley_function::{
    aggregate::simple::SimpleAggregate,
    simple::{BigInt, Double},
};

/// A sum and the number of values in it. Values are added in the order of the rows, so that the sum
/// does not depend on how batches are cut.
#[derive(Clone, Copy, Default)]
pub(super) struct FloatTotal {
    sum: f64,
    count: u64,
}

impl FloatTotal {
    #[inline(always)]
    fn add(&mut self, sum: f64, count: u64) {
        self.sum += sum;
        self.count += count;
    }
}

/// `sum` of DOUBLE.
pub(super) struct FloatSum;

impl SimpleAggregate for FloatSum {
    type State = FloatTotal;
    type Args = Double;
    type Partial = Double;
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut FloatTotal, value: f64) -> Result<()> {
        state.add(value, 1);
        Ok(())
    }

    #[inline(always)]
    fn merge(&self, state: &mut FloatTotal, sum: f64) -> Result<()> {
        state.add(sum, 1);
        Ok(())
    }

    fn partial(&self, state: &FloatTotal) -> Result<Option<f64>> {
        self.result(state)
    }

    fn result(&self, state: &FloatTotal) -> Result<Option<f64>> {
        Ok((state.count > 0).then_some(state.sum))
    }
}

/// `avg` of DOUBLE.
pub(super) struct FloatAverage;

impl SimpleAggregate for FloatAverage {
    type State = FloatTotal;
    type Args = Double;
    type Partial = (Double, BigInt);
    type Result = Double;

    #[inline(always)]
    fn add(&self, state: &mut FloatTotal, value: f64) -> Result<()> {
        state.add(value, 1);
        Ok(())
    }

    #[inline(always)]
    fn merge(&self, state: &mut FloatTotal, (sum, count): (f64, i64)) -> Result<()> {
        state.add(sum, count as u64);
        Ok(())
    }

    fn partial(&self, state: &FloatTotal) -> Result<Option<(f64, i64)>> {
        Ok(Some((state.sum, state.count as i64)))
    }

    fn result(&self, state: &FloatTotal) -> Result<Option<f64>> {
        Ok((state.count > 0).then(|| state.sum / state.count as f64))
    }
}

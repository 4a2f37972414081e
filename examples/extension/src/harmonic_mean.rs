//! An aggregate: the harmonic mean, n divided by the sum of the reciprocals of n numbers.

use volley::{
    Error, Result,
    function::{
        BindAggregate, FunctionDoc,
        aggregate::simple::{self, SimpleAggregate},
        simple::{BigInt, Double},
    },
};

struct HarmonicMean;

/// The state of a group, stored in the group's row of the hash table.
#[derive(Clone, Default)]
struct State {
    /// Of the reciprocals.
    sum: f64,
    count: i64,
}

impl SimpleAggregate for HarmonicMean {
    type State = State;
    type Args = Double;
    /// Threads work on parts of the rows; a tuple travels between them as a ROW.
    type Partial = (Double, BigInt);
    type Result = Double;

    fn add(&self, state: &mut State, value: f64) -> Result<()> {
        if value <= 0.0 {
            let message = format!("harmonic mean of a number that is not positive: {value}");
            return Err(Error::invalid_value(message));
        }
        state.sum += value.recip();
        state.count += 1;
        Ok(())
    }

    fn partial(&self, state: &State) -> Result<Option<(f64, i64)>> {
        Ok(Some((state.sum, state.count)))
    }

    fn merge(&self, state: &mut State, (sum, count): (f64, i64)) -> Result<()> {
        state.sum += sum;
        state.count += count;
        Ok(())
    }

    /// `None` is null: the mean of nothing.
    fn result(&self, state: &State) -> Result<Option<f64>> {
        Ok((state.count > 0).then(|| state.count as f64 / state.sum))
    }
}

/// How it is called.
pub fn bind() -> BindAggregate {
    simple::bind(HarmonicMean)
}

/// What `DESCRIBE FUNCTION harmonic_mean` shows.
pub fn doc() -> FunctionDoc {
    FunctionDoc::new(
        "harmonic_mean(number) -> double",
        "The number of values that are not null, divided by the sum of their reciprocals.",
        "aggregate",
        &[("harmonic_mean(x) FROM (VALUES (2), (6)) v(x)", "3.0")],
    )
}

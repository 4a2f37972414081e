//! An aggregate: the n-th root of the product of n numbers.

use volley::{
    Error, Result,
    function::{
        BindAggregate, FunctionDoc,
        aggregate::simple::{self, SimpleAggregate},
        simple::{BigInt, Double},
    },
};

struct GeometricMean;

/// What is kept per group. It lives inside the group's row of the hash table.
#[derive(Clone, Default)]
struct State {
    /// Of the logarithms: the product itself would soon leave the range of a float.
    sum: f64,
    count: i64,
}

impl SimpleAggregate for GeometricMean {
    type State = State;
    type Args = Double;
    /// Threads work on parts of the rows; a tuple travels between them as a ROW.
    type Partial = (Double, BigInt);
    type Result = Double;

    fn add(&self, state: &mut State, value: f64) -> Result<()> {
        if value < 0.0 {
            let message = format!("geometric mean of a negative number: {value}");
            return Err(Error::invalid_value(message));
        }
        state.sum += value.ln();
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
        Ok((state.count > 0).then(|| (state.sum / state.count as f64).exp()))
    }
}

/// How it is called.
pub fn bind() -> BindAggregate {
    simple::bind(GeometricMean)
}

/// What `DESCRIBE FUNCTION geometric_mean` shows.
pub fn doc() -> FunctionDoc {
    FunctionDoc::new(
        "geometric_mean(number) -> double",
        "The n-th root of the product of the n values that are not null.",
        "aggregate",
        &[("geometric_mean(x) FROM (VALUES (2), (8)) v(x)", "4.0")],
    )
}

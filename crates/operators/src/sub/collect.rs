//! Operators that return one batch after the end of their input.

use volley_error::Result;
use volley_exec::{Operator, Step, StepContext};
use volley_vector::Batch;

/// What such an operator does with rows.
pub(super) trait Collect: Send {
    /// The name of the operator.
    const NAME: &'static str;

    /// Takes a batch of the input.
    fn accept(&mut self, input: Batch) -> Result<()>;

    /// What follows the end of the input. After a batch, or the end, it is not called again.
    fn output(&mut self, cx: &mut StepContext<'_>) -> Result<Step>;
}

/// The operator.
pub(super) struct Collecting<T> {
    collect: T,
    state: State,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Takes rows.
    Input,
    /// The input has ended.
    Output,
    /// All was returned.
    Done,
}

impl<T: Collect> Collecting<T> {
    pub(super) fn new(collect: T) -> Collecting<T> {
        Collecting { collect, state: State::Input }
    }
}

impl<T: Collect> Operator for Collecting<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.collect.accept(input)
    }

    fn finish_input(&mut self) -> Result<()> {
        self.state = State::Output;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        match self.state {
            State::Input => Ok(Step::NeedInput),
            State::Output => {
                let step = self.collect.output(cx)?;
                if !matches!(step, Step::Blocked(_)) {
                    self.state = State::Done;
                }
                Ok(step)
            }
            State::Done => Ok(Step::Finished),
        }
    }
}

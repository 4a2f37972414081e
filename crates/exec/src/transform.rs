//! Operators that work batch by batch, without waiting for anything.

use crate::{Operator, Step, StepContext};
use volley_error::Result;
use volley_vector::Batch;

/// Makes batches of each batch of its input. [`TransformOperator`] makes an operator of it.
pub trait Transform: Send {
    /// As [`Operator::name`].
    fn name(&self) -> &'static str;

    /// The first batch that is made of a batch, if it has rows. Called once [`Transform::more`] has
    /// answered `None` for the batch before.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>>;

    /// The next batch that is made of the same batch, or, after [`Transform::finish_input`], of
    /// what is left; it has rows. Called until it answers `None`.
    ///
    /// # Errors
    ///
    /// As [`Transform::transform`].
    fn more(&mut self) -> Result<Option<Batch>> {
        Ok(None)
    }

    /// As [`Operator::finish_input`].
    ///
    /// # Errors
    ///
    /// As [`Transform::transform`].
    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether further input makes no more rows.
    fn is_finished(&self) -> bool {
        false
    }
}

/// The operator of a [`Transform`].
pub struct TransformOperator<T> {
    transform: T,
    pending: Option<Batch>,
    input_done: bool,
}

impl<T: Transform> TransformOperator<T> {
    /// Of one driver's instance.
    pub fn new(transform: T) -> TransformOperator<T> {
        TransformOperator { transform, pending: None, input_done: false }
    }
}

impl<T: Transform> Operator for TransformOperator<T> {
    fn name(&self) -> &'static str {
        self.transform.name()
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        self.transform.finish_input()
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let first = match self.pending.take() {
            Some(batch) => self.transform.transform(batch)?,
            None => None,
        };
        let output = match first {
            Some(batch) => Some(batch),
            None => self.transform.more()?,
        };
        Ok(match output {
            Some(batch) => Step::Output(batch),
            None if self.input_done || self.transform.is_finished() => Step::Finished,
            None => Step::NeedInput,
        })
    }
}

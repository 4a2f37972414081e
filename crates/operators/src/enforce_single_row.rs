//! A scalar subquery's check.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use volley_error::{Error, Result};
use volley_exec::{Operator, Step, StepContext};
use volley_expression::Place;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Passes the only row of its input, makes a row of nulls when there is none, and fails when there
/// are more.
pub struct EnforceSingleRow {
    types: Vec<Type>,
    place: Place,
    row: Option<Batch>,
    input_done: bool,
    put_out: bool,
}

impl EnforceSingleRow {
    /// `types`: the input's columns; `place`: where the subquery stands.
    pub fn new(types: Vec<Type>, place: Place) -> EnforceSingleRow {
        EnforceSingleRow { types, place, row: None, input_done: false, put_out: false }
    }
}

impl Operator for EnforceSingleRow {
    fn name(&self) -> &'static str {
        "enforce single row"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if self.row.is_some() || input.rows() > 1 {
            let error = Error::invalid_value("scalar subquery returned more than one row");
            let error = error.hint("add LIMIT 1 or an aggregate such as min() to the subquery");
            return Err(self.place.locate(error));
        }
        self.row = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        if self.put_out {
            return Ok(Step::Finished);
        }
        self.put_out = true;
        let nulls = || {
            let columns = self.types.iter().map(|it| Vector::nulls(it.clone(), 1)).collect();
            Batch::new(columns, 1)
        };
        Ok(Step::Output(self.row.take().unwrap_or_else(nulls)))
    }
}

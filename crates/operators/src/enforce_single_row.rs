//! A scalar subquery's check.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use volley_error::{Error, Result};
use volley_exec::Transform;
use volley_expression::SourceSpan;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Passes the only row of its input, makes a row of nulls when there is none, and fails when there
/// are more.
pub struct EnforceSingleRow {
    types: Vec<Type>,
    place: SourceSpan,
    row: Option<Batch>,
    /// At the end of input.
    result: Option<Batch>,
}

impl EnforceSingleRow {
    /// `types`: the input's columns; `place`: where the subquery stands.
    pub fn new(types: Vec<Type>, place: SourceSpan) -> EnforceSingleRow {
        EnforceSingleRow { types, place, row: None, result: None }
    }
}

impl Transform for EnforceSingleRow {
    fn name(&self) -> &'static str {
        "enforce single row"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        if self.row.is_some() || batch.rows() > 1 {
            let error = Error::invalid_value("scalar subquery returned more than one row");
            let error = error.hint("add LIMIT 1 or an aggregate such as min() to the subquery");
            return Err(self.place.locate(error));
        }
        self.row = Some(batch.loaded()?);
        Ok(None)
    }

    fn more(&mut self) -> Result<Option<Batch>> {
        Ok(self.result.take())
    }

    fn finish_input(&mut self) -> Result<()> {
        let nulls = || {
            let columns = self.types.iter().map(|it| Vector::nulls(it.clone(), 1)).collect();
            Batch::new(columns, 1)
        };
        self.result = Some(self.row.take().unwrap_or_else(nulls));
        Ok(())
    }
}

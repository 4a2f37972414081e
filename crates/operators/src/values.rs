//! Literal rows.

mod lower;

pub(crate) use lower::lower;

use volley_error::{Error, Result};
use volley_exec::{Lowering, Operator, OperatorContext, PipelineBuilder, Step, StepContext};
use volley_plan::ValuesNode;
use volley_types::Value;
use volley_vector::{Batch, Vector};

/// Emits the rows of a [`ValuesNode`].
pub struct ValuesSource {
    rows: Batch,
    /// The first row not yet emitted.
    position: usize,
    batch_rows: usize,
}

impl ValuesSource {
    /// Builds the rows' vectors.
    ///
    /// # Errors
    ///
    /// Internal, when a row does not have one value per column.
    pub fn new(node: &ValuesNode, cx: &OperatorContext) -> Result<ValuesSource> {
        let width = node.schema.len();
        if node.rows.iter().any(|it| it.len() != width) {
            return Err(Error::internal("row of another width than its schema"));
        }
        let column = |(index, data_type): (usize, &volley_types::Type)| {
            let values: Vec<Value> = node.rows.iter().map(|it| it[index].clone()).collect();
            Vector::from_values(data_type.clone(), &values)
        };
        let columns = node.schema.types().enumerate().map(column).collect();
        let rows = Batch::new(columns, node.rows.len());
        Ok(ValuesSource { rows, position: 0, batch_rows: cx.task.batch_rows })
    }
}

/// A pipeline whose source emits the rows of a batch.
pub(crate) fn one_batch(name: &'static str, rows: Batch, cx: &mut Lowering) -> PipelineBuilder {
    cx.source(name, 1, move |cx| {
        let (rows, batch_rows) = (rows.clone(), cx.task.batch_rows);
        Ok(Box::new(ValuesSource { rows, position: 0, batch_rows }))
    })
}

impl Operator for ValuesSource {
    fn name(&self) -> &'static str {
        "values"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let rows = self.batch_rows.min(self.rows.rows() - self.position);
        if rows == 0 {
            return Ok(Step::Finished);
        }
        let batch = self.rows.slice(self.position, rows);
        self.position += rows;
        Ok(Step::Output(batch))
    }
}

//! Writes files.

use crate::{Operator, OperatorContext, Step, StepContext};
use volley_connector::RowSink;
use volley_error::Result;
use volley_plan::TableWriteNode;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Writes every batch to a sink, completes it when the input has ended, and puts out the number of
/// rows. A sink that is dropped before leaves nothing behind.
pub struct TableWrite {
    /// `None` once withdrawn.
    sink: Option<Box<dyn RowSink>>,
    pending: Option<Batch>,
    rows: i64,
    input_done: bool,
    complete: bool,
}

impl TableWrite {
    /// Opens the sink.
    ///
    /// # Errors
    ///
    /// I/O; a type that the format cannot hold.
    pub fn new(node: &TableWriteNode, cx: &OperatorContext) -> Result<TableWrite> {
        let types: Vec<Type> = node.input.schema().types().cloned().collect();
        let sink = cx.task.sinks.open(node, &types)?;
        Ok(TableWrite {
            sink: Some(sink),
            pending: None,
            rows: 0,
            input_done: false,
            complete: false,
        })
    }
}

impl Operator for TableWrite {
    fn name(&self) -> &'static str {
        "table write"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let Some(sink) = &mut self.sink else { return Ok(Step::Finished) };
        if let Some(batch) = self.pending.take() {
            sink.write(&batch)?;
            self.rows += batch.rows() as i64;
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        if self.complete {
            return Ok(Step::Finished);
        }
        sink.finish()?;
        self.complete = true;
        let rows = Vector::constant(Type::BigInt, &Value::BigInt(self.rows), 1);
        Ok(Step::Output(Batch::new(vec![rows], 1)))
    }

    fn withdraw(&mut self) {
        self.sink = None;
    }
}

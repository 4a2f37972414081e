//! RowScan and Materialize: from collections to rows, and back.

use super::{
    collect::{Collect, Collecting},
    collection::{CollectedRows, collections, rows_of},
    sub_node,
};
use crate::registration::wrong_node;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, Operator, PipelineBuilder, Step, StepContext};
use volley_plan::{PlanNode, sub::SubOperator};
use volley_types::{Schema, Type};
use volley_vector::Batch;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let SubOperator::RowScan(scan) = &node.op else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    let (column, types) = (scan.column, node.schema.types().cloned().collect::<Vec<_>>());
    cx.add(&mut input, "row scan", move |cx| {
        let (types, rows_max) = (types.clone(), cx.task.batch_rows.max(1));
        let (tuples, rows, input_done) = (None, None, false);
        Ok(Box::new(RowScan { column, types, rows_max, tuples, rows, input_done }))
    });
    Ok(input)
}

pub(crate) fn lower_materialize(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let schema = node.inputs.first().ok_or_else(wrong_node)?.schema().clone();
    let input = inputs.take()?;
    let mut input = cx.gather(input);
    cx.add(&mut input, "materialize", move |cx| {
        let types = schema.types().cloned().collect();
        let rows = CollectedRows::new(types, &cx.pool);
        Ok(Box::new(Collecting::new(Materialize { schema: schema.clone(), rows })))
    });
    Ok(input)
}

/// Returns the rows of collections, one collection after the other.
struct RowScan {
    column: usize,
    types: Vec<Type>,
    rows_max: usize,
    /// Tuples, and which of them is next.
    tuples: Option<(Batch, usize)>,
    /// Rows of a collection, and how many were returned.
    rows: Option<(Batch, usize)>,
    input_done: bool,
}

impl Operator for RowScan {
    fn name(&self) -> &'static str {
        "row scan"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.tuples = Some((input, 0));
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some((rows, start)) = self.rows.take() {
            let count = self.rows_max.min(rows.rows() - start);
            let output = rows.slice(start, count);
            if start + count < rows.rows() {
                self.rows = Some((rows, start + count));
            }
            return Ok(Step::Output(output));
        }
        let Some((tuples, next)) = self.tuples.take() else {
            return Ok(if self.input_done { Step::Finished } else { Step::NeedInput });
        };
        let rows = rows_of(tuples.column(self.column), next, &self.types)?;
        if rows.rows() > 0 {
            self.rows = Some((rows, 0));
        }
        if next + 1 < tuples.rows() {
            self.tuples = Some((tuples, next + 1));
        }
        Ok(Step::Yield)
    }
}

/// Collects all rows into one collection.
struct Materialize {
    schema: Schema,
    rows: CollectedRows,
}

impl Collect for Materialize {
    const NAME: &'static str = "materialize";

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.rows.push(input)
    }

    fn output(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let all = self.rows.take()?;
        let range = std::iter::once(0..all.rows()).collect::<Vec<_>>();
        let column = collections(all, &self.schema, &range);
        Ok(Step::Output(Batch::new(vec![column], 1)))
    }
}

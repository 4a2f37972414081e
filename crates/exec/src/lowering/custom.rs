//! Nodes of other crates: a function found by the node's name adds their operators.

use super::Inputs;
use crate::{Lowering, Operator, PipelineBuilder, Spill, Step, StepContext};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_plan::{CustomPlanNode, PlanNode};
use volley_types::{Schema, Type};
use volley_vector::Batch;

/// Calls the function for nodes of other crates, and checks the output of its operators.
pub(super) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    lower: &dyn Fn(&CustomPlanNode, Vec<PipelineBuilder>, &mut Lowering) -> Result<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Custom(node) = node else {
        return Err(Error::internal("a plan node of the engine with the name of another crate's"));
    };
    let mut pipeline = lower(node, inputs.take_all(), cx)?;
    check_output(node, &mut pipeline, cx);
    Ok(pipeline)
}

/// Makes the last operator of the node fail when its batches are not what the node promises: what
/// comes after would read other columns than it expects.
fn check_output(node: &CustomPlanNode, pipeline: &mut PipelineBuilder, cx: &Lowering) {
    let Some(last) = pipeline.operators.last_mut().filter(|it| it.node == cx.node) else {
        return;
    };
    let promised: Arc<Schema> = Arc::new(node.schema.clone());
    let mut factory = std::mem::replace(&mut last.factory, Box::new(|_| Err(taken())));
    last.factory = Box::new(move |cx| {
        let operator = factory(cx)?;
        Ok(Box::new(Checked { operator, promised: Arc::clone(&promised) }))
    });
}

fn taken() -> Error {
    Error::internal("an operator is made while its factory is replaced")
}

/// An operator whose output is checked.
struct Checked {
    operator: Box<dyn Operator>,
    promised: Arc<Schema>,
}

impl Checked {
    fn check(&self, batch: &Batch) -> Result<()> {
        let types = batch.columns().iter().map(|it| it.data_type());
        let is_null = |it: &Type| *it == Type::Unknown;
        let fits = batch.columns().len() == self.promised.len()
            && types.clone().zip(self.promised.types()).all(|(is, to)| is == to || is_null(is));
        if fits && batch.rows() > 0 {
            return Ok(());
        }
        let names = |types: &mut dyn Iterator<Item = &Type>| {
            types.map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let found = names(&mut types.clone());
        let promised = names(&mut self.promised.types());
        let name = self.operator.name();
        let rows = batch.rows();
        Err(Error::internal(format!(
            "operator {name} returned {rows} rows of ({found}), its plan node declares rows of \
             ({promised})"
        )))
    }
}

impl Operator for Checked {
    fn name(&self) -> &'static str {
        self.operator.name()
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.operator.accept(input)
    }

    fn finish_input(&mut self) -> Result<()> {
        self.operator.finish_input()
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let step = self.operator.step(cx)?;
        if let Step::Output(batch) = &step {
            self.check(batch)?;
        }
        Ok(step)
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        self.operator.as_spill()
    }

    fn abort(&mut self) {
        self.operator.abort();
    }
}

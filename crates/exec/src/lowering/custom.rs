//! Nodes of other crates: a function found by the node's name adds their operators.

use crate::{Lowering, Operator, PipelineBuilder, Spill, Step, StepContext};
use std::{collections::BTreeMap, fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_plan::CustomPlanNode;
use volley_types::{Schema, Type};
use volley_vector::Batch;

/// Adds the operators of a node to its inputs' pipelines, in order, and gives the pipeline that
/// puts out the node's columns. See [`PipelineBuilder`] for how.
pub type LowerNode = Arc<
    dyn Fn(&CustomPlanNode, Vec<PipelineBuilder>, &mut Lowering) -> Result<PipelineBuilder>
        + Send
        + Sync,
>;

/// How nodes of other crates run, by their names.
#[derive(Clone, Default)]
pub struct LoweringRegistry {
    by_name: BTreeMap<String, LowerNode>,
}

impl LoweringRegistry {
    /// Adds the function for nodes called `name`.
    ///
    /// # Errors
    ///
    /// Invalid value, when there is one already.
    pub fn add(
        &mut self,
        name: &str,
        lower: impl Fn(&CustomPlanNode, Vec<PipelineBuilder>, &mut Lowering) -> Result<PipelineBuilder>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        if self.by_name.contains_key(name) {
            let message = format!("there is already an operator for plan nodes called {name}");
            return Err(Error::invalid_value(message));
        }
        self.by_name.insert(name.to_owned(), Arc::new(lower));
        Ok(())
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    fn get(&self, name: &str) -> Result<LowerNode> {
        let found = self.by_name.get(name).cloned();
        found.ok_or_else(|| {
            let error = Error::invalid_query(format!("no operator for the plan node {name}"));
            match volley_types::nearest_name(name, self.names()) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error.hint("add a lowering function for it to the session"),
            }
        })
    }
}

impl fmt::Debug for LoweringRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

pub(super) fn lower(
    node: &CustomPlanNode,
    mut inputs: Vec<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let lower = cx.task().lowerings.get(node.node.name())?;
    inputs.iter_mut().for_each(|it| cx.close_fused(it));
    let mut pipeline = lower(node, inputs, cx)?;
    check_output(node, &mut pipeline, cx);
    Ok(pipeline)
}

/// Makes the last operator of the node fail when its batches are not what the node promises: what
/// comes after would read other columns than it expects.
fn check_output(node: &CustomPlanNode, pipeline: &mut PipelineBuilder, cx: &Lowering) {
    let Some(last) = pipeline.operators.last_mut().filter(|it| it.node == cx.base + cx.node) else {
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
            "operator {name} put out {rows} rows of ({found}), its plan node promises rows of \
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

    fn withdraw(&mut self) {
        self.operator.withdraw();
    }
}

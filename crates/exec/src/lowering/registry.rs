//! Finds the lowering function of a node by the node's kind.

use super::{Inputs, custom};
use crate::{Lowering, OperatorCost, PipelineBuilder};
use std::{collections::BTreeMap, fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_plan::{CustomPlanNode, PlanNode, PlanWalk};

/// Adds the operators of a node to its inputs' pipelines, and returns the pipeline whose output are
/// the node's columns. See [`PipelineBuilder`] for how.
pub type LowerNode =
    Arc<dyn Fn(&PlanNode, &mut Inputs, &mut Lowering) -> Result<PipelineBuilder> + Send + Sync>;

/// Which input of the node is not lowered with the plan, if one is not.
pub type SkipInput = fn(&PlanNode, &mut Lowering) -> Option<usize>;

/// Looks at a whole plan before its nodes are lowered, and leaves what it found in
/// [`Lowering::state`].
pub type BeforePlan = fn(&PlanWalk<'_>, &mut Lowering);

/// How plan nodes run: lowering functions by the kind of node, see [`PlanNode::kind`].
///
/// The operators of the engine, and those of other crates, are added in the same way.
#[derive(Clone, Default)]
pub struct LoweringRegistry {
    by_kind: BTreeMap<String, NodeLowering>,
    before_plan: Vec<BeforePlan>,
    /// By the names of operators.
    costs: BTreeMap<&'static str, OperatorCost>,
}

/// How nodes of one kind run.
#[derive(Clone)]
pub(super) struct NodeLowering {
    pub lower: LowerNode,
    pub fusion: Fusion,
    pub skip: Option<SkipInput>,
    is_custom: bool,
}

/// What a lowering function does with an operator that its input may still change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusion {
    /// Adds an operator of its own: its input is complete.
    Never,
    /// Takes the input as it is, to change its last operator, or to leave it to the next node.
    Possible,
}

impl LoweringRegistry {
    /// Adds the function for plan nodes of the engine of one kind.
    ///
    /// # Errors
    ///
    /// Invalid value, when there is one already.
    pub fn add_kind(
        &mut self,
        kind: &str,
        fusion: Fusion,
        lower: impl Fn(&PlanNode, &mut Inputs, &mut Lowering) -> Result<PipelineBuilder>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        let lowering =
            NodeLowering { lower: Arc::new(lower), fusion, skip: None, is_custom: false };
        self.insert(kind, lowering)
    }

    /// Adds the function for nodes of other crates called `name`; it gets the pipelines of the
    /// node's inputs, in order.
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
        let lower: LowerNode =
            Arc::new(move |node, inputs, cx| custom::lower(node, inputs, &lower, cx));
        let lowering = NodeLowering { lower, fusion: Fusion::Never, skip: None, is_custom: true };
        self.insert(name, lowering)
    }

    fn insert(&mut self, kind: &str, lowering: NodeLowering) -> Result<()> {
        if self.by_kind.contains_key(kind) {
            let message = format!("there is already an operator for plan nodes called {kind}");
            return Err(Error::invalid_value(message));
        }
        self.by_kind.insert(kind.to_owned(), lowering);
        Ok(())
    }

    /// Lets `skip` say which input of a node of this kind is not lowered with the plan: the
    /// function of the node does so itself, or needs it not.
    ///
    /// # Errors
    ///
    /// Internal, when there is no function for the kind.
    pub fn skip_input(&mut self, kind: &str, skip: SkipInput) -> Result<()> {
        let lowering = self.by_kind.get_mut(kind);
        lowering.ok_or_else(|| no_operator(kind))?.skip = Some(skip);
        Ok(())
    }

    /// Adds what looks at each plan before its nodes are lowered.
    pub fn before_plan(&mut self, before: BeforePlan) {
        self.before_plan.push(before);
    }

    /// Tells what the rows of operators cost, for estimates of remaining time; others have a cost
    /// that is usual.
    pub fn set_costs(&mut self, costs: impl IntoIterator<Item = (&'static str, OperatorCost)>) {
        self.costs.extend(costs);
    }

    pub(crate) fn cost(&self, operator: &str) -> Option<OperatorCost> {
        self.costs.get(operator).copied()
    }

    /// The names of nodes of other crates, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_kind.iter().filter(|it| it.1.is_custom).map(|it| it.0.as_str())
    }

    pub(super) fn looks_before(&self) -> &[BeforePlan] {
        &self.before_plan
    }

    pub(super) fn find(&self, kind: &str) -> Option<&NodeLowering> {
        self.by_kind.get(kind)
    }

    pub(super) fn get(&self, kind: &str) -> Result<&NodeLowering> {
        self.find(kind).ok_or_else(|| match volley_types::nearest_name(kind, self.names()) {
            Some(nearest) => no_operator(kind).hint(format!("did you mean {nearest}?")),
            None => no_operator(kind).hint("add a lowering function for it to the session"),
        })
    }
}

fn no_operator(kind: &str) -> Error {
    Error::invalid_query(format!("no operator for the plan node {kind}"))
}

impl fmt::Debug for LoweringRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_kind.keys()).finish()
    }
}

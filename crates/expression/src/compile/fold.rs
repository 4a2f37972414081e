//! Constant folding and what follows from constant arguments.

use super::Compiler;
use crate::{
    evaluate::{Evaluator, Frame, NodeState},
    marks::{Mark, hit},
    node::{Conjunction, Kind, Node, NodeId},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::EvalContext;
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector};

impl Compiler<'_> {
    /// Drops arguments that constants decide; `Err` when the node is one of its arguments.
    pub(super) fn simplify(&self, kind: Kind) -> Result<Kind, NodeId> {
        match kind {
            Kind::Conjunction(conjunction) => self.simplify_conjunction(conjunction),
            Kind::Switch(args) => self.simplify_switch(args),
            Kind::Coalesce(args) => self.simplify_coalesce(args),
            Kind::Try(input) if self.nodes[input].infallible => Err(input),
            other => Ok(other),
        }
    }

    fn truth(&self, node: NodeId) -> Option<Value> {
        self.nodes[node].constant_value()
    }

    fn simplify_conjunction(&self, conjunction: Conjunction) -> Result<Kind, NodeId> {
        let Conjunction { decides, args } = conjunction;
        let deciding = Value::Boolean(decides);
        let neutral = Value::Boolean(!decides);
        if let Some(decided) = args.iter().find(|it| self.truth(**it).as_ref() == Some(&deciding)) {
            return Err(*decided);
        }
        let mut seen = std::collections::HashSet::new();
        let mut rest: Vec<NodeId> = args
            .iter()
            .copied()
            .filter(|it| self.truth(*it).as_ref() != Some(&neutral))
            .filter(|it| seen.insert(*it) || !self.nodes[*it].deterministic)
            .collect();
        if rest.is_empty() {
            rest.extend(args.first());
        }
        match rest.as_slice() {
            [one] => Err(*one),
            _ => Ok(Kind::Conjunction(Conjunction { decides, args: rest })),
        }
    }

    fn simplify_switch(&self, args: Vec<NodeId>) -> Result<Kind, NodeId> {
        let mut kept = Vec::with_capacity(args.len());
        let (branches, default) = args.as_chunks::<2>();
        let mut last = default.first().copied();
        for &[condition, branch] in branches {
            match self.truth(condition) {
                Some(Value::Boolean(true)) => {
                    last = Some(branch);
                    break;
                }
                Some(_) => {}
                None => kept.extend([condition, branch]),
            }
        }
        kept.extend(last);
        match kept.as_slice() {
            [one] => Err(*one),
            _ => Ok(Kind::Switch(kept)),
        }
    }

    fn simplify_coalesce(&self, args: Vec<NodeId>) -> Result<Kind, NodeId> {
        let mut kept = Vec::with_capacity(args.len());
        for &arg in &args {
            match self.nodes[arg].constant_value() {
                Some(Value::Null) => {}
                Some(_) => {
                    kept.push(arg);
                    break;
                }
                None => kept.push(arg),
            }
        }
        if kept.is_empty() {
            kept.extend(args.first());
        }
        match kept.as_slice() {
            [one] => Err(*one),
            _ => Ok(Kind::Coalesce(kept)),
        }
    }

    /// The node, or the constant that it always is.
    pub(super) fn fold(&mut self, node: Node) -> Result<Node> {
        if node.is_leaf() || !node.deterministic {
            return Ok(node);
        }
        if self.is_always_null(&node) {
            hit(Mark::Folded);
            return Ok(self.constant(null_of(&node.data_type), node.data_type));
        }
        let folds = match &node.kind {
            Kind::Call(call) if call.args.is_empty() => true,
            kind => kind.args().iter().all(|it| self.nodes[*it].columns.is_empty()),
        };
        // Arguments without columns are constants, or fail.
        let constant = |id: &NodeId| self.nodes[*id].is_leaf();
        if !folds || !node.kind.args().iter().all(constant) {
            return Ok(node);
        }
        hit(Mark::Folded);
        let data_type = node.data_type.clone();
        let (vector, error) = self.evaluate_once(node)?;
        let kind = match error {
            Some(error) => Kind::Failing(error),
            None => Kind::Constant(vector),
        };
        Ok(self.describe(kind, data_type))
    }

    /// A call with a null argument, none before which can fail.
    fn is_always_null(&self, node: &Node) -> bool {
        let Kind::Call(call) = &node.kind else { return false };
        let is_null = |id: &NodeId| self.nodes[*id].constant_value().is_some_and(|it| it.is_null());
        call.traits.propagates_nulls
            && call.args.iter().position(is_null).is_some_and(|position| {
                call.args[..position].iter().all(|it| self.nodes[*it].infallible)
            })
    }

    fn constant(&self, vector: Vector, data_type: Type) -> Node {
        self.describe(Kind::Constant(vector), data_type)
    }

    /// Evaluates a node without columns for one row: its value, or its error.
    fn evaluate_once(&mut self, node: Node) -> Result<(Vector, Option<volley_error::Error>)> {
        let id = self.nodes.len();
        let data_type = node.data_type.clone();
        self.nodes.push(node);
        let mut states = Vec::new();
        states.resize_with(self.nodes.len(), NodeState::default);
        let mut ctx = EvalContext::new(Arc::clone(&self.query));
        let batch = Batch::new(Vec::new(), 1);
        let mut evaluator = Evaluator { nodes: &self.nodes, states: &mut states, ctx: &mut ctx };
        let result = evaluator.evaluate(&mut Frame::of_batch(&batch), id, &Rows::all(1));
        self.nodes.pop();
        let vector = match result {
            Ok(vector) => vector.flatten()?,
            Err(error) => return Ok((null_of(&data_type), Some(error))),
        };
        Ok((vector, ctx.errors.first()))
    }
}

fn null_of(data_type: &Type) -> Vector {
    Vector::from_values(data_type.clone(), &[Value::Null])
}

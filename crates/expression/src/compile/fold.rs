//! Constant folding, and rewrites for constant arguments.

use super::Compiler;
use crate::{
    evaluate::{Evaluator, Frame, NodeState},
    marks::{Mark, hit},
    node::{Callee, Conjunction, Kind, Node, NodeId},
};
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_function::EvalContext;
use volley_memory::Pool;
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector};
use volley_wire::flat_bytes;

/// More than this is evaluated when a query runs, and counts in its memory.
const CONSTANT_BYTES_MAX: usize = 16 << 20;

/// Lambdas over more than this are evaluated when a query runs.
const LAMBDA_INPUT_BYTES_MAX: usize = 256 << 10;

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
        // Arguments without columns are constants, or fail, or are too large.
        let constant = |id: &NodeId| self.nodes[*id].is_leaf();
        if !folds || !node.kind.args().iter().all(constant) || self.is_long(&node) {
            return Ok(node);
        }
        let data_type = node.data_type.clone();
        let (node, outcome) = self.evaluate_once(node);
        let (vector, error) = match outcome {
            Ok(folded) => folded,
            Err(error) if error.kind() == ErrorKind::OutOfMemory => return Ok(node),
            Err(error) => (null_of(&data_type), Some(self.place.locate(error))),
        };
        hit(Mark::Folded);
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

    /// A call of lambdas over a large constant: work for a query, which can be cancelled.
    fn is_long(&self, node: &Node) -> bool {
        let Kind::Call(call) = &node.kind else { return false };
        let bytes = |id: &NodeId| match &self.nodes[*id].kind {
            Kind::Constant(vector) => vector.retained_bytes(),
            _ => 0,
        };
        matches!(call.function, Callee::HigherOrder(..))
            && call.args.iter().map(bytes).sum::<usize>() > LAMBDA_INPUT_BYTES_MAX
    }

    /// Evaluates a node without columns for one row: its value, and its error. Gives it back.
    fn evaluate_once(&mut self, node: Node) -> (Node, Result<(Vector, Option<Error>)>) {
        let id = self.nodes.len();
        self.nodes.push(node);
        let mut states = Vec::new();
        states.resize_with(self.nodes.len(), NodeState::default);
        let pool = Pool::root("constants", Some(CONSTANT_BYTES_MAX));
        let mut ctx = EvalContext {
            memory: Some(pool.reservation()),
            ..EvalContext::new(Arc::clone(&self.query))
        };
        let batch = Batch::new(Vec::new(), 1);
        let mut evaluator = Evaluator { nodes: &self.nodes, states: &mut states, ctx: &mut ctx };
        let result = evaluator.evaluate(&mut Frame::of_batch(&batch), id, &Rows::all(1));
        let node = self.nodes.remove(id);
        let vector = result.and_then(|it| {
            // Arrays may share elements, of which there are many once they are flat.
            ctx.charge(flat_bytes(&Batch::new(vec![it.clone()], 1))?)?;
            it.flatten()
        });
        (node, vector.map(|vector| (vector, ctx.errors.first())))
    }
}

fn null_of(data_type: &Type) -> Vector {
    Vector::from_values(data_type.clone(), &[Value::Null])
}

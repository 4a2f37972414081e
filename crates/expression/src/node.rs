//! Compiled expressions: nodes of a graph in which equal subexpressions are one node.

use crate::{SourceSpan, in_set::InSet};
use std::{ops::Range, sync::Arc};
use volley_error::Error;
use volley_function::{BlockFunction, HigherOrderFunction, ScalarFunction, ScalarTraits};
use volley_types::{Type, Value};
use volley_vector::Vector;

/// A position in the list of nodes; arguments precede their users.
pub(crate) type NodeId = usize;

/// One distinct part of the expressions of a set.
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) data_type: Type,
    /// What errors of its rows point at.
    pub(crate) place: SourceSpan,
    /// The input columns it depends on, ascending.
    pub(crate) columns: Arc<[usize]>,
    /// Equal columns give equal results.
    pub(crate) deterministic: bool,
    /// No row ever fails.
    pub(crate) infallible: bool,
    /// A null in any of the columns makes the result null, and nothing can fail then.
    pub(crate) strict: bool,
    /// Some part may not be evaluated for some rows.
    pub(crate) conditional: bool,
    /// How deep evaluation recurses.
    pub(crate) depth: usize,
    /// Used more than once: evaluated once per batch.
    pub(crate) shared: bool,
}

/// What a node does.
pub(crate) enum Kind {
    Column(usize),
    /// A vector of one row.
    Constant(Vector),
    /// A part without columns that fails, for every row that needs it.
    Failing(Error),
    Call(Call),
    Blocks(Blocks),
    /// AND or OR.
    Conjunction(Conjunction),
    /// c1, r1, c2, r2, ..., e.
    Switch(Vec<NodeId>),
    Coalesce(Vec<NodeId>),
    In {
        input: NodeId,
        set: InSet,
    },
    Try(NodeId),
    IsNull(NodeId),
}

/// A function with its arguments.
pub(crate) struct Call {
    pub(crate) function: Callee,
    /// The arguments that are values, and then what lambdas capture.
    pub(crate) args: Vec<NodeId>,
    /// How many of `args` are values.
    pub(crate) values: usize,
    pub(crate) traits: ScalarTraits,
    /// TRY_CAST: rows that the function fails become null.
    pub(crate) null_on_error: bool,
}

/// Arguments of a step of joined calls at most.
pub(crate) const ARGS_MAX: usize = 8;

/// Inputs of joined calls at most.
pub(crate) const INPUTS_MAX: usize = 16;

/// Calls that run together, block by block.
pub(crate) struct Blocks {
    /// The nodes whose values they start from, at most [`INPUTS_MAX`].
    pub(crate) inputs: Vec<NodeId>,
    /// One per call or fused calls, arguments before their users.
    pub(crate) steps: Vec<Step>,
    /// The last call, for when they run one after the other.
    pub(crate) call: Call,
}

/// One of the calls that run together.
pub(crate) struct Step {
    pub(crate) function: Arc<dyn BlockFunction>,
    pub(crate) args: Vec<Operand>,
    /// Bytes of an element of each argument.
    pub(crate) widths: Vec<usize>,
    /// Bytes of an element of the result.
    pub(crate) width: usize,
    /// Where the result goes.
    pub(crate) slot: usize,
}

/// An argument of a step.
#[derive(Clone, Copy)]
pub(crate) enum Operand {
    Input(usize),
    /// The result of a step before.
    Slot(usize),
}

/// The function of a call.
pub(crate) enum Callee {
    Scalar(Arc<dyn ScalarFunction>),
    HigherOrder(Arc<dyn HigherOrderFunction>, Vec<CompiledLambda>),
}

/// A lambda: nodes over columns of its own, which are what it captures and then its parameters.
pub(crate) struct CompiledLambda {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    /// Its captures among the arguments of the call.
    pub(crate) captures: Range<usize>,
}

/// AND: the deciding value is false; OR: it is true.
pub(crate) struct Conjunction {
    pub(crate) decides: bool,
    pub(crate) args: Vec<NodeId>,
}

impl Node {
    /// The value of a constant.
    pub(crate) fn constant_value(&self) -> Option<Value> {
        match &self.kind {
            Kind::Constant(vector) => vector.value(0).ok(),
            _ => None,
        }
    }

    /// Whether the node needs no evaluation.
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Column(_) | Kind::Constant(_) | Kind::Failing(_))
    }
}

impl Callee {
    /// The lambdas among its arguments.
    pub(crate) fn lambdas(&self) -> &[CompiledLambda] {
        match self {
            Callee::Scalar(_) => &[],
            Callee::HigherOrder(_, lambdas) => lambdas,
        }
    }
}

impl CompiledLambda {
    /// The node of the body.
    pub(crate) fn body(&self) -> &Node {
        &self.nodes[self.root]
    }
}

impl Kind {
    /// The nodes it uses.
    pub(crate) fn args(&self) -> &[NodeId] {
        match self {
            Kind::Column(_) | Kind::Constant(_) | Kind::Failing(_) => &[],
            Kind::Call(call) => &call.args,
            Kind::Blocks(blocks) => &blocks.inputs,
            Kind::Conjunction(conjunction) => &conjunction.args,
            Kind::Switch(args) | Kind::Coalesce(args) => args,
            Kind::In { input, .. } | Kind::Try(input) | Kind::IsNull(input) => {
                std::slice::from_ref(input)
            }
        }
    }
}

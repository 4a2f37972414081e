//! Compiles expression trees to nodes.
//!
//! A work list replaces recursion, so that long chains need no stack: `Visit` puts the children of
//! an expression on the list, and `Build` makes its node from theirs. On the way
//!
//! - nested ANDs, ORs, COALESCEs, calls of associative functions and the ELSE branches of CASEs
//!   become one node of many arguments;
//! - equal deterministic subexpressions become one node (common subexpressions);
//! - subexpressions without columns are evaluated and become constants; one that fails becomes a
//!   node that fails every row that needs it.

mod blocks;
mod build;
mod fold;
mod lambda;

use crate::{
    Expr, ExprKind, SourceSpan, SpecialForm,
    marks::{Mark, hit},
    node::{CompiledLambda, Kind, Node, NodeId},
};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, ErrorKind, Result};
use volley_function::{QueryConstants, Registry};
use volley_types::Type;

/// How deep evaluation may recurse: about 2 KB of stack for each level.
const DEPTH_MAX: usize = 400;

/// How much deeper a lambda makes evaluation recurse, besides its body.
const LEVELS_OF_LAMBDA: usize = 3;

/// Nodes being made.
pub(crate) struct Compiler<'r> {
    registry: &'r Registry,
    query: Arc<QueryConstants>,
    pub(crate) nodes: Vec<Node>,
    /// Deterministic nodes by what they are.
    known: HashMap<String, NodeId>,
    /// The position of the expression whose node is being made.
    place: SourceSpan,
}

/// What is left to do.
enum Work<'e> {
    Visit(&'e Expr),
    /// Make the node of an expression from the last nodes done, as many as it has parts.
    Build(&'e Expr, usize),
}

impl<'r> Compiler<'r> {
    pub(crate) fn new(registry: &'r Registry, query: Arc<QueryConstants>) -> Compiler<'r> {
        Compiler {
            registry,
            query,
            nodes: Vec::new(),
            known: HashMap::new(),
            place: SourceSpan::default(),
        }
    }

    /// The node of `expr`.
    pub(crate) fn compile(&mut self, expr: &Expr) -> Result<NodeId> {
        let mut work = vec![Work::Visit(expr)];
        let mut done: Vec<NodeId> = Vec::new();
        while let Some(next) = work.pop() {
            match next {
                Work::Visit(expr) => {
                    let parts = self.parts_of(expr);
                    work.push(Work::Build(expr, parts.len()));
                    work.extend(parts.into_iter().rev().map(Work::Visit));
                }
                Work::Build(expr, parts) => {
                    let parts = done.split_off(done.len() - parts);
                    self.place = expr.place;
                    done.push(self.build(expr, parts)?);
                }
            }
        }
        done.pop().ok_or_else(|| Error::internal("expression without a node"))
    }

    /// The parts that an expression is made from, after flattening.
    fn parts_of<'e>(&self, expr: &'e Expr) -> Vec<&'e Expr> {
        match &expr.kind {
            ExprKind::Special { form: form @ (SpecialForm::And | SpecialForm::Or), .. } => {
                flatten(expr, *form)
            }
            ExprKind::Special { form: form @ SpecialForm::Coalesce, .. } => flatten(expr, *form),
            ExprKind::Special { form: SpecialForm::Switch, .. } => flatten_switch(expr),
            ExprKind::Call { name, args }
                if !lambda::has_lambda(args)
                    && args.iter().any(|it| is_same_call(it, expr, name)) =>
            {
                self.flatten_call(expr, name).unwrap_or_else(|| args.iter().collect())
            }
            ExprKind::Call { args, .. } => lambda::parts_of_call(args),
            _ => expr.children().iter().collect(),
        }
    }

    /// `f(f(a, b), c)` as a, b, c; `None` when the function is not associative.
    fn flatten_call<'e>(&self, expr: &'e Expr, name: &str) -> Option<Vec<&'e Expr>> {
        let mut flat = Vec::new();
        let mut work = vec![expr];
        while let Some(next) = work.pop() {
            match &next.kind {
                ExprKind::Call { args, .. } if is_same_call(next, expr, name) => {
                    work.extend(args.iter().rev());
                }
                _ => flat.push(next),
            }
        }
        let types: Vec<Type> = flat.iter().map(|it| it.data_type.clone()).collect();
        let bound = self.registry.resolve_scalar(name, &types).ok()?;
        if !bound.traits.associative || bound.result != expr.data_type {
            return None;
        }
        hit(Mark::Flattened);
        Some(flat)
    }

    /// Marks the nodes that are used more than once below `roots`.
    pub(crate) fn mark_shared(&mut self, roots: &[NodeId]) {
        let mut uses = vec![0usize; self.nodes.len()];
        let mut work = roots.to_vec();
        while let Some(node) = work.pop() {
            uses[node] += 1;
            if uses[node] == 1 {
                work.extend(self.nodes[node].kind.args());
            }
        }
        for (node, uses) in self.nodes.iter_mut().zip(uses) {
            // One that is not deterministic is one call, of which several parts use the value.
            node.shared = uses > 1 && !node.is_leaf();
        }
    }

    /// Joins calls that can run block by block; call it last.
    pub(crate) fn join_calls(&mut self) {
        blocks::join_calls(&mut self.nodes);
    }

    /// Adds a node, or finds the equal one.
    fn add(&mut self, key: Option<String>, node: Node) -> Result<NodeId> {
        if node.depth > DEPTH_MAX {
            let message = format!("expression is nested more than {DEPTH_MAX} levels deep");
            return Err(Error::new(ErrorKind::Unsupported, message)
                .hint("split it into several queries or subqueries"));
        }
        let id = self.nodes.len();
        if let (Some(key), true) = (key, node.deterministic) {
            self.known.insert(key, id);
        }
        self.nodes.push(node);
        Ok(id)
    }

    /// What all nodes have, from their kind and arguments.
    fn describe(&self, kind: Kind, data_type: Type) -> Node {
        let args = kind.args().iter().map(|it| &self.nodes[*it]);
        let mut columns: Arc<[usize]> = match &kind {
            Kind::Column(index) => [*index].into(),
            _ => [].into(),
        };
        let (mut deterministic, mut infallible, mut strict) = (true, true, true);
        let (mut conditional, mut depth) = (false, 0);
        for (position, arg) in args.enumerate() {
            columns = crate::evaluate::union_columns(&columns, &arg.columns);
            deterministic &= arg.deterministic;
            infallible &= arg.infallible;
            strict &= arg.strict;
            conditional |= arg.conditional;
            // Evaluation walks first arguments of calls by a loop.
            let levels = usize::from(!(position == 0 && matches!(kind, Kind::Call(_))));
            depth = depth.max(arg.depth + levels);
        }
        match &kind {
            Kind::Call(call) => {
                deterministic &= call.traits.deterministic;
                infallible &= call.traits.infallible || call.null_on_error;
                strict &= call.traits.propagates_nulls && call.args.len() == call.values;
                for lambda in call.function.lambdas().iter().map(CompiledLambda::body) {
                    deterministic &= lambda.deterministic;
                    infallible &= lambda.infallible;
                    depth = depth.max(lambda.depth + LEVELS_OF_LAMBDA);
                }
            }
            Kind::Conjunction(_) | Kind::Switch(_) | Kind::Coalesce(_) => {
                (strict, conditional) = (false, true);
            }
            Kind::Try(_) => (strict, infallible) = (false, true),
            Kind::IsNull(_) => strict = false,
            Kind::Failing(_) => (infallible, strict) = (false, false),
            // Calls are joined after all nodes are described.
            Kind::Column(_) | Kind::Constant(_) | Kind::In { .. } | Kind::Blocks(_) => {}
        }
        Node {
            kind,
            data_type,
            place: self.place,
            columns,
            deterministic,
            infallible,
            strict,
            conditional,
            depth,
            shared: false,
        }
    }
}

/// Whether a part calls the same function, without lambdas and with a result of the same type.
fn is_same_call(part: &Expr, expr: &Expr, name: &str) -> bool {
    match &part.kind {
        ExprKind::Call { name: other, args } => {
            other.eq_ignore_ascii_case(name)
                && part.data_type == expr.data_type
                && !lambda::has_lambda(args)
        }
        _ => false,
    }
}

/// `a AND (b AND c)` as a, b, c.
fn flatten(expr: &Expr, wanted: SpecialForm) -> Vec<&Expr> {
    let mut flat = Vec::new();
    let mut work = vec![expr];
    while let Some(next) = work.pop() {
        match &next.kind {
            ExprKind::Special { form, args }
                if *form == wanted && next.data_type == expr.data_type =>
            {
                work.extend(args.iter().rev());
            }
            _ => flat.push(next),
        }
    }
    flat
}

/// `CASE WHEN a THEN b ELSE CASE WHEN c THEN d ELSE e END END` as a, b, c, d, e.
fn flatten_switch(expr: &Expr) -> Vec<&Expr> {
    let mut flat = Vec::new();
    let mut next = expr;
    loop {
        match &next.kind {
            ExprKind::Special { form: SpecialForm::Switch, args }
                if args.len() % 2 == 1 && next.data_type == expr.data_type =>
            {
                let (branches, default) = args.split_at(args.len() - 1);
                flat.extend(branches);
                next = &default[0];
            }
            _ => {
                flat.push(next);
                return flat;
            }
        }
    }
}

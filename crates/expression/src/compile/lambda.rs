//! Calls with lambdas.
//!
//! A body is compiled to its own nodes. Columns and parameters of enclosing lambdas that it uses
//! are captured: they become arguments of the call after its values.

use super::Compiler;
use crate::{
    Expr, ExprKind,
    node::{Call, Callee, CompiledLambda, Kind, NodeId},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{ArgumentType, LambdaType};
use volley_types::Type;

/// Whether the expression is a lambda.
pub(super) fn is_lambda(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Lambda { .. })
}

/// Whether any of the arguments is a lambda.
pub(super) fn has_lambda(args: &[Expr]) -> bool {
    args.iter().any(is_lambda)
}

/// The parts of a call that are evaluated before it: values, and what its lambdas capture.
pub(super) fn parts_of_call(args: &[Expr]) -> Vec<&Expr> {
    let values = args.iter().filter(|it| !is_lambda(it));
    let lambdas = args.iter().filter(|it| is_lambda(it));
    values.chain(lambdas.flat_map(|it| captured(it))).collect()
}

/// One column expression for each column that a lambda uses, in the order of their positions.
fn captured(lambda: &Expr) -> Vec<&Expr> {
    let mut columns = Vec::new();
    let mut rest = vec![lambda];
    while let Some(expr) = rest.pop() {
        match expr.kind {
            ExprKind::Column(index) => columns.push((index, expr)),
            _ => rest.extend(expr.children()),
        }
    }
    columns.sort_unstable_by_key(|it| it.0);
    columns.dedup_by_key(|it| it.0);
    columns.into_iter().map(|it| it.1).collect()
}

impl Compiler<'_> {
    /// The call of `name` for the arguments as `written`; `args`: the nodes of its parts.
    pub(super) fn higher_order(
        &mut self,
        key: String,
        name: &str,
        written: &[Expr],
        args: Vec<NodeId>,
        data_type: &Type,
    ) -> Result<NodeId> {
        let types: Vec<ArgumentType> = written.iter().map(Expr::argument_type).collect();
        let bound = self.registry.resolve_higher_order(name, &types)?;
        let values = written.iter().filter(|it| !is_lambda(it)).count();
        let wanted = bound.args.iter().filter_map(ArgumentType::value);
        let mut all = self.cast_arguments(&args[..values], wanted)?;
        all.extend_from_slice(&args[values..]);
        let wanted = bound.args.iter().filter_map(ArgumentType::lambda);
        let mut lambdas = Vec::new();
        let mut first = values;
        for (lambda, wanted) in written.iter().filter(|it| is_lambda(it)).zip(wanted) {
            let compiled = self.lambda(lambda, wanted, first)?;
            first = compiled.captures.end;
            lambdas.push(compiled);
        }
        let call = Call {
            function: Callee::HigherOrder(Arc::clone(&bound.function), lambdas),
            args: all,
            values,
            traits: bound.traits,
            null_on_error: false,
        };
        self.finish(key, Kind::Call(call), data_type)
    }

    /// The nodes of a lambda whose captures begin at argument `first` of its call.
    fn lambda(&self, lambda: &Expr, wanted: &LambdaType, first: usize) -> Result<CompiledLambda> {
        let ExprKind::Lambda { level, parameters, body } = &lambda.kind else {
            return Err(Error::internal("argument is no lambda"));
        };
        let is_wanted = wanted.result.as_ref().is_none_or(|it| *it == lambda.data_type);
        if *parameters != wanted.parameters || !is_wanted {
            return Err(Error::internal("lambda of other types than its call's"));
        }
        let columns: Vec<usize> = captured(lambda)
            .into_iter()
            .filter_map(|it| if let ExprKind::Column(index) = it.kind { Some(index) } else { None })
            .collect();
        let mut body = body.as_ref().clone();
        close(&mut body, *level, &columns);
        let mut compiler = Compiler::new(self.registry, Arc::clone(&self.query));
        let root = compiler.compile(&body)?;
        compiler.mark_shared(&[root]);
        let captures = first..first + columns.len();
        Ok(CompiledLambda { nodes: compiler.nodes, root, captures })
    }
}

/// Makes columns of what a body captures and of its parameters.
fn close(body: &mut Expr, level: usize, captures: &[usize]) {
    // The parameters of a lambda within that has the same level hide those of this one.
    let mut rest = vec![(body, false)];
    while let Some((expr, hidden)) = rest.pop() {
        let mut hides = hidden;
        match &mut expr.kind {
            ExprKind::Column(index) => *index = captures.partition_point(|it| it < index),
            ExprKind::Parameter(parameter) if parameter.level == level && !hidden => {
                expr.kind = ExprKind::Column(captures.len() + parameter.index);
            }
            ExprKind::Lambda { level: within, .. } => hides |= *within == level,
            _ => {}
        }
        rest.extend(expr.children_mut().iter_mut().map(|it| (it, hides)));
    }
}

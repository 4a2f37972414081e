//! Expressions: columns become positions.

use super::Lowered;
use crate::expr::as_column;
use crate::stack::deep;
use std::collections::{HashMap, hash_map::Entry};
use volley_error::{Error, Result};
use volley_expression as physical;
use volley_logical::{Column, ColumnId, Expr, ExprKind, Occurrence};
use volley_plan::{PlanNode, PlanNodeId, ProjectNode};
use volley_types::Field;

/// Turns an expression over columns into one over positions.
pub(super) fn lower_expr(
    expr: &Expr,
    positions: &HashMap<ColumnId, usize>,
) -> Result<physical::Expr> {
    let kind = match &expr.kind {
        ExprKind::Column(id) => {
            let unknown = || Error::internal(format!("the input does not make column {id}"));
            physical::ExprKind::Column(*positions.get(id).ok_or_else(unknown)?)
        }
        ExprKind::Constant(value) => physical::ExprKind::Constant(value.clone()),
        ExprKind::Parameter(parameter) => physical::ExprKind::Parameter(*parameter),
        ExprKind::Lambda { level, parameters, body } => physical::ExprKind::Lambda {
            level: *level,
            parameters: parameters.clone(),
            body: Box::new(deep(|| lower_expr(body, positions))?),
        },
        ExprKind::Call { name, args } => {
            physical::ExprKind::Call { name: name.clone(), args: lower_all(args, positions)? }
        }
        ExprKind::Cast { input, null_on_error, package } => physical::ExprKind::Cast {
            input: Box::new(deep(|| lower_expr(input, positions))?),
            null_on_error: *null_on_error,
            package: *package,
        },
        ExprKind::Special { form, args } => {
            physical::ExprKind::Special { form: *form, args: lower_all(args, positions)? }
        }
        ExprKind::Subquery(_) => {
            return Err(Error::internal("a subquery was not unnested").span(expr.span));
        }
    };
    Ok(physical::Expr::new(kind, expr.data_type.clone()).at(expr.span))
}

fn lower_all(exprs: &[Expr], positions: &HashMap<ColumnId, usize>) -> Result<Vec<physical::Expr>> {
    deep(|| exprs.iter().map(|it| lower_expr(it, positions)).collect())
}

/// The conjunction of expressions over the columns of `input`.
pub(super) fn lower_conjuncts(
    conjuncts: &[Expr],
    positions: &HashMap<ColumnId, usize>,
) -> Result<physical::Expr> {
    Ok(physical::Expr::and(lower_all(conjuncts, positions)?))
}

/// Columns that an operator needs as positions, some of them still to be computed.
pub(super) struct Computed {
    input: Lowered,
    positions: HashMap<ColumnId, usize>,
    /// What is appended to the input's columns.
    added: Vec<(Field, physical::Expr)>,
    /// The position in `added` of an expression with this text.
    by_text: HashMap<String, usize>,
}

impl Computed {
    /// Starts with the columns of `input`.
    pub(super) fn new(input: Lowered) -> Computed {
        Computed { positions: input.positions(), input, added: Vec::new(), by_text: HashMap::new() }
    }

    /// The position of the value of `expr`, once [`Computed::finish`] is done.
    pub(super) fn position(&mut self, expr: &Expr) -> Result<usize> {
        if let Some(id) = as_column(expr)
            && let Some(position) = self.positions.get(&id)
        {
            return Ok(*position);
        }
        let lowered = lower_expr(expr, &self.positions)?;
        let text = format!("{lowered:?} {:?}", occurrences(expr));
        let position = match self.by_text.entry(text) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let index = self.added.len();
                let field = Field::new(format!("expr{index}"), expr.data_type.clone());
                self.added.push((field, lowered));
                *new.insert(index)
            }
        };
        Ok(self.input.width() + position)
    }

    /// The input, with what was asked for appended.
    pub(super) fn finish(self) -> Lowered {
        if self.added.is_empty() {
            return self.input;
        }
        let mut schema = self.input.node.schema().clone();
        let all = schema.types().cloned().enumerate();
        let mut exprs: Vec<_> = all.map(|(at, it)| physical::Expr::column(at, it)).collect();
        for (field, expr) in self.added {
            schema.fields.push(field);
            exprs.push(expr);
        }
        let input = self.input.node;
        let node = PlanNode::Project(ProjectNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            exprs,
            schema,
        });
        Lowered::same_columns(node, self.input.columns)
    }
}

/// The calls of volatile functions in an expression.
fn occurrences(expr: &Expr) -> Vec<Occurrence> {
    let (mut found, mut rest) = (Vec::new(), vec![expr]);
    while let Some(expr) = rest.pop() {
        found.extend(expr.occurrence);
        rest.extend(expr.children());
    }
    found
}

/// The columns of two inputs side by side, as conditions on pairs see them.
pub(super) fn side_by_side(left: &Lowered, right: &Lowered) -> Vec<(Column, usize)> {
    let shifted = right.columns.iter().map(|(column, at)| (column.clone(), at + left.width()));
    left.columns.iter().cloned().chain(shifted).collect()
}

//! Lateral joins whose right side processes single rows: the right side is applied to the left side
//! directly.
//!
//! ```text
//! t ⋈ᴸ π(σ(unnest[t.a](1)))     becomes     π(σ(unnest[a](t)))
//! ```

use super::dependent::Lateral;
use crate::columns::{free_columns, pass};
use crate::expr::{as_column, as_constant};
use volley_logical::{Column, Expr, ExprKind, JoinKind, Plan};
use volley_types::Value;

impl Lateral {
    /// Whether the right side can take the rows of the left side in place of one row.
    pub(super) fn takes_left(&self) -> bool {
        match self.kind {
            JoinKind::Inner => is_row_wise(&self.right),
            JoinKind::Left => self.conditions.iter().all(is_true) && makes_elements(&self.right),
            _ => false,
        }
    }

    /// The right side over the left one.
    pub(super) fn grafted(self) -> Plan {
        let Lateral { left, mut right, kind, mut conditions, .. } = self;
        if kind == JoinKind::Left {
            keep_rows(&mut right);
            conditions.clear();
        }
        let columns = left.columns();
        graft(&mut right, left, &columns);
        match conditions.is_empty() {
            true => right,
            false => Plan::Filter { input: Box::new(right), conjuncts: conditions },
        }
    }
}

/// Whether the plan makes its rows from one row of no columns, row by row.
pub(super) fn is_row_wise(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } | Plan::Filter { input, .. } | Plan::Unnest { input, .. } => {
            is_row_wise(input)
        }
        Plan::Join { left, kind, .. } => {
            kind.has_probe_columns() && keeps_left(*kind) && is_row_wise(left)
        }
        other => is_one_row(other),
    }
}

/// Whether each left row is joined for itself.
fn keeps_left(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Right | JoinKind::Full)
}

/// Whether the plan is elements and series of one row, with nulls where it has none.
fn makes_elements(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, exprs } => {
            exprs.iter().all(|it| is_part(&it.1)) && makes_elements(input)
        }
        Plan::Unnest { input, .. } => makes_one_row(input),
        _ => false,
    }
}

/// Whether this is a column or a field of one: null where the column is.
fn is_part(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { name, args } if name == "struct_extract" => {
            args.iter().take(1).all(is_part)
        }
        _ => as_column(expr).is_some(),
    }
}

/// Whether the plan makes exactly one row of one row.
fn makes_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } => makes_one_row(input),
        other => is_one_row(other),
    }
}

fn is_true(condition: &Expr) -> bool {
    matches!(as_constant(condition), Some(Value::Boolean(true)))
}

fn is_one_row(plan: &Plan) -> bool {
    matches!(plan, Plan::Values { columns, rows } if columns.is_empty() && rows.len() == 1)
}

/// Puts a row of which nothing is made out with nulls.
fn keep_rows(plan: &mut Plan) {
    match plan {
        Plan::Unnest { outer, .. } => *outer = true,
        Plan::Project { input, .. } => keep_rows(input),
        _ => {}
    }
}

/// Puts `left` in place of the one row; its columns are passed on.
pub(super) fn graft(plan: &mut Plan, left: Plan, columns: &[Column]) {
    match plan {
        Plan::Project { input, exprs } => {
            graft(input, left, columns);
            let is_new = |it: &&Column| exprs.iter().all(|own| own.0.id != it.id);
            let more: Vec<_> = columns.iter().filter(is_new).map(pass).collect();
            exprs.extend(more);
        }
        Plan::Filter { input, .. } | Plan::Unnest { input, .. } => graft(input, left, columns),
        Plan::Join { left: input, right, lateral, .. } => {
            let taken = free_columns(right);
            *lateral |= columns.iter().any(|it| taken.contains(&it.id));
            graft(input, left, columns);
        }
        one_row => *one_row = left,
    }
}

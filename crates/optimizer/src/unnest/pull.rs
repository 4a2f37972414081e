//! Turns filters of a lateral join's right side that use columns of the left side into conditions
//! of the join. If that removes all correlation, the join is a plain one.

use super::dependent::Lateral;
use crate::columns::{output_set, pass};
use crate::expr::{
    ColumnSet, as_column, binary_call, collect_used, is_not_null, never_null, same, used_by_all,
    used_columns,
};
use crate::stack::deep;
use volley_logical::{Column, Expr, ExprKind, JoinKind, Plan};

impl Lateral {
    /// Pulls up filters of the right side that use columns in `left`.
    pub(super) fn pull_conditions(&mut self, left: &ColumnSet) {
        let mut pulled = Vec::new();
        let mut right = std::mem::take(&mut self.right);
        if matches!(self.kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark) {
            right = without_unused(right, &used_by_all(&self.conditions));
        }
        self.right = pull(right, left, &mut pulled);
        if self.null_aware {
            self.known(&mut pulled, left);
        }
        self.conditions.extend(pulled);
    }

    /// Conditions that are unknown count as unknown in a null-aware join, but as false in a filter:
    /// makes conditions that are never unknown.
    fn known(&mut self, pulled: &mut [Expr], left: &ColumnSet) {
        let mut present = Vec::new();
        for conjunct in pulled {
            let inner = binary_call(conjunct, "eq").and_then(|(a, b)| {
                let (of_a, of_b) = (used_columns(a), used_columns(b));
                if of_a.is_subset(left) && as_column(b).is_some() && of_b.is_disjoint(left) {
                    return Some(b);
                }
                let swapped =
                    of_b.is_subset(left) && as_column(a).is_some() && of_a.is_disjoint(left);
                swapped.then_some(a)
            });
            let Some(inner) = inner else {
                *conjunct = never_null(conjunct.clone());
                continue;
            };
            present.push(is_not_null(inner.clone()));
            if let ExprKind::Call { args, .. } = &conjunct.kind
                && let [a, b] = args.as_slice()
            {
                *conjunct = same(a.clone(), b.clone());
            }
        }
        if !present.is_empty() {
            let input = Box::new(std::mem::take(&mut self.right));
            self.right = Plan::Filter { input, conjuncts: present };
        }
    }
}

/// Drops unused columns of a projection.
fn without_unused(plan: Plan, used: &ColumnSet) -> Plan {
    match plan {
        Plan::Project { input, mut exprs } => {
            exprs.retain(|it| used.contains(&it.0.id));
            Plan::Project { input, exprs }
        }
        other => other,
    }
}

fn pull(plan: Plan, left: &ColumnSet, pulled: &mut Vec<Expr>) -> Plan {
    deep(|| match plan {
        Plan::Filter { input, conjuncts } => {
            let input = pull(*input, left, pulled);
            let (outer, own) = conjuncts.into_iter().partition(|it| uses_any(it, left));
            pulled.extend::<Vec<Expr>>(outer);
            let own: Vec<Expr> = own;
            match own.is_empty() {
                true => input,
                false => Plan::Filter { input: Box::new(input), conjuncts: own },
            }
        }
        Plan::Project { input, exprs } => {
            let mut below = Vec::new();
            let input = pull(*input, left, &mut below);
            let exprs = exposing(exprs, &input, &below);
            pulled.extend(below);
            Plan::Project { input: Box::new(input), exprs }
        }
        Plan::Sort { input, .. } => pull(*input, left, pulled),
        Plan::Join { left: a, right: b, kind, conditions, null_aware, mark, lateral } => {
            let is_inner = kind == JoinKind::Inner;
            let preserves = is_inner || kind == JoinKind::Left || !kind.has_build_columns();
            let a = if preserves { pull(*a, left, pulled) } else { *a };
            let b = if is_inner && !lateral { pull(*b, left, pulled) } else { *b };
            let (outer, conditions): (Vec<_>, Vec<_>) =
                conditions.into_iter().partition(|it| is_inner && uses_any(it, left));
            pulled.extend(outer);
            let (left, right) = (Box::new(a), Box::new(b));
            Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }
        }
        other => other,
    })
}

fn uses_any(expr: &Expr, columns: &ColumnSet) -> bool {
    !used_columns(expr).is_disjoint(columns)
}

/// The projection with the columns that the conditions pulled through it use.
fn exposing(
    mut exprs: Vec<(Column, Expr)>,
    input: &Plan,
    conditions: &[Expr],
) -> Vec<(Column, Expr)> {
    let mut used = ColumnSet::new();
    conditions.iter().for_each(|it| collect_used(it, &mut used));
    if used.is_empty() {
        return exprs;
    }
    let made = output_set(input);
    for column in input.columns() {
        let is_new = exprs.iter().all(|it| it.0.id != column.id);
        if used.contains(&column.id) && made.contains(&column.id) && is_new {
            exprs.push(pass(&column));
        }
    }
    exprs
}

//! ASOF joins: each row of the left side with the nearest one of the right side.
//!
//! ```text
//! a ASOF [LEFT] JOIN b ON a.k = b.k AND a.t >= b.t      equalities, and one comparison
//! a ASOF JOIN b USING (k, t)                            the last column: a.t >= b.t
//! a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON ...     all left rows are kept
//! ```
//!
//! A condition on columns of the right side alone selects the rows among which the nearest one is
//! searched.

use super::{
    Binder, Clause,
    join::{Constrained, Side, merged_plan},
    unsupported,
};
use sqlparser::ast::{self, JoinConstraint};
use std::collections::HashSet;
use volley_error::{Error, Result};
use volley_logical::{ColumnId, Expr, ExprKind, JoinKind, Plan};

const COMPARISONS: [&str; 4] = ["lt", "lte", "gt", "gte"];

const EQUALITIES: [&str; 2] = ["eq", "is_not_distinct_from"];

/// Which sides of a join an expression uses.
#[derive(Default)]
struct Uses {
    left: bool,
    right: bool,
    subquery: bool,
}

impl<'a> Binder<'a> {
    /// Joins two sides by MATCH_CONDITION, in whose place may occur the kind of the join, and a
    /// constraint.
    pub(super) fn asof_join(
        &mut self,
        (match_condition, constraint): (&'a ast::Expr, &'a JoinConstraint),
        (left, left_scope): Side,
        (right, right_scope): Side,
        is_lateral: bool,
    ) -> Result<Side> {
        if is_lateral {
            return Err(unsupported("references to the left side of an ASOF join", None));
        }
        let written = written_kind(match_condition);
        let kind = written.unwrap_or(JoinKind::Left);
        let mut constrained = self.constrained(kind, constraint, &left_scope, right_scope)?;
        if written.is_none() {
            let bind = |it: &mut Self| it.conjuncts(match_condition, "MATCH_CONDITION");
            let (conjuncts, level) =
                self.with_level(constrained.scope, Clause::JoinCondition, bind)?;
            constrained.scope = level.scope;
            constrained.conditions.extend(conjuncts);
        } else if matches!(constraint, JoinConstraint::Using(_)) {
            self.compare_last(&mut constrained.conditions)?;
        }
        let Constrained { scope, conditions, computed } = constrained;
        let plan = asof_plan(left, right, kind, conditions)?;
        if !kind.has_build_columns() {
            return Ok((plan, left_scope));
        }
        Ok((merged_plan(plan, computed), scope))
    }

    /// The last of the columns that USING equates is compared instead.
    fn compare_last(&self, conditions: &mut Vec<Expr>) -> Result<()> {
        if let Some(Expr { kind: ExprKind::Call { args, .. }, span, .. }) = conditions.pop() {
            conditions.push(self.compare("gte", args, span)?);
        }
        Ok(())
    }
}

/// The kind of an ASOF join that is not written with MATCH_CONDITION.
fn written_kind(match_condition: &ast::Expr) -> Option<JoinKind> {
    let ast::Expr::Value(value) = match_condition else { return None };
    let ast::Value::SingleQuotedString(kind) = &value.value else { return None };
    Some(match kind.as_str() {
        "inner" => JoinKind::Inner,
        "left" => JoinKind::Left,
        "right" => JoinKind::Right,
        "full" => JoinKind::Full,
        "semi" => JoinKind::LeftSemi,
        "anti" => JoinKind::LeftAnti,
        _ => return None,
    })
}

fn asof_plan(left: Plan, right: Plan, kind: JoinKind, conditions: Vec<Expr>) -> Result<Plan> {
    let ids = |plan: &Plan| plan.column_refs().into_iter().map(|it| it.id).collect();
    let columns: [HashSet<ColumnId>; 2] = [ids(&left), ids(&right)];
    let (mut of_pairs, mut of_left, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
    let mut comparisons = 0;
    for conjunct in conditions {
        let uses = Uses::of(&conjunct, &columns);
        if uses.subquery {
            return Err(unsupported("a subquery in the condition of an ASOF join", conjunct.span));
        }
        match (uses.left, uses.right) {
            (false, true) if !kind.emits_build_rows() => of_right.push(conjunct),
            (true, false) if matches!(kind, JoinKind::Inner | JoinKind::LeftSemi) => {
                of_left.push(conjunct);
            }
            (true, true) if is_call(&conjunct, &EQUALITIES, &columns) => of_pairs.push(conjunct),
            (true, true) if is_call(&conjunct, &COMPARISONS, &columns) => {
                comparisons += 1;
                if comparisons > 1 {
                    let message = "ASOF join with more than one comparison of its sides";
                    return Err(Error::invalid_query(message).span(conjunct.span));
                }
                of_pairs.push(conjunct);
            }
            _ => {
                let message = "condition of an ASOF join is neither an equality nor a comparison of its sides";
                return Err(Error::invalid_query(message).span(conjunct.span));
            }
        }
    }
    if comparisons == 0 {
        let message = "ASOF join without a comparison of its sides by <, <=, > or >=";
        return Err(Error::invalid_query(message));
    }
    let filtered = |input: Plan, conjuncts: Vec<Expr>| match conjuncts.is_empty() {
        true => Box::new(input),
        false => Box::new(Plan::Filter { input: Box::new(input), conjuncts }),
    };
    let (left, right) = (filtered(left, of_left), filtered(right, of_right));
    Ok(Plan::AsofJoin { left, right, kind, conditions: of_pairs })
}

/// Whether the expression is a call of one of these functions, of an expression of each side.
fn is_call(expr: &Expr, names: &[&str], columns: &[HashSet<ColumnId>; 2]) -> bool {
    let ExprKind::Call { name, args } = &expr.kind else { return false };
    let [a, b] = args.as_slice() else { return false };
    let (a, b) = (Uses::of(a, columns), Uses::of(b, columns));
    names.contains(&name.as_str())
        && (a.left != a.right)
        && (b.left != b.right)
        && a.left == b.right
}

impl Uses {
    fn of(expr: &Expr, [left, right]: &[HashSet<ColumnId>; 2]) -> Uses {
        let mut uses = Uses::default();
        let mut rest = vec![expr];
        while let Some(expr) = rest.pop() {
            match &expr.kind {
                ExprKind::Column(id) => {
                    uses.left |= left.contains(id);
                    uses.right |= right.contains(id);
                }
                ExprKind::Subquery(_) => uses.subquery = true,
                _ => {}
            }
            rest.extend(expr.children());
        }
        uses
    }
}

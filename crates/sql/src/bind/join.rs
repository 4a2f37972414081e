//! Joins.

use super::{
    Binder, Clause,
    scope::{Found, Scope, ScopeColumn},
    select::column_expr,
    unsupported,
};
use sqlparser::ast::{JoinConstraint, JoinOperator, ObjectName, Spanned};
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, JoinKind, Plan, SpecialForm};

/// What APPLY has.
static NO_CONSTRAINT: JoinConstraint = JoinConstraint::None;

/// A column of USING or NATURAL on both sides.
struct Shared {
    left: Column,
    right: Column,
    span: Option<Span>,
}

pub(super) type Side = (Plan, Scope);

/// The constraint of a join, bound.
pub(super) struct Constrained {
    pub(super) scope: Scope,
    pub(super) conditions: Vec<Expr>,
    /// Columns to be computed on top.
    pub(super) computed: Vec<(Column, Expr)>,
}

impl<'a> Binder<'a> {
    /// Joins two sides that are bound already; `is_lateral`: the right one names columns of the
    /// left one.
    pub(super) fn join(
        &mut self,
        operator: &'a JoinOperator,
        left: Side,
        right: Side,
        is_lateral: bool,
    ) -> Result<Side> {
        if let JoinOperator::AsOf { match_condition, constraint } = operator {
            let written = (match_condition, constraint);
            return self.asof_join(written, left, right, is_lateral);
        }
        let (kind, constraint, swaps) = kind_of(operator)?;
        let takes_lateral = matches!(
            kind,
            JoinKind::Inner | JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti
        );
        if is_lateral && (swaps || !takes_lateral) {
            return Err(unsupported("references to the left side of this kind of join", None));
        }
        let (left, right) = if swaps { (right, left) } else { (left, right) };
        let (left_plan, left_scope) = left;
        let (right_plan, right_scope) = right;
        let Constrained { scope, conditions, computed } =
            self.constrained(kind, constraint, &left_scope, right_scope)?;
        let plan = Plan::Join {
            left: Box::new(left_plan),
            right: Box::new(right_plan),
            kind,
            conditions,
            null_aware: false,
            mark: None,
            lateral: is_lateral,
        };
        if !kind.has_build_columns() {
            return Ok((plan, left_scope));
        }
        Ok((merged_plan(plan, computed), scope))
    }

    /// What the constraint of a join says.
    pub(super) fn constrained(
        &mut self,
        kind: JoinKind,
        constraint: &'a JoinConstraint,
        left: &Scope,
        right: Scope,
    ) -> Result<Constrained> {
        match constraint {
            JoinConstraint::On(condition) => {
                let mut both = left.clone();
                both.append(right)?;
                let bind = |it: &mut Self| it.conjuncts(condition, "a join condition");
                let (conditions, level) = self.with_level(both, Clause::JoinCondition, bind)?;
                Ok(Constrained { scope: level.scope, conditions, computed: Vec::new() })
            }
            JoinConstraint::None => {
                let mut scope = left.clone();
                scope.append(right)?;
                Ok(Constrained { scope, conditions: Vec::new(), computed: Vec::new() })
            }
            JoinConstraint::Using(names) => {
                let shared = self.using(names, left, &right)?;
                self.shared_scope(kind, left, right, shared)
            }
            JoinConstraint::Natural => {
                let shared = natural(left, &right)?;
                self.shared_scope(kind, left, right, shared)
            }
        }
    }

    fn using(&self, names: &[ObjectName], left: &Scope, right: &Scope) -> Result<Vec<Shared>> {
        let column = |name: &ObjectName| {
            let span = self.span(name.span());
            let dotted = crate::parse::dotted(name);
            let find = |scope: &Scope, side: &str| match scope.find(&dotted) {
                Found::One(column) => Ok(column),
                Found::None => {
                    let message = format!("no such column on the {side} side of USING: {dotted}");
                    Err(Error::invalid_query(message).span(span))
                }
                Found::Several(names) => Err(super::access::ambiguous(&dotted, &names, span)),
            };
            Ok(Shared { left: find(left, "left")?, right: find(right, "right")?, span })
        };
        names.iter().map(column).collect()
    }

    /// The scope of USING and NATURAL, the equalities, and the columns to be computed.
    fn shared_scope(
        &mut self,
        kind: JoinKind,
        left: &Scope,
        right: Scope,
        shared: Vec<Shared>,
    ) -> Result<Constrained> {
        let mut conditions = Vec::new();
        let mut computed = Vec::new();
        let mut scope = left.clone();
        let mut hidden = right;
        // In Presto the keys come first, in the order of USING.
        let keys_first = self.shared.is_presto();
        for (position, Shared { left, right, span }) in shared.into_iter().enumerate() {
            let exprs = vec![column_expr(&left, span), column_expr(&right, span)];
            conditions.push(self.compare("eq", exprs.clone(), span)?);
            hide(&mut hidden, &right);
            let merged = match kind {
                JoinKind::Right => Column { name: left.name.clone(), ..right },
                JoinKind::Full => {
                    let data_type = self.shared.common_type(&left.data_type, &right.data_type);
                    let data_type = data_type.unwrap_or_else(|| left.data_type.clone());
                    let args = self.unify(exprs, "USING")?;
                    let form = SpecialForm::Coalesce;
                    let expr = Expr::special(form, args, data_type.clone()).at(span);
                    let column = self.column(left.name.clone(), data_type);
                    computed.push((column.clone(), expr));
                    column
                }
                _ if keys_first => left.clone(),
                _ => continue,
            };
            if let Some(index) = hide(&mut scope, &left) {
                let index = if keys_first { position } else { index };
                let column = ScopeColumn { relation: None, column: merged, is_plain: true };
                scope.columns.insert(index, column);
            }
        }
        scope.append(hidden)?;
        Ok(Constrained { scope, conditions, computed })
    }
}

/// Makes a column be found with a qualifier only, or not at all when it has none; gives the place
/// for the column that is found in its stead.
fn hide(scope: &mut Scope, column: &Column) -> Option<usize> {
    let index = scope.columns.iter().position(|it| it.is_plain && it.column.id == column.id)?;
    let found = scope.columns.get_mut(index)?;
    if found.relation.is_some() {
        found.is_plain = false;
        return Some(index + 1);
    }
    scope.columns.remove(index);
    Some(index)
}

/// The join with further columns computed on top.
pub(super) fn merged_plan(plan: Plan, computed: Vec<(Column, Expr)>) -> Plan {
    if computed.is_empty() {
        return plan;
    }
    let kept = plan.columns().into_iter().map(|it| {
        let expr = column_expr(&it, None);
        (it, expr)
    });
    let exprs = kept.chain(computed).collect();
    Plan::Project { input: Box::new(plan), exprs }
}

fn natural(left: &Scope, right: &Scope) -> Result<Vec<Shared>> {
    let mut shared: Vec<Shared> = Vec::new();
    for column in left.plain() {
        let name = &column.column.name;
        if shared.iter().any(|it| it.left.name.eq_ignore_ascii_case(name)) {
            continue;
        }
        match (left.find(name), right.find(name)) {
            (_, Found::None) => {}
            (Found::One(left), Found::One(right)) => {
                shared.push(Shared { left, right, span: None })
            }
            (Found::Several(names), _) | (_, Found::Several(names)) => {
                return Err(super::access::ambiguous(name, &names, None));
            }
            (Found::None, _) => {}
        }
    }
    if shared.is_empty() {
        return Err(Error::invalid_query("the sides of NATURAL JOIN have no column in common"));
    }
    Ok(shared)
}

/// The kind of a join, its constraint, and whether the sides change places.
fn kind_of(operator: &JoinOperator) -> Result<(JoinKind, &JoinConstraint, bool)> {
    let (kind, constraint, swaps) = match operator {
        JoinOperator::Join(it) | JoinOperator::Inner(it) => (JoinKind::Inner, it, false),
        JoinOperator::Left(it) | JoinOperator::LeftOuter(it) => (JoinKind::Left, it, false),
        JoinOperator::Right(it) | JoinOperator::RightOuter(it) => (JoinKind::Right, it, false),
        JoinOperator::FullOuter(it) => (JoinKind::Full, it, false),
        JoinOperator::Semi(it) | JoinOperator::LeftSemi(it) => (JoinKind::LeftSemi, it, false),
        JoinOperator::Anti(it) | JoinOperator::LeftAnti(it) => (JoinKind::LeftAnti, it, false),
        JoinOperator::RightSemi(it) => (JoinKind::LeftSemi, it, true),
        JoinOperator::RightAnti(it) => (JoinKind::LeftAnti, it, true),
        JoinOperator::CrossJoin(it @ JoinConstraint::None) => {
            return Ok((JoinKind::Inner, it, false));
        }
        JoinOperator::CrossJoin(_) => {
            return Err(Error::invalid_query("CROSS JOIN takes no condition"));
        }
        JoinOperator::CrossApply => return Ok((JoinKind::Inner, &NO_CONSTRAINT, false)),
        JoinOperator::OuterApply => return Ok((JoinKind::Left, &NO_CONSTRAINT, false)),
        _ => return Err(unsupported("this kind of join", None)),
    };
    if matches!(constraint, JoinConstraint::None) {
        return Err(Error::invalid_query(
            "join without a condition: ON, USING or CROSS is missing",
        ));
    }
    Ok((kind, constraint, swaps))
}

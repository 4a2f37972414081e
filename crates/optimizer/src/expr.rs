//! Properties of expressions, and builders of small expressions.

use crate::stack::deep;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use volley_function::{Registry, ScalarTraits};
use volley_logical::{Column, ColumnId, Expr, ExprKind, Plan, SpecialForm, SubqueryKind};
use volley_types::{Type, Value};

/// How large and how deep expressions may become by substitution, where that is a choice. Twice as
/// large with each of many projections, they would take all memory; expressions with more than 400
/// levels do not run.
const NODES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 150;

/// A set of columns.
pub(crate) type ColumnSet = BTreeSet<ColumnId>;

/// The columns that an expression uses; those of its subqueries' plans, too.
pub(crate) fn used_columns(expr: &Expr) -> ColumnSet {
    let mut columns = ColumnSet::new();
    collect_used(expr, &mut columns);
    columns
}

/// Adds the columns that an expression uses.
pub(crate) fn collect_used(expr: &Expr, columns: &mut ColumnSet) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match &expr.kind {
            ExprKind::Column(id) => {
                columns.insert(*id);
            }
            ExprKind::Subquery(subquery) => {
                columns.extend(crate::columns::free_columns(&subquery.plan));
                rest.extend(expr.children());
            }
            _ => rest.extend(expr.children()),
        }
    }
}

/// The columns that any of the expressions uses.
pub(crate) fn used_by_all<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> ColumnSet {
    let mut columns = ColumnSet::new();
    for expr in exprs {
        collect_used(expr, &mut columns);
    }
    columns
}

/// Whether the expression has a subquery.
pub(crate) fn has_subquery(expr: &Expr) -> bool {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        if matches!(expr.kind, ExprKind::Subquery(_)) {
            return true;
        }
        rest.extend(expr.children());
    }
    false
}

/// Whether the expression stays small, or does not grow, when its columns become what `by` says.
pub(crate) fn stays_small<'a>(expr: &'a Expr, by: impl Fn(ColumnId) -> Option<&'a Expr>) -> bool {
    let (mut nodes, mut grows, mut is_small) = (0, false, true);
    // Each with its level, and whether it is in place of a column.
    let mut rest = vec![(expr, 1, false)];
    while let Some((expr, depth, is_new)) = rest.pop() {
        nodes += 1;
        is_small &= nodes <= NODES_MAX && depth <= DEPTH_MAX;
        if grows && !is_small {
            return false;
        }
        match as_column(expr).filter(|_| !is_new).and_then(&by) {
            Some(other) => {
                grows |= !other.children().is_empty();
                rest.push((other, depth, true));
            }
            None => rest.extend(expr.children().iter().map(|it| (it, depth + 1, is_new))),
        }
    }
    !grows || is_small
}

/// How much expressions grow, at most, when projections below them are taken off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Columns in place of one column.
    columns: usize,
    /// Levels below it.
    depth: usize,
}

impl Default for Growth {
    fn default() -> Growth {
        Growth { columns: 1, depth: 0 }
    }
}

impl Growth {
    /// With another projection, the next one below; `None` when that is too much.
    pub(crate) fn with(self, exprs: &[(Column, Expr)]) -> Option<Growth> {
        let (mut columns_max, mut depth_max) = (1, 0);
        for (_, expr) in exprs {
            let (mut columns, mut nodes) = (0_usize, 0_usize);
            let mut rest = vec![(expr, 0)];
            while let Some((expr, depth)) = rest.pop() {
                nodes += 1;
                columns += usize::from(as_column(expr).is_some());
                depth_max = depth_max.max(depth);
                rest.extend(expr.children().iter().map(|it| (it, depth + 1)));
            }
            columns_max = columns_max.max(columns);
            if nodes > 1 && self.columns.saturating_mul(nodes) > NODES_MAX {
                return None;
            }
        }
        let depth = self.depth + depth_max;
        let columns = self.columns.saturating_mul(columns_max);
        (depth <= DEPTH_MAX).then_some(Growth { columns, depth })
    }
}

/// Replaces columns by expressions of the same types, also within subqueries' plans.
pub(crate) fn substitute(expr: &mut Expr, by: &HashMap<ColumnId, Expr>) {
    if by.is_empty() {
        return;
    }
    deep(|| {
        if let ExprKind::Column(id) = &expr.kind {
            if let Some(other) = by.get(id) {
                let span = other.span.or(expr.span);
                *expr = other.clone().at(span);
            }
            return;
        }
        for child in expr.children_mut() {
            substitute(child, by);
        }
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            let mut plan = Plan::clone(&subquery.plan);
            substitute_in_plan(&mut plan, by);
            subquery.plan = plan.into();
        }
    });
}

/// Replaces columns in all expressions of a plan.
pub(crate) fn substitute_in_plan(plan: &mut Plan, by: &HashMap<ColumnId, Expr>) {
    if by.is_empty() {
        return;
    }
    deep(|| {
        for expr in plan.exprs_mut() {
            substitute(expr, by);
        }
        for input in plan.inputs_mut() {
            substitute_in_plan(input, by);
        }
    });
}

/// Appends the conjuncts of `expr` to `conjuncts`: ANDs are split.
pub(crate) fn split_conjuncts(expr: Expr, conjuncts: &mut Vec<Expr>) {
    split(expr, SpecialForm::And, conjuncts);
}

/// Appends the parts of nested applications of AND or OR.
pub(crate) fn split(expr: Expr, form: SpecialForm, parts: &mut Vec<Expr>) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match expr.kind {
            ExprKind::Special { form: own, args } if own == form => {
                rest.extend(args.into_iter().rev());
            }
            _ => parts.push(expr),
        }
    }
}

/// `a AND b AND ...`; TRUE of nothing.
pub(crate) fn and(mut conjuncts: Vec<Expr>) -> Expr {
    match conjuncts.len() {
        0 => Expr::boolean(true),
        1 => conjuncts.remove(0),
        _ => Expr::special(SpecialForm::And, conjuncts, Type::Boolean),
    }
}

/// `a OR b OR ...`; FALSE of nothing.
pub(crate) fn or(mut disjuncts: Vec<Expr>) -> Expr {
    match disjuncts.len() {
        0 => Expr::boolean(false),
        1 => disjuncts.remove(0),
        _ => Expr::special(SpecialForm::Or, disjuncts, Type::Boolean),
    }
}

/// `left = right`.
pub(crate) fn eq(left: Expr, right: Expr) -> Expr {
    Expr::call("eq", vec![left, right], Type::Boolean)
}

/// `left IS NOT DISTINCT FROM right`.
pub(crate) fn same(left: Expr, right: Expr) -> Expr {
    Expr::call("is_not_distinct_from", vec![left, right], Type::Boolean)
}

/// `NOT input`.
pub(crate) fn not(input: Expr) -> Expr {
    Expr::call("not", vec![input], Type::Boolean)
}

/// `input IS NULL`.
pub(crate) fn is_null(input: Expr) -> Expr {
    Expr::special(SpecialForm::IsNull, vec![input], Type::Boolean)
}

/// `input IS NOT NULL`.
pub(crate) fn is_not_null(input: Expr) -> Expr {
    not(is_null(input))
}

/// A condition whose unknown counts as false, as a filter has it.
pub(crate) fn never_null(condition: Expr) -> Expr {
    let args = vec![condition, Expr::boolean(false)];
    Expr::special(SpecialForm::Coalesce, args, Type::Boolean)
}

/// Whether the condition shows that it is true or false whatever its columns hold.
pub(crate) fn is_never_null(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Constant(value) => !matches!(value, Value::Null),
        ExprKind::Special { form: SpecialForm::IsNull, .. } => true,
        ExprKind::Special { form: SpecialForm::Coalesce, args } => args.iter().any(is_never_null),
        ExprKind::Special { form: SpecialForm::And | SpecialForm::Or, args } => {
            args.iter().all(is_never_null)
        }
        ExprKind::Call { name, .. } if name == "is_not_distinct_from" => true,
        _ => negated(condition).is_some_and(is_never_null),
    }
}

/// A BIGINT literal.
pub(crate) fn bigint(value: i64) -> Expr {
    Expr::constant(Value::BigInt(value), Type::BigInt)
}

/// The arguments of a call of `name` with two arguments.
pub(crate) fn binary_call<'a>(expr: &'a Expr, name: &str) -> Option<(&'a Expr, &'a Expr)> {
    match &expr.kind {
        ExprKind::Call { name: own, args } if own == name => match args.as_slice() {
            [left, right] => Some((left, right)),
            _ => None,
        },
        _ => None,
    }
}

/// The argument of a call of `not`.
pub(crate) fn negated(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call { name, args } if name == "not" => args.first(),
        _ => None,
    }
}

/// The column, when the expression is nothing else.
pub(crate) fn as_column(expr: &Expr) -> Option<ColumnId> {
    match &expr.kind {
        ExprKind::Column(id) => Some(*id),
        _ => None,
    }
}

/// The literal, when the expression is nothing else.
pub(crate) fn as_constant(expr: &Expr) -> Option<&Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value),
        _ => None,
    }
}

/// Whether two expressions are the same except for their places in the text. Subqueries are if they
/// are copies of one.
pub(crate) fn same_expr(left: &Expr, right: &Expr) -> bool {
    deep(|| {
        let same_kind = match (&left.kind, &right.kind) {
            (ExprKind::Column(left), ExprKind::Column(right)) => left == right,
            (ExprKind::Constant(left), ExprKind::Constant(right)) => left.is_identical(right),
            (ExprKind::Parameter(left), ExprKind::Parameter(right)) => left == right,
            (
                ExprKind::Lambda { parameters: left, .. },
                ExprKind::Lambda { parameters: right, .. },
            ) => left == right,
            (ExprKind::Call { name: left, .. }, ExprKind::Call { name: right, .. }) => {
                left == right
            }
            (ExprKind::Special { form: left, .. }, ExprKind::Special { form: right, .. }) => {
                left == right
            }
            (
                ExprKind::Cast { null_on_error: left, package: left_rules, .. },
                ExprKind::Cast { null_on_error: right, package: right_rules, .. },
            ) => left == right && left_rules == right_rules,
            (ExprKind::Subquery(left), ExprKind::Subquery(right)) => {
                std::mem::discriminant(&left.kind) == std::mem::discriminant(&right.kind)
                    && Arc::ptr_eq(&left.plan, &right.plan)
            }
            _ => false,
        };
        let (a, b) = (left.children(), right.children());
        same_kind
            && left.data_type == right.data_type
            && left.occurrence == right.occurrence
            && a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| same_expr(a, b))
    })
}

/// Whether values of the type that are equal are the same.
pub(crate) fn has_one_form(data_type: &Type) -> bool {
    data_type.is_integer()
        || data_type.unsigned().is_some()
        || data_type.is_decimal()
        || data_type.is_string()
        || matches!(data_type, Type::Boolean | Type::Date | Type::Timestamp)
}

/// The left-hand expressions of an IN subquery.
pub(crate) fn in_exprs(kind: &SubqueryKind) -> &[Expr] {
    match kind {
        SubqueryKind::In(exprs) => exprs,
        SubqueryKind::Scalar | SubqueryKind::Exists => &[],
    }
}

/// A hash of an expression; equal for expressions that [`same_expr`] calls the same.
pub(crate) fn fingerprint(expr: &Expr) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        std::mem::discriminant(&expr.kind).hash(&mut hasher);
        match &expr.kind {
            ExprKind::Column(id) => id.hash(&mut hasher),
            ExprKind::Constant(value) => hash_value(value, &expr.data_type, &mut hasher),
            ExprKind::Call { name, .. } => name.hash(&mut hasher),
            ExprKind::Special { form, .. } => form.hash(&mut hasher),
            ExprKind::Cast { .. } => expr.data_type.hash(&mut hasher),
            ExprKind::Parameter(parameter) => parameter.hash(&mut hasher),
            ExprKind::Lambda { .. } | ExprKind::Subquery(_) => {}
        }
        rest.extend(expr.children());
    }
    hasher.finish()
}

fn hash_value(value: &Value, data_type: &Type, hasher: &mut impl Hasher) {
    match value.as_i128() {
        Some(number) => number.hash(hasher),
        None if data_type.is_float() => {}
        None => value.display(data_type).to_string().hash(hasher),
    }
}

/// Drops conjuncts (or disjuncts) that occurred before.
pub(crate) fn without_duplicates(exprs: Vec<Expr>) -> Vec<Expr> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut kept: Vec<Expr> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let same = seen.entry(fingerprint(&expr)).or_default();
        if same.iter().all(|it| !same_expr(&kept[*it], &expr)) {
            same.push(kept.len());
            kept.push(expr);
        }
    }
    kept
}

/// How a function behaves, besides the lambdas that it is given; `None` if there is no such
/// function.
pub(crate) fn call_traits(name: &str, args: &[Expr], registry: &Registry) -> Option<ScalarTraits> {
    if args.iter().any(|it| matches!(it.kind, ExprKind::Lambda { .. })) {
        let types: Vec<_> = args.iter().map(Expr::argument_type).collect();
        return registry.resolve_higher_order(name, &types).ok().map(|it| it.traits);
    }
    let types: Vec<_> = args.iter().map(|it| it.data_type.clone()).collect();
    registry.resolve_scalar(name, &types).ok().map(|it| it.traits)
}

/// What the registry knows of the functions in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behavior {
    /// Equal inputs give equal values.
    pub(crate) deterministic: bool,
    /// No row fails.
    pub(crate) infallible: bool,
}

/// How an expression behaves; what the registry does not know may do anything.
pub(crate) fn behavior(expr: &Expr, registry: &Registry) -> Behavior {
    let mut all = Behavior { deterministic: true, infallible: true };
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        let traits = match &expr.kind {
            ExprKind::Call { name, args } => call_traits(name, args, registry),
            ExprKind::Cast { null_on_error: false, input, package } => {
                let cast = registry.resolve_cast_of(*package, &input.data_type, &expr.data_type);
                cast.ok().map(|it| it.traits)
            }
            _ => Some(ScalarTraits::INFALLIBLE),
        };
        let traits = traits.unwrap_or(ScalarTraits {
            deterministic: false,
            propagates_nulls: false,
            ..ScalarTraits::DEFAULT
        });
        all.deterministic &= traits.deterministic;
        all.infallible &= traits.infallible;
        rest.extend(expr.children());
    }
    all
}

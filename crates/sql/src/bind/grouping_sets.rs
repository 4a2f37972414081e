//! GROUPING SETS, ROLLUP and CUBE, and the function that distinguishes their groups.
//!
//! Each element of GROUP BY is a list of sets; the query groups by all combinations of one set of
//! each: `GROUP BY a, ROLLUP (b, c)` has the sets `(a, b, c)`, `(a, b)` and `(a)`.

use super::{
    Binder,
    expr::{first_span, without_parentheses},
    group::{GroupBy, Grouping, push_key},
    inspect,
    select::{Clauses, Item, column_expr},
};
use sqlparser::ast::{self, Function, FunctionArguments};
use volley_error::{Error, Result, Span};
use volley_logical::{AggregateCall, Column, Expr, ExprKind, GroupingSet, Plan, SpecialForm};
use volley_types::{Type, Value};

/// The function, which is in expressions until it is known which sets there are.
pub(super) const GROUPING: &str = "grouping";

/// The most grouping sets of a query.
const SETS_MAX: usize = 65_535;

/// The most arguments of `grouping`: bits of a BIGINT that is not negative.
const GROUPING_ARGS_MAX: usize = 63;

/// The sets that an element of GROUP BY represents: positions of keys.
type Sets = Vec<Vec<usize>>;

/// What keys may name besides columns.
#[derive(Clone, Copy)]
struct Items<'i, 'a> {
    items: &'i [Item<'a>],
    exprs: &'i [Expr],
}

impl<'a> Binder<'a> {
    /// The grouping sets of a GROUP BY with these elements.
    pub(super) fn sets(
        &mut self,
        written: &'a [ast::Expr],
        items: &[Item<'a>],
        exprs: &[Expr],
    ) -> Result<GroupBy> {
        let mut keys = Vec::new();
        let mut all: Sets = vec![Vec::new()];
        for element in written {
            let own = self.grouping_element(element, &mut keys, Items { items, exprs })?;
            self.check_count(all.len().saturating_mul(own.len()), element)?;
            let pairs = all.iter().flat_map(|left| own.iter().map(move |right| (left, right)));
            all = pairs.map(|(left, right)| union(left, right)).collect();
        }
        Ok(GroupBy { keys, sets: all })
    }

    fn grouping_element(
        &mut self,
        element: &'a ast::Expr,
        keys: &mut Vec<Expr>,
        items: Items<'_, 'a>,
    ) -> Result<Sets> {
        self.deeper(
            |it| it.span(first_span(element)),
            |it| match without_parentheses(element) {
                ast::Expr::GroupingSets(parts) => {
                    let mut sets = Vec::new();
                    for part in parts {
                        match part.as_slice() {
                            [only] => sets.extend(it.grouping_element(only, keys, items)?),
                            several => sets.push(it.one_set(several, keys, items)?),
                        }
                        it.check_count(sets.len(), element)?;
                    }
                    Ok(sets)
                }
                ast::Expr::Rollup(parts) => {
                    let parts = it.each_set(parts, keys, items)?;
                    let prefix = |len: usize| parts.iter().take(len);
                    let sets = (0..=parts.len()).rev().map(prefix);
                    Ok(sets.map(|set| set.fold(Vec::new(), |all, it| union(&all, it))).collect())
                }
                ast::Expr::Cube(parts) => {
                    let parts = it.each_set(parts, keys, items)?;
                    let doubled = 1_usize.checked_shl(parts.len() as u32).unwrap_or(usize::MAX);
                    it.check_count(doubled, element)?;
                    let mut sets = vec![Vec::new()];
                    for part in parts.iter().rev() {
                        let with: Sets = sets.iter().map(|set| union(part, set)).collect();
                        sets = with.into_iter().chain(sets).collect();
                    }
                    Ok(sets)
                }
                ast::Expr::Tuple(parts) => Ok(vec![it.one_set(parts, keys, items)?]),
                _ => Ok(vec![it.one_set(std::slice::from_ref(element), keys, items)?]),
            },
        )
    }

    fn each_set(
        &mut self,
        parts: &'a [Vec<ast::Expr>],
        keys: &mut Vec<Expr>,
        items: Items<'_, 'a>,
    ) -> Result<Sets> {
        parts.iter().map(|it| self.one_set(it, keys, items)).collect()
    }

    fn one_set(
        &mut self,
        parts: &'a [ast::Expr],
        keys: &mut Vec<Expr>,
        items: Items<'_, 'a>,
    ) -> Result<Vec<usize>> {
        let mut set = Vec::with_capacity(parts.len());
        for part in parts {
            let key = self.group_key(part, items.items, items.exprs)?;
            set.push(push_key(keys, key));
        }
        Ok(union(&set, &[]))
    }

    fn check_count(&self, sets: usize, element: &ast::Expr) -> Result<()> {
        if sets <= SETS_MAX {
            return Ok(());
        }
        let message = format!("more than {SETS_MAX} grouping sets");
        Err(Error::invalid_query(message).span(self.span(first_span(element))))
    }

    /// `grouping(key, ...)`: a bit per key, the last one lowest: whether the row's grouping set
    /// lacks it.
    pub(super) fn grouping_call(
        &mut self,
        function: &'a Function,
        span: Option<Span>,
    ) -> Result<Expr> {
        let invalid = |message: String| Err(Error::invalid_query(message).span(span));
        let clause = self.current_clause();
        let level = self.level()?;
        if !clause.takes_aggregates() {
            return invalid(format!("{GROUPING} is not allowed in {clause}"));
        }
        if level.in_aggregate {
            return invalid(format!("{GROUPING} is not allowed within aggregate functions"));
        }
        level.grouping = level.grouping.or(Some(span));
        let written = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        if written.is_empty() || written.len() > GROUPING_ARGS_MAX {
            return invalid(format!("{GROUPING} takes 1 to {GROUPING_ARGS_MAX} keys of GROUP BY"));
        }
        let mut args = Vec::with_capacity(written.len());
        for arg in written {
            args.push(self.expr(self.plain_arg(arg, span)?)?);
        }
        Ok(Expr::call(GROUPING, args, Type::BigInt).at(span))
    }

    /// The aggregation of a query with GROUP BY, HAVING or aggregates.
    pub(super) fn aggregate_node(
        &mut self,
        plan: Plan,
        grouped: GroupBy,
        mut aggregates: Vec<(Column, AggregateCall)>,
        clauses: &mut Clauses,
    ) -> Result<Plan> {
        let GroupBy { keys, sets } = grouped;
        let mut keys = self.group_key_columns(&plan, keys, sets.len() > 1);
        let set_id = (sets.len() > 1).then(|| self.column("group_id", Type::BigInt));
        let level = self.levels.last().ok_or_else(|| Error::internal("level stack is empty"))?;
        let (scope, set_id) = (&level.scope, set_id.as_ref());
        Grouping { keys: &keys, sets: &sets, set_id, scope }.rewrite_all(clauses)?;
        let mut input = Box::new(plan);
        if let Some(id) = set_id {
            let has_empty = sets.iter().any(Vec::is_empty);
            let present = has_empty.then(|| self.column("present", Type::Boolean));
            if let Some(present) = &present {
                let calls = aggregates.iter_mut().map(|it| &mut it.1);
                calls.for_each(|it| only_where(it, column_expr(present, None)));
            }
            let above = keys.iter().map(|it| &it.0).chain([id]);
            let above = above.map(|it| (it.clone(), column_expr(it, None))).collect();
            let sets = (0..).zip(sets).map(|(id, keys)| GroupingSet { id, keys }).collect();
            input = Box::new(Plan::GroupId { input, keys, sets, id: id.clone(), present });
            keys = above;
        }
        Ok(Plan::Aggregate { input, keys, aggregates })
    }
}

impl Grouping<'_> {
    /// The value of `grouping` for a group.
    pub(super) fn grouping_value(&self, args: &[Expr], span: Option<Span>) -> Result<Expr> {
        let mut positions = Vec::with_capacity(args.len());
        for arg in args {
            let found = self.keys.iter().position(|it| inspect::same(&it.1, arg));
            positions.push(found.ok_or_else(|| {
                let message = format!("argument of {GROUPING} is not a key of GROUP BY");
                Error::invalid_query(message).span(arg.span.or(span))
            })?);
        }
        let value = |set: &Vec<usize>| {
            let lacks = positions.iter().map(|it| i64::from(!set.contains(it)));
            lacks.fold(0, |bits, bit| bits * 2 + bit)
        };
        let integer = |value: i64| Expr::constant(Value::BigInt(value), Type::BigInt);
        let mut by_value: std::collections::BTreeMap<i64, Vec<Expr>> = Default::default();
        for (id, set) in (0..).zip(self.sets) {
            by_value.entry(value(set)).or_default().push(integer(id));
        }
        let last = by_value.pop_last().map_or(0, |it| it.0);
        let Some(set_id) = self.set_id.filter(|_| !by_value.is_empty()) else {
            return Ok(integer(last).at(span));
        };
        let mut choices = Vec::with_capacity(2 * by_value.len() + 1);
        for (value, ids) in by_value {
            let args = std::iter::once(column_expr(set_id, None)).chain(ids).collect();
            choices.push(Expr::special(SpecialForm::In, args, Type::Boolean));
            choices.push(integer(value));
        }
        choices.push(integer(last));
        Ok(Expr::special(SpecialForm::Switch, choices, Type::BigInt).at(span))
    }
}

/// The positions of both, ascending, each once.
fn union(left: &[usize], right: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = left.iter().chain(right).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a call of `grouping` is in the expression.
pub(super) fn has_grouping(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { name, .. } if name == GROUPING)
        || expr.children().iter().any(has_grouping)
}

/// Lets a call see only rows where `test` is true.
fn only_where(call: &mut AggregateCall, test: Expr) {
    call.filter = Some(match call.filter.take() {
        Some(filter) => Expr::special(SpecialForm::And, vec![test, filter], Type::Boolean),
        None => test,
    });
}

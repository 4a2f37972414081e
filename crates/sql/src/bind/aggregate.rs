//! Aggregate calls: which query they belong to, and the columns that stand for them.

use super::{Binder, inspect, lambda::is_lambda, unsupported};
use crate::parse::is_no_argument;
use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, OrderByExpr,
};
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};
use volley_error::{Error, Result, Span};
use volley_logical::{AggregateCall, CallStep, Column, ColumnId, ColumnIds, Expr};
use volley_types::Type;

/// Aggregates whose first argument must have an order.
const NEEDS_ORDER: [&str; 8] =
    ["min", "max", "median", "mode", "mode_first", "quantile", "quantile_cont", "quantile_disc"];

/// The aggregate calls of a query, each once, with the columns that stand for them.
#[derive(Default)]
pub(super) struct Aggregates {
    calls: Vec<(Column, AggregateCall)>,
    /// Where in `calls` those with this fingerprint stand.
    by_fingerprint: HashMap<u64, Vec<usize>>,
    ids: HashSet<ColumnId>,
}

impl Aggregates {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The columns that stand for calls.
    pub(super) fn ids(&self) -> &HashSet<ColumnId> {
        &self.ids
    }

    /// How many different calls there are.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn into_calls(self) -> Vec<(Column, AggregateCall)> {
        self.calls
    }

    /// The column that stands for the call; a new one for a new call.
    fn column_of(&mut self, call: AggregateCall, ids: &ColumnIds) -> Column {
        let alike = self.by_fingerprint.entry(fingerprint(&call)).or_default();
        let calls = alike.iter().filter_map(|index| self.calls.get(*index));
        if let Some((column, _)) = calls.into_iter().find(|it| same_call(&it.1, &call)) {
            return column.clone();
        }
        let column = ids.column(call.function.clone(), call.data_type.clone());
        alike.push(self.calls.len());
        self.ids.insert(column.id);
        self.calls.push((column.clone(), call));
        column
    }
}

/// Equal for calls that are the same.
fn fingerprint(call: &AggregateCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.function.hash(&mut hasher);
    call.exprs().for_each(|it| inspect::hash(it, &mut hasher));
    hasher.finish()
}

/// An aggregate call as the parser has it.
#[derive(Clone, Copy)]
pub(super) struct Parsed<'c, 'a> {
    /// The registered name.
    pub(super) name: &'c str,
    pub(super) list: Option<&'a FunctionArgumentList>,
    pub(super) filter: Option<&'a ast::Expr>,
    /// WITHIN GROUP.
    pub(super) within_group: &'a [OrderByExpr],
    pub(super) span: Option<Span>,
}

/// The parts of a call before they are bound.
#[derive(Default)]
pub(super) struct Written<'a> {
    pub(super) args: Vec<&'a ast::Expr>,
    distinct: bool,
    pub(super) order_by: &'a [OrderByExpr],
    filter: Option<&'a ast::Expr>,
    /// Whether the second argument, a share of the rows, counts from the greatest.
    pub(super) descends: bool,
}

impl<'a> Binder<'a> {
    /// An aggregate call: the column of the grouping that holds its value.
    pub(super) fn aggregate(&mut self, parsed: Parsed<'_, 'a>) -> Result<Expr> {
        let written = self.aggregate_parts(parsed)?;
        let Parsed { name, span, .. } = parsed;
        let outer = std::mem::replace(&mut self.level()?.in_aggregate, true);
        // An aggregate is of the rows, not of the elements that a lambda around it is applied to.
        let lambdas = std::mem::take(&mut self.lambdas);
        let call = self.aggregate_call(name, written, span);
        self.lambdas = lambdas;
        self.level()?.in_aggregate = outer;
        let call = call?;
        let owner = self.owner(&call);
        let clause = self.levels.get(owner).map_or(self.current_clause(), |it| it.clause);
        let level = self
            .levels
            .get_mut(owner)
            .ok_or_else(|| Error::internal("aggregate outside of a query"))?;
        if level.in_aggregate {
            let message = "aggregate calls cannot be nested";
            return Err(Error::invalid_query(message).span(span));
        }
        if !clause.takes_aggregates() {
            let message = format!("aggregate functions are not allowed in {clause}");
            return Err(Error::invalid_query(message).span(span));
        }
        let column = level.aggregates.column_of(call, self.shared.ids);
        Ok(Expr::column(column.id, column.data_type).at(span))
    }

    /// An aggregate call that no grouping computes, but a window.
    pub(super) fn plain_aggregate(&mut self, parsed: Parsed<'_, 'a>) -> Result<AggregateCall> {
        let written = self.aggregate_parts(parsed)?;
        self.aggregate_call(parsed.name, written, parsed.span)
    }

    fn aggregate_parts(&self, parsed: Parsed<'_, 'a>) -> Result<Written<'a>> {
        let Parsed { name, list, filter, span, .. } = parsed;
        let mut written = Written { filter, ..Written::default() };
        let Some(list) = list else { return self.within_group(written, parsed) };
        written.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(order_by) => written.order_by = order_by,
                FunctionArgumentClause::Limit(_) => {
                    return Err(unsupported("LIMIT in an aggregate call", span));
                }
                FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => {
                    return Err(unsupported(format!("{treatment} in an aggregate call"), span));
                }
                _ => return Err(unsupported("this clause in an aggregate call", span)),
            }
        }
        if let [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] = list.args.as_slice()
            && name == "count"
        {
            if written.distinct {
                return Err(unsupported("count(DISTINCT *)", span));
            }
            return Ok(written);
        }
        // What comes with lambdas is for what is made of the values that are collected.
        let count = if list.args.iter().any(is_lambda) { 1 } else { list.args.len() };
        for arg in list.args.iter().take(count).filter(|it| !is_no_argument(it)) {
            written.args.push(self.plain_arg(arg, span)?);
        }
        self.within_group(written, parsed)
    }

    fn aggregate_call(
        &mut self,
        name: &str,
        written: Written<'a>,
        span: Option<Span>,
    ) -> Result<AggregateCall> {
        let mut args = written.args.iter().map(|it| self.expr(it)).collect::<Result<Vec<_>>>()?;
        let descends = written.descends || self.is_descending_quantile(name, &written, &args)?;
        let name = match written.order_by {
            [] => name,
            _ => self.with_order(name),
        };
        if let (true, Some(share)) = (descends, args.get_mut(1)) {
            let span = share.span;
            *share = self.from_the_greatest(share.clone())?.at(span);
        }
        self.check_share(name, &args)?;
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        if let (true, Some(arg)) = (NEEDS_ORDER.contains(&name), args.first()) {
            self.needs_order(&arg.data_type, name, span)?;
        }
        if written.distinct {
            let mut args = args.iter();
            args.try_for_each(|it| self.needs_equality(&it.data_type, "DISTINCT", it.span))?;
        }
        let bound = self.shared.names.resolve_aggregate(name, &types);
        let bound = bound.map_err(|it| it.span(span))?;
        let args = args.into_iter().zip(&bound.args);
        let args = args.map(|(arg, to)| self.coerce(arg, to)).collect::<Result<Vec<_>>>()?;
        let filter = match written.filter {
            Some(filter) => {
                let filter = self.expr(filter)?;
                Some(self.condition(filter, "FILTER")?)
            }
            None => None,
        };
        let order_by = self.call_order(written.order_by)?;
        Ok(AggregateCall {
            function: bound.name,
            args,
            distinct: written.distinct,
            filter,
            order_by,
            step: CallStep::Complete,
            data_type: bound.result,
            span,
        })
    }

    /// The level whose query groups for the call: the innermost one of which it names a column,
    /// or the query that it stands in.
    fn owner(&self, call: &AggregateCall) -> usize {
        let mut columns = HashSet::new();
        call.exprs().for_each(|it| inspect::collect_columns(it, &mut columns));
        let names = |columns: &HashSet<ColumnId>, level: usize| {
            let level = self.levels.get(level);
            level.is_some_and(|level| {
                let mut ids = level.scope.columns.iter().map(|it| it.column.id);
                ids.any(|it| columns.contains(&it))
                    || columns.iter().any(|it| level.aggregates.ids().contains(it))
            })
        };
        let last = self.levels.len().saturating_sub(1);
        (0..=last).rev().find(|level| names(&columns, *level)).unwrap_or(last)
    }
}

fn same_call(left: &AggregateCall, right: &AggregateCall) -> bool {
    let orders = left.order_by.iter().zip(&right.order_by);
    left.function == right.function
        && left.distinct == right.distinct
        && left.args.len() == right.args.len()
        && left.filter.is_some() == right.filter.is_some()
        && left.order_by.len() == right.order_by.len()
        && left.exprs().zip(right.exprs()).all(|(a, b)| inspect::same(a, b))
        && orders
            .into_iter()
            .all(|(a, b)| (a.descending, a.nulls_first) == (b.descending, b.nulls_first))
}

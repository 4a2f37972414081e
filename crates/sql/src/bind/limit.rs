//! LIMIT, OFFSET and FETCH.
//!
//! WITH TIES and PERCENT are filters on ranks, which a window computes in the order of ORDER BY:
//! rows whose rank is at most the number of rows wanted.

use super::{
    Binder, Clause, expr::first_span, query::constant, scope::Scope, select::column_expr,
    unsupported,
};
use sqlparser::ast::{self, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause};
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, ExprKind, Frame, Plan, SortKey, WindowCall};
use volley_types::{Type, Value};

/// No input has as many rows; twice that fits BIGINT.
const RANK_MAX: i64 = i64::MAX / 2;

/// LIMIT and OFFSET.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    offset: u64,
    amount: Option<Amount>,
    /// Whether rows equal to the last one in all of ORDER BY are kept, too: the place that says so.
    with_ties: Option<Option<Span>>,
}

/// How many rows are kept.
#[derive(Clone, Copy)]
enum Amount {
    Rows(u64),
    /// This share of all rows, at most 1.
    Share {
        share: f64,
        /// Whether a part of a row counts as one.
        rounds_up: bool,
    },
}

impl<'a> Binder<'a> {
    /// What the query says.
    pub(super) fn limits(&mut self, query: &'a ast::Query) -> Result<Limits> {
        let mut limits = Limits::default();
        match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if let Some(by) = limit_by.first() {
                    return Err(unsupported("LIMIT BY", self.span(first_span(by))));
                }
                if let Some(limit) = limit {
                    self.limit(limit, &mut limits)?;
                }
                let offset = offset.as_ref().map(|it| self.count(&it.value, "OFFSET"));
                limits.offset = offset.transpose()?.flatten().unwrap_or(0);
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.limit(limit, &mut limits)?;
                limits.offset = self.count(offset, "OFFSET")?.unwrap_or(0);
            }
            None => {}
        }
        if let Some(fetch) = &query.fetch {
            self.fetch(fetch, &mut limits)?;
        }
        Ok(limits)
    }

    /// LIMIT's amount, in which the tokens were marked that the parser does not read.
    fn limit(&mut self, written: &'a ast::Expr, limits: &mut Limits) -> Result<()> {
        use crate::parse::{LIMIT_PERCENT, LIMIT_WITH_TIES};
        let mut written = written;
        if let Some(inner) = marked(written, LIMIT_WITH_TIES) {
            limits.with_ties = Some(self.span(first_span(inner)));
            written = inner;
        }
        limits.amount = match marked(written, LIMIT_PERCENT) {
            Some(percent) => self.share(percent, false)?,
            None => self.count(written, "LIMIT")?.map(Amount::Rows),
        };
        Ok(())
    }

    fn fetch(&mut self, fetch: &'a Fetch, limits: &mut Limits) -> Result<()> {
        let span = fetch.quantity.as_ref().and_then(|it| self.span(first_span(it)));
        limits.with_ties = fetch.with_ties.then_some(span);
        limits.amount = match &fetch.quantity {
            Some(quantity) if fetch.percent => self.share(quantity, true)?,
            Some(quantity) => self.count(quantity, "FETCH")?.map(Amount::Rows),
            None => Some(Amount::Rows(1)),
        };
        Ok(())
    }

    fn share(&mut self, written: &'a ast::Expr, rounds_up: bool) -> Result<Option<Amount>> {
        let bound = self.unscoped(written, "PERCENT must be a constant number")?;
        let percent = match &bound.kind {
            ExprKind::Constant(Value::Null) => return Ok(None),
            ExprKind::Constant(value) => value.display(&bound.data_type).to_string().parse().ok(),
            _ => constant(&bound).flatten().map(|it| it as f64),
        };
        match percent {
            Some(percent @ 0.0..=100.0) => {
                Ok(Some(Amount::Share { share: percent / 100.0, rounds_up }))
            }
            _ => {
                let message = "PERCENT must be a constant number from 0 to 100";
                Err(Error::invalid_query(message).span(bound.span))
            }
        }
    }

    /// A number of rows; `None` for NULL.
    fn count(&mut self, expr: &'a ast::Expr, what: &str) -> Result<Option<u64>> {
        let wanted = format!("{what} must be a constant number of rows");
        let bound = self.unscoped(expr, &wanted)?;
        let error = |message: String| Error::invalid_query(message).span(bound.span);
        let value = constant(&bound).ok_or_else(|| error(wanted))?;
        match value {
            None => Ok(None),
            Some(count) => u64::try_from(count)
                .map(Some)
                .map_err(|_| error(format!("{what} is out of range: {count}"))),
        }
    }

    /// An expression that sees no columns; `wanted` begins the error otherwise.
    pub(super) fn unscoped(&mut self, expr: &'a ast::Expr, wanted: &str) -> Result<Expr> {
        let levels = std::mem::take(&mut self.levels);
        let bound = self.with_level(Scope::default(), Clause::Limit, |it| it.expr(expr));
        self.levels = levels;
        let (bound, _) = bound.map_err(|it| {
            let message = format!("{wanted}: {}", it.message());
            Error::invalid_query(message).span(it.text_span())
        })?;
        Ok(bound)
    }

    /// The plan, which may end with a sort, with the limits on top.
    pub(super) fn limited(&self, plan: Plan, limits: Limits) -> Result<Plan> {
        let Limits { offset, amount, with_ties } = limits;
        let ties_matter = with_ties.is_some() && !matches!(amount, None | Some(Amount::Rows(0)));
        match amount {
            None if offset == 0 => Ok(plan),
            None => Ok(limit_node(plan, offset, None)),
            Some(Amount::Rows(rows)) if !ties_matter => Ok(limit_node(plan, offset, Some(rows))),
            Some(amount) => self.limited_by_rank(plan, offset, amount, with_ties),
        }
    }

    fn limited_by_rank(
        &self,
        plan: Plan,
        offset: u64,
        amount: Amount,
        with_ties: Option<Option<Span>>,
    ) -> Result<Plan> {
        let columns = plan.columns();
        let (input, keys) = match plan {
            Plan::Sort { input, keys } => (*input, keys),
            other => (other, Vec::new()),
        };
        if let (Some(span), true) = (with_ties, keys.is_empty()) {
            return Err(Error::invalid_query("WITH TIES without ORDER BY").span(span));
        }
        let function = if with_ties.is_some() { "rank" } else { "row_number" };
        let (input, last) = self.last_rank(input, offset, amount)?;
        let (input, rank) = self.windowed(input, function, keys.clone());
        let conjuncts = vec![self.call("lte", vec![column_expr(&rank, None), last], None)?];
        let mut plan = Plan::Filter { input: Box::new(input), conjuncts };
        if !keys.is_empty() {
            plan = Plan::Sort { input: Box::new(plan), keys };
        }
        if offset > 0 {
            plan = limit_node(plan, offset, None);
        }
        let exprs = columns.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs })
    }

    /// The rank of the last row that is kept.
    fn last_rank(&self, input: Plan, offset: u64, amount: Amount) -> Result<(Plan, Expr)> {
        let constant = |rows: u64| {
            let rows = i64::try_from(rows).unwrap_or(i64::MAX).min(RANK_MAX);
            Expr::constant(Value::BigInt(rows), Type::BigInt)
        };
        let (share, rounds_up) = match amount {
            Amount::Rows(rows) => return Ok((input, constant(offset.saturating_add(rows)))),
            Amount::Share { share, rounds_up } => (share, rounds_up),
        };
        let (input, count) = self.windowed(input, "count", Vec::new());
        let count = column_expr(&count, None).cast(Type::Double);
        let share = Expr::constant(Value::Double(share), Type::Double);
        let wanted = self.call("multiply", vec![share, count], None)?;
        let rounded = if rounds_up { "ceil" } else { "floor" };
        let wanted = self.call(rounded, vec![wanted], None)?.cast(Type::BigInt);
        let last = self.call("plus", vec![wanted, constant(offset)], None)?;
        Ok((input, last))
    }

    /// The input with a window call without arguments, over all rows.
    pub(super) fn windowed(
        &self,
        input: Plan,
        function: &str,
        order_by: Vec<SortKey>,
    ) -> (Plan, Column) {
        let column = self.column(function, Type::BigInt);
        let call = WindowCall {
            function: function.to_owned(),
            args: Vec::new(),
            distinct: false,
            filter: None,
            ignore_nulls: false,
            order_keys: order_by.len(),
            frame: Frame::up_to_peers(),
            data_type: Type::BigInt,
            span: None,
        };
        let (input, partition_by) = (Box::new(input), Vec::new());
        let calls = vec![(column.clone(), call)];
        (Plan::Window { input, partition_by, order_by, calls, limit: None }, column)
    }
}

fn limit_node(input: Plan, offset: u64, limit: Option<u64>) -> Plan {
    Plan::Limit { input: Box::new(input), offset, limit }
}

/// The argument of a call by which tokens mark what the parser does not read.
fn marked<'e>(expr: &'e ast::Expr, mark: &str) -> Option<&'e ast::Expr> {
    let ast::Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner))]
            if crate::parse::dotted(&function.name) == mark =>
        {
            Some(inner)
        }
        _ => None,
    }
}

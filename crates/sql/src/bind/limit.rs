//! LIMIT, OFFSET and FETCH.
//!
//! WITH TIES, PERCENT and numbers that are not known before the query runs are filters on ranks,
//! which a window computes in the order of ORDER BY: rows whose rank is at most the number of rows
//! wanted. Numbers from subqueries are known where the binder can run queries.
//! Computed numbers come from the one row of a cross join:
//!
//! ```text
//! Filter rank <= rows + offset AND rank > offset
//!   Join
//!     Window rank
//!     Project rows, offset     what LIMIT and OFFSET say
//! ```

use super::{
    Binder, Clause, expr::first_span, query::constant, scope::Scope, select::column_expr,
    unsupported, write::projected,
};
use crate::Parameters;
use sqlparser::ast::{self, Fetch, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause};
use volley_error::{Error, Result, Span};
use volley_logical::{
    Column, Expr, ExprKind, Frame, JoinKind, Plan, SortKey, SpecialForm, WindowCall,
};
use volley_types::{Type, Value};

/// No input has as many rows; twice that fits BIGINT.
const RANK_MAX: i64 = i64::MAX / 2;

/// LIMIT and OFFSET.
#[derive(Default)]
pub(super) struct Limits {
    offset: Count,
    amount: Option<Amount>,
    /// Whether rows equal to the last one in all of ORDER BY are kept, too: the place that says so.
    with_ties: Option<Option<Span>>,
}

/// How many rows are kept.
enum Amount {
    Rows(Count),
    /// This share of all rows, at most 1.
    Share {
        share: f64,
        /// Whether a part of a row counts as one.
        rounds_up: bool,
    },
}

/// A number of rows.
enum Count {
    Known(u64),
    /// A BIGINT that the query computes once, with the clause that says so.
    Computed(Expr, &'static str),
}

impl Default for Count {
    fn default() -> Count {
        Count::Known(0)
    }
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
                limits.offset = offset.transpose()?.flatten().unwrap_or_default();
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.limit(limit, &mut limits)?;
                limits.offset = self.count(offset, "OFFSET")?.unwrap_or_default();
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
            None => Some(Amount::Rows(Count::Known(1))),
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
    fn count(&mut self, expr: &'a ast::Expr, what: &'static str) -> Result<Option<Count>> {
        let wanted = format!("{what} must be a constant number of rows");
        let bound = self.unscoped(expr, &wanted)?;
        let error = |message: String| Error::invalid_query(message).span(bound.span);
        match constant(&bound) {
            Some(None) => Ok(None),
            Some(Some(count)) => u64::try_from(count)
                .map(|it| Some(Count::Known(it)))
                .map_err(|_| error(format!("{what} is out of range: {count}"))),
            None if matches!(bound.kind, ExprKind::Constant(_)) => Err(error(wanted)),
            None => {
                let written = self.cast_to(bound, Type::BigInt, false)?;
                Ok(match self.evaluated(&written) {
                    Some(count) => count.map(Count::Known),
                    None => Some(Count::Computed(written, what)),
                })
            }
        }
    }

    /// The value of a BIGINT without columns, by a query that runs now: a known limit ends the
    /// reading of rows. `None` where nothing can run or where it fails, which the statement then
    /// reports.
    fn evaluated(&self, written: &Expr) -> Option<Option<u64>> {
        if self.in_view || matches!(self.shared.settings.parameters, Parameters::Unknown) {
            return None;
        }
        let column = self.column("written", Type::BigInt);
        let query = projected(Plan::one_row(), vec![(column, written.clone())]);
        let rows = self.shared.catalog.rows(query.into()).ok()?;
        match rows.as_slice() {
            [row] => match row.as_slice() {
                [Value::Null] => Some(None),
                [Value::BigInt(count)] => u64::try_from(*count).ok().map(Some),
                _ => None,
            },
            _ => None,
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
        let is_none = matches!(amount, None | Some(Amount::Rows(Count::Known(0))));
        let ties_matter = with_ties.is_some() && !is_none;
        match (offset, amount) {
            (Count::Known(0), None) => Ok(plan),
            (Count::Known(offset), None) => Ok(limit_node(plan, offset, None)),
            (Count::Known(offset), Some(Amount::Rows(Count::Known(rows)))) if !ties_matter => {
                Ok(limit_node(plan, offset, Some(rows)))
            }
            (offset, amount) => self.limited_by_rank(plan, offset, amount, with_ties),
        }
    }

    fn limited_by_rank(
        &self,
        plan: Plan,
        offset: Count,
        amount: Option<Amount>,
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
        let skips = !matches!(offset, Count::Known(0));
        let function = if with_ties.is_some() { "rank" } else { "row_number" };
        let (input, rank) = self.windowed(input, function, keys.clone());
        let (input, number) = match with_ties {
            Some(_) if skips => self.windowed(input, "row_number", keys.clone()),
            _ => (input, rank.clone()),
        };
        let (mut input, offset) = self.beside(input, offset)?;
        let mut conjuncts = Vec::new();
        if let Some(amount) = amount {
            let rows;
            (input, rows) = self.rows_kept(input, amount)?;
            let last = self.call("plus", vec![rows, offset.clone()], None)?;
            conjuncts.push(self.call("lte", vec![column_expr(&rank, None), last], None)?);
        }
        if skips {
            conjuncts.push(self.call("gt", vec![column_expr(&number, None), offset], None)?);
        }
        let mut plan = Plan::Filter { input: Box::new(input), conjuncts };
        if !keys.is_empty() {
            plan = Plan::Sort { input: Box::new(plan), keys };
        }
        let exprs = columns.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs })
    }

    /// How many rows are kept, at most [`RANK_MAX`].
    fn rows_kept(&self, input: Plan, amount: Amount) -> Result<(Plan, Expr)> {
        let (share, rounds_up) = match amount {
            Amount::Rows(count) => return self.beside(input, count),
            Amount::Share { share, rounds_up } => (share, rounds_up),
        };
        let (input, count) = self.windowed(input, "count", Vec::new());
        let count = column_expr(&count, None).cast(Type::Double);
        let share = Expr::constant(Value::Double(share), Type::Double);
        let wanted = self.call("multiply", vec![share, count], None)?;
        let rounded = if rounds_up { "ceil" } else { "floor" };
        Ok((input, self.call(rounded, vec![wanted], None)?.cast(Type::BigInt)))
    }

    /// The input with what it takes to know the count, which is at most [`RANK_MAX`].
    fn beside(&self, input: Plan, count: Count) -> Result<(Plan, Expr)> {
        let (written, what) = match count {
            Count::Known(rows) => {
                let rows = i64::try_from(rows).unwrap_or(i64::MAX).min(RANK_MAX);
                return Ok((input, big_int(rows)));
            }
            Count::Computed(written, what) => (written, what),
        };
        let column = self.column("written", Type::BigInt);
        let value = column_expr(&column, written.span);
        let row = projected(Plan::one_row(), vec![(column, written)]).plan;
        let column = self.column(what.to_lowercase(), Type::BigInt);
        let count = column_expr(&column, None);
        let checked = self.checked_count(value, what)?;
        let right = Box::new(projected(row, vec![(column, checked)]).plan);
        let beside = Plan::Join {
            left: Box::new(input),
            right,
            kind: JoinKind::Inner,
            conditions: Vec::new(),
            null_aware: false,
            mark: None,
            lateral: false,
        };
        Ok((beside, count))
    }

    /// A count: an error when it is negative; null is no offset, or all rows.
    fn checked_count(&self, value: Expr, what: &str) -> Result<Expr> {
        let span = value.span;
        let none = if what == "OFFSET" { 0 } else { RANK_MAX };
        let negative = self.call("lt", vec![value.clone(), big_int(0)], span)?;
        let message = Value::text(format!("{what} is negative"));
        let message = Expr::constant(message, Type::Varchar);
        let fails = self.call("error", vec![message], span)?.cast(Type::BigInt).at(span);
        let is_null = Expr::special(SpecialForm::IsNull, vec![value.clone()], Type::Boolean);
        let is_all = self.call("gt", vec![value.clone(), big_int(RANK_MAX)], span)?;
        let choice =
            vec![is_null, big_int(none), negative, fails, is_all, big_int(RANK_MAX), value];
        Ok(Expr::special(SpecialForm::Switch, choice, Type::BigInt).at(span))
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
            order_by: Vec::new(),
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

fn big_int(value: i64) -> Expr {
    Expr::constant(Value::BigInt(value), Type::BigInt)
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

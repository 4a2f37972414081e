//! Queries: WITH, the body, ORDER BY and LIMIT.

use super::{
    Binder, Bound, Clause,
    recursive::{RECURRING_SCHEMA, Working},
    scope::Scope,
    unsupported,
};
use sqlparser::ast::{self, OrderBy, SetExpr, Spanned, TableAlias};
use std::sync::Arc;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Cte, Expr, ExprKind, Plan};
use volley_types::Value;

/// The most uses of common table expressions of columns of an outer query in one text: uses in
/// each other multiply.
const INLINE_CTES_MAX: usize = 1000;

/// A common table expression in sight.
pub(super) struct CteEntry<'a> {
    pub(super) name: String,
    body: CteBody<'a>,
}

/// What a reference to a common table expression becomes.
enum CteBody<'a> {
    /// A reference to one plan.
    Shared(SharedCte),
    /// The query, bound again where it is used: it names columns of an outer query, which have
    /// other values in each of its rows.
    Inline {
        cte: &'a ast::Cte,
        /// The levels that its names see.
        levels: usize,
        /// Whether it may refer to itself.
        is_recursive: bool,
    },
    /// In the step of a recursion: the rows that came last.
    Working(Working),
}

#[derive(Clone)]
struct SharedCte {
    cte: Arc<Cte>,
    /// Its columns, with the names of the alias.
    pub(super) columns: Vec<Column>,
}

impl CteEntry<'_> {
    /// The working table of a recursion, under its name.
    pub(super) fn working(name: &str, working: Working) -> Self {
        CteEntry { name: name.to_owned(), body: CteBody::Working(working) }
    }

    /// How often it was named, if it is a working table.
    pub(super) fn working_uses(&self) -> usize {
        match &self.body {
            CteBody::Working(working) => working.uses(),
            _ => 0,
        }
    }
}

impl<'a> Binder<'a> {
    /// Binds a query with all its clauses.
    pub(super) fn query(&mut self, query: &'a ast::Query) -> Result<Bound> {
        self.deeper(|_| None, |it| it.query_here(query))
    }

    fn query_here(&mut self, query: &'a ast::Query) -> Result<Bound> {
        self.not_in_lambda("a subquery", self.span(query.span()))?;
        self.reject_query_clauses(query)?;
        let visible = self.ctes.len();
        if let Some(with) = &query.with {
            self.with(with)?;
        }
        let limits = self.limits(query)?;
        let bound = match &*query.body {
            SetExpr::Select(select) => self.select(select, query.order_by.as_ref(), limits)?,
            body => {
                let bound = self.set_expr(body)?;
                let bound = self.order_outputs(bound, query.order_by.as_ref())?;
                Bound { plan: self.limited(bound.plan, limits)?, ..bound }
            }
        };
        self.ctes.truncate(visible);
        Ok(bound)
    }

    pub(super) fn reject_query_clauses(&self, query: &ast::Query) -> Result<()> {
        let clause = if !query.locks.is_empty() {
            "FOR UPDATE and FOR SHARE"
        } else if query.for_clause.is_some() {
            "FOR XML, JSON and BROWSE"
        } else if query.settings.is_some() {
            "SETTINGS"
        } else if query.format_clause.is_some() {
            "FORMAT"
        } else if !query.pipe_operators.is_empty() {
            "pipe operators"
        } else {
            return Ok(());
        };
        Err(unsupported(clause, None))
    }

    pub(super) fn with(&mut self, with: &'a ast::With) -> Result<()> {
        let outside = self.ctes.len();
        for cte in &with.cte_tables {
            let name = &cte.alias.name;
            if self.ctes[outside..].iter().any(|it| it.name.eq_ignore_ascii_case(&name.value)) {
                let message = format!("common table expression defined twice: {}", name.value);
                return Err(Error::invalid_query(message).span(self.span(name.span)));
            }
            let entry = self.cte(cte, with.recursive)?;
            self.ctes.push(entry);
        }
        Ok(())
    }

    fn cte(&mut self, cte: &'a ast::Cte, is_recursive: bool) -> Result<CteEntry<'a>> {
        let name = &cte.alias.name;
        let referenced: Vec<bool> = self.levels.iter().map(|it| it.referenced).collect();
        self.levels.iter_mut().for_each(|it| it.referenced = false);
        let bound = self.cte_query(cte, is_recursive)?;
        let is_correlated = self.levels.iter().any(|it| it.referenced);
        for (level, referenced) in self.levels.iter_mut().zip(referenced) {
            level.referenced = referenced;
        }
        if is_correlated {
            let body = CteBody::Inline { cte, levels: self.levels.len(), is_recursive };
            return Ok(CteEntry { name: name.value.clone(), body });
        }
        let columns = self.rename(bound.columns, &cte.alias)?;
        let id = self.shared.cte_ids.get();
        self.shared.cte_ids.set(id + 1);
        let materialized = self.source.is_materialized(&cte.closing_paren_token.0);
        let cte = Cte { id, name: name.value.clone(), plan: bound.plan, materialized };
        let body = CteBody::Shared(SharedCte { cte: Arc::new(cte), columns });
        Ok(CteEntry { name: name.value.clone(), body })
    }

    fn cte_query(&mut self, cte: &'a ast::Cte, is_recursive: bool) -> Result<Bound> {
        if is_recursive { self.recursive(cte) } else { self.query(&cte.query) }
    }

    /// A reference to the last rows of the keys of a recursion, if `recurring.name` is one.
    pub(super) fn recurring_reference(&self, name: &str) -> Option<Bound> {
        let (schema, name) = name.split_once('.')?;
        if !schema.eq_ignore_ascii_case(RECURRING_SCHEMA) {
            return None;
        }
        let mut entries = self.ctes.iter().rev();
        let entry = entries.find(|it| it.name.eq_ignore_ascii_case(name))?;
        let CteBody::Working(working) = &entry.body else { return None };
        Some(self.working_table(name, working, working.recurring()?))
    }

    /// A reference to a common table expression, if `name` is one.
    pub(super) fn cte_reference(
        &mut self,
        name: &str,
        span: Option<Span>,
    ) -> Result<Option<Bound>> {
        let found = self.ctes.iter().rposition(|it| it.name.eq_ignore_ascii_case(name));
        let Some(position) = found else { return Ok(None) };
        let shared = match &self.ctes[position].body {
            CteBody::Shared(shared) => shared.clone(),
            CteBody::Working(working) => {
                return Ok(Some(self.working_table(name, working, working.last())));
            }
            CteBody::Inline { cte, levels, is_recursive } => {
                let (cte, is_recursive, place) = (*cte, *is_recursive, (position, *levels));
                return self.inline_cte(cte, is_recursive, place, span).map(Some);
            }
        };
        let new = |it: &Column| self.column(it.name.clone(), it.data_type.clone());
        let columns: Vec<Column> = shared.columns.iter().map(new).collect();
        let plan = Plan::CteRef { cte: shared.cte, columns: columns.clone() };
        Ok(Some(Bound { plan, columns }))
    }

    /// Binds the query of a common table expression once more, with the names that it sees where it
    /// is written: the first `levels`, and the common table expressions before its `position`.
    fn inline_cte(
        &mut self,
        cte: &'a ast::Cte,
        is_recursive: bool,
        (position, levels): (usize, usize),
        span: Option<Span>,
    ) -> Result<Bound> {
        self.inline_ctes += 1;
        if self.inline_ctes > INLINE_CTES_MAX {
            let name = &cte.alias.name.value;
            let message =
                format!("common table expression of an outer query used too often: {name}");
            return Err(Error::invalid_query(message).span(span));
        }
        if self.levels.len() < levels {
            // In LIMIT and the like, which see no columns.
            let name = &cte.alias.name.value;
            let message =
                format!("common table expression of columns of an outer query here: {name}");
            return Err(unsupported(message, span));
        }
        let later_levels = self.levels.split_off(levels);
        let later_ctes = self.ctes.split_off(position);
        let from_level = std::mem::replace(&mut self.from_level, levels);
        let bound = self.cte_query(cte, is_recursive);
        self.from_level = from_level;
        self.ctes.extend(later_ctes);
        self.levels.extend(later_levels);
        let bound = bound?;
        let columns = self.rename(bound.columns, &cte.alias)?;
        Ok(Bound { plan: bound.plan, columns })
    }

    /// Gives the first columns the names of the alias.
    pub(super) fn rename(
        &self,
        mut columns: Vec<Column>,
        alias: &TableAlias,
    ) -> Result<Vec<Column>> {
        if let Some(extra) = alias.columns.get(columns.len()) {
            let name = &alias.name.value;
            let message =
                format!("{name} has {} columns but {} names", columns.len(), alias.columns.len());
            return Err(Error::invalid_query(message).span(self.span(extra.name.span)));
        }
        for (column, name) in columns.iter_mut().zip(&alias.columns) {
            if name.data_type.is_some() {
                let span = self.span(name.name.span);
                return Err(unsupported("types in column aliases", span));
            }
            column.name.clone_from(&name.name.value);
        }
        Ok(columns)
    }

    /// ORDER BY of a set operation or VALUES: over the output columns.
    fn order_outputs(&mut self, bound: Bound, order_by: Option<&'a OrderBy>) -> Result<Bound> {
        let Some(order_by) = order_by else { return Ok(bound) };
        let scope = Scope::of_columns(bound.columns.clone());
        let (keys, level) =
            self.with_level(scope, Clause::OrderBy, |it| it.output_keys(order_by, &bound.columns))?;
        level.check_no_windows()?;
        Ok(Bound { plan: Plan::Sort { input: Box::new(bound.plan), keys }, ..bound })
    }
}

/// The value of an integer expression of literals, `Some(None)` for NULL; `None` when it is
/// something else, or out of range.
pub(super) fn constant(expr: &Expr) -> Option<Option<i128>> {
    let value = |args: &[Expr], f: fn(i128, i128) -> Option<i128>| {
        let [left, right] = args else { return None };
        match (constant(left)?, constant(right)?) {
            (Some(left), Some(right)) => f(left, right).map(Some),
            _ => Some(None),
        }
    };
    match &expr.kind {
        ExprKind::Constant(Value::Null) => Some(None),
        ExprKind::Constant(Value::Varchar(text)) => text.trim().parse().ok().map(Some),
        ExprKind::Constant(value) if expr.data_type.is_integer() => value.as_i128().map(Some),
        ExprKind::Constant(value) => {
            i128::try_from(expr.data_type.unsigned()?.number(value)?).ok().map(Some)
        }
        ExprKind::Cast { input, .. }
            if expr.data_type.is_integer() || expr.data_type.unsigned().is_some() =>
        {
            constant(input)
        }
        ExprKind::Call { name, args } => match name.as_str() {
            "plus" => value(args, i128::checked_add),
            "minus" => value(args, i128::checked_sub),
            "multiply" => value(args, i128::checked_mul),
            _ => None,
        },
        _ => None,
    }
}

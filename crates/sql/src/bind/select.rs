//! SELECT: from the clauses to one chain of nodes.
//!
//! ```text
//! [final Project] <- [Limit] <- [Sort] <- [distinct] <- Project <- [QUALIFY] <- [Window]s <-
//! [HAVING] <- [Aggregate] <- [WHERE] <- FROM
//! ```

use super::{
    Binder, Bound, Clause, Level,
    columns::choice_name,
    expr::{first_span, without_parentheses},
    group, inspect,
    limit::Limits,
    order::OrderKey,
    scope::Scope,
    star::{Starred, column_item},
    unnest::unnest_node,
    unsupported,
    window::{BoundCall, window_nodes},
};
use crate::parse::UNPACKED;
use sqlparser::ast::{
    self, Distinct, Ident, OrderBy, Select, SelectItem, SelectItemQualifiedWildcardKind, Spanned,
    visit_expressions, visit_expressions_mut,
};
use std::{borrow::Cow, collections::HashSet, ops::ControlFlow};
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, Generator, Plan};

/// An item of the SELECT list, wildcards expanded.
pub(super) struct Item<'a> {
    pub(super) name: String,
    pub(super) source: ItemSource<'a>,
}

/// What an item is.
pub(super) enum ItemSource<'a> {
    Written(&'a ast::Expr),
    Bound(Expr),
}

/// The clauses above FROM and WHERE, bound.
pub(super) struct Clauses {
    /// One per item of the SELECT list.
    pub(super) items: Vec<Expr>,
    pub(super) having: Vec<Expr>,
    pub(super) qualify: Vec<Expr>,
    /// The calls with OVER in all of these.
    pub(super) windows: Vec<BoundCall>,
    /// The calls of unnest in all of these.
    pub(super) unnests: Vec<Generator>,
    pub(super) order: Vec<OrderKey>,
    /// SELECT DISTINCT.
    pub(super) is_distinct: bool,
    /// SELECT DISTINCT ON: the first row for each of these.
    pub(super) distinct_on: Option<Vec<Expr>>,
}

impl Clauses {
    /// A list of items, and nothing else.
    pub(super) fn of_items(items: Vec<Expr>) -> Clauses {
        Clauses {
            items,
            having: Vec::new(),
            qualify: Vec::new(),
            windows: Vec::new(),
            unnests: Vec::new(),
            order: Vec::new(),
            is_distinct: false,
            distinct_on: None,
        }
    }
}

impl<'a> Binder<'a> {
    /// Binds one SELECT, with the ORDER BY and LIMIT of the query whose body it is.
    pub(super) fn select(
        &mut self,
        select: &'a Select,
        order_by: Option<&'a OrderBy>,
        limits: Limits,
    ) -> Result<Bound> {
        self.reject_select_clauses(select)?;
        let (mut input, scope) = self.from_clause(&select.from)?;
        if let Some(sample) = self.source.sample(&select.select_token.0) {
            input = self.sampled(input, sample)?;
        }
        let bind = |it: &mut Self| it.select_clauses(select, order_by, input);
        let ((plan, items, clauses), _) = self.with_level(scope, Clause::Select, bind)?;
        self.outputs(plan, &items, clauses, limits)
    }

    /// Everything that sees the columns of FROM.
    fn select_clauses(
        &mut self,
        select: &'a Select,
        order_by: Option<&'a OrderBy>,
        mut plan: Plan,
    ) -> Result<(Plan, Vec<Item<'a>>, Clauses)> {
        let aliases = select.projection.iter().filter_map(|it| match it {
            SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.as_str(), expr)),
            _ => None,
        });
        self.level()?.aliases = aliases.collect();
        if let Some(condition) = &select.selection {
            self.enter(Clause::Where);
            let conjuncts = self.conjuncts(condition, "WHERE")?;
            plan = Plan::Filter { input: Box::new(plan), conjuncts };
        }
        self.define_windows(&select.named_window)?;
        self.enter(Clause::Select);
        let items = self.items(select)?;
        if items.is_empty() {
            let span = self.span(select.select_token.0.span);
            return Err(Error::invalid_query("SELECT list is empty").span(span));
        }
        let (items, exprs) = self.bound_items(items)?;
        let grouped = self.group_by(&select.group_by, &items, &exprs)?;
        self.enter(Clause::Having);
        let having = match &select.having {
            Some(condition) => self.conjuncts(condition, "HAVING")?,
            None => Vec::new(),
        };
        let qualify = self.qualify(select)?;
        self.enter(Clause::OrderBy);
        let order = match order_by {
            Some(order_by) => self.order_keys(order_by, &items, &exprs)?,
            None => Vec::new(),
        };
        self.enter(Clause::Select);
        let distinct_on = self.distinct_on(select.distinct.as_ref(), &exprs)?;
        let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
        for expr in exprs.iter().filter(|_| is_distinct).chain(distinct_on.iter().flatten()) {
            self.needs_equality(&expr.data_type, "DISTINCT", expr.span)?;
        }
        let level = self.level()?;
        let windows = std::mem::take(&mut level.windows).into_calls();
        let unnests = std::mem::take(&mut level.unnests);
        let aggregates = level.aggregates.ids();
        let keys = grouped.iter().flat_map(|it| &it.keys);
        let (keyed, unnests) = unnests.split_by_keys(keys, aggregates)?;
        plan = unnest_node(plan, keyed);
        let mut clauses = Clauses {
            items: exprs,
            having,
            qualify,
            windows,
            unnests,
            order,
            is_distinct,
            distinct_on,
        };
        if grouped.is_some() || !level.aggregates.is_empty() || select.having.is_some() {
            let aggregates = std::mem::take(&mut level.aggregates).into_calls();
            let grouped = grouped.unwrap_or_default();
            plan = self.aggregate_node(plan, grouped, aggregates, &mut clauses)?;
        } else if let Some(span) = level.grouping {
            let message = "GROUPING() needs a GROUP BY clause";
            return Err(Error::invalid_query(message).span(span));
        }
        plan = above_groups(plan, &mut clauses);
        Ok((plan, items, clauses))
    }

    /// The conjuncts of QUALIFY.
    fn qualify(&mut self, select: &'a Select) -> Result<Vec<Expr>> {
        let Some(condition) = &select.qualify else { return Ok(Vec::new()) };
        self.enter(Clause::Qualify);
        let conjuncts = self.conjuncts(condition, "QUALIFY")?;
        if self.level()?.windows.is_empty() {
            let error = Error::invalid_query("QUALIFY without a window function");
            let error = error.span(self.span(first_span(condition)));
            return Err(error.hint("WHERE and HAVING filter by other values"));
        }
        Ok(conjuncts)
    }

    /// The columns that hold group keys: with several grouping sets new ones, which may be null.
    pub(super) fn group_key_columns(
        &self,
        plan: &Plan,
        keys: Vec<Expr>,
        are_copies: bool,
    ) -> Vec<(Column, Expr)> {
        let inputs = if are_copies { HashSet::new() } else { inspect::output_ids(plan) };
        let mut taken = HashSet::new();
        let key = |expr: Expr| {
            let name = self.key_name(&expr);
            (self.output_column(&name, &expr, &inputs, &mut taken), expr)
        };
        keys.into_iter().map(key).collect()
    }

    /// The name of a group key, for EXPLAIN.
    fn key_name(&self, expr: &Expr) -> String {
        let level: Option<&Level<'_>> = self.levels.last();
        let column = level.and_then(|it| group::scope_column(&it.scope, expr));
        column.map_or_else(|| "key".to_owned(), |it| it.name.clone())
    }

    /// The expressions of DISTINCT ON; `None` without it.
    fn distinct_on(
        &mut self,
        distinct: Option<&'a Distinct>,
        items: &[Expr],
    ) -> Result<Option<Vec<Expr>>> {
        let Some(Distinct::On(on)) = distinct else { return Ok(None) };
        let mut exprs = Vec::with_capacity(on.len());
        for expr in on {
            let position = self.position(expr, items.len(), "DISTINCT ON")?;
            exprs.push(match position.and_then(|it| items.get(it)) {
                Some(item) => item.clone(),
                None => self.expr(expr)?,
            });
        }
        Ok(Some(exprs))
    }

    /// The items bound. An item may be several columns: with COLUMNS one for each of its columns,
    /// and fields of rows.
    pub(super) fn bound_items(
        &mut self,
        items: Vec<Item<'a>>,
    ) -> Result<(Vec<Item<'a>>, Vec<Expr>)> {
        let (mut all, mut exprs) = (Vec::with_capacity(items.len()), Vec::new());
        for item in items {
            let written = match item.source {
                ItemSource::Bound(ref expr) => {
                    exprs.push(expr.clone());
                    all.push(item);
                    continue;
                }
                ItemSource::Written(written) => written,
            };
            let bind = |it: &mut Self| match it.unnested_fields(&item.name, written)? {
                Some(fields) => Ok(fields),
                None => Ok(vec![(item.name.clone(), it.expr(written)?)]),
            };
            for (choice, fields) in self.for_each_choice(bind)? {
                for (name, expr) in fields {
                    let name = match name == item.name {
                        true => choice_name(&item, written, choice.as_ref()),
                        false => name,
                    };
                    all.push(Item { name, source: ItemSource::Written(written) });
                    exprs.push(expr);
                }
            }
        }
        Ok((all, exprs))
    }

    /// The SELECT list with wildcards expanded.
    fn items(&mut self, select: &'a Select) -> Result<Vec<Item<'a>>> {
        if select.projection.is_empty() && !select.from.is_empty() {
            let plain = self.scope()?.plain();
            return Ok(plain.map(|it| column_item(it, None)).collect());
        }
        self.projection(&select.projection)
    }

    /// Items of a SELECT or RETURNING list with wildcards expanded.
    pub(super) fn projection(&mut self, written: &'a [SelectItem]) -> Result<Vec<Item<'a>>> {
        let mut items = Vec::new();
        for item in written {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let name = self.item_name(expr);
                    items.push(Item { name, source: ItemSource::Written(expr) });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let name = self.name_put_out(alias, &alias.value);
                    items.push(Item { name, source: ItemSource::Written(expr) });
                }
                SelectItem::Wildcard(options) => {
                    self.wildcard(&Starred::All, options, &mut items)?;
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    let starred = match kind {
                        SelectItemQualifiedWildcardKind::ObjectName(name) => {
                            self.named_star(name)?
                        }
                        SelectItemQualifiedWildcardKind::Expr(row) => Starred::Row(self.expr(row)?),
                    };
                    self.wildcard(&starred, options, &mut items)?;
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(unsupported("several aliases", self.span(item.span())));
                }
            }
        }
        Ok(items)
    }

    /// What `name.*` means: a table or a row of the query, or else a table of a query further out.
    fn named_star(&mut self, name: &'a ast::ObjectName) -> Result<Starred<'a>> {
        let (dotted, span) = (crate::parse::dotted(name), self.span(name.span()));
        let parts: Vec<Ident> = name.0.iter().filter_map(|it| it.as_ident().cloned()).collect();
        if self.scope()?.has_relation(&dotted) || self.named_row(&parts, span)?.is_some() {
            return Ok(Starred::Name(name));
        }
        Ok(self.outer_row(&dotted, span).map_or(Starred::Name(name), Starred::Row))
    }

    pub(super) fn scope(&self) -> Result<&Scope> {
        let level = self.levels.last();
        level.map(|it| &it.scope).ok_or_else(|| Error::internal("level stack is empty"))
    }

    /// The name of an item without an alias: the column's, or the expression's text.
    fn item_name(&self, expr: &'a ast::Expr) -> String {
        let ident = match expr {
            ast::Expr::Identifier(ident) => Some(ident),
            ast::Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        let Some(ident) = ident else {
            // Windows with an exclusion have an empty name, see the tokens.
            let text = as_written(expr).to_string().replace("OVER (\"\" ", "OVER (");
            return text.replace(&format!("\"{UNPACKED}\"("), "*COLUMNS(");
        };
        let plain = self.scope().ok();
        let mut columns = plain.iter().flat_map(|it| &it.columns);
        let named = columns.find(|it| it.column.name.eq_ignore_ascii_case(&ident.value));
        let name = named.map_or(&ident.value, |it| &it.column.name);
        self.name_put_out(ident, name)
    }

    /// A column's `name` in the result, as the identifier that was written for it makes it: in
    /// Presto names without quotes are lower case.
    fn name_put_out(&self, written: &Ident, name: &str) -> String {
        match written.quote_style {
            None if self.shared.is_presto() => name.to_lowercase(),
            _ => name.to_owned(),
        }
    }

    fn reject_select_clauses(&self, select: &Select) -> Result<()> {
        use sqlparser::tokenizer::Span as At;
        let nowhere = At::empty();
        let first = |exprs: &[ast::Expr]| exprs.first().map_or(nowhere, first_span);
        let (what, at) = if select.top.is_some() {
            ("TOP", nowhere)
        } else if let Some(into) = &select.into {
            ("SELECT INTO", first(&into.targets))
        } else if let Some(view) = select.lateral_views.first() {
            ("LATERAL VIEW", first_span(&view.lateral_view))
        } else if let Some(condition) = &select.prewhere {
            ("PREWHERE", first_span(condition))
        } else if !select.connect_by.is_empty() {
            ("CONNECT BY", nowhere)
        } else if !select.cluster_by.is_empty() {
            ("CLUSTER BY", first(&select.cluster_by))
        } else if !select.distribute_by.is_empty() {
            ("DISTRIBUTE BY", first(&select.distribute_by))
        } else if let Some(key) = select.sort_by.first() {
            ("SORT BY", first_span(&key.expr))
        } else if select.value_table_mode.is_some() {
            ("SELECT AS STRUCT and AS VALUE", nowhere)
        } else if select.exclude.is_some() {
            ("EXCLUDE after the SELECT list", nowhere)
        } else {
            return Ok(());
        };
        let at = if at == nowhere { select.select_token.0.span } else { at };
        Err(unsupported(what, self.span(at)))
    }
}

/// What is between groups and the SELECT list.
fn above_groups(plan: Plan, clauses: &mut Clauses) -> Plan {
    let filtered = |plan: Plan, conjuncts: Vec<Expr>| match conjuncts.is_empty() {
        true => plan,
        false => Plan::Filter { input: Box::new(plan), conjuncts },
    };
    let plan = filtered(plan, std::mem::take(&mut clauses.having));
    let plan = window_nodes(plan, std::mem::take(&mut clauses.windows));
    let plan = filtered(plan, std::mem::take(&mut clauses.qualify));
    unnest_node(plan, std::mem::take(&mut clauses.unnests))
}

/// The expression without the parentheses that the tokens have around `x` in `x -> 'a'`.
fn as_written(expr: &ast::Expr) -> Cow<'_, ast::Expr> {
    let is_json = |it: &ast::Expr| match it {
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Arrow, .. } => {
            matches!(&**left, ast::Expr::Nested(it) if matches!(&**it, ast::Expr::Nested(_)))
        }
        _ => false,
    };
    let found = visit_expressions(expr, |it| match is_json(it) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    if found.is_continue() {
        return Cow::Borrowed(expr);
    }
    let mut written = expr.clone();
    let _ = visit_expressions_mut(&mut written, |it| {
        if is_json(it)
            && let ast::Expr::BinaryOp { left, .. } = it
        {
            **left = without_parentheses(left).clone();
        }
        ControlFlow::<()>::Continue(())
    });
    Cow::Owned(written)
}

/// A reference to a column.
pub(super) fn column_expr(column: &Column, span: Option<Span>) -> Expr {
    Expr::column(column.id, column.data_type.clone()).at(span)
}

//! UNION, INTERSECT and EXCEPT.
//!
//! Chains are left-deep in the syntax tree. They are walked in a loop, and a run of unions becomes
//! one node: `a UNION b UNION ALL c` needs two, `a UNION ALL b UNION c` and longer ones need one
//! and a grouping on top, because a later UNION removes what an earlier one would have.

use super::{
    Binder, Bound, expr::null, inspect, select::column_expr, unsupported, write::projected,
};
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier, Spanned};
use std::collections::HashSet;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, ColumnId, Expr, Plan, SetOperation};
use volley_types::Type;

/// The part of a chain bound so far.
enum Chain {
    One(Bound),
    Union { inputs: Vec<Bound>, all: bool },
}

/// One operator of a chain and what is on its right.
struct Link<'a> {
    operation: SetOperation,
    all: bool,
    /// Columns belong together by their names.
    by_name: bool,
    right: &'a SetExpr,
}

impl<'a> Binder<'a> {
    /// The body of a query, without ORDER BY and LIMIT.
    pub(super) fn set_expr(&mut self, body: &'a SetExpr) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.select(select, None, Default::default()),
            SetExpr::Query(query) => self.query(query),
            SetExpr::Values(values) => self.values(values),
            SetExpr::SetOperation { .. } => self.deeper(|_| None, |it| it.chain(body)),
            SetExpr::Table(table) => {
                let name = [table.schema_name.as_deref(), table.table_name.as_deref()];
                let name: Vec<&str> = name.into_iter().flatten().collect();
                self.table(&name.join("."), None)
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(unsupported("changing rows within a query", self.span(body.span())))
            }
        }
    }

    fn chain(&mut self, body: &'a SetExpr) -> Result<Bound> {
        let mut links = Vec::new();
        let mut first = body;
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            links.push(link(*op, *set_quantifier, right)?);
            first = left;
        }
        let mut chain = Chain::One(self.set_expr(first)?);
        let mut nodes = 0;
        let mut last_span = None;
        for link in links.into_iter().rev() {
            let mut right = self.set_expr(link.right)?;
            let span = self.first_place(link.right);
            if link.by_name {
                let left = self.finish(chain, last_span)?;
                let aligned = self.aligned(left, right).map_err(|it| it.span(span))?;
                (chain, right) = (Chain::One(aligned.0), aligned.1);
            }
            let merges = link.operation == SetOperation::Union;
            chain = match chain {
                Chain::Union { mut inputs, all } if merges && (all || !link.all) => {
                    inputs.push(right);
                    Chain::Union { inputs, all: all && link.all }
                }
                chain => {
                    nodes += 1;
                    let left = self.finish(chain, last_span)?;
                    match link.operation {
                        SetOperation::Union => {
                            Chain::Union { inputs: vec![left, right], all: link.all }
                        }
                        other => {
                            let both = self.combine(other, link.all, vec![left, right]);
                            Chain::One(both.map_err(|it| it.span(span))?)
                        }
                    }
                }
            };
            last_span = span;
            if nodes > self.shared.settings.depth_max {
                return Err(Error::invalid_query("nested too deeply: chain of set operations"));
            }
        }
        self.finish(chain, last_span)
    }

    /// Both sides of BY NAME with the columns of both, null where a side lacks one.
    fn aligned(&self, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        let mut names: Vec<&str> = Vec::new();
        for side in [&left, &right] {
            for (index, column) in side.columns.iter().enumerate() {
                let is_same = |it: &Column| it.name.eq_ignore_ascii_case(&column.name);
                if side.columns.iter().take(index).any(is_same) {
                    let message =
                        format!("two columns of UNION BY NAME are called {}", column.name);
                    return Err(Error::invalid_query(message));
                }
                if !names.iter().any(|it| it.eq_ignore_ascii_case(&column.name)) {
                    names.push(&column.name);
                }
            }
        }
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let complete = |side: Bound| {
            let value = |name: &String| {
                let found = side.columns.iter().find(|it| it.name.eq_ignore_ascii_case(name));
                let value = found.map_or_else(null, |it| column_expr(it, None));
                (self.column(name.clone(), value.data_type.clone()), value)
            };
            let exprs: Vec<(Column, Expr)> = names.iter().map(value).collect();
            projected(side.plan, exprs)
        };
        Ok((complete(left), complete(right)))
    }

    /// The node of a chain; `span`: its last part, for errors.
    fn finish(&self, chain: Chain, span: Option<Span>) -> Result<Bound> {
        let combine = |all: bool, inputs: Vec<Bound>| {
            let both = self.combine(SetOperation::Union, all, inputs);
            both.map_err(|it| it.span(span))
        };
        match chain {
            Chain::One(bound) => Ok(bound),
            Chain::Union { inputs, all } if all || inputs.len() == 2 => combine(all, inputs),
            Chain::Union { inputs, .. } => {
                let all = combine(true, inputs)?;
                for column in &all.columns {
                    self.needs_equality(&column.data_type, "UNION", span)?;
                }
                Ok(self.distinct(all))
            }
        }
    }

    /// Where the body of a query begins.
    fn first_place(&self, mut body: &SetExpr) -> Option<Span> {
        loop {
            body = match body {
                SetExpr::SetOperation { left, .. } => left,
                SetExpr::Query(query) => &query.body,
                SetExpr::Select(select) => return self.span(select.select_token.0.span),
                _ => return None,
            };
        }
    }

    /// Groups by all columns.
    pub(super) fn distinct(&self, bound: Bound) -> Bound {
        let keys = bound.columns.iter().map(|it| {
            let expr = Expr::column(it.id, it.data_type.clone());
            (it.clone(), expr)
        });
        let keys = keys.collect();
        let input = Box::new(bound.plan);
        let plan = Plan::Aggregate { input, keys, aggregates: Vec::new() };
        Bound { plan, columns: bound.columns }
    }

    pub(super) fn combine(
        &self,
        operation: SetOperation,
        all: bool,
        inputs: Vec<Bound>,
    ) -> Result<Bound> {
        let first = inputs.first().map_or(&[][..], |it| &it.columns);
        let mut types: Vec<Type> = first.iter().map(|it| it.data_type.clone()).collect();
        let names: Vec<String> = first.iter().map(|it| it.name.clone()).collect();
        for input in &inputs {
            if input.columns.len() != types.len() {
                let (left, right) = (types.len(), input.columns.len());
                let what = operation_name(operation);
                let message = format!("sides of {what} have {left} and {right} columns");
                return Err(Error::invalid_query(message));
            }
            for (common, column) in types.iter_mut().zip(&input.columns) {
                *common = self.set_column_type(common, column, operation)?;
            }
        }
        if operation != SetOperation::Union || !all {
            let mut types = types.iter();
            types.try_for_each(|it| self.needs_equality(it, operation_name(operation), None))?;
        }
        let feed = |it: Bound| {
            let bound = self.convert(it, &types)?;
            let ids: Vec<ColumnId> = bound.columns.iter().map(|it| it.id).collect();
            Ok((bound.plan, ids))
        };
        let inputs = inputs.into_iter().map(feed).collect::<Result<Vec<_>>>()?;
        let columns = names.into_iter().zip(&types);
        let columns: Vec<Column> =
            columns.map(|(name, data_type)| self.column(name, data_type.clone())).collect();
        let plan = Plan::SetOperation { operation, all, inputs, columns: columns.clone() };
        Ok(Bound { plan, columns })
    }

    /// Casts the columns to `types`, which they have in common with others.
    pub(super) fn convert(&self, bound: Bound, types: &[Type]) -> Result<Bound> {
        self.converted(bound, types, |expr, to| self.coerce(expr, to))
    }

    /// Casts the columns to `types`.
    pub(super) fn cast_columns(&self, bound: Bound, types: &[Type]) -> Result<Bound> {
        self.converted(bound, types, |expr, to| Ok(expr.cast(to.clone())))
    }

    fn converted(
        &self,
        bound: Bound,
        types: &[Type],
        convert: impl Fn(Expr, &Type) -> Result<Expr>,
    ) -> Result<Bound> {
        let columns = bound.columns.iter();
        if columns.clone().zip(types).all(|(column, to)| column.data_type == *to) {
            return Ok(bound);
        }
        let inputs = inspect::output_ids(&bound.plan);
        let mut taken = HashSet::new();
        let cast = |(column, to): (&Column, &Type)| {
            let expr = Expr::column(column.id, column.data_type.clone());
            let expr = convert(expr, to)?;
            Ok((self.output_column(&column.name, &expr, &inputs, &mut taken), expr))
        };
        let exprs = columns.zip(types).map(cast).collect::<Result<Vec<_>>>()?;
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        let plan = Plan::Project { input: Box::new(bound.plan), exprs };
        Ok(Bound { plan, columns })
    }
}

fn link(op: SetOperator, quantifier: SetQuantifier, right: &SetExpr) -> Result<Link<'_>> {
    let operation = match op {
        SetOperator::Union => SetOperation::Union,
        SetOperator::Intersect => SetOperation::Intersect,
        SetOperator::Except | SetOperator::Minus => SetOperation::Except,
    };
    let (all, by_name) = match quantifier {
        SetQuantifier::All => (true, false),
        SetQuantifier::Distinct | SetQuantifier::None => (false, false),
        SetQuantifier::AllByName => (true, true),
        SetQuantifier::ByName | SetQuantifier::DistinctByName => (false, true),
    };
    if by_name && operation != SetOperation::Union {
        let what = format!("{} BY NAME", operation_name(operation));
        return Err(unsupported(what, None::<Span>));
    }
    Ok(Link { operation, all, by_name, right })
}

impl Binder<'_> {
    /// The type of a column of a set operation of these.
    pub(super) fn set_column_type(
        &self,
        common: &Type,
        column: &Column,
        operation: SetOperation,
    ) -> Result<Type> {
        let other = &column.data_type;
        if let Some(data_type) = self.shared.common_type(common, other) {
            return Ok(data_type);
        }
        let is_scalar = |it: &Type| !it.is_nested() && *it != Type::Varbinary;
        if (*common == Type::Varchar && is_scalar(other))
            || (*other == Type::Varchar && is_scalar(common))
        {
            return Ok(Type::Varchar);
        }
        let what = operation_name(operation);
        let message = format!("column {} of {what} has types {common} and {other}", column.name);
        Err(Error::invalid_query(message).hint("cast one of them"))
    }
}

fn operation_name(operation: SetOperation) -> &'static str {
    match operation {
        SetOperation::Union => "UNION",
        SetOperation::Intersect => "INTERSECT",
        SetOperation::Except => "EXCEPT",
    }
}

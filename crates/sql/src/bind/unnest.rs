//! Row generators: UNNEST and series, in FROM and in the SELECT list.

use super::{
    Binder, Bound, Clause, expr::without_parentheses, inspect, query::constant, scope::Scope,
    select::column_expr, unsupported,
};
use crate::Dialect;
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Spanned,
    TableAlias,
};
use std::collections::HashSet;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, ColumnId, Expr, ExprKind, Generator, GeneratorKind, Plan};
use volley_types::{Type, Value, custom::TimestampTz, implicit_cast_cost};

/// A function that gives the indices of an array's elements, each in a row of its own.
pub(super) const GENERATE_SUBSCRIPTS: &str = "generate_subscripts";

/// The calls of unnest in a SELECT list, each once.
#[derive(Default)]
pub(super) struct Unnests {
    generators: Vec<Generator>,
    ids: HashSet<ColumnId>,
}

impl Unnests {
    /// The calls that group keys name, and the others.
    ///
    /// # Errors
    ///
    /// Group keys made of aggregates.
    pub(super) fn split_by_keys<'k>(
        self,
        keys: impl Iterator<Item = &'k Expr> + Clone,
        aggregates: &HashSet<ColumnId>,
    ) -> Result<(Vec<Generator>, Vec<Generator>)> {
        let is_key = |it: &Generator| {
            let ids = it.columns.iter().map(|it| it.id).collect();
            keys.clone().any(|key| inspect::names_any(key, &ids))
        };
        let (keyed, others): (Vec<_>, Vec<_>) = self.generators.into_iter().partition(is_key);
        let mut args = keyed.iter().flat_map(|it: &Generator| &it.args);
        if let Some(arg) = args.find(|it| inspect::names_any(it, aggregates)) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(Error::invalid_query(message).span(arg.span));
        }
        Ok((keyed, others))
    }
}

/// A function call in FROM.
#[derive(Clone, Copy)]
pub(super) struct TableCall<'a> {
    pub(super) args: &'a [FunctionArg],
    pub(super) alias: Option<&'a TableAlias>,
    pub(super) with_ordinality: bool,
    pub(super) span: Option<Span>,
}

/// What a function makes rows of, if it makes any.
pub(super) fn generator_kind(name: &str) -> Option<GeneratorKind> {
    let kinds = [GeneratorKind::Elements, GeneratorKind::Range, GeneratorKind::Series];
    kinds.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
}

impl<'a> Binder<'a> {
    /// `unnest(...)` and series in FROM: rows made of one row, whose arguments may name columns of
    /// tables to the left.
    pub(super) fn generated(
        &mut self,
        kind: GeneratorKind,
        call: TableCall<'a>,
    ) -> Result<(Plan, Scope)> {
        let bind = |it: &mut Self| it.generators(kind, call);
        let (generators, _) = self.with_level(Scope::default(), Clause::From, bind)?;
        let mut columns: Vec<Column> =
            generators.iter().flat_map(|it| &it.columns).cloned().collect();
        // The alias of a function that makes one column names that column, too.
        if let (Some(alias), [column]) = (call.alias, columns.as_mut_slice()) {
            column.name.clone_from(&alias.name.value);
        }
        let ordinality = call.with_ordinality.then(|| self.column("ordinality", Type::BigInt));
        columns.extend(ordinality.clone());
        let input = Box::new(Plan::one_row());
        let plan = Plan::Unnest { input, generators, ordinality, outer: false };
        let mut bound = Bound { plan, columns };
        // Presto makes a column of each field of rows in lists.
        let has_rows = bound.columns.iter().any(|it| matches!(it.data_type, Type::Row(_)));
        if self.shared.settings.dialect == Dialect::Presto && has_rows {
            bound = self.with_fields(bound)?;
        }
        self.aliased(bound, call.alias, (kind.name(), kind.name()))
    }

    /// A column of each field of rows.
    pub(super) fn with_fields(&self, bound: Bound) -> Result<Bound> {
        let Bound { plan, columns } = bound;
        let mut exprs = Vec::new();
        for column in columns {
            let expr = column_expr(&column, None);
            if !is_row(&expr) {
                exprs.push((column, expr));
                continue;
            }
            for (name, field) in self.all_fields(&expr)? {
                exprs.push((self.column(name, field.data_type.clone()), field));
            }
        }
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        Ok(Bound { plan: Plan::Project { input: Box::new(plan), exprs }, columns })
    }

    fn generators(&mut self, kind: GeneratorKind, call: TableCall<'a>) -> Result<Vec<Generator>> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in call.args {
            args.push(self.expr(self.plain_arg(arg, call.span)?)?);
        }
        if kind != GeneratorKind::Elements
            && args.len() == 3
            && args.iter().any(|it| TimestampTz::is(&it.data_type))
        {
            // The session's zone says how far days are apart: the function knows it.
            let series = self.call(kind.name(), args, call.span)?;
            let mut generator = self.elements(series)?;
            generator.columns.iter_mut().for_each(|it| kind.name().clone_into(&mut it.name));
            return Ok(vec![generator]);
        }
        if kind != GeneratorKind::Elements {
            return Ok(vec![self.series(kind, args, call.span)?]);
        }
        if args.is_empty() {
            return Err(Error::invalid_query("unnest takes an array or a map").span(call.span));
        }
        args.into_iter().map(|it| self.elements(it)).collect()
    }

    /// The elements of a list, or the entries of a map.
    pub(super) fn elements(&self, list: Expr) -> Result<Generator> {
        let list = match list.data_type {
            Type::Unknown => self.coerce(list, &Type::array(Type::Unknown))?,
            _ => list,
        };
        if let Some((kind, args)) = as_series(&list) {
            return self.series(kind, args, list.span);
        }
        let columns = match &list.data_type {
            Type::Array(element) => vec![self.column("unnest", (**element).clone())],
            Type::FixedArray(array) => vec![self.column("unnest", array.0.clone())],
            Type::Map(map) => {
                vec![self.column("key", map.0.clone()), self.column("value", map.1.clone())]
            }
            other => {
                let error = Error::invalid_query(format!("unnest does not take {other}"));
                let error = error.span(list.span);
                return Err(error.hint("it takes arrays and maps"));
            }
        };
        Ok(Generator { kind: GeneratorKind::Elements, args: vec![list], columns })
    }

    /// `(end)`, `(start, end)` or `(start, end, step)`.
    fn series(
        &self,
        kind: GeneratorKind,
        args: Vec<Expr>,
        span: Option<Span>,
    ) -> Result<Generator> {
        let name = kind.name();
        let number = |it: i64| Expr::constant(Value::BigInt(it), Type::BigInt);
        let is_time = |it: &Expr| matches!(it.data_type, Type::Date | Type::Timestamp);
        let has_times = args.iter().any(is_time);
        let types = match has_times {
            true => [Type::Timestamp, Type::Timestamp, Type::Interval],
            false => [Type::BigInt, Type::BigInt, Type::BigInt],
        };
        let args = match <[Expr; 3]>::try_from(args) {
            Ok(args) => args,
            Err(_) if has_times => {
                let message = format!("{name} of timestamps takes (start, end, step)");
                let hint = "the step is an INTERVAL, as in INTERVAL '1 day'";
                return Err(Error::invalid_query(message).hint(hint).span(span));
            }
            Err(mut fewer) => match (fewer.pop(), fewer.pop(), fewer.is_empty()) {
                (Some(end), None, _) => [number(0), end, number(1)],
                (Some(end), Some(start), true) => [start, end, number(1)],
                _ => {
                    let message = format!("{name} takes (end), (start, end) or (start, end, step)");
                    return Err(Error::invalid_query(message).span(span));
                }
            },
        };
        let args = args.into_iter().zip(&types).map(|(arg, to)| self.bound_of(arg, to, name));
        let args = args.collect::<Result<Vec<_>>>()?;
        let data_type = types[0].clone();
        Ok(Generator { kind, args, columns: vec![self.column(name, data_type)] })
    }

    /// A bound or the step of a series.
    fn bound_of(&self, arg: Expr, to: &Type, name: &str) -> Result<Expr> {
        let fits = match (&arg.data_type, to) {
            (Type::Unknown, _) => true,
            (Type::HugeInt, Type::BigInt) => false,
            (from, Type::BigInt) => {
                from.is_integer() || implicit_cast_cost(from, to).is_some() && from.is_number()
            }
            (Type::Date | Type::Timestamp, Type::Timestamp) => true,
            (Type::Varchar, to) => *to != Type::BigInt && inspect::string_literal(&arg).is_some(),
            (from, to) => from == to,
        };
        if !fits {
            let message = format!("{name} takes {to} here, not {}", arg.data_type);
            return Err(Error::invalid_query(message).span(arg.span));
        }
        self.coerce(arg, to)
    }

    /// `unnest(...)` in a SELECT list: the column of the elements. The rows are made once
    /// everything below the SELECT list is done.
    pub(super) fn unnest_call(
        &mut self,
        list: Option<&'a FunctionArgumentList>,
        span: Option<Span>,
    ) -> Result<Expr> {
        self.not_in_lambda("unnest", span)?;
        let arg = self.unnested_arg(list, span)?;
        self.unnested(arg, span)
    }

    /// `generate_subscripts(array, 1)` in a SELECT list: the indices of the elements.
    pub(super) fn subscripts_call(
        &mut self,
        list: Option<&'a FunctionArgumentList>,
        span: Option<Span>,
    ) -> Result<Expr> {
        self.not_in_lambda(GENERATE_SUBSCRIPTS, span)?;
        let [array, dimension] = list.map_or(&[][..], |it| &it.args) else {
            let message = "generate_subscripts takes an array and a dimension";
            return Err(Error::invalid_query(message).span(span));
        };
        let array = self.expr(self.plain_arg(array, span)?)?;
        let dimension = self.expr(self.plain_arg(dimension, span)?)?;
        if constant(&dimension).flatten() != Some(1) {
            let error = unsupported("a dimension other than 1", dimension.span.or(span));
            return Err(error.hint("unnest the array first"));
        }
        let first = Expr::constant(Value::BigInt(1), Type::BigInt);
        let length = self.call("len", vec![array], span)?;
        let indices = self.call("generate_series", vec![first, length], span)?;
        self.unnested(indices, span)
    }

    /// The column of the elements of a list.
    pub(super) fn unnested(&mut self, arg: Expr, span: Option<Span>) -> Result<Expr> {
        let clause = self.current_clause();
        let level = self.level()?;
        let is_misplaced = level.in_aggregate
            || level.in_window
            || !matches!(clause, Clause::Select | Clause::GroupBy | Clause::OrderBy);
        if is_misplaced {
            let place = match (level.in_aggregate, level.in_window) {
                (true, _) => "arguments of aggregate functions".to_owned(),
                (_, true) => "windows".to_owned(),
                _ => clause.to_string(),
            };
            let error = Error::invalid_query(format!("unnest is not allowed in {place}"));
            return Err(error.hint("FROM ..., UNNEST(...) AS u(x) names elements").span(span));
        }
        if inspect::names_any(&arg, &level.unnests.ids) {
            let error = Error::invalid_query("unnest calls cannot be nested").span(span);
            return Err(error.hint("unnest(x, recursive := true) unnests lists in lists"));
        }
        let whole = arg.span.into_iter().chain(span).reduce(Span::to);
        if is_row(&arg) {
            let error = Error::invalid_query("unnest of a ROW within an expression").span(whole);
            return Err(error.hint("as an item of the SELECT list it makes a column of each field"));
        }
        if matches!(arg.data_type, Type::Map(_)) {
            let error = Error::invalid_query("unnest of a MAP makes two columns").span(whole);
            return Err(error.hint("FROM ..., UNNEST(map) AS u(key, value) names them"));
        }
        let generator = self.elements(arg)?;
        let level = self.level()?;
        let mut known = level.unnests.generators.iter();
        if let Some(known) = known.find(|it| is_same(it, &generator))
            && let Some(column) = known.columns.first()
        {
            return Ok(Expr::column(column.id, column.data_type.clone()).at(whole));
        }
        let column = generator.columns.first().cloned();
        let column = column.ok_or_else(|| Error::internal("a generator without a column"))?;
        level.unnests.ids.insert(column.id);
        level.unnests.generators.push(generator);
        Ok(Expr::column(column.id, column.data_type).at(whole))
    }

    /// The columns that `unnest` as an item of the SELECT list makes of a row: its fields. With
    /// `recursive := true`, also of lists, and lists in lists. `None` where the item is an
    /// expression like others.
    pub(super) fn unnested_fields(
        &mut self,
        name: &str,
        item: &'a ast::Expr,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        let ast::Expr::Function(function) = without_parentheses(item) else { return Ok(None) };
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        if !crate::parse::dotted(&function.name).eq_ignore_ascii_case("unnest") {
            return Ok(None);
        }
        let span = self.span(function.name.span());
        let (depth, arg) = match list.args.as_slice() {
            [arg] => (1, arg),
            [arg, option] => (self.unnest_depth(option, span)?, arg),
            _ => return Ok(None),
        };
        let expr = self.expr(self.plain_arg(arg, span)?)?;
        match (depth, &expr.data_type) {
            (1, Type::Row(_)) => self.all_fields(&expr).map(Some),
            (1, _) => Ok(None),
            _ => self.unnested_deeply(name, expr, depth, span).map(Some),
        }
    }

    /// Takes lists in lists apart, and then rows in rows, `depth` levels in all.
    fn unnested_deeply(
        &mut self,
        name: &str,
        mut expr: Expr,
        mut depth: u32,
        span: Option<Span>,
    ) -> Result<Vec<(String, Expr)>> {
        if nested_lists(&expr.data_type) > 0 {
            while nested_lists(&expr.data_type) > 1 && depth > 1 {
                expr = self.call("flatten", vec![expr], span)?;
                depth -= 1;
            }
            expr = self.unnested(expr, span)?;
            depth -= 1;
        }
        let mut fields = vec![(name.to_owned(), expr)];
        while depth > 0 && fields.iter().any(|it| is_row(&it.1)) {
            let mut deeper = Vec::new();
            for (name, expr) in fields {
                match is_row(&expr) {
                    true => deeper.extend(self.all_fields(&expr)?),
                    false => deeper.push((name, expr)),
                }
            }
            fields = deeper;
            depth -= 1;
        }
        Ok(fields)
    }

    /// `recursive := true` or `max_depth := n`.
    fn unnest_depth(&mut self, option: &'a FunctionArg, span: Option<Span>) -> Result<u32> {
        let error = || {
            let error = Error::invalid_query("unnest takes recursive or max_depth").span(span);
            error.hint("unnest(x, recursive := true), unnest(x, max_depth := 2)")
        };
        let FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } = option else {
            return Err(error());
        };
        let value = self.expr(value)?;
        match (name.value.to_ascii_lowercase().as_str(), &value.kind) {
            ("recursive", ExprKind::Constant(Value::Boolean(all))) => {
                Ok(if *all { u32::MAX } else { 1 })
            }
            ("max_depth", ExprKind::Constant(depth)) => {
                let depth = depth.as_i128().and_then(|it| u32::try_from(it).ok());
                depth.filter(|it| *it > 0).ok_or_else(error)
            }
            _ => Err(error()),
        }
    }

    /// What is unnested.
    fn unnested_arg(
        &mut self,
        list: Option<&'a FunctionArgumentList>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let written = list.map_or(&[][..], |it| &it.args);
        let [arg] = written else {
            return Err(Error::invalid_query("unnest takes one array here").span(span));
        };
        self.expr(self.plain_arg(arg, span)?)
    }
}

fn is_same(left: &Generator, right: &Generator) -> bool {
    let mut args = left.args.iter().zip(&right.args);
    left.kind == right.kind
        && left.args.len() == right.args.len()
        && args.all(|(left, right)| inspect::same(left, right))
}

/// A series as a list, whose values can be made one by one: its step is not zero.
fn as_series(list: &Expr) -> Option<(GeneratorKind, Vec<Expr>)> {
    let ExprKind::Call { name, args } = &list.kind else { return None };
    let kind = generator_kind(name).filter(|it| *it != GeneratorKind::Elements)?;
    let steps = match args.get(2) {
        Some(step) => constant(step).flatten().is_some_and(|it| it != 0),
        None => true,
    };
    steps.then(|| (kind, args.clone()))
}

/// The nesting depth of lists.
fn nested_lists(data_type: &Type) -> usize {
    match data_type.without_size() {
        Type::Array(element) => 1 + nested_lists(&element),
        _ => 0,
    }
}

fn is_row(expr: &Expr) -> bool {
    matches!(expr.data_type, Type::Row(_))
}

/// Makes the rows of `generators` above `plan`.
pub(super) fn unnest_node(plan: Plan, generators: Vec<Generator>) -> Plan {
    if generators.is_empty() {
        return plan;
    }
    Plan::Unnest { input: Box::new(plan), generators, ordinality: None, outer: false }
}

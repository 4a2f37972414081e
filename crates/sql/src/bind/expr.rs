//! Expressions: one arm per kind of node of the syntax tree.

use super::{Binder, Clause, inspect, unsupported};
use sqlparser::ast::{
    self, BinaryOperator, CastKind, CeilFloorKind, CharacterLength, DataType, DateTimeField,
    Spanned, TrimWhereField, UnaryOperator,
};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind, SpecialForm};
use volley_types::{Type, Value};

impl<'a> Binder<'a> {
    /// Binds an expression in the innermost level.
    pub(super) fn expr(&mut self, expr: &'a ast::Expr) -> Result<Expr> {
        let expr = without_parentheses(expr);
        let bound = self.deeper(|it| it.span(first_span(expr)), |it| it.expr_here(expr))?;
        if bound.data_type.is_nested() {
            let checked = bound.data_type.check_size();
            checked.map_err(|it| it.span(self.span(first_span(expr))))?;
        }
        Ok(bound)
    }

    fn expr_here(&mut self, expr: &'a ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Identifier(ident) => self.identifier(std::slice::from_ref(ident)),
            E::CompoundIdentifier(parts) => self.identifier(parts),
            E::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            E::Value(value) => self.literal(value),
            E::TypedString(string) => self.typed_string(string),
            E::Interval(interval) => self.interval(interval),
            E::BinaryOp { left, op, right } => self.binary(left, op, right),
            E::UnaryOp { op, expr } => self.unary(*op, expr),
            E::IsNull(input) => self.is_null(input, false),
            E::IsNotNull(input) => self.is_null(input, true),
            E::IsTrue(input) => self.is_value(input, Some(true), false),
            E::IsNotTrue(input) => self.is_value(input, Some(true), true),
            E::IsFalse(input) => self.is_value(input, Some(false), false),
            E::IsNotFalse(input) => self.is_value(input, Some(false), true),
            E::IsUnknown(input) => self.is_value(input, None, false),
            E::IsNotUnknown(input) => self.is_value(input, None, true),
            E::IsDistinctFrom(left, right) => self.comparison("is_distinct_from", left, right),
            E::IsNotDistinctFrom(left, right) => {
                self.comparison("is_not_distinct_from", left, right)
            }
            E::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            E::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated),
            E::Exists { subquery, negated } => self.exists(subquery, *negated),
            E::Subquery(query) => self.scalar_subquery(query),
            E::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, right, false)
            }
            E::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, true),
            E::Between { expr, negated, low, high } => self.between(expr, low, high, *negated),
            E::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            E::Cast { kind, expr, data_type, format } => {
                if format.is_some() {
                    return Err(unsupported("CAST ... FORMAT", self.span(first_span(expr))));
                }
                self.cast(expr, data_type, kind)
            }
            E::Function(function) => self.function(function),
            E::Lambda(lambda) if lambda.syntax == ast::LambdaSyntax::Arrow => {
                self.json_part_of_lambda(lambda)
            }
            _ => self.keyword_function(expr),
        }
    }

    /// Functions with a syntax of their own.
    fn keyword_function(&mut self, expr: &'a ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like("like", expr, pattern, escape_char.as_deref(), *negated)
            }
            E::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like("ilike", expr, pattern, escape_char.as_deref(), *negated)
            }
            E::SimilarTo { negated, expr, pattern, escape_char: None } => {
                let matched = self.calls("regexp_full_match", &[expr, pattern])?;
                self.negated(matched, *negated)
            }
            E::Extract { field, expr, .. } => self.extract(field, expr),
            E::AtTimeZone { timestamp, time_zone } if self.shared.is_presto() => {
                self.calls("at_timezone", &[timestamp, time_zone])
            }
            E::AtTimeZone { timestamp, time_zone } => {
                self.calls("timezone", &[time_zone, timestamp])
            }
            E::Ceil { expr, field } => self.rounded("ceil", expr, field),
            E::Floor { expr, field } => self.rounded("floor", expr, field),
            E::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let args = [expr, overlay_what, overlay_from].map(|it| &**it);
                let args: Vec<_> = args.into_iter().chain(overlay_for.as_deref()).collect();
                self.calls("overlay", &args)
            }
            E::Position { expr, r#in } => self.calls("position", &[r#in, expr]),
            E::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref())
            }
            E::Trim { expr, trim_where, trim_what, trim_characters } => {
                self.trim(expr, *trim_where, trim_what.as_deref(), trim_characters.as_deref())
            }
            E::Collate { expr, collation } => self.collated(expr, collation),
            E::Array(array) => self.list(&array.elem),
            E::Dictionary(fields) => {
                let fields = fields.iter().map(|it| (it.key.value.as_str(), &*it.value));
                self.row_value(fields.collect())
            }
            E::Tuple(values) if values.is_empty() => {
                Err(Error::invalid_query("a row without values").span(self.span(first_span(expr))))
            }
            E::Tuple(values) => self.row_value(values.iter().map(|it| ("", it)).collect()),
            E::Map(map) => self.map_value(map),
            other => Err(unsupported(construct(other), self.span(first_span(other)))),
        }
    }

    /// A function called `name` of these arguments.
    fn calls(&mut self, name: &str, args: &[&'a ast::Expr]) -> Result<Expr> {
        let args = args.iter().map(|it| self.expr(it)).collect::<Result<Vec<_>>>()?;
        self.call(name, args, None)
    }

    fn is_null(&mut self, input: &'a ast::Expr, negated: bool) -> Result<Expr> {
        let input = self.expr(input)?;
        let span = input.span;
        let is_null = Expr::special(SpecialForm::IsNull, vec![input], Type::Boolean).at(span);
        self.negated(is_null, negated)
    }

    /// `IS [NOT] TRUE`, `FALSE` or, without a value, `UNKNOWN`: never null.
    fn is_value(
        &mut self,
        input: &'a ast::Expr,
        value: Option<bool>,
        negated: bool,
    ) -> Result<Expr> {
        let input = self.expr(input)?;
        let input = self.condition(input, "operand of IS")?;
        let span = input.span;
        let Some(value) = value else {
            let is_null = Expr::special(SpecialForm::IsNull, vec![input], Type::Boolean).at(span);
            return self.negated(is_null, negated);
        };
        let name = if negated { "is_distinct_from" } else { "is_not_distinct_from" };
        self.call(name, vec![input, Expr::boolean(value).at(span)], span)
    }

    /// `expr`, or NOT of it.
    pub(super) fn negated(&self, expr: Expr, negated: bool) -> Result<Expr> {
        let span = expr.span;
        if negated { self.call("not", vec![expr], span) } else { Ok(expr) }
    }

    fn between(
        &mut self,
        input: &'a ast::Expr,
        low: &'a ast::Expr,
        high: &'a ast::Expr,
        negated: bool,
    ) -> Result<Expr> {
        let first = self.expr(input)?;
        let is_bound_again = inspect::has_subquery(&first) && !inspect::is_volatile(&first);
        let second = if is_bound_again { self.expr(input)? } else { first.clone() };
        let (low, high) = (self.expr(low)?, self.expr(high)?);
        let span = covering(&[&first, &low, &high]);
        let at_least = self.compare("gte", vec![first, low], span)?;
        let at_most = self.compare("lte", vec![second, high], span)?;
        let both = vec![at_least, at_most];
        let both = Expr::special(SpecialForm::And, both, Type::Boolean).at(span);
        self.negated(both, negated)
    }

    fn case(
        &mut self,
        operand: Option<&'a ast::Expr>,
        conditions: &'a [ast::CaseWhen],
        otherwise: Option<&'a ast::Expr>,
    ) -> Result<Expr> {
        let mut bound_operand = operand.map(|it| self.expr(it)).transpose()?;
        let mut whens = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for (index, when) in conditions.iter().enumerate() {
            let condition = self.expr(&when.condition)?;
            if let (Some(written), Some(bound)) = (operand, &bound_operand)
                && index > 0
                && inspect::has_subquery(bound)
                && !inspect::is_volatile(bound)
            {
                bound_operand = Some(self.expr(written)?);
            }
            whens.push(match &bound_operand {
                Some(operand) => {
                    let span = condition.span;
                    self.compare("eq", vec![operand.clone(), condition], span)?
                }
                None => self.condition(condition, "WHEN condition")?,
            });
            results.push(self.expr(&when.result)?);
        }
        results.push(match otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => null(),
        });
        let results = self.unify_branches(results, "CASE")?;
        let data_type = results.first().map_or(Type::Unknown, |it| it.data_type.clone());
        let span = covering(&whens.iter().chain(&results).collect::<Vec<_>>());
        let mut results = results.into_iter();
        let mut args = Vec::with_capacity(whens.len() * 2 + 1);
        for (when, result) in whens.into_iter().zip(results.by_ref()) {
            args.extend([when, result]);
        }
        args.extend(results);
        Ok(Expr::special(SpecialForm::Switch, args, data_type).at(span))
    }

    fn cast(
        &mut self,
        input: &'a ast::Expr,
        data_type: &'a DataType,
        kind: &CastKind,
    ) -> Result<Expr> {
        let input = self.expr(input)?;
        let to = self.data_type(data_type, input.span)?;
        let null_on_error = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
        let span = input.span;
        let cast = self.cast_to(input, to, null_on_error)?;
        match length_of(data_type) {
            Some(length) if self.shared.is_presto() => {
                let bound = |it| Expr::constant(Value::BigInt(it), Type::BigInt);
                self.call("substring", vec![cast, bound(1), bound(length)], span)
            }
            _ => Ok(cast),
        }
    }

    /// An explicit cast.
    pub(super) fn cast_to(&self, input: Expr, to: Type, null_on_error: bool) -> Result<Expr> {
        let span = input.span;
        if input.data_type == to || inspect::is_null_literal(&input) {
            return self.coerce(input, &to);
        }
        let cast = self.shared.names.resolve_cast(&input.data_type, &to);
        let (package, _) = cast.map_err(|it| it.span(span))?;
        let kind = ExprKind::Cast { input: Box::new(input), null_on_error, package };
        Ok(Expr::new(kind, to).at(span))
    }

    fn like(
        &mut self,
        name: &str,
        input: &'a ast::Expr,
        pattern: &'a ast::Expr,
        escape: Option<&'a ast::Expr>,
        negated: bool,
    ) -> Result<Expr> {
        let args = [Some(input), Some(pattern), escape];
        let args: Vec<&'a ast::Expr> = args.into_iter().flatten().collect();
        let args = args.into_iter().map(|it| self.expr(it)).collect::<Result<Vec<_>>>()?;
        let like = self.call(name, args, None)?;
        self.negated(like, negated)
    }

    fn extract(&mut self, field: &DateTimeField, input: &'a ast::Expr) -> Result<Expr> {
        let input = self.expr(input)?;
        let span = input.span;
        let field = match field {
            DateTimeField::Custom(ident) => ident.value.clone(),
            other => other.to_string(),
        };
        let field = field.trim_matches('\'').to_ascii_lowercase();
        if self.shared.is_presto() {
            return self.call(&field, vec![input], span);
        }
        let field = Expr::constant(Value::text(field), Type::Varchar).at(span);
        self.call("date_part", vec![field, input], span)
    }

    fn rounded(
        &mut self,
        name: &str,
        input: &'a ast::Expr,
        field: &'a CeilFloorKind,
    ) -> Result<Expr> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => self.calls(name, &[input]),
            CeilFloorKind::Scale(scale) => {
                let args = vec![self.expr(input)?, self.literal(scale)?];
                self.call(name, args, None)
            }
            CeilFloorKind::DateTimeField(_) => {
                Err(unsupported(format!("{name} TO a unit of time"), self.span(input.span())))
            }
        }
    }

    fn substring(
        &mut self,
        input: &'a ast::Expr,
        from: Option<&'a ast::Expr>,
        length: Option<&'a ast::Expr>,
    ) -> Result<Expr> {
        let mut args = vec![self.expr(input)?];
        match from {
            Some(from) => args.push(self.expr(from)?),
            None if length.is_some() => args.push(Expr::constant(Value::Integer(1), Type::Integer)),
            None => (),
        }
        if let Some(length) = length {
            args.push(self.expr(length)?);
        }
        self.call("substring", args, None)
    }

    fn trim(
        &mut self,
        input: &'a ast::Expr,
        side: Option<TrimWhereField>,
        what: Option<&'a ast::Expr>,
        characters: Option<&'a [ast::Expr]>,
    ) -> Result<Expr> {
        let name = match side {
            None | Some(TrimWhereField::Both) => "trim",
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
        };
        let mut args = vec![input];
        args.extend(what.into_iter().chain(characters.unwrap_or_default()));
        self.calls(name, &args)
    }

    /// A condition taken apart at AND.
    pub(super) fn conjuncts(&mut self, condition: &'a ast::Expr, what: &str) -> Result<Vec<Expr>> {
        let parts = chain_of(condition, &BinaryOperator::And);
        let mut conjuncts = Vec::with_capacity(parts.len());
        for part in parts {
            for (_, bound) in self.for_each_choice(|it| it.expr(part))? {
                let bound = self.condition(bound, what)?;
                match bound.kind {
                    ExprKind::Special { form: SpecialForm::And, args } => conjuncts.extend(args),
                    _ => conjuncts.push(bound),
                }
            }
        }
        Ok(conjuncts)
    }

    fn unary(&mut self, op: UnaryOperator, input: &'a ast::Expr) -> Result<Expr> {
        if op == UnaryOperator::Minus
            && let ast::Expr::Value(value) = without_parentheses(input)
            && let ast::Value::Number(digits, _) = &value.value
        {
            return self.number(digits, true, self.span(value.span));
        }
        let bound = self.expr(input)?;
        let span = bound.span;
        match op {
            UnaryOperator::Plus if bound.data_type.is_number() => Ok(bound),
            UnaryOperator::Plus => {
                let message = format!("unary + does not take {}", bound.data_type);
                Err(Error::invalid_query(message).span(span))
            }
            UnaryOperator::Minus => self.call("negate", vec![bound], span),
            UnaryOperator::Not => {
                let bound = self.condition(bound, "operand of NOT")?;
                self.call("not", vec![bound], span)
            }
            UnaryOperator::BitwiseNot => self.call("bit_not_op", vec![bound], span),
            UnaryOperator::PGAbs => self.call("abs", vec![bound], span),
            UnaryOperator::PGPostfixFactorial => self.call("factorial", vec![bound], span),
            other => Err(unsupported(format!("the operator {other}"), span)),
        }
    }

    /// Whether aggregates may stand in the innermost level, and why not.
    pub(super) fn current_clause(&self) -> Clause {
        self.levels.last().map_or(Clause::Values, |it| it.clause)
    }
}

/// The most characters of a VARCHAR(n).
fn length_of(data_type: &DataType) -> Option<i64> {
    match data_type {
        DataType::Varchar(Some(CharacterLength::IntegerLength { length, .. })) => {
            i64::try_from(*length).ok()
        }
        _ => None,
    }
}

/// NULL without a type.
pub(super) fn null() -> Expr {
    Expr::constant(Value::Null, Type::Unknown)
}

/// The smallest place that covers all of `exprs`.
pub(super) fn covering(exprs: &[&Expr]) -> Option<Span> {
    exprs.iter().filter_map(|it| it.span).reduce(Span::to)
}

/// The expression inside of any parentheses.
pub(super) fn without_parentheses(mut expr: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// The operands of a chain of one associative operator, in order.
pub(super) fn chain_of<'e>(expr: &'e ast::Expr, operator: &BinaryOperator) -> Vec<&'e ast::Expr> {
    let mut operands = Vec::new();
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match without_parentheses(expr) {
            ast::Expr::BinaryOp { left, op, right } if op == operator => {
                rest.extend([&**right, &**left]);
            }
            other => operands.push(other),
        }
    }
    operands
}

/// The place of the first token of a deep tree, without visiting all of it.
pub(super) fn first_span(expr: &ast::Expr) -> sqlparser::tokenizer::Span {
    let mut expr = expr;
    loop {
        expr = match expr {
            ast::Expr::BinaryOp { left, .. } => left,
            ast::Expr::Nested(inner) | ast::Expr::Cast { expr: inner, .. } => inner,
            ast::Expr::UnaryOp { expr: inner, .. } => inner,
            ast::Expr::RLike { expr: inner, .. } => inner,
            ast::Expr::Case { case_token, .. } => return case_token.0.span,
            ast::Expr::Identifier(ident) => return ident.span,
            ast::Expr::Value(value) => return value.span,
            ast::Expr::Function(function) => return function.name.span(),
            other => return other.span(),
        };
    }
}

/// The name of a construct that is not supported.
fn construct(expr: &ast::Expr) -> &'static str {
    use ast::Expr as E;
    match expr {
        E::Lambda(_) => "a lambda that is not an argument of a function",
        E::SimilarTo { .. } => "SIMILAR TO",
        E::RLike { .. } => "RLIKE and REGEXP",
        E::Like { .. } | E::ILike { .. } => "LIKE ANY",
        E::JsonAccess { .. } => "JSON access by a colon",
        E::Convert { .. } => "CONVERT",
        E::InUnnest { .. } => "IN UNNEST",
        E::GroupingSets(_) => "GROUPING SETS",
        E::Cube(_) => "CUBE",
        E::Rollup(_) => "ROLLUP",
        E::Struct { .. } => "STRUCT literals",
        E::MatchAgainst { .. } => "MATCH AGAINST",
        E::Wildcard(_) | E::QualifiedWildcard(..) => "* in an expression",
        E::Prefixed { .. } => "strings with a character set",
        E::IsJson { .. } => "IS JSON",
        E::IsNormalized { .. } => "IS NORMALIZED",
        _ => "this form of expression",
    }
}

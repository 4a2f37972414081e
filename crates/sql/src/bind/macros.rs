//! Calls of macros: what CREATE MACRO gave a name, with the arguments in the place of the
//! parameters.

use super::{Binder, Bound, unsupported};
use crate::{
    MacroDefinition, MacroParameter, Statement,
    parse::{self, CreateMacro, OPEN_END},
    stack,
};
use sqlparser::ast::{
    self, AccessExpr, CastKind, Expr as Written, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, ObjectName, Spanned, TableFunctionArgs, Visit, VisitMut, visit_expressions,
    visit_expressions_mut,
};
use sqlparser::tokenizer::Span as Lines;
use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
};
use volley_error::{Error, Result, Span};
use volley_logical::Expr;

/// The most calls of macros in a statement, those in other macros included.
const EXPANSIONS_MAX: usize = 4000;

/// The maximum number of expressions in a macro with its arguments: arguments within arguments
/// multiply. It also bounds the depth of their trees, like the length of a text does.
const EXPRESSIONS_MAX: usize = 10_000;

/// What macros of a statement stand for: kept while it is bound.
#[derive(Default)]
pub(super) struct Expansions(OnceCell<Box<(Expansion, Expansions)>>);

/// What the call of a macro stands for.
pub(super) enum Expansion {
    Expr(Written),
    Query(Box<ast::Query>),
}

/// The arguments of a call, by lower-case names of parameters.
type Arguments = BTreeMap<String, Written>;

impl Expansions {
    /// Keeps one more; `None` when there are too many.
    fn keep(&self, expansion: Expansion) -> Option<&Expansion> {
        let mut last = self;
        for _ in 0..EXPANSIONS_MAX {
            match last.0.get() {
                Some(next) => last = &next.1,
                None => {
                    let kept = last.0.get_or_init(|| Box::new((expansion, Expansions::default())));
                    return Some(&kept.0);
                }
            }
        }
        None
    }
}

impl Drop for Expansions {
    /// Drops the trees where there is room for their depth.
    fn drop(&mut self) {
        if let Some(first) = self.0.take() {
            stack::with_room(EXPRESSIONS_MAX, || drop(first));
        }
    }
}

impl<'a> Binder<'a> {
    /// The expression that a call stands for, if it is one of a macro.
    pub(super) fn macro_call(
        &mut self,
        name: &str,
        function: &'a Function,
        span: Option<Span>,
    ) -> Result<Option<Expr>> {
        let Some(definition) = self.shared.catalog.macro_called(name) else { return Ok(None) };
        if definition.is_table {
            let error = Error::invalid_query(format!("{name} is a macro for FROM")).span(span);
            return Err(error.hint(format!("write FROM {name}(...)")));
        }
        let args = match &function.args {
            FunctionArguments::List(list)
                if list.duplicate_treatment.is_none() && list.clauses.is_empty() =>
            {
                list.args.as_slice()
            }
            _ => return Err(unsupported("this form of argument of a macro", span)),
        };
        if function.over.is_some() || function.filter.is_some() {
            return Err(unsupported("OVER and FILTER behind the call of a macro", span));
        }
        // What an alias stands for is bound again: the calls in it stay the same.
        if let Some(body) = self.occurrences.expansion(function) {
            return self.expr(body).map(Some);
        }
        let lines = function.name.span();
        let arguments = self.arguments(name, &definition, args, lines)?;
        self.names_row_ids |= parse::names_row_ids(&definition.body);
        let body = parse::parse_expr_at(&definition.body, lines);
        let body = body.map_err(|it| in_macro(&it, name, span))?;
        match self.expanded(body, &arguments, Expansion::Expr, span)? {
            Expansion::Expr(body) => {
                self.occurrences.keep_expansion(function, body);
                self.expr(body).map(Some)
            }
            Expansion::Query(_) => Err(Error::internal("an expression became a query")),
        }
    }

    /// The rows that a call in FROM stands for, if it is one of a macro.
    pub(super) fn table_macro(
        &mut self,
        name: &ObjectName,
        args: &'a TableFunctionArgs,
        span: Option<Span>,
    ) -> Result<Option<Bound>> {
        let dotted = parse::dotted(name);
        let Some(definition) = self.shared.catalog.macro_called(&dotted) else { return Ok(None) };
        if !definition.is_table {
            let message = format!("{dotted} is a macro for expressions");
            return Err(Error::invalid_query(message).span(span));
        }
        let lines = name.span();
        let arguments = self.arguments(&dotted, &definition, &args.args, lines)?;
        self.names_row_ids |= parse::names_row_ids(&definition.body);
        let body = parse::parse_query_at(&definition.body, lines);
        let body = body.map_err(|it| in_macro(&it, &dotted, span))?;
        match self.expanded(body, &arguments, Expansion::Query, span)? {
            Expansion::Query(body) => {
                let bind = |it: &mut Self| it.derived(body, false);
                self.deeper(|_| span, bind).map(Some)
            }
            Expansion::Expr(_) => Err(Error::internal("a query became an expression")),
        }
    }

    /// The body with the arguments in the place of the parameters, kept for the statement.
    fn expanded<T: VisitMut + Visit>(
        &self,
        mut body: T,
        arguments: &Arguments,
        expansion: impl FnOnce(T) -> Expansion,
        span: Option<Span>,
    ) -> Result<&'a Expansion> {
        let expansions = self.shared.expansions;
        let kept = stack::with_room(EXPRESSIONS_MAX, || {
            substitute(&mut body, arguments);
            let is_large = visit_expressions(&body, counted()).is_break();
            if is_large { None } else { expansions.keep(expansion(body)) }
        });
        kept.ok_or_else(|| {
            let error = Error::invalid_query("macros stand for too much").span(span);
            error.hint("a macro may call itself, or pass its arguments on several times")
        })
    }

    /// What stands for each parameter.
    fn arguments(
        &self,
        name: &str,
        definition: &Arc<MacroDefinition>,
        args: &[FunctionArg],
        lines: Lines,
    ) -> Result<Arguments> {
        let invalid = |what: String| Error::invalid_query(what).span(self.span(lines));
        let mut arguments = Arguments::new();
        for (index, arg) in args.iter().enumerate() {
            let (parameter, value) = argument(definition, index, arg);
            let Some(parameter) = parameter else {
                let count = definition.parameters.len();
                return Err(invalid(format!("macro {name} takes {count} arguments"))
                    .hint(signature(name, definition)));
            };
            let Some(value) = value else {
                return Err(invalid(format!("macro {name} takes values as arguments")));
            };
            let value = typed(parameter, value.clone(), lines)?;
            if arguments.insert(parameter.name.to_lowercase(), value).is_some() {
                return Err(invalid(format!("two values for {} of {name}", parameter.name)));
            }
        }
        for parameter in &definition.parameters {
            let key = parameter.name.to_lowercase();
            if arguments.contains_key(&key) {
                continue;
            }
            let Some(default) = &parameter.default else {
                return Err(invalid(format!("macro {name} lacks a value for {}", parameter.name))
                    .hint(signature(name, definition)));
            };
            let value = parse::parse_expr_at(default, lines)?;
            arguments.insert(key, typed(parameter, value, lines)?);
        }
        Ok(arguments)
    }
}

impl Binder<'_> {
    /// CREATE MACRO.
    pub(super) fn create_macro(&self, create: &CreateMacro) -> Result<Statement> {
        self.check_macro(&create.definition, self.span(create.name.span()))?;
        Ok(Statement::CreateMacro {
            name: parse::dotted(&create.name),
            or_replace: create.or_replace,
            if_not_exists: create.if_not_exists,
            definition: create.definition.clone(),
        })
    }

    /// Refuses parameters of one name or in an order that arguments cannot follow, and, in a body
    /// that is an expression, names that are no parameters.
    fn check_macro(&self, definition: &MacroDefinition, span: Option<Span>) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid_query(message).span(span));
        let mut names = HashSet::new();
        let mut has_default = false;
        for parameter in &definition.parameters {
            let name = &parameter.name;
            if !names.insert(name.to_lowercase()) {
                return invalid(format!("two parameters of a macro are called {name}"));
            }
            if has_default && parameter.default.is_none() {
                return invalid(format!("parameter {name} without a default behind one with it"));
            }
            has_default |= parameter.default.is_some();
            if let Some(default) = &parameter.default {
                let (written, _) = parse::parse_expr(default)?;
                if has_subquery(&written) {
                    return invalid(format!("default of parameter {name} with a subquery"));
                }
                if let Some(column) = self.free_name(&written, &HashSet::new()) {
                    return invalid(format!(
                        "default of parameter {name} names a column: {column}"
                    ));
                }
            }
        }
        if definition.is_table {
            return Ok(());
        }
        let (body, _) = parse::parse_expr(&definition.body)?;
        match self.free_name(&body, &names) {
            Some(name) => {
                let error = Error::invalid_query(format!("no such parameter: {name}")).span(span);
                Err(error.hint("a macro sees its parameters, and columns in its subqueries"))
            }
            None => Ok(()),
        }
    }

    /// A name in an expression that is neither one of `names` nor a function that is called without
    /// parentheses; `None` also where subqueries and lambdas may say what names mean.
    fn free_name(&self, written: &Written, names: &HashSet<String>) -> Option<String> {
        if has_subquery(written) {
            return None;
        }
        let mut parameters = names.clone();
        let _ = visit_expressions(written, |expr| {
            if let Written::Lambda(lambda) = expr {
                parameters.extend(lambda.params.iter().map(|it| it.name.value.to_lowercase()));
            }
            ControlFlow::<()>::Continue(())
        });
        let is_known = |name: &ast::Ident| {
            parameters.contains(&name.value.to_lowercase())
                || self.shared.names.check_name(&name.value.to_lowercase()).is_ok()
        };
        let mut found = None;
        let _ = visit_expressions(written, |expr| {
            let name = match expr {
                Written::Identifier(name) => Some(name),
                Written::CompoundIdentifier(parts) => parts.first(),
                _ => None,
            };
            match name.filter(|it| !is_known(it) && it.value != OPEN_END) {
                Some(name) => {
                    found = Some(name.value.clone());
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            }
        });
        found
    }
}

fn has_subquery(written: &Written) -> bool {
    let is_subquery = |it: &Written| {
        matches!(it, Written::Subquery(_) | Written::Exists { .. } | Written::InSubquery { .. })
    };
    visit_expressions(written, |it| match is_subquery(it) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
    .is_break()
}

/// The parameter that an argument is for, and its value.
fn argument<'d, 'w>(
    definition: &'d MacroDefinition,
    index: usize,
    arg: &'w FunctionArg,
) -> (Option<&'d MacroParameter>, Option<&'w Written>) {
    let value = |it: &'w FunctionArgExpr| match it {
        FunctionArgExpr::Expr(value) => Some(value),
        _ => None,
    };
    match arg {
        FunctionArg::Unnamed(it) => (definition.parameters.get(index), value(it)),
        FunctionArg::Named { name, arg, .. } => {
            let mut parameters = definition.parameters.iter();
            (parameters.find(|it| it.name.eq_ignore_ascii_case(&name.value)), value(arg))
        }
        FunctionArg::ExprNamed { .. } => (None, None),
    }
}

/// The value, brought to the type of the parameter.
fn typed(parameter: &MacroParameter, value: Written, lines: Lines) -> Result<Written> {
    let value = Written::Nested(Box::new(value));
    let Some(data_type) = &parameter.data_type else { return Ok(value) };
    let mut cast = parse::parse_expr_at(&format!("CAST(NULL AS {data_type})"), lines)?;
    if let Written::Cast { kind: CastKind::Cast, expr, .. } = &mut cast {
        **expr = value;
    }
    Ok(cast)
}

/// Puts the arguments in the place of the parameters.
fn substitute(body: &mut impl VisitMut, arguments: &Arguments) {
    let argument = |name: &ast::Ident| arguments.get(&name.value.to_lowercase()).cloned();
    let _ = visit_expressions_mut(body, |expr| {
        match expr {
            Written::Identifier(name) => {
                if let Some(value) = argument(name) {
                    *expr = value;
                }
            }
            Written::CompoundIdentifier(parts) => {
                if let Some(value) = parts.first().and_then(argument) {
                    let fields = parts.iter().skip(1).cloned();
                    let fields = fields.map(|it| AccessExpr::Dot(Written::Identifier(it)));
                    let access_chain = fields.collect();
                    *expr = Written::CompoundFieldAccess { root: Box::new(value), access_chain };
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Breaks off beyond the most expressions.
fn counted() -> impl FnMut(&Written) -> ControlFlow<()> {
    let mut count = 0_usize;
    move |_| {
        count += 1;
        if count > EXPRESSIONS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn signature(name: &str, definition: &MacroDefinition) -> String {
    let names: Vec<&str> = definition.parameters.iter().map(|it| it.name.as_str()).collect();
    format!("it is {name}({})", names.join(", "))
}

/// An error in the text of a macro, pointing at its call.
fn in_macro(error: &Error, name: &str, span: Option<Span>) -> Error {
    Error::new(error.kind(), error.message()).span(span).at("macro", name)
}

//! Lambdas: `x -> x + 1`, `(x, y) -> x + y` and `lambda x, y: x + y`.
//!
//! The function says what types the parameters have, and wants to know what type the body has;
//! so a call is settled in rounds, see [`BindHigherOrder`].
//!
//! [`BindHigherOrder`]: volley_function::BindHigherOrder

use super::{
    Binder,
    expr::{first_span, without_parentheses},
    unsupported,
};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArgumentList, Ident, LambdaFunction, LambdaSyntax,
    OneOrManyWithParens,
};
use volley_error::{Error, Result, Span};
use volley_function::{ArgumentType, LambdaType};
use volley_logical::{Expr, ExprKind, Parameter};
use volley_types::Type;

/// The most bodies bound in one statement: a body is bound again when the types of its parameters
/// turn out to be others, which multiplies with each level of nesting.
const BODIES_MAX: usize = 20_000;

/// How often types of parameters may change in one call.
const ROUNDS_MAX: usize = 4;

/// The parameters of a lambda.
pub(super) struct Scope<'a> {
    parameters: Vec<(&'a str, Type)>,
}

/// An argument under way.
enum Argument<'a> {
    Value(Expr),
    Lambda(Lambda<'a>),
}

struct Lambda<'a> {
    parameters: Vec<&'a Ident>,
    body: &'a ast::Expr,
    /// The body, once it was bound, and the types of the parameters that it was bound for.
    bound: Option<(Expr, Vec<Type>)>,
}

/// Whether an argument is a lambda.
pub(super) fn is_lambda(arg: &FunctionArg) -> bool {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
            matches!(without_parentheses(expr), ast::Expr::Lambda(_))
        }
        _ => false,
    }
}

impl<'a> Binder<'a> {
    /// Whether what looks like a lambda is `json -> path`, as the function `name` takes none.
    pub(super) fn is_json_arrow(&self, name: &str, arg: &FunctionArg) -> bool {
        let is_arrow = match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => match without_parentheses(expr) {
                ast::Expr::Lambda(lambda) => lambda.syntax == LambdaSyntax::Arrow,
                _ => false,
            },
            _ => false,
        };
        is_arrow && !self.shared.names.takes_lambdas(name)
    }

    /// A call of `name`, some of whose arguments are lambdas.
    pub(super) fn higher_order(
        &mut self,
        name: &str,
        written: &'a [FunctionArg],
        span: Option<Span>,
    ) -> Result<Expr> {
        let mut args = Vec::with_capacity(written.len());
        for arg in written {
            args.push(match without_parentheses(self.plain_arg(arg, span)?) {
                ast::Expr::Lambda(lambda) => Argument::Lambda(self.lambda(lambda)?),
                value => Argument::Value(self.expr(value)?),
            });
        }
        self.settle(name, args, span)
    }

    /// `reduce_agg(x, initial, (state, x) -> state, (state, state) -> state)`: the values of a
    /// group or frame, which the aggregate collects, reduced one after the other. What combines
    /// states is checked, and not needed. `values`: the aggregate.
    pub(super) fn reducing_aggregate(
        &mut self,
        name: &str,
        list: &'a FunctionArgumentList,
        values: impl FnOnce(&mut Self) -> Result<Expr>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let takes = || {
            let message = format!("{name} takes (x, initial, (s, x) -> s, (s, s) -> s)");
            Error::invalid_query(message).span(span)
        };
        let [_, initial, step, combine] = list.args.as_slice() else { return Err(takes()) };
        let lambdas = [step, combine].map(|it| match self.plain_arg(it, span) {
            Ok(it) => match without_parentheses(it) {
                ast::Expr::Lambda(lambda) => self.lambda(lambda),
                _ => Err(takes()),
            },
            Err(error) => Err(error),
        });
        let [step, combine] = lambdas;
        let mut combine = combine?;
        let values = values(self)?;
        let initial = self.expr(self.plain_arg(initial, span)?)?;
        let args = vec![Argument::Value(values), Argument::Lambda(step?), Argument::Value(initial)];
        let reduced = self.settle("reduce", args, span)?;
        if combine.parameters.len() != 2 {
            return Err(takes());
        }
        let state = reduced.data_type.clone();
        let wanted = LambdaType { parameters: vec![state.clone(); 2], result: Some(state.clone()) };
        self.bind_for(&mut combine, &wanted)?;
        if let Some((body, _)) = combine.bound {
            self.coerce(body, &state)?;
        }
        Ok(reduced)
    }

    /// A call once the types of its lambdas are settled.
    fn settle(
        &mut self,
        name: &str,
        mut args: Vec<Argument<'a>>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let names = self.shared.names;
        for _ in 0..ROUNDS_MAX {
            let types: Vec<ArgumentType> = args.iter().map(Argument::argument_type).collect();
            let bound = names.resolve_higher_order(name, &types).map_err(|it| it.span(span))?;
            let mut settled = true;
            for (arg, wanted) in args.iter_mut().zip(&bound.args) {
                if let (Argument::Lambda(lambda), Some(wanted)) = (arg, wanted.lambda()) {
                    settled &= self.bind_for(lambda, wanted)?;
                }
            }
            if settled {
                let whole = covering_all(&args, span);
                let args = args.into_iter().zip(&bound.args);
                let args =
                    args.map(|(arg, to)| self.coerced(name, arg, to)).collect::<Result<_>>()?;
                return Ok(Expr::call(bound.name, args, bound.result).at(whole));
            }
        }
        let message = format!("the types of the lambda of {name} cannot be settled");
        Err(Error::invalid_query(message).hint("cast its initial value").span(span))
    }

    fn lambda(&self, lambda: &'a LambdaFunction) -> Result<Lambda<'a>> {
        let parameters = match &lambda.params {
            OneOrManyWithParens::One(one) => std::slice::from_ref(one),
            OneOrManyWithParens::Many(many) => many.as_slice(),
        };
        let mut names: Vec<&'a Ident> = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let (name, span) = (&parameter.name, self.span(parameter.name.span));
            if parameter.data_type.is_some() {
                return Err(unsupported("types of parameters of a lambda", span));
            }
            if names.iter().any(|it| it.value.eq_ignore_ascii_case(&name.value)) {
                let message = format!("a lambda has two parameters called {}", name.value);
                return Err(Error::invalid_query(message).span(span));
            }
            names.push(name);
        }
        Ok(Lambda { parameters: names, body: &lambda.body, bound: None })
    }

    /// Binds the body for parameters of the wanted types; whether it was bound for them before.
    fn bind_for(&mut self, lambda: &mut Lambda<'a>, wanted: &LambdaType) -> Result<bool> {
        if lambda.bound.as_ref().is_some_and(|it| it.1 == wanted.parameters) {
            return Ok(true);
        }
        self.bodies += 1;
        if self.bodies > BODIES_MAX {
            let span = self.span(first_span(lambda.body));
            return Err(Error::invalid_query("lambdas are nested too deeply").span(span));
        }
        let names = lambda.parameters.iter().map(|it| it.value.as_str());
        let parameters = names.zip(wanted.parameters.iter().cloned()).collect();
        self.lambdas.push(Scope { parameters });
        let body = self.expr(lambda.body);
        self.lambdas.pop();
        lambda.bound = Some((body?, wanted.parameters.clone()));
        Ok(false)
    }

    /// The argument as the function wants it.
    fn coerced(&self, name: &str, arg: Argument<'a>, to: &ArgumentType) -> Result<Expr> {
        let lambda = match (arg, to) {
            (Argument::Value(value), ArgumentType::Value(to)) => return self.coerce(value, to),
            (Argument::Lambda(lambda), ArgumentType::Lambda(to)) => (lambda.bound, to),
            _ => return Err(Error::internal(format!("{name} resolved to other arguments"))),
        };
        let (Some((body, parameters)), to) = lambda else {
            return Err(Error::internal("lambda was not bound"));
        };
        let body = match &to.result {
            Some(Type::Boolean) => self.condition(body, &format!("the lambda of {name}"))?,
            Some(to) => self.coerce(body, to)?,
            None => body,
        };
        let (data_type, span, level) = (body.data_type.clone(), body.span, self.lambdas.len());
        let kind = ExprKind::Lambda { level, parameters, body: Box::new(body) };
        Ok(Expr::new(kind, data_type).at(span))
    }

    /// The parameter that the first part of a name means.
    pub(super) fn parameter(&self, parts: &[Ident], span: Option<Span>) -> Option<Expr> {
        let name = &parts.first()?.value;
        for (level, scope) in self.lambdas.iter().enumerate().rev() {
            let mut parameters = scope.parameters.iter().enumerate();
            let found = parameters.find(|(_, (own, _))| own.eq_ignore_ascii_case(name));
            if let Some((index, (_, data_type))) = found {
                let kind = ExprKind::Parameter(Parameter { level, index });
                return Some(Expr::new(kind, data_type.clone()).at(span));
            }
        }
        None
    }

    /// Refuses what cannot stand in the body of a lambda.
    pub(super) fn not_in_lambda(&self, what: &str, span: Option<Span>) -> Result<()> {
        match self.lambdas.is_empty() {
            true => Ok(()),
            false => Err(unsupported(format!("{what} in a lambda"), span)),
        }
    }
}

impl Argument<'_> {
    fn argument_type(&self) -> ArgumentType {
        match self {
            Argument::Value(value) => ArgumentType::Value(value.data_type.clone()),
            Argument::Lambda(lambda) => match &lambda.bound {
                Some((body, parameters)) => {
                    ArgumentType::of_lambda(parameters.clone(), Some(body.data_type.clone()))
                }
                None => ArgumentType::of_lambda(vec![Type::Unknown; lambda.parameters.len()], None),
            },
        }
    }

    fn span(&self) -> Option<Span> {
        match self {
            Argument::Value(value) => value.span,
            Argument::Lambda(lambda) => lambda.bound.as_ref().and_then(|it| it.0.span),
        }
    }
}

/// The place of a call: its name and its arguments.
fn covering_all(args: &[Argument<'_>], name: Option<Span>) -> Option<Span> {
    args.iter().filter_map(Argument::span).chain(name).reduce(Span::to)
}

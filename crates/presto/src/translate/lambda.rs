//! Calls of functions that take lambdas.

use super::{
    expression::{ExpressionScope, LambdaScope},
    function_call::is_lambda,
};
use crate::json::{Json, Object};
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind};
use volley_function::{ArgumentType, LambdaType};
use volley_types::Type;

impl ExpressionScope<'_> {
    /// A call some of whose arguments are lambdas. Presto states the types of their parameters.
    pub(super) fn higher_order(&mut self, name: &str, arguments: &[Json<'_>]) -> Result<Expr> {
        let mut args = Vec::new();
        for argument in arguments {
            args.push(match is_lambda(*argument)? {
                true => self.lambda(*argument)?,
                false => self.expr(*argument)?,
            });
        }
        self.with_lambdas(name, args)
    }

    /// A call of one of Presto's functions, some of whose arguments are lambdas.
    pub(super) fn with_lambdas(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let type_of = |arg: &Expr| match &arg.kind {
            ExprKind::Lambda { parameters, .. } => ArgumentType::Lambda(LambdaType {
                parameters: parameters.clone(),
                result: Some(arg.data_type.clone()),
            }),
            _ => ArgumentType::Value(arg.data_type.clone()),
        };
        let types: Vec<ArgumentType> = args.iter().map(type_of).collect();
        let bound = self.names().resolve_higher_order(name, &types)?;
        let args = args.into_iter().zip(&bound.args).map(|(arg, to)| coerced(arg, to));
        let args = args.collect::<Result<Vec<Expr>>>()?;
        Ok(Expr::call(bound.name, args, bound.result))
    }

    /// A lambda, or `BIND(values, lambda)`: a lambda whose first parameters are these values.
    pub(super) fn lambda(&mut self, json: Json<'_>) -> Result<Expr> {
        let object = json.object("a lambda")?;
        if object.read::<Option<String>>("form")?.is_none() {
            return self.plain_lambda(&object, Vec::new());
        }
        let mut arguments = object.elements("arguments")?;
        let lambda =
            arguments.pop().ok_or_else(|| Error::invalid_value("BIND without a lambda"))?;
        let values = arguments.into_iter().map(|it| self.expr(it)).collect::<Result<_>>()?;
        self.plain_lambda(&lambda.object("a lambda")?, values)
    }

    fn plain_lambda(&mut self, object: &Object<'_>, values: Vec<Expr>) -> Result<Expr> {
        let names: Vec<String> = object.read("arguments")?;
        let signatures: Vec<String> = object.read("argumentTypes")?;
        if names.len() != signatures.len() {
            return Err(Error::invalid_value("a lambda with another number of types"));
        }
        if values.len() > names.len() {
            return Err(Error::invalid_value("a lambda with more values than parameters"));
        }
        let types = signatures.iter().skip(values.len()).map(|it| self.data_type(it));
        let types = types.collect::<Result<Vec<Type>>>()?;
        let mut names = names.into_iter();
        let captured = names.by_ref().take(values.len()).zip(values).collect();
        let parameters = names.zip(types.clone()).collect();
        self.within(LambdaScope { captured, parameters }, |scope, level| {
            let body = scope.expr(object.json("body"))?;
            let data_type = body.data_type.clone();
            let kind = ExprKind::Lambda { level, parameters: types, body: Box::new(body) };
            Ok(Expr::new(kind, data_type))
        })
    }
}

/// The argument with the type that the function takes: of a lambda, the type of its body.
fn coerced(arg: Expr, to: &ArgumentType) -> Result<Expr> {
    match (arg.kind, to) {
        (ExprKind::Lambda { level, parameters, body }, ArgumentType::Lambda(wanted)) => {
            if parameters != wanted.parameters {
                return Err(Error::unsupported("a lambda whose parameters have other types"));
            }
            let body = match &wanted.result {
                Some(result) => Box::new(body.cast(result.clone())),
                None => body,
            };
            let data_type = body.data_type.clone();
            Ok(Expr::new(ExprKind::Lambda { level, parameters, body }, data_type))
        }
        (kind, ArgumentType::Value(to)) => {
            Ok(Expr { kind, data_type: arg.data_type, place: arg.place }.cast(to.clone()))
        }
        _ => Err(Error::unsupported("a lambda in place of a value")),
    }
}

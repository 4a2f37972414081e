//! Calls: operators, casts, patterns, functions.

use super::expression::ExpressionScope;
use crate::{
    json::{Json, Object},
    plan_json::{FunctionHandle, class_of},
};
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind, SpecialForm};
use volley_types::{Type, Value};

/// What operators are called here.
const OPERATORS: [(&str, &str); 16] = [
    ("add", "plus"),
    ("subtract", "minus"),
    ("multiply", "multiply"),
    ("divide", "divide"),
    ("modulus", "mod"),
    ("negation", "negate"),
    ("equal", "eq"),
    ("not_equal", "neq"),
    ("less_than", "lt"),
    ("less_than_or_equal", "lte"),
    ("greater_than", "gt"),
    ("greater_than_or_equal", "gte"),
    ("between", "between"),
    ("is_distinct_from", "distinct_from"),
    ("subscript", "subscript"),
    ("xx_hash_64", "xxhash64_internal"),
];

/// The prefix of names of functions and operators.
const NAMESPACE: &str = "presto.default.";

/// The name of a function in the registry: without the namespace, and of operators the name here.
///
/// # Errors
///
/// Unsupported: a function of another namespace, an operator that the worker does not have.
pub(super) fn function_name(handle: &FunctionHandle, shown: &str) -> Result<String> {
    let signature = handle.signature.as_ref().ok_or_else(|| {
        Error::unsupported(format!("the function {shown}, which is no built-in one of Presto"))
    })?;
    let name = signature.name.to_ascii_lowercase();
    let Some(name) = name.strip_prefix(NAMESPACE) else {
        return Err(Error::unsupported(format!("functions of another namespace: {name}")));
    };
    let Some(operator) = name.strip_prefix("$operator$") else { return Ok(name.to_owned()) };
    let found = OPERATORS.iter().find(|it| it.0 == operator);
    match found {
        Some((_, name)) => Ok((*name).to_owned()),
        None if operator == "cast" => Ok("$cast".to_owned()),
        None => Err(Error::unsupported(format!("the operator {operator} of Presto"))),
    }
}

/// Functions that see the spaces at the end of CHAR(n).
const PADDED: [&str; 2] = ["length", "concat"];

/// What a cast gives for values that it cannot convert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CastErrors {
    Fail,
    Null,
}

impl ExpressionScope<'_> {
    pub(super) fn call(&mut self, object: &Object<'_>) -> Result<Expr> {
        let shown: String = object.read("displayName")?;
        let handle: FunctionHandle = object.read("functionHandle")?;
        let name = function_name(&handle, &shown)?;
        let signature: String = object.read("returnType")?;
        let arguments = object.elements("arguments")?;
        let call = self.named_call(&name, &handle, &arguments, &signature);
        call.map_err(|it| it.at("function", shown))
    }

    fn named_call(
        &mut self,
        name: &str,
        handle: &FunctionHandle,
        arguments: &[Json<'_>],
        signature: &str,
    ) -> Result<Expr> {
        let result = self.data_type(signature)?;
        match name {
            "$cast" => {
                // Texts that become patterns stay texts.
                let [argument] = arguments else { return Err(wrong_arguments()) };
                let argument = self.argument(*argument, handle, 0)?;
                return self.cast(argument, signature, result, CastErrors::Fail);
            }
            "try_cast" => {
                let [argument] = arguments else { return Err(wrong_arguments()) };
                let argument = self.argument(*argument, handle, 0)?;
                return self.cast(argument, signature, result, CastErrors::Null);
            }
            "$internal$try" => return self.attempt(arguments, result),
            "like" => return self.like(arguments),
            "typeof" => {
                let signature = handle.signature.as_ref().and_then(|it| it.argument_types.first());
                let shown = signature.ok_or_else(wrong_arguments)?;
                return Ok(Expr::constant(Value::text(shown), Type::Varchar));
            }
            _ => {}
        }
        let mut has_lambdas = false;
        for argument in arguments {
            has_lambdas |= is_lambda(*argument)?;
        }
        let call = match has_lambdas {
            true => self.higher_order(name, arguments)?,
            false => {
                let pads = PADDED.contains(&name);
                let args = arguments.iter().enumerate().map(|(at, it)| match pads {
                    true => self.argument(*it, handle, at),
                    false => self.expr(*it),
                });
                let args = args.collect::<Result<_>>()?;
                self.function(name, args)?
            }
        };
        Ok(call.cast(result))
    }

    /// The argument at a position; CHAR(n) with the spaces at its end, which pages do not have.
    fn argument(&mut self, json: Json<'_>, handle: &FunctionHandle, at: usize) -> Result<Expr> {
        let expr = self.expr(json)?;
        let signature = handle.signature.as_ref().and_then(|it| it.argument_types.get(at));
        let Some(length) = signature.and_then(|it| length_of("char", it)) else { return Ok(expr) };
        let length = Expr::constant(Value::BigInt(length), Type::BigInt);
        let space = Expr::constant(Value::text(" "), Type::Varchar);
        self.function("rpad", vec![expr, length, space])
    }

    /// A cast by Presto's rules.
    fn cast(&mut self, input: Expr, signature: &str, to: Type, errors: CastErrors) -> Result<Expr> {
        let char_length = length_of("char", signature);
        let limit = length_of("varchar", signature).or(char_length);
        if input.data_type == to && limit.is_none() {
            return Ok(input);
        }
        let cast = if input.data_type == to {
            input
        } else {
            let (package, _) = self.names().resolve_cast(&input.data_type, &to)?;
            let null_on_error = errors == CastErrors::Null;
            let kind = ExprKind::Cast { input: Box::new(input), null_on_error, package };
            Expr::new(kind, to)
        };
        let Some(limit) = limit else { return Ok(cast) };
        // VARCHAR(n) and CHAR(n) keep the first n characters.
        let one = |it| Expr::constant(Value::BigInt(it), Type::BigInt);
        let cut = self.function("substr", vec![cast, one(1), one(limit)])?;
        match char_length {
            Some(_) => {
                let space = Expr::constant(Value::text(" "), Type::Varchar);
                self.function("rtrim", vec![cut, space])
            }
            None => Ok(cut),
        }
    }

    /// `x LIKE pattern`: the pattern may have an escape character.
    fn like(&mut self, arguments: &[Json<'_>]) -> Result<Expr> {
        let [value, pattern] = arguments else { return Err(wrong_arguments()) };
        let mut args = vec![self.expr(*value)?];
        let object = pattern.object("a pattern")?;
        let handle: Option<FunctionHandle> = object.read("functionHandle")?;
        let is_escaped = handle
            .and_then(|it| it.signature)
            .is_some_and(|it| it.name == format!("{NAMESPACE}like_pattern"));
        match is_escaped {
            true => {
                for part in object.elements("arguments")? {
                    args.push(self.expr(part)?);
                }
            }
            false => args.push(self.expr(*pattern)?),
        }
        self.function("like", args)
    }

    /// `TRY(x)`, which has x as a lambda without parameters.
    fn attempt(&mut self, arguments: &[Json<'_>], result: Type) -> Result<Expr> {
        let [argument] = arguments else { return Err(wrong_arguments()) };
        let input = match is_lambda(*argument)? {
            true => match self.lambda(*argument)?.kind {
                ExprKind::Lambda { parameters, body, .. } if parameters.is_empty() => *body,
                _ => return Err(wrong_arguments()),
            },
            false => self.expr(*argument)?,
        };
        Ok(Expr::special(SpecialForm::Try, vec![input], result))
    }
}

/// Whether an argument is a lambda, maybe one that captures values.
pub(super) fn is_lambda(json: Json<'_>) -> Result<bool> {
    let object = json.object("an argument")?;
    let form: Option<String> = object.read("form")?;
    let class = class_of(json, "an argument")?;
    Ok(class == "lambda"
        || class == "LambdaDefinitionExpression"
        || form.is_some_and(|it| it == "BIND"))
}

/// The length of `varchar(n)` or `char(n)`.
fn length_of(name: &str, signature: &str) -> Option<i64> {
    let length = signature.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
    length.parse().ok()
}

pub(super) fn wrong_arguments() -> Error {
    Error::invalid_value("a call with a wrong number of arguments")
}

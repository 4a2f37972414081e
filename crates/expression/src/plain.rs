//! The plain evaluator: one row at a time, by recursion over the tree, without any shortcut.
//!
//! It defines the meaning of expressions. Compiled evaluation must give the same results; tests
//! compare both. It is slow, and recurses as deep as the expression.

use crate::{Expr, ExprKind, Parameter, SpecialForm};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Applied, ArgumentType, BadParts, BoundHigherOrder, BoundScalar, EvalContext, Lambda, Package,
    QueryConstants, Registry,
};
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector, comparator};

/// What evaluation needs next to the expression.
#[derive(Clone, Copy)]
pub struct Plain<'a> {
    /// The functions.
    pub registry: &'a Registry,
    /// The query's constants.
    pub query: &'a Arc<QueryConstants>,
    /// The input.
    pub input: &'a Batch,
    /// The parameters of the lambdas around the expression, innermost last.
    pub parameters: &'a [(Parameter, Value)],
}

impl Plain<'_> {
    /// A context without the shorter ways for ASCII.
    fn context(&self) -> EvalContext {
        EvalContext { general_text: true, ..EvalContext::new(Arc::clone(self.query)) }
    }

    /// The value of `expr` for `row`.
    ///
    /// Arguments of a call are evaluated from left to right until one is null, when nulls
    /// propagate. AND and OR fail only if no argument decides them. A condition of CASE is asked as
    /// by [`Plain::select`].
    ///
    /// # Errors
    ///
    /// The row's error, unknown functions, and what a lazy column's loader reports.
    pub fn evaluate(&self, expr: &Expr, row: usize) -> Result<Value> {
        match &expr.kind {
            ExprKind::Column(index) => self.input.column(*index).value(row),
            ExprKind::Constant(value) => Ok(value.clone()),
            ExprKind::Parameter(parameter) => {
                let bound = self.parameters.iter().rev().find(|it| it.0 == *parameter);
                let unbound = || Error::internal("parameter outside of its lambda");
                bound.map(|it| it.1.clone()).ok_or_else(unbound)
            }
            ExprKind::Lambda { .. } => Err(Error::internal("lambda that is not an argument")),
            ExprKind::Call { name, args } if args.iter().any(is_lambda) => {
                let types: Vec<ArgumentType> = args.iter().map(Expr::argument_type).collect();
                let bound = self.registry.resolve_higher_order(name, &types)?;
                self.higher_order(&bound, args, &expr.data_type, row)
            }
            ExprKind::Call { name, args } => {
                let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
                let bound = self.registry.resolve_scalar(name, &types)?;
                self.call(&bound, args, &expr.data_type, row)
            }
            ExprKind::Cast { input, null_on_error, package } => {
                let value = self.evaluate(input, row)?;
                let (from, to) = (&input.data_type, &expr.data_type);
                if !null_on_error {
                    return self.cast(value, *package, from, to, BadParts::Fail);
                }
                let converted = self.cast(value, *package, from, to, BadParts::Null);
                Ok(converted.unwrap_or(Value::Null))
            }
            ExprKind::Special { form, args } => self.special(*form, args, row),
        }
    }

    /// Whether `expr` is true for `row`: AND is not true when one argument is false or null,
    /// whatever the others are, and OR is true when one argument is.
    ///
    /// # Errors
    ///
    /// As [`Plain::evaluate`].
    pub fn select(&self, expr: &Expr, row: usize) -> Result<bool> {
        match &expr.kind {
            ExprKind::Special { form: SpecialForm::And, args } => {
                let results: Vec<_> = args.iter().map(|it| self.select(it, row)).collect();
                if results.iter().any(|it| matches!(it, Ok(false))) {
                    return Ok(false);
                }
                results.into_iter().collect::<Result<Vec<_>>>().map(|_| true)
            }
            ExprKind::Special { form: SpecialForm::Or, args } => {
                let results: Vec<_> = args.iter().map(|it| self.select(it, row)).collect();
                if results.iter().any(|it| matches!(it, Ok(true))) {
                    return Ok(true);
                }
                results.into_iter().collect::<Result<Vec<_>>>().map(|_| false)
            }
            _ => Ok(self.evaluate(expr, row)? == Value::Boolean(true)),
        }
    }

    fn call(&self, bound: &BoundScalar, args: &[Expr], to: &Type, row: usize) -> Result<Value> {
        let mut vectors = Vec::new();
        for arg in args {
            let value = self.evaluate(arg, row)?;
            if value.is_null() && bound.traits.propagates_nulls {
                return Ok(Value::Null);
            }
            vectors.push(Vector::from_values(arg.data_type.clone(), &[value]));
        }
        invoke(bound, &vectors, to, self.context())
    }

    fn higher_order(
        &self,
        bound: &BoundHigherOrder,
        args: &[Expr],
        to: &Type,
        row: usize,
    ) -> Result<Value> {
        let mut vectors = Vec::new();
        for arg in args.iter().filter(|it| !is_lambda(it)) {
            let value = self.evaluate(arg, row)?;
            if value.is_null() && bound.traits.propagates_nulls {
                return Ok(Value::Null);
            }
            vectors.push(Vector::from_values(arg.data_type.clone(), &[value]));
        }
        let lambdas = args.iter().filter(|it| is_lambda(it));
        let mut lambdas: Vec<_> =
            lambdas.map(|lambda| PlainLambda { plain: *self, lambda, row }).collect();
        let mut objects: Vec<&mut dyn Lambda> = Vec::new();
        objects.extend(lambdas.iter_mut().map(|it| it as &mut dyn Lambda));
        let mut ctx = self.context();
        let result =
            bound.function.evaluate(&Rows::all(1), &vectors, &mut objects, to, &mut ctx)?;
        match ctx.errors.first() {
            Some(error) => Err(error),
            None => result.value(0),
        }
    }

    fn cast(
        &self,
        value: Value,
        package: Package,
        from: &Type,
        to: &Type,
        bad_parts: BadParts,
    ) -> Result<Value> {
        if value.is_null() || from == to {
            return Ok(value);
        }
        let bound = self.registry.resolve_cast_of(package, from, to)?;
        let vector = Vector::from_values(from.clone(), &[value]);
        let ctx = EvalContext { bad_parts, ..self.context() };
        invoke(&bound, &[vector], to, ctx)
    }

    fn special(&self, form: SpecialForm, args: &[Expr], row: usize) -> Result<Value> {
        let first = args.first().ok_or_else(|| Error::internal("form without arguments"))?;
        match form {
            SpecialForm::And => self.conjunction(args, false, row),
            SpecialForm::Or => self.conjunction(args, true, row),
            SpecialForm::Switch => {
                let (branches, default) = args.as_chunks::<2>();
                for [condition, branch] in branches {
                    if self.select(condition, row)? {
                        return self.evaluate(branch, row);
                    }
                }
                default.first().map_or(Ok(Value::Null), |it| self.evaluate(it, row))
            }
            SpecialForm::Coalesce => {
                for arg in args {
                    let value = self.evaluate(arg, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            SpecialForm::In => self.is_in(first, &args[1..], row),
            SpecialForm::Try => Ok(self.evaluate(first, row).unwrap_or(Value::Null)),
            SpecialForm::IsNull => Ok(Value::Boolean(self.evaluate(first, row)?.is_null())),
        }
    }

    fn conjunction(&self, args: &[Expr], decides: bool, row: usize) -> Result<Value> {
        let results: Vec<_> = args.iter().map(|it| self.evaluate(it, row)).collect();
        combine(results, decides)
    }

    fn is_in(&self, input: &Expr, list: &[Expr], row: usize) -> Result<Value> {
        let value = self.evaluate(input, row)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let left = Vector::from_values(input.data_type.clone(), &[value]);
        let is_equal = |item: &Expr| {
            let value = self.evaluate(item, row)?;
            if value.is_null() {
                return Ok(Value::Null);
            }
            let right = Vector::from_values(item.data_type.clone(), &[value]);
            Ok(Value::Boolean(comparator(&left, &right)?.is_equal(0, 0)))
        };
        combine(list.iter().map(is_equal).collect(), true)
    }
}

fn invoke(bound: &BoundScalar, args: &[Vector], to: &Type, mut ctx: EvalContext) -> Result<Value> {
    let result = bound.function.evaluate(&Rows::all(1), args, to, &mut ctx)?;
    match ctx.errors.first() {
        Some(error) => Err(error),
        None => result.value(0),
    }
}

fn is_lambda(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Lambda { .. })
}

/// A lambda of a call, for one row of the call.
struct PlainLambda<'a> {
    plain: Plain<'a>,
    lambda: &'a Expr,
    row: usize,
}

impl Lambda for PlainLambda<'_> {
    fn evaluate(&mut self, applied: &Applied<'_>, ctx: &mut EvalContext) -> Result<Vector> {
        let ExprKind::Lambda { level, body, .. } = &self.lambda.kind else {
            return Err(Error::internal("argument is no lambda"));
        };
        let mut values = vec![Value::Null; applied.rows.len()];
        applied.rows.try_for_each(|row| -> Result<()> {
            let mut parameters = self.plain.parameters.to_vec();
            for (index, vector) in applied.parameters.iter().enumerate() {
                parameters.push((Parameter { level: *level, index }, vector.value(row)?));
            }
            let plain = Plain { parameters: &parameters, ..self.plain };
            match plain.evaluate(body, self.row) {
                Ok(value) => values[row] = value,
                Err(error) => ctx.fail(applied.owners[row] as usize, || error),
            }
            Ok(())
        })?;
        Ok(Vector::from_values(self.lambda.data_type.clone(), &values))
    }
}

/// AND or OR of values some of which failed.
fn combine(results: Vec<Result<Value>>, decides: bool) -> Result<Value> {
    let deciding = Value::Boolean(decides);
    if results.iter().any(|it| it.as_ref().is_ok_and(|it| *it == deciding)) {
        return Ok(deciding);
    }
    let values = results.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(match values.iter().any(Value::is_null) {
        true => Value::Null,
        false => Value::Boolean(!decides),
    })
}

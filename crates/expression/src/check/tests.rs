use super::*;
use crate::Parameter;
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_function::{
    BoundHigherOrder, BoundScalar, EvalContext, FunctionDoc, HigherOrderFunction, Lambda,
    ScalarFunction, ScalarTraits,
};
use volley_types::Value;
use volley_vector::{Rows, Vector};

/// Takes an INTEGER and gives a BIGINT.
struct Wide;

impl ScalarFunction for Wide {
    fn evaluate(
        &self,
        rows: &Rows,
        _args: &[Vector],
        result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        Ok(Vector::nulls(result_type.clone(), rows.len()))
    }
}

/// Never called.
struct Keep;

impl HigherOrderFunction for Keep {
    fn evaluate(
        &self,
        _rows: &Rows,
        args: &[Vector],
        _lambdas: &mut [&mut dyn Lambda],
        _result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        Ok(args[0].clone())
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    let bind = |args: &[Type]| {
        let bound = BoundScalar {
            name: String::new(),
            args: vec![Type::Integer],
            result: Type::BigInt,
            traits: ScalarTraits::INFALLIBLE,
            function: Arc::new(Wide),
        };
        (args == [Type::Integer]).then_some(bound)
    };
    let doc = FunctionDoc::new("wide(x)", "x as a BIGINT", "math", &[]);
    registry.add_scalar("wide", doc, Arc::new(bind));
    let list = Type::array(Type::Integer);
    let bind_keep = move |args: &[ArgumentType]| {
        let [ArgumentType::Value(_), ArgumentType::Lambda(_)] = args else { return None };
        let lambda = ArgumentType::of_lambda([Type::Integer], Some(Type::Boolean));
        Some(BoundHigherOrder {
            name: String::new(),
            args: vec![ArgumentType::Value(list.clone()), lambda],
            result: list.clone(),
            traits: ScalarTraits::DEFAULT,
            function: Arc::new(Keep),
        })
    };
    let doc = FunctionDoc::new("keep(list, condition)", "some elements", "nested", &[]);
    registry.add_higher_order("keep", doc, Arc::new(bind_keep));
    registry
}

fn column(data_type: Type) -> Expr {
    Expr::column(0, data_type)
}

fn special(form: SpecialForm, args: &[&Expr], data_type: Type) -> Expr {
    Expr::special(form, args.iter().map(|it| (*it).clone()).collect(), data_type)
}

/// The message for an expression over an INTEGER column.
fn refused(expr: &Expr) -> String {
    let error = expr.check(&[Type::Integer], &registry()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidQuery);
    error.message().to_owned()
}

#[test]
fn expressions_whose_types_fit_pass() {
    let number = column(Type::Integer);
    let truth = Expr::constant(Value::Boolean(true), Type::Boolean);
    let text = Expr::constant(Value::text("x"), Type::Varchar);
    let null = Expr::constant(Value::Null, Type::Unknown);
    let exprs = [
        Expr::call("wide", vec![number.clone()], Type::BigInt),
        null.cast(Type::Date),
        special(SpecialForm::And, &[&truth, &truth], Type::Boolean),
        special(SpecialForm::Switch, &[&truth, &text, &text], Type::Varchar),
        special(SpecialForm::Coalesce, &[&number, &number], Type::Integer),
        special(SpecialForm::In, &[&text, &text], Type::Boolean),
        special(SpecialForm::Try, &[&number], Type::Integer),
        special(SpecialForm::IsNull, &[&text], Type::Boolean),
    ];
    for expr in &exprs {
        expr.check(&[Type::Integer], &registry()).unwrap();
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let number = column(Type::Integer);
    let truth = Expr::constant(Value::Boolean(true), Type::Boolean);
    let text = Expr::constant(Value::text("x"), Type::Varchar);
    let check = |expr: Expr, message: &str| assert_eq!(refused(&expr), message);
    check(Expr::column(1, Type::Integer), "column #1 of 1");
    check(column(Type::Date), "column #0 is INTEGER, and not DATE");
    let call = |arg: &Expr, result| Expr::call("wide", vec![arg.clone()], result);
    check(call(&number, Type::Date), "wide is BIGINT, and not DATE");
    assert!(refused(&call(&text, Type::BigInt)).contains("wide"));
    assert!(refused(&Expr::call("narrow", vec![], Type::BigInt)).contains("narrow"));
    assert!(refused(&text.clone().cast(Type::Interval)).contains("VARCHAR"));
    let special = |form, args: &[&Expr], data_type| special(form, args, data_type);
    check(special(SpecialForm::And, &[&number], Type::Boolean), "and is INTEGER, and not BOOLEAN");
    check(special(SpecialForm::Or, &[&truth], Type::Integer), "or is BOOLEAN, and not INTEGER");
    check(special(SpecialForm::Try, &[], Type::Integer), "0 arguments of try");
    let switch = special(SpecialForm::Switch, &[&truth, &number, &text], Type::Varchar);
    check(switch, "branch is INTEGER, and not VARCHAR");
    let switch = special(SpecialForm::Switch, &[&number, &text, &text], Type::Varchar);
    check(switch, "condition is INTEGER, and not BOOLEAN");
    let within = special(SpecialForm::In, &[&number, &text], Type::Boolean);
    check(within, "in is VARCHAR, and not INTEGER");
}

#[test]
fn what_is_deep_inside_is_checked_without_recursion() {
    let mut expr = Expr::column(3, Type::Boolean);
    for _ in 0..100_000 {
        expr = Expr::special(SpecialForm::Try, vec![expr], Type::Boolean);
    }
    assert_eq!(refused(&expr), "column #3 of 1");
    // Its parts are not dropped within each other.
    let mut rest = vec![expr];
    while let Some(mut expr) = rest.pop() {
        if let ExprKind::Special { args, .. } = &mut expr.kind {
            rest.append(args);
        }
    }
}

/// `keep(list, x -> boolean)` of INTEGERs.
fn keep(body: Expr, parameter: Type) -> Expr {
    let data_type = body.data_type.clone();
    let kind = ExprKind::Lambda { level: 0, parameters: vec![parameter], body: Box::new(body) };
    let list = Type::array(Type::Integer);
    let args = vec![Expr::constant(Value::Null, list.clone()), Expr::new(kind, data_type)];
    Expr::call("keep", args, list)
}

#[test]
fn lambdas_are_checked() {
    let parameter = Expr::new(ExprKind::Parameter(Parameter { level: 0, index: 0 }), Type::Integer);
    let is_null = |arg: &Expr| special(SpecialForm::IsNull, &[arg], Type::Boolean);
    let right = keep(is_null(&parameter), Type::Integer);
    right.check(&[Type::Integer], &registry()).unwrap();
    let column = keep(is_null(&Expr::column(7, Type::Integer)), Type::Integer);
    assert_eq!(refused(&column), "column #7 of 1");
    let message = "a lambda of other types than keep takes";
    assert_eq!(refused(&keep(is_null(&parameter), Type::Date)), message);
    assert_eq!(refused(&keep(parameter, Type::Integer)), message);
    let lambda = right.children()[1].clone();
    let message = "a lambda that is not an argument of a call";
    assert_eq!(refused(&lambda), message);
    assert_eq!(refused(&special(SpecialForm::And, &[&lambda], Type::Boolean)), message);
    assert_eq!(refused(&keep(lambda, Type::Integer)), message);
}

//! RowExpressions as expressions of the engine.

use super::{STACK_ADDED_BYTES, STACK_LEFT_BYTES, Translator, relation::Relation};
use crate::{
    json::{Json, Object},
    plan_json::class_of,
    session_time::SessionTime,
    type_signature::parse_type,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind, Parameter, SpecialForm};
use volley_function::{FunctionNames, Package, Registry};
use volley_types::{Type, Value};
use volley_wire::presto_page::read_block;

/// How deep expressions may nest.
const DEPTH_MAX: usize = 2000;

/// What variables of an expression mean.
pub(super) struct ExpressionScope<'s> {
    pub registry: &'s Registry,
    time: &'s SessionTime,
    /// Variables that are columns.
    columns: Vec<(&'s str, usize, Type)>,
    /// The lambdas around the expression, the outermost first.
    lambdas: Vec<LambdaScope>,
    depth: usize,
}

/// The names that a lambda gives a meaning.
#[derive(Default)]
pub(super) struct LambdaScope {
    /// Names that stand for values which the lambda captures.
    pub captured: Vec<(String, Expr)>,
    pub parameters: Vec<(String, Type)>,
}

impl Translator<'_> {
    /// A scope of the columns of `relation`.
    pub(super) fn scope<'s>(&'s self, relation: &'s Relation) -> Result<ExpressionScope<'s>> {
        self.scope_of_pairs(relation, None)
    }

    /// A scope of pairs of rows: the columns of `left`, then those of `right`.
    pub(super) fn scope_of_pairs<'s>(
        &'s self,
        left: &'s Relation,
        right: Option<&'s Relation>,
    ) -> Result<ExpressionScope<'s>> {
        let width = left.node.schema().len();
        let mut columns = Vec::new();
        for (name, position) in &left.columns {
            columns.push((name.as_str(), *position, left.type_at(*position)?.clone()));
        }
        for (name, position) in right.iter().flat_map(|it| &it.columns) {
            let data_type = right.map(|it| it.type_at(*position)).transpose()?.cloned();
            columns.push((name.as_str(), width + position, data_type.unwrap_or(Type::Unknown)));
        }
        let (registry, time) = (self.registry, self.time);
        Ok(ExpressionScope { registry, time, columns, lambdas: Vec::new(), depth: 0 })
    }
}

impl ExpressionScope<'_> {
    /// The expression of a RowExpression.
    ///
    /// # Errors
    ///
    /// Unsupported: a form or type that the worker does not have. Invalid query: no such function
    /// or variable. Invalid value: malformed JSON.
    pub(super) fn expr(&mut self, json: Json<'_>) -> Result<Expr> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::unsupported(format!("an expression of {DEPTH_MAX} levels")));
        }
        self.depth += 1;
        let expr = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_ADDED_BYTES, || self.any(json));
        self.depth -= 1;
        expr
    }

    fn any(&mut self, json: Json<'_>) -> Result<Expr> {
        let class = class_of(json, "an expression")?;
        let object = json.object("an expression")?;
        match class.as_str() {
            "variable" | "VariableReferenceExpression" => self.variable(&object),
            "constant" | "ConstantExpression" => self.constant(&object),
            "call" | "CallExpression" => self.call(&object),
            "special" | "SpecialFormExpression" => self.special(&object),
            "lambda" | "LambdaDefinitionExpression" => {
                Err(Error::unsupported("a lambda that is no argument of a function"))
            }
            _ => Err(Error::unsupported(format!("the expression {class} of Presto"))),
        }
    }

    fn variable(&self, object: &Object<'_>) -> Result<Expr> {
        let name: String = object.read("name")?;
        for (level, lambda) in self.lambdas.iter().enumerate().rev() {
            if let Some((_, value)) = lambda.captured.iter().find(|it| it.0 == name) {
                return Ok(value.clone());
            }
            let mut parameters = lambda.parameters.iter().enumerate();
            if let Some((index, parameter)) = parameters.find(|it| it.1.0 == name) {
                let data_type = parameter.1.clone();
                let kind = ExprKind::Parameter(Parameter { level, index });
                return Ok(Expr::new(kind, data_type));
            }
        }
        let found = self.columns.iter().find(|it| it.0 == name);
        let (_, position, data_type) =
            found.ok_or_else(|| Error::invalid_query(format!("no such variable: {name}")))?;
        Ok(Expr::column(*position, data_type.clone()))
    }

    fn constant(&self, object: &Object<'_>) -> Result<Expr> {
        let data_type = self.data_type(&object.read::<String>("type")?)?;
        let block: String = object.read("valueBlock")?;
        let value = self.time.value_from_presto(read_constant(&block, &data_type)?);
        Ok(Expr::constant(value, data_type))
    }

    fn special(&mut self, object: &Object<'_>) -> Result<Expr> {
        let form: String = object.read("form")?;
        let data_type = self.data_type(&object.read::<String>("returnType")?)?;
        let arguments = object.elements("arguments")?;
        if form == "SWITCH" {
            return self.switch(&arguments, data_type);
        }
        let mut args = Vec::with_capacity(arguments.len());
        for argument in arguments {
            args.push(self.expr(argument)?);
        }
        let special = |form| Ok(Expr::special(form, args.clone(), data_type.clone()));
        match (form.as_str(), args.as_slice()) {
            ("AND", _) => special(SpecialForm::And),
            ("OR", _) => special(SpecialForm::Or),
            ("IN", [_, _, ..]) => special(SpecialForm::In),
            ("IS_NULL", [_]) => special(SpecialForm::IsNull),
            ("COALESCE", [_, ..]) => {
                let args = args.iter().map(|it| it.clone().cast(data_type.clone())).collect();
                Ok(Expr::special(SpecialForm::Coalesce, args, data_type))
            }
            ("IF", [condition, then, otherwise]) => {
                Ok(if_else(condition.clone(), then.clone(), otherwise.clone(), data_type))
            }
            ("NULL_IF", [first, second]) => {
                let equal = self.function("eq", vec![first.clone(), second.clone()])?;
                let null = Expr::constant(Value::Null, data_type.clone());
                Ok(if_else(equal, null, first.clone(), data_type))
            }
            ("DEREFERENCE", [row, position]) => dereference(row, position),
            ("ROW_CONSTRUCTOR", _) => self.row_constructor(args, data_type),
            _ => {
                let count = args.len();
                let message = format!("the special form {form} of {count} arguments of Presto");
                Err(Error::unsupported(message))
            }
        }
    }

    /// `SWITCH(value, WHEN(c1, r1), ..., default)`: conditions if the value is true, else values.
    fn switch(&mut self, arguments: &[Json<'_>], data_type: Type) -> Result<Expr> {
        let [value, rest @ ..] = arguments else {
            return Err(Error::invalid_value("SWITCH without arguments"));
        };
        let value = self.expr(*value)?;
        let is_searched = value.kind == ExprKind::Constant(Value::Boolean(true));
        let (mut args, mut default) = (Vec::new(), None);
        for argument in rest {
            let object = argument.object("an argument of SWITCH")?;
            let form: Option<String> = object.read("form")?;
            if form.as_deref() != Some("WHEN") {
                default = Some(self.expr(*argument)?.cast(data_type.clone()));
                continue;
            }
            let parts = object.elements("arguments")?;
            let [condition, result] = parts.as_slice() else {
                return Err(Error::invalid_value("WHEN without a condition and a result"));
            };
            let condition = self.expr(*condition)?;
            args.push(match is_searched {
                true => condition,
                false => self.function("eq", vec![value.clone(), condition])?,
            });
            args.push(self.expr(*result)?.cast(data_type.clone()));
        }
        args.push(default.unwrap_or_else(|| Expr::constant(Value::Null, data_type.clone())));
        match args.len() {
            1 => Ok(args.remove(0)),
            _ => Ok(Expr::special(SpecialForm::Switch, args, data_type)),
        }
    }

    fn row_constructor(&self, args: Vec<Expr>, data_type: Type) -> Result<Expr> {
        let Type::Row(fields) = &data_type else {
            return Err(Error::invalid_value("ROW_CONSTRUCTOR of another type"));
        };
        if fields.len() != args.len() {
            return Err(Error::invalid_value("ROW_CONSTRUCTOR of another number of fields"));
        }
        let args = args.into_iter().zip(fields.iter());
        let args = args.map(|(arg, field)| arg.cast(field.data_type.clone())).collect();
        Ok(Expr::call("row", args, data_type))
    }

    /// A call of one of Presto's functions.
    ///
    /// # Errors
    ///
    /// Invalid query: no such function.
    pub(super) fn function(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        let bound = self.names().resolve_scalar(name, &types)?;
        let args = args.into_iter().zip(&bound.args).map(|(arg, to)| arg.cast(to.clone()));
        Ok(Expr::call(bound.name, args.collect(), bound.result))
    }

    /// The number, or an error with this message where it is negative.
    pub(super) fn not_negative(&self, number: Expr, message: &str) -> Result<Expr> {
        if let ExprKind::Constant(value) = &number.kind
            && value.as_i128().is_none_or(|it| it >= 0)
        {
            return Ok(number);
        }
        let zero = Expr::constant(Value::BigInt(0), Type::BigInt);
        let is_negative = self.function("lt", vec![number.clone(), zero])?;
        let message = Expr::constant(Value::text(message), Type::Varchar);
        let failure = self.function("fail", vec![message])?;
        let data_type = number.data_type.clone();
        Ok(if_else(is_negative, failure, number, data_type))
    }

    pub(super) fn names(&self) -> FunctionNames<'_> {
        FunctionNames::new(self.registry, &[Package::Presto, Package::Core])
    }

    pub(super) fn data_type(&self, signature: &str) -> Result<Type> {
        parse_type(signature, self.registry)
    }

    /// Runs `f` inside a lambda; also its level.
    pub(super) fn within<T>(
        &mut self,
        lambda: LambdaScope,
        f: impl FnOnce(&mut Self, usize) -> Result<T>,
    ) -> Result<T> {
        let level = self.lambdas.len();
        self.lambdas.push(lambda);
        let result = f(self, level);
        self.lambdas.pop();
        result
    }
}

/// The only value of a block in base64.
///
/// # Errors
///
/// Invalid value: no base64. Corruption: no block of one value of the type.
pub(super) fn read_constant(block: &str, data_type: &Type) -> Result<Value> {
    let no_base64 = |it| Error::invalid_value(format!("a constant that is no base64: {it}"));
    let bytes = STANDARD.decode(block).map_err(no_base64)?;
    let vector = read_block(&bytes, data_type).map_err(|it| it.at("in", "a constant"))?;
    match vector.len() {
        1 => vector.value(0),
        rows => Err(Error::corruption(format!("a constant of {rows} values"))),
    }
}

fn if_else(condition: Expr, then: Expr, otherwise: Expr, data_type: Type) -> Expr {
    let args = vec![condition, then.cast(data_type.clone()), otherwise.cast(data_type.clone())];
    Expr::special(SpecialForm::Switch, args, data_type)
}

/// The field at a position from 0.
fn dereference(row: &Expr, position: &Expr) -> Result<Expr> {
    let index = match &position.kind {
        ExprKind::Constant(value) => value.as_i128().and_then(|it| usize::try_from(it).ok()),
        _ => None,
    };
    let field = match (&row.data_type, index) {
        (Type::Row(fields), Some(index)) => fields.get(index).map(|it| (index, it)),
        _ => None,
    };
    let (index, field) = field.ok_or_else(|| Error::invalid_value("DEREFERENCE of no field"))?;
    let position = Expr::constant(Value::BigInt(index as i64 + 1), Type::BigInt);
    Ok(Expr::call("struct_extract", vec![row.clone(), position], field.data_type.clone()))
}

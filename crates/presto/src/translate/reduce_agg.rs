//! `reduce_agg`: the aggregate collects values, and expressions above it fold them.
//!
//! ```text
//! SINGLE         reduce(values, initial, input, s -> s); a further aggregate has the initial state
//!                of a row of the group where that is no constant
//! PARTIAL        the same: a state per group
//! INTERMEDIATE, FINAL   reduce(the states but the first, the first state, combine, s -> s)
//! ```

use super::{
    Translator,
    aggregate::Calls,
    expression::ExpressionScope,
    function_call::{is_lambda, wrong_arguments},
    relation::unnamed,
};
use crate::{
    json::{Json, Object},
    plan_json::{Variable, variable_name},
};
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind, Parameter, SourceSpan, SpecialForm};
use volley_plan::Aggregate;
use volley_types::{Type, Value};

/// The name of the function.
pub(super) const REDUCE_AGG: &str = "reduce_agg";

/// How the collected values of a group become a state.
pub(super) struct Fold {
    /// The aggregate that collects them, among those of its node.
    aggregate: usize,
    initial: Initial,
    /// From a state and a value to the next state.
    lambda: Expr,
}

/// The state before the first value.
enum Initial {
    /// The first value: the values are states.
    First,
    Constant(Expr),
    /// What this aggregate found, among those of its node.
    Aggregate(usize),
}

/// The prefix of names of columns that only folds read.
const HIDDEN: &str = "$initial ";

/// Whether a column of an aggregation is one that only folds read.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with(HIDDEN)
}

impl Translator<'_> {
    /// One call of `reduce_agg` under the key `name<type>`, whose rows `filter` chooses.
    pub(super) fn reduce_agg(
        &self,
        calls: &mut Calls,
        key: &str,
        call: &Object<'_>,
        filter: Option<usize>,
    ) -> Result<()> {
        let arguments = call.elements("arguments")?;
        let (mut values, mut lambdas) = (Vec::new(), Vec::new());
        for argument in arguments {
            let mut scope = self.scope(calls.computed.relation())?;
            match is_lambda(argument)? {
                true => lambdas.push(scope.lambda(argument)?),
                false => values.push(scope.expr(argument)?),
            }
        }
        let merges = calls.step.merges();
        let ([input, combine], Some(value)) = (lambdas.as_slice(), values.first()) else {
            return Err(wrong_arguments());
        };
        let initial = match (merges, values.as_slice()) {
            (true, _) => Initial::First,
            (false, [_, initial]) if matches!(initial.kind, ExprKind::Constant(_)) => {
                Initial::Constant(initial.clone())
            }
            (false, [_, initial]) => Initial::Aggregate(self.initial_state(calls, initial)?),
            _ => return Err(wrong_arguments()),
        };
        let lambda = if merges { combine.clone() } else { input.clone() };
        let bound = self.names().resolve_aggregate(REDUCE_AGG, &[value.data_type.clone()])?;
        let state = self.parse_type(&call.read::<String>("returnType")?)?;
        let collected = match merges {
            true => self.scope(calls.computed.relation())?.collected(value.clone())?,
            false => value.clone(),
        };
        let args = vec![calls.computed.position(collected)];
        calls.folds.push(Fold { aggregate: calls.aggregates.len(), initial, lambda });
        calls.fields.push(unnamed(bound.result.clone()));
        calls.variables.push((variable_name(key).to_owned(), state));
        calls.aggregates.push(Aggregate {
            function: bound.name,
            args,
            arg_types: bound.args,
            distinct: false,
            merges: false,
            filter,
            order_by: Vec::new(),
            place: SourceSpan::default(),
        });
        Ok(())
    }

    /// Adds the aggregate that finds the initial state of a group.
    fn initial_state(&self, calls: &mut Calls, initial: &Expr) -> Result<usize> {
        let bound = self.names().resolve_aggregate("arbitrary", &[initial.data_type.clone()])?;
        if bound.intermediate != bound.result {
            return Err(Error::internal("a state of arbitrary that is no value"));
        }
        let index = calls.aggregates.len();
        let args = vec![calls.computed.position(initial.clone())];
        calls.fields.push(unnamed(bound.result.clone()));
        calls.variables.push((format!("{HIDDEN}{index}"), bound.result));
        calls.aggregates.push(Aggregate {
            function: bound.name,
            args,
            arg_types: bound.args,
            distinct: false,
            merges: false,
            filter: None,
            order_by: Vec::new(),
            place: SourceSpan::default(),
        });
        Ok(index)
    }

    /// The type of the state that a merging call reads, if it is one of `reduce_agg`.
    pub(super) fn reduce_state(&self, call: &Object<'_>) -> Result<Option<(String, Type)>> {
        let arguments = call.elements("arguments")?;
        let state = arguments.first().copied().map(|it: Json<'_>| it.read::<Variable>("a state"));
        let Some(Ok(state)) = state else { return Ok(None) };
        Ok(Some((state.name, self.parse_type(&call.read::<String>("returnType")?)?)))
    }
}

impl ExpressionScope<'_> {
    /// The columns of an aggregation's result, with folded ones in the place of collected values.
    pub(super) fn folded(
        &self,
        columns: &mut [(String, Expr)],
        keys: usize,
        folds: Vec<Fold>,
    ) -> Result<()> {
        for fold in folds {
            let missing = || Error::internal("no column of reduce_agg");
            let initial = match fold.initial {
                Initial::First => None,
                Initial::Constant(initial) => Some(initial),
                Initial::Aggregate(index) => {
                    Some(columns.get(keys + index).ok_or_else(missing)?.1.clone())
                }
            };
            let (_, column) = columns.get_mut(keys + fold.aggregate).ok_or_else(missing)?;
            *column = self.fold(column.clone(), initial, fold.lambda)?;
        }
        Ok(())
    }

    /// A state as what the aggregate collected of one value: an array, or null for null.
    fn collected(&self, state: Expr) -> Result<Expr> {
        let is_null = Expr::special(SpecialForm::IsNull, vec![state.clone()], Type::Boolean);
        let array = self.function("array_constructor", vec![state])?;
        let data_type = array.data_type.clone();
        let null = Expr::constant(Value::Null, data_type.clone());
        Ok(Expr::special(SpecialForm::Switch, vec![is_null, null, array], data_type))
    }

    fn fold(&self, values: Expr, initial: Option<Expr>, lambda: Expr) -> Result<Expr> {
        let number = |it| Expr::constant(Value::BigInt(it), Type::BigInt);
        let (values, initial) = match initial {
            Some(initial) => (values, initial),
            None => {
                let count = self.function("cardinality", vec![values.clone()])?;
                let first = self.function("element_at", vec![values.clone(), number(1)])?;
                (self.function("slice", vec![values, number(2), count])?, first)
            }
        };
        let state = lambda.data_type.clone();
        let initial = initial.cast(state.clone());
        let parameter = Parameter { level: 0, index: 0 };
        let body = Expr::new(ExprKind::Parameter(parameter), state.clone());
        let parameters = vec![state.clone()];
        let result = ExprKind::Lambda { level: 0, parameters, body: Box::new(body) };
        let result = Expr::new(result, state);
        self.with_lambdas("reduce", vec![values, initial, lambda, result])
    }
}

//! `array_agg`: all values, nulls included, as an array.

use super::{
    bound,
    form::{Form, arg},
    held::value_bytes,
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, Registry};
use volley_memory::TypedSlots;
use volley_types::{Type, Value};
use volley_vector::{Decoded, Vector};

/// Registers `array_agg` and `list`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "array_agg(x) -> array",
        "The values of all rows, nulls included; null when there is no row.",
        "aggregate",
        &[("array_agg(x ORDER BY x) FROM (VALUES (2), (1)) v(x)", "[1, 2]")],
    );
    registry.add_aggregate("array_agg", doc.clone(), Arc::new(bind));
    registry.add_aggregate("list", doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    let array = Type::array(arg.clone());
    let form = ArrayAgg { array: array.clone() };
    let aggregate = bound(vec![arg.clone()], array.clone(), array, form);
    Some(BoundAggregate { order_sensitive: true, ..aggregate })
}

struct ArrayAgg {
    array: Type,
}

impl Form for ArrayAgg {
    type State = Vec<Value>;
    type Input<'a> = &'a Decoded<'a>;
    type Partial<'a> = &'a Vector;
    const IGNORES_NULLS: bool = false;

    fn empty(&self) -> Vec<Value> {
        Vec::new()
    }

    fn open<'a>(&self, args: &'a [Decoded<'a>]) -> Result<&'a Decoded<'a>> {
        arg(args, 0)
    }

    fn add(&self, state: &mut Vec<Value>, input: &&Decoded<'_>, row: usize, index: usize) {
        let value = if input.is_null(row) { None } else { input.base().value(index).ok() };
        state.push(value.unwrap_or(Value::Null));
    }

    fn open_partial<'a>(&self, partial: &'a Decoded<'a>) -> Result<&'a Vector> {
        Ok(partial.base())
    }

    fn merge(&self, state: &mut Vec<Value>, partial: &&Vector, index: usize) {
        if let Ok(Value::Array(values)) = partial.value(index) {
            state.extend(values.iter().cloned());
        }
    }

    fn partial(&self, states: &mut TypedSlots<'_, Vec<Value>>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, Vec<Value>>) -> Result<Vector> {
        let len = states.len();
        let array = |slot| {
            let state: &mut Vec<Value> = states.get(slot);
            if state.is_empty() { Value::Null } else { Value::Array(state.as_slice().into()) }
        };
        let arrays: Vec<Value> = (0..len).map(array).collect();
        Ok(Vector::from_values(self.array.clone(), &arrays))
    }

    fn outside_bytes(&self, state: &Vec<Value>) -> usize {
        let each: usize = state.iter().map(value_bytes).sum();
        state.capacity() * size_of::<Value>() + each
    }
}

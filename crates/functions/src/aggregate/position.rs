//! `first` and `last`: the value of the first or last row, also when it is null.

use super::{
    bound,
    typed::{TypedAggregate, arg, boolean_column, row_column, unexpected_layout},
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{Field, Type, Value};
use volley_vector::{Decoded, Values, Vector};

use super::owned_value::value_bytes;

/// Registers `first` and `last`.
pub(super) fn register(registry: &mut Registry) {
    let first = doc(
        "first(x) -> as x",
        "The value of the first row, which may be null; with ORDER BY, in that order.",
        "aggregate",
        &[("first(x ORDER BY x) FROM (VALUES (2), (1)) v(x)", "1")],
    );
    let last = doc(
        "last(x) -> as x",
        "The value of the last row, which may be null; with ORDER BY, in that order.",
        "aggregate",
        &[("last(x ORDER BY x) FROM (VALUES (2), (1)) v(x)", "2")],
    );
    registry.add_aggregate("first", first, Arc::new(bind::<false>));
    registry.add_aggregate("last", last, Arc::new(bind::<true>));
}

fn bind<const LAST: bool>(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    let form = Position::<LAST> { data_type: arg.clone() };
    let partial = form.partial_type();
    let aggregate = bound(vec![arg.clone()], partial, arg.clone(), form);
    Some(BoundAggregate { order_sensitive: true, ..aggregate })
}

struct Position<const LAST: bool> {
    data_type: Type,
}

impl<const LAST: bool> Position<LAST> {
    fn partial_type(&self) -> Type {
        Type::row([Field::new("value", self.data_type.clone()), Field::new("seen", Type::Boolean)])
    }

    fn column(&self, states: &mut TypedSlots<'_, Option<Value>>) -> Vector {
        let len = states.len();
        let value = |slot| states.get(slot).clone().unwrap_or(Value::Null);
        let values: Vec<Value> = (0..len).map(value).collect();
        Vector::from_values(self.data_type.clone(), &values)
    }
}

impl<const LAST: bool> TypedAggregate for Position<LAST> {
    /// `None` before the first row.
    type State = Option<Value>;
    type Input<'a> = &'a Decoded<'a>;
    type Partial<'a> = (&'a Vector, &'a Vector);
    const IGNORES_NULLS: &'static [bool] = &[];

    fn empty(&self) -> Option<Value> {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<&'a Decoded<'a>> {
        arg(args, 0)
    }

    fn add(
        &self,
        state: &mut Option<Value>,
        input: &&Decoded<'_>,
        row: usize,
        index: usize,
    ) -> Result<()> {
        if LAST || state.is_none() {
            let value = if input.is_null(row) { None } else { input.base().value(index).ok() };
            *state = Some(value.unwrap_or(Value::Null));
        }
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>> {
        match arg(partial, 0)?.values() {
            Values::Row { children, .. } if children.len() == 2 => Ok((&children[0], &children[1])),
            _ => Err(unexpected_layout()),
        }
    }

    fn merge(
        &self,
        state: &mut Option<Value>,
        partial: &Self::Partial<'_>,
        index: usize,
    ) -> Result<()> {
        let seen = matches!(partial.1.value(index), Ok(Value::Boolean(true)));
        if seen && (LAST || state.is_none()) {
            *state = partial.0.value(index).ok();
        }
        Ok(())
    }

    fn partial(&self, states: &mut TypedSlots<'_, Option<Value>>) -> Result<Vector> {
        let values = self.column(states);
        let seen = boolean_column(states, |state| Some(state.is_some()));
        Ok(row_column(&self.partial_type(), vec![values, seen], states.len()))
    }

    fn result(&self, states: &mut TypedSlots<'_, Option<Value>>) -> Result<Vector> {
        Ok(self.column(states))
    }

    fn external_state_bytes(&self, state: &Option<Value>) -> usize {
        state.as_ref().map_or(0, value_bytes)
    }
}

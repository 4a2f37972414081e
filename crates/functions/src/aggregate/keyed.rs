//! `min` and `max` of types with comparison keys: the value with the least or greatest key.

use super::{
    min_max::Rule,
    owned_value::{OwnedScalar, value_bytes},
    typed::{TypedAggregate, arg},
};
use std::marker::PhantomData;
use volley_error::Result;
use volley_function::simple::Source;
use volley_memory::TypedSlots;
use volley_types::{Type, Value};
use volley_vector::Vector;

/// The value whose key a rule chooses.
pub(super) struct KeyedExtreme<R> {
    data_type: Type,
    rule: PhantomData<fn() -> R>,
}

impl<R> KeyedExtreme<R> {
    pub(super) fn new(data_type: Type) -> KeyedExtreme<R> {
        KeyedExtreme { data_type, rule: PhantomData }
    }
}

impl<R: Rule> TypedAggregate for KeyedExtreme<R> {
    /// A key and its value.
    type State = Option<(Value, Value)>;
    /// The base's keys and values.
    type Input<'a> = (Vector, &'a Vector);
    type Partial<'a> = (Vector, &'a Vector);

    fn empty(&self) -> Self::State {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Self::Input<'a>> {
        self.open_partial(args)
    }

    fn add(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        _row: usize,
        index: usize,
    ) -> Result<()> {
        // A flat base has nothing to load, so there is nothing to fail.
        let at = |vector: &Vector| vector.value(index).unwrap_or(Value::Null);
        let key = at(&input.0);
        let is_chosen = match state {
            Some((kept, _)) => R::replaces::<OwnedScalar>(&key, kept),
            None => true,
        };
        if is_chosen {
            *state = Some((key, at(input.1)));
        }
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>> {
        Ok((arg(partial, 0)?.base().comparison_keys()?.flatten()?, arg(partial, 0)?.base()))
    }

    fn merge(
        &self,
        state: &mut Self::State,
        partial: &Self::Partial<'_>,
        index: usize,
    ) -> Result<()> {
        self.add(state, partial, index, index)
    }

    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        let len = states.len();
        let value = |slot| states.get(slot).as_ref().map_or(Value::Null, |it| it.1.clone());
        let values: Vec<Value> = (0..len).map(value).collect();
        Ok(Vector::from_values(self.data_type.clone(), &values))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |(key, value)| value_bytes(key) + value_bytes(value))
    }
}

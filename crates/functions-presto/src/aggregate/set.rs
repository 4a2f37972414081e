//! Aggregates that make arrays of different values: `set_agg`, `set_union`.

use super::{doc, presto};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, Keys, ValueAggregate, ValueMap, ValueRow, elements};
use volley_types::{CustomOrder, Type, Value};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let agg = doc(
        "set_agg(x) -> array(as x)",
        "The different values in their order, null last if it is one of them; null without rows.",
        &[("set_agg(x) FROM (VALUES (2), (1), (NULL), (2)) t(x)", "[1, 2, NULL]")],
    );
    registry.add_aggregate(&presto("set_agg"), agg, Arc::new(bind_agg));
    let union = doc(
        "set_union(array) -> as the argument",
        "The different elements of all arrays in their order, null last; an empty array when all \
         arrays are null, null without rows.",
        &[("set_union(x) FROM (VALUES (ARRAY[1, 2, 3]), (ARRAY[2, 3, 4])) t(x)", "[1, 2, 3, 4]")],
    );
    registry.add_aggregate(&presto("set_union"), union, Arc::new(bind_union));
}

fn bind_agg(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    bind(value, Type::array(value.clone()), value, From::Values)
}

fn bind_union(args: &[Type]) -> Option<BoundAggregate> {
    let [array @ Type::Array(element)] = args else { return None };
    bind(array, array.clone(), element, From::Arrays)
}

fn bind(arg: &Type, array: Type, element: &Type, from: From) -> Option<BoundAggregate> {
    if element.order() < CustomOrder::Equality {
        return None;
    }
    let aggregate = SetOf { keys: Keys::of(element), from };
    Some(value_aggregate::bound(vec![arg.clone()], array.clone(), array, aggregate))
}

/// Where values come from.
enum From {
    /// One of each row.
    Values,
    /// The elements of an array of each row.
    Arrays,
}

struct SetOf {
    keys: Keys,
    from: From,
}

#[derive(Clone, Default)]
struct Set {
    has_rows: bool,
    values: ValueMap<()>,
}

impl SetOf {
    fn put_all(&self, state: &mut Set, values: &[Value]) {
        state.has_rows = true;
        values.iter().for_each(|it| *state.values.entry(&self.keys, it.clone(), || ()) = ());
    }
}

impl ValueAggregate for SetOf {
    type State = Set;
    const IGNORES_NULLS: &'static [bool] = &[false];

    fn add(&self, state: &mut Set, row: ValueRow<'_>) -> Result<()> {
        let value = row.value(0);
        match self.from {
            From::Values => self.put_all(state, &[value]),
            From::Arrays => self.put_all(state, elements(&value)),
        }
        Ok(())
    }

    fn merge(&self, state: &mut Set, partial: &Value) -> Result<()> {
        self.put_all(state, elements(partial));
        Ok(())
    }

    fn partial(&self, state: &Set) -> Result<Value> {
        if !state.has_rows {
            return Ok(Value::Null);
        }
        let sorted = state.values.sorted(&self.keys).into_iter();
        Ok(Value::Array(sorted.map(|it| it.0.clone()).collect()))
    }

    fn result(&self, state: &Set) -> Result<Value> {
        self.partial(state)
    }

    fn external_state_bytes(&self, state: &Set) -> usize {
        state.values.bytes()
    }
}

//! `reduce_agg`. The aggregate collects the values of a group; the binder puts `reduce` around it.

use super::{doc, presto};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements, value_bytes};
use volley_types::{Type, Value};

/// Registers `reduce_agg`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "reduce_agg(x, initial, (state, x) -> state, (state, state) -> state) -> state",
        "Folds the values that are not null into a state, beginning with `initial`. The second \
         lambda merges two states; the result must not depend on the order of rows. Null when \
         there is no value.",
        &[("reduce_agg(x, 0, (s, x) -> s + x, (a, b) -> a + b) FROM (VALUES (1), (2)) t(x)", "3")],
    );
    let bind = |args: &[Type]| {
        let [value] = args else { return None };
        let array = Type::array(value.clone());
        let bound = value_aggregate::bound(args.to_vec(), array.clone(), array, Collected);
        Some(BoundAggregate { order_sensitive: true, ..bound })
    };
    registry.add_aggregate(&presto("reduce_agg"), doc, Arc::new(bind));
}

/// All values that are not null.
struct Collected;

/// Values, and the bytes that they hold.
#[derive(Clone, Default)]
struct Values {
    values: Vec<Value>,
    bytes: usize,
}

impl Values {
    fn put(&mut self, value: Value) {
        self.bytes += value_bytes(&value);
        self.values.push(value);
    }
}

impl ValueAggregate for Collected {
    type State = Values;

    fn add(&self, state: &mut Values, row: ValueRow<'_>) -> Result<()> {
        state.put(row.value(0));
        Ok(())
    }

    fn merge(&self, state: &mut Values, partial: &Value) -> Result<()> {
        elements(partial).iter().for_each(|it| state.put(it.clone()));
        Ok(())
    }

    fn partial(&self, state: &Values) -> Result<Value> {
        let array = || Value::Array(state.values.as_slice().into());
        Ok(if state.values.is_empty() { Value::Null } else { array() })
    }

    fn result(&self, state: &Values) -> Result<Value> {
        self.partial(state)
    }

    fn external_state_bytes(&self, state: &Values) -> usize {
        state.values.capacity() * size_of::<Value>() + state.bytes
    }
}

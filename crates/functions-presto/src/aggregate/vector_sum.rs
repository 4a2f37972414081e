//! `vector_sum`: the sums of the elements at each position of arrays of one length.

use super::{
    doc,
    map::{NumberSum, sum_type},
    presto,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements};
use volley_types::{Type, Value};

/// Registers `vector_sum`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "vector_sum(array(number)) -> as the argument",
        "The sums of the elements at each position, where null is 0. Arrays of different lengths \
         are an error.",
        &[("vector_sum(x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, NULL])) t(x)", "[4, 2]")],
    );
    registry.add_aggregate(&presto("vector_sum"), doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [array @ Type::Array(element)] = args else { return None };
    let element = Type::clone(element);
    if !element.is_integer() && !matches!(element, Type::Real | Type::Double) {
        return None;
    }
    let partial = Type::array(sum_type(&element));
    let aggregate = VectorSum { element };
    Some(value_aggregate::bound(args.to_vec(), partial, array.clone(), aggregate))
}

struct VectorSum {
    element: Type,
}

impl VectorSum {
    fn put(state: &mut Option<Vec<NumberSum>>, array: &Value) -> Result<()> {
        let array = elements(array);
        let Some(sums) = state else {
            *state = Some(array.iter().map(NumberSum::of).collect());
            return Ok(());
        };
        if sums.len() != array.len() {
            let (left, right) = (sums.len(), array.len());
            let message = format!("vector_sum of arrays of {left} and {right} elements");
            return Err(Error::invalid_value(message));
        }
        sums.iter_mut().zip(array).for_each(|(sum, it)| *sum = sum.plus(NumberSum::of(it)));
        Ok(())
    }
}

impl ValueAggregate for VectorSum {
    type State = Option<Vec<NumberSum>>;

    fn add(&self, state: &mut Self::State, row: ValueRow<'_>) -> Result<()> {
        VectorSum::put(state, &row.value(0))
    }

    fn merge(&self, state: &mut Self::State, partial: &Value) -> Result<()> {
        VectorSum::put(state, partial)
    }

    fn partial(&self, state: &Self::State) -> Result<Value> {
        let Some(sums) = state else { return Ok(Value::Null) };
        Ok(Value::Array(sums.iter().map(|it| it.wide(&self.element)).collect()))
    }

    fn result(&self, state: &Self::State) -> Result<Value> {
        let Some(sums) = state else { return Ok(Value::Null) };
        let sums = sums.iter().map(|it| it.narrow(&self.element));
        Ok(Value::Array(sums.collect::<Result<_>>()?))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |it| it.capacity() * size_of::<NumberSum>())
    }
}

//! `approx_top_k`, and `approx_most_frequent` of other packages: the most frequent values, in
//! bounded memory.
//!
//! Misra and Gries ("Finding repeated elements", 1982), in the form that merges (Agarwal et al.:
//! "Mergeable summaries", 2012): of more than twice `capacity` counters the greatest `capacity`
//! stay, each less what the next one has. A count is too low by at most `rows / capacity`; it is
//! exact while there are at most `2 * capacity` different values.

use crate::{
    documentation::doc,
    value_aggregate::{self, Keys, ValueAggregate, ValueMap, ValueRow, elements, entries},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_types::{CustomOrder, Field, Type, Value, implicit_cast_cost};

/// The most counters that may be asked for.
const CAPACITY_MAX: i64 = 1_000_000;

/// How many counters there are for each value that `approx_top_k` is asked for, and at least.
const COUNTERS_PER_VALUE: i64 = 10;
const COUNTERS_MIN: i64 = 1_000;

/// Registers `approx_top_k`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "approx_top_k(x, k) -> array(as x)",
        "The k values that come most often, or about so, the most frequent first: exact for up to \
         2000 different values.",
        "aggregate",
        &[("approx_top_k(x, 1) FROM (VALUES ('a'), ('b'), ('b')) t(x)", "[b]")],
    );
    registry.add_aggregate("approx_top_k", doc, Arc::new(bind_top_k));
}

fn bind_top_k(args: &[Type]) -> Option<BoundAggregate> {
    let [value, k] = args else { return None };
    implicit_cast_cost(k, &Type::BigInt)?;
    let shape = Shape { value: 0, buckets: 1, capacity: None };
    bound(vec![value.clone(), Type::BigInt], Type::array(value.clone()), shape)
}

/// The binding of `approx_most_frequent(buckets, value, capacity)`, a map of values and counts.
pub fn bind_most_frequent(args: &[Type]) -> Option<BoundAggregate> {
    let [buckets, value, capacity] = args else { return None };
    implicit_cast_cost(buckets, &Type::BigInt)?;
    implicit_cast_cost(capacity, &Type::BigInt)?;
    let shape = Shape { value: 1, buckets: 0, capacity: Some(2) };
    let types = vec![Type::BigInt, value.clone(), Type::BigInt];
    bound(types, Type::map(value.clone(), Type::BigInt), shape)
}

fn bound(types: Vec<Type>, result: Type, shape: Shape) -> Option<BoundAggregate> {
    let value = types.get(shape.value)?;
    if value.order() < CustomOrder::Equality {
        return None;
    }
    let partial = Type::row([
        Field::new("buckets", Type::BigInt),
        Field::new("capacity", Type::BigInt),
        Field::new("counts", Type::map(value.clone(), Type::BigInt)),
    ]);
    let aggregate = MostFrequent { keys: Keys::of(value), shape };
    Some(value_aggregate::bound(types, partial, result, aggregate))
}

/// Which argument is which; with a capacity the result is a map.
struct Shape {
    value: usize,
    buckets: usize,
    capacity: Option<usize>,
}

struct MostFrequent {
    keys: Keys,
    shape: Shape,
}

#[derive(Clone, Default)]
struct Counters {
    /// 0 before the first row.
    buckets: i64,
    capacity: i64,
    counts: ValueMap<i64>,
}

impl MostFrequent {
    fn set_sizes(&self, state: &mut Counters, buckets: i64, capacity: i64) -> Result<()> {
        let is_allowed = |it: i64| (1..=CAPACITY_MAX).contains(&it);
        if !is_allowed(buckets) || !is_allowed(capacity) {
            let what = match self.shape.capacity {
                Some(_) => format!("buckets and capacity ({buckets}, {capacity})"),
                None => format!("the number of values ({buckets})"),
            };
            let message = format!("{what} must be from 1 to {CAPACITY_MAX}");
            return Err(Error::invalid_value(message));
        }
        (state.buckets, state.capacity) = (buckets, capacity);
        Ok(())
    }

    fn put(&self, state: &mut Counters, value: Value, count: i64) {
        *state.counts.entry(&self.keys, value, || 0) += count;
        if state.counts.len() as i64 > 2 * state.capacity {
            self.prune(state);
        }
    }

    fn prune(&self, state: &mut Counters) {
        let mut entries = state.counts.take();
        // By count and value, so that the answer is the same each time.
        entries.sort_by(|left, right| {
            right.1.cmp(&left.1).then_with(|| self.keys.compare(&left.0, &right.0))
        });
        let capacity = state.capacity as usize;
        let less = entries.get(capacity).map_or(0, |it| it.1);
        for (value, count) in entries.into_iter().take(capacity).filter(|it| it.1 > less) {
            *state.counts.entry(&self.keys, value, || 0) += count - less;
        }
    }
}

impl ValueAggregate for MostFrequent {
    type State = Counters;
    const IGNORES_NULLS: &'static [bool] = &[true, true, true];

    fn add(&self, state: &mut Counters, row: ValueRow<'_>) -> Result<()> {
        let buckets = row.integer(self.shape.buckets).unwrap_or(0);
        let capacity = match self.shape.capacity {
            Some(at) => row.integer(at).unwrap_or(0),
            None => buckets.saturating_mul(COUNTERS_PER_VALUE).clamp(COUNTERS_MIN, CAPACITY_MAX),
        };
        self.set_sizes(state, buckets, capacity)?;
        self.put(state, row.value(self.shape.value), 1);
        Ok(())
    }

    fn merge(&self, state: &mut Counters, partial: &Value) -> Result<()> {
        let [buckets, capacity, counts] = elements(partial) else { return Ok(()) };
        let integer = |it: &Value| it.as_i128().unwrap_or(0) as i64;
        self.set_sizes(state, integer(buckets), integer(capacity))?;
        for (value, count) in entries(counts) {
            self.put(state, value.clone(), integer(count));
        }
        Ok(())
    }

    fn partial(&self, state: &Counters) -> Result<Value> {
        if state.buckets == 0 {
            return Ok(Value::Null);
        }
        let entry = |(key, count): (&Value, &i64)| (key.clone(), Value::BigInt(*count));
        let counts = Value::Map(state.counts.iter().map(entry).collect());
        let sizes = [state.buckets, state.capacity].map(Value::BigInt);
        Ok(Value::Row(sizes.into_iter().chain([counts]).collect()))
    }

    fn result(&self, state: &Counters) -> Result<Value> {
        if state.buckets == 0 {
            return Ok(Value::Null);
        }
        let mut sorted = state.counts.sorted(&self.keys);
        sorted.sort_by_key(|it| std::cmp::Reverse(*it.1));
        let most = sorted.into_iter().take(state.buckets as usize);
        Ok(match self.shape.capacity {
            Some(_) => Value::Map(most.map(|it| (it.0.clone(), Value::BigInt(*it.1))).collect()),
            None => Value::Array(most.map(|it| it.0.clone()).collect()),
        })
    }

    fn external_state_bytes(&self, state: &Counters) -> usize {
        state.counts.bytes()
    }
}

//! Aggregates of value frequencies: `histogram`, `mode`, `entropy`.
//!
//! `frequency_typed` has those of values that compare as stored.

use super::frequency_typed;
use crate::{
    documentation::doc,
    value_aggregate::{self, Keys, ValueAggregate, ValueMap, ValueRow, entries},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, Registry};
use volley_memory::check_cancelled;
use volley_types::{CustomOrder, Type, Value};

/// How many entries are merged between two checks for cancellation.
const CHECKED_ENTRIES: usize = 1 << 16;

/// Registers `histogram`, `mode` and `entropy`.
pub(super) fn register(registry: &mut Registry) {
    let histogram = doc(
        "histogram(x) -> map(x, bigint)",
        "How often each value comes that is not null, in the order of the values; null if there \
         is none.",
        "aggregate",
        &[("histogram(x) FROM (VALUES ('b'), ('a'), ('b')) v(x)", "{a=1, b=2}")],
    );
    registry.add_aggregate("histogram", histogram, bind(Answer::Histogram));
    let mode = doc(
        "mode(x) -> as x",
        "The value that comes most often, the least one of several; null if there is none.",
        "aggregate",
        &[("mode(x) FROM (VALUES ('b'), ('a'), ('b')) v(x)", "b")],
    );
    registry.add_aggregate("mode", mode, bind(Answer::Mode));
    let first = doc(
        "mode_first(x) -> as x",
        "The value that comes most often, the first one of several; null when there is none. \
         `mode(x ORDER BY y)` is the same as `mode_first(x ORDER BY y)`.",
        "aggregate",
        &[("mode_first(x ORDER BY x DESC) FROM (VALUES ('a'), ('b')) v(x)", "b")],
    );
    registry.add_aggregate("mode_first", first, Arc::new(bind_first));
    let entropy = doc(
        "entropy(x) -> double",
        "The entropy in bits of how often each value comes; 0 if there is none.",
        "aggregate",
        &[("entropy(x) FROM (VALUES (1), (2), (3), (4)) v(x)", "2.0")],
    );
    registry.add_aggregate("entropy", entropy, bind(Answer::Entropy));
}

/// What is told of the frequencies.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Histogram,
    Mode,
    Entropy,
}

fn bind(answer: Answer) -> volley_function::BindAggregate {
    Arc::new(move |args: &[Type]| bind_types(args, answer))
}

fn bind_types(args: &[Type], answer: Answer) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    if arg.order() < CustomOrder::Equality {
        return None;
    }
    let result = match answer {
        Answer::Histogram => Type::map(arg.clone(), Type::BigInt),
        Answer::Mode => arg.clone(),
        Answer::Entropy => Type::Double,
    };
    let typed = frequency_typed::bind(answer, arg, &result);
    Some(typed.unwrap_or_else(|| of_values(answer, arg, result)))
}

fn bind_first(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    if arg.order() < CustomOrder::Equality {
        return None;
    }
    let map = Type::map(arg.clone(), Type::BigInt);
    let first = FirstMode { keys: Keys::of(arg) };
    let bound = value_aggregate::bound(vec![arg.clone()], map, arg.clone(), first);
    Some(BoundAggregate { order_sensitive: true, ..bound })
}

/// The binding for values of any type.
pub(super) fn of_values(answer: Answer, arg: &Type, result: Type) -> BoundAggregate {
    let map = Type::map(arg.clone(), Type::BigInt);
    let frequency = Frequency { keys: Keys::of(arg), answer };
    value_aggregate::bound(vec![arg.clone()], map, result, frequency)
}

struct Frequency {
    keys: Keys,
    answer: Answer,
}

impl ValueAggregate for Frequency {
    type State = ValueMap<i64>;

    fn add(&self, state: &mut ValueMap<i64>, row: ValueRow<'_>) -> Result<()> {
        *state.entry(&self.keys, row.value(0), || 0) += 1;
        Ok(())
    }

    fn merge(&self, state: &mut ValueMap<i64>, partial: &Value) -> Result<()> {
        for (position, (key, count)) in entries(partial).iter().enumerate() {
            if position % CHECKED_ENTRIES == CHECKED_ENTRIES - 1 {
                check_cancelled()?;
            }
            let count = count.as_i128().unwrap_or(0) as i64;
            *state.entry(&self.keys, key.clone(), || 0) += count;
        }
        Ok(())
    }

    fn partial(&self, state: &ValueMap<i64>) -> Result<Value> {
        if state.is_empty() {
            return Ok(Value::Null);
        }
        let entry = |(key, count): (&Value, &i64)| (key.clone(), Value::BigInt(*count));
        Ok(Value::Map(state.sorted(&self.keys).into_iter().map(entry).collect()))
    }

    fn result(&self, state: &ValueMap<i64>) -> Result<Value> {
        match self.answer {
            Answer::Histogram => self.partial(state),
            Answer::Mode => {
                let sorted = state.sorted(&self.keys);
                let most = sorted.into_iter().rev().max_by_key(|it| *it.1);
                Ok(most.map_or(Value::Null, |it| it.0.clone()))
            }
            Answer::Entropy => {
                let counts: Vec<i64> = state.iter().map(|it| *it.1).collect();
                Ok(Value::Double(entropy(&counts)))
            }
        }
    }

    fn external_state_bytes(&self, state: &ValueMap<i64>) -> usize {
        state.bytes()
    }
}

/// Of the values that come most often the one that came first.
struct FirstMode {
    keys: Keys,
}

/// How often a value came, and how many others came before it.
#[derive(Clone, Copy)]
struct Arrival {
    count: i64,
    position: usize,
}

impl FirstMode {
    fn add_count(&self, state: &mut ValueMap<Arrival>, value: Value, count: i64) {
        let position = state.len();
        let new = || Arrival { count: 0, position };
        state.entry(&self.keys, value, new).count += count;
    }
}

impl ValueAggregate for FirstMode {
    type State = ValueMap<Arrival>;

    fn add(&self, state: &mut ValueMap<Arrival>, row: ValueRow<'_>) -> Result<()> {
        self.add_count(state, row.value(0), 1);
        Ok(())
    }

    fn merge(&self, state: &mut ValueMap<Arrival>, partial: &Value) -> Result<()> {
        for (position, (key, count)) in entries(partial).iter().enumerate() {
            if position % CHECKED_ENTRIES == CHECKED_ENTRIES - 1 {
                check_cancelled()?;
            }
            self.add_count(state, key.clone(), count.as_i128().unwrap_or(0) as i64);
        }
        Ok(())
    }

    fn partial(&self, state: &ValueMap<Arrival>) -> Result<Value> {
        if state.is_empty() {
            return Ok(Value::Null);
        }
        let mut arrived: Vec<(&Value, &Arrival)> = state.iter().collect();
        arrived.sort_by_key(|it| it.1.position);
        let entry = |(key, it): (&Value, &Arrival)| (key.clone(), Value::BigInt(it.count));
        Ok(Value::Map(arrived.into_iter().map(entry).collect()))
    }

    fn result(&self, state: &ValueMap<Arrival>) -> Result<Value> {
        let most = state.iter().max_by_key(|(_, it)| (it.count, std::cmp::Reverse(it.position)));
        Ok(most.map_or(Value::Null, |it| it.0.clone()))
    }

    fn external_state_bytes(&self, state: &ValueMap<Arrival>) -> usize {
        state.bytes()
    }
}

/// The entropy of values with these frequencies.
pub(super) fn entropy(counts: &[i64]) -> f64 {
    let counts = || counts.iter().map(|it| *it as f64);
    let total: f64 = counts().sum();
    let entropy = counts().map(|it| it / total * (total / it).log2()).sum::<f64>();
    entropy + 0.0
}

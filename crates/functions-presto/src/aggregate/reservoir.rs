//! `reservoir_sample`: a random sample of values (Vitter: "Random sampling with a reservoir", 1985).
//!
//! Numbers are drawn from how many values there were, so that the same rows in the same order give
//! the same sample. Two samples merge by drawing from each as often as it represents values.

use super::{doc, presto};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{
    self, ValueAggregate, ValueRow, elements, mix, value_bytes,
};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// The maximum number of values that a sample may have.
const SAMPLE_MAX: i64 = 1_000_000;

/// Registers `reservoir_sample`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "reservoir_sample(initial_sample, initial_processed_count, value, size) -> \
         row(processed_count, sample)",
        "A random sample of at most `size` values, nulls included, and how many they were drawn \
         from. A sample of before, and the number of values that it was drawn from, may be given \
         to go on from.",
        &[(
            "reservoir_sample(ARRAY[1], 1, x, 3) FROM (VALUES (2), (3)) t(x)",
            "{'processed_count': 3, 'sample': [1, 2, 3]}",
        )],
    );
    registry.add_aggregate(&presto("reservoir_sample"), doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [initial, processed, value, size] = args else { return None };
    let array = Type::array(value.clone());
    implicit_cast_cost(initial, &array)?;
    implicit_cast_cost(processed, &Type::BigInt)?;
    implicit_cast_cost(size, &Type::BigInt)?;
    let fields = [Field::new("processed_count", Type::BigInt), Field::new("sample", array.clone())];
    let initial = ["size", "initial_count"].map(|it| Field::new(it, Type::BigInt));
    let initial_sample = Field::new("initial_sample", array.clone());
    let partial = Type::row(fields.clone().into_iter().chain(initial).chain([initial_sample]));
    let types = vec![array, Type::BigInt, value.clone(), Type::BigInt];
    let bound = value_aggregate::bound(types, partial, Type::row(fields), ReservoirSample);
    Some(BoundAggregate { order_sensitive: true, ..bound })
}

struct ReservoirSample;

#[derive(Clone, Default)]
struct Reservoir {
    /// 0 before the first row.
    size: i64,
    /// Values that the sample was drawn from.
    processed: i64,
    sample: Vec<Value>,
    initial_count: i64,
    initial: Vec<Value>,
}

impl Reservoir {
    fn start(&mut self, size: i64, initial_count: i64, initial: &[Value]) -> Result<()> {
        if self.size != 0 {
            return Ok(());
        }
        if !(1..=SAMPLE_MAX).contains(&size) {
            let message = format!("the size of a sample must be from 1 to {SAMPLE_MAX}: {size}");
            return Err(Error::invalid_value(message));
        }
        if initial_count < initial.len() as i64 || (initial_count > 0 && initial.is_empty()) {
            let values = initial.len();
            let message =
                format!("a sample of {values} values was not drawn from {initial_count} of them");
            return Err(Error::invalid_value(message));
        }
        (self.size, self.initial_count, self.initial) = (size, initial_count, initial.to_vec());
        Ok(())
    }

    fn add(&mut self, value: Value) {
        self.processed += 1;
        if (self.sample.len() as i64) < self.size {
            self.sample.push(value);
            return;
        }
        let at = below(self.processed as u64, self.processed as u64);
        if let Some(replaced) = self.sample.get_mut(at as usize) {
            *replaced = value;
        }
    }

    /// Draws from both samples, each value representing as many as were processed for it.
    fn merge(&mut self, processed: i64, sample: &[Value]) {
        let total = self.processed + processed;
        let size = self.size as usize;
        if self.sample.len() + sample.len() <= size {
            self.sample.extend_from_slice(sample);
            self.processed = total;
            return;
        }
        let (mut left, mut right) = (self.processed, processed);
        let (mut ours, mut theirs) = (std::mem::take(&mut self.sample), sample.to_vec());
        while self.sample.len() < size && !(ours.is_empty() && theirs.is_empty()) {
            let seed = (total as u64) << 20 | self.sample.len() as u64;
            let drawn = below(seed, (left + right).max(1) as u64) as i64;
            let from_ours = (drawn < left && !ours.is_empty()) || theirs.is_empty();
            let (from, stands) =
                if from_ours { (&mut ours, &mut left) } else { (&mut theirs, &mut right) };
            let at = below(seed ^ u64::MAX, from.len() as u64) as usize;
            self.sample.push(from.swap_remove(at));
            *stands = (*stands - 1).max(0);
        }
        self.processed = total;
    }
}

/// A number below `end`, which is not 0, that looks random.
fn below(seed: u64, end: u64) -> u64 {
    (u128::from(mix(seed)) * u128::from(end) >> 64) as u64
}

impl ValueAggregate for ReservoirSample {
    type State = Reservoir;
    const IGNORES_NULLS: &'static [bool] = &[false, false, false, false];

    fn add(&self, state: &mut Reservoir, row: ValueRow<'_>) -> Result<()> {
        if state.size == 0 {
            let (size, count) = (row.integer(3).unwrap_or(0), row.integer(1).unwrap_or(0));
            state.start(size, count, elements(&row.value(0)))?;
        }
        state.add(row.value(2));
        Ok(())
    }

    fn merge(&self, state: &mut Reservoir, partial: &Value) -> Result<()> {
        let [processed, sample, size, count, initial] = elements(partial) else { return Ok(()) };
        let integer = |it: &Value| it.as_i128().unwrap_or(0) as i64;
        state.start(integer(size), integer(count), elements(initial))?;
        state.merge(integer(processed), elements(sample));
        Ok(())
    }

    fn partial(&self, state: &Reservoir) -> Result<Value> {
        if state.size == 0 {
            return Ok(Value::Null);
        }
        let array = |it: &[Value]| Value::Array(it.into());
        let Reservoir { size, processed, sample, initial_count, initial } = state;
        let numbers = [*size, *initial_count].map(Value::BigInt);
        let [size, count] = numbers;
        let row = [Value::BigInt(*processed), array(sample), size, count, array(initial)];
        Ok(Value::Row(row.into()))
    }

    fn result(&self, state: &Reservoir) -> Result<Value> {
        if state.size == 0 {
            return Ok(Value::Null);
        }
        let mut all = Reservoir {
            size: state.size,
            processed: state.initial_count,
            sample: state.initial.clone(),
            ..Reservoir::default()
        };
        all.sample.truncate(state.size as usize);
        all.merge(state.processed, &state.sample);
        let row = [Value::BigInt(all.processed), Value::Array(all.sample.into())];
        Ok(Value::Row(row.into()))
    }

    fn external_state_bytes(&self, state: &Reservoir) -> usize {
        let values = || state.sample.iter().chain(&state.initial);
        let slots = (state.sample.capacity() + state.initial.capacity()) * size_of::<Value>();
        slots + values().take(16).map(value_bytes).sum::<usize>() * values().count().div_ceil(16)
    }
}

//! Counts, sums and means with noise of a normal distribution: `noisy_count_gaussian` and others.
//!
//! The noise is drawn from a seed, when one is given, or from the system's random numbers. It is
//! made by Box's and Muller's transform of two uniform numbers.

use super::{doc, presto};
use std::{
    f64::consts::TAU,
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements, mix};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// What gets noise.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Count,
    CountIf,
    Sum,
    Average,
}

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let bounds = "[, lower, upper]";
    for (name, what, text, argument, bounds, result, example) in [
        ("noisy_count_gaussian", What::Count, "number of values", "x", "", "bigint", "2"),
        ("noisy_count_if_gaussian", What::CountIf, "number of true values", "x", "", "bigint", "2"),
        ("noisy_sum_gaussian", What::Sum, "sum of the values", "y", bounds, "double", "3.0"),
        ("noisy_avg_gaussian", What::Average, "mean of the values", "y", bounds, "double", "1.5"),
    ] {
        let signature = format!("{name}(x, noise_scale{bounds}[, seed]) -> {result}");
        let clipping = if bounds.is_empty() {
            "A number of rows is rounded and not negative."
        } else {
            "Values are brought into the bounds, when they are given."
        };
        let text = format!(
            "The {text} that are not null, with noise of a normal distribution whose standard \
             deviation is the scale; null when there are none. {clipping}"
        );
        let call = format!("{name}({argument}, 0.0) FROM (VALUES (true, 1), (true, 2)) t(x, y)");
        let bind = move |args: &[Type]| bind(args, what);
        registry.add_aggregate(
            &presto(name),
            doc(&signature, &text, &[(&call, example)]),
            Arc::new(bind),
        );
    }
}

fn bind(args: &[Type], what: What) -> Option<BoundAggregate> {
    let (double, seed) = (|| Type::Double, || Type::BigInt);
    let has_bounds = matches!(what, What::Sum | What::Average);
    let value = match what {
        What::Count => args.first()?.clone(),
        What::CountIf => Type::Boolean,
        What::Sum | What::Average => double(),
    };
    let types = match (args.len(), has_bounds) {
        (2, _) => vec![value, double()],
        (3, _) => vec![value, double(), seed()],
        (4, true) => vec![value, double(), double(), double()],
        (5, true) => vec![value, double(), double(), double(), seed()],
        _ => return None,
    };
    let mut pairs = args.iter().zip(&types);
    if !pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some()) {
        return None;
    }
    let partial = Type::row([
        Field::new("count", Type::BigInt),
        Field::new("sum", Type::Double),
        Field::new("scale", Type::Double),
        Field::new("seed", Type::BigInt),
    ]);
    let result = if has_bounds { Type::Double } else { Type::BigInt };
    let bounds = (args.len() > 3).then_some((2, 3));
    let seed = (args.len() % 2 == 1).then_some(args.len() - 1);
    Some(value_aggregate::bound(types, partial, result, Noisy { what, bounds, seed }))
}

struct Noisy {
    what: What,
    /// The position of the bounds of values among the arguments.
    bounds: Option<(usize, usize)>,
    /// The position of the seed.
    seed: Option<usize>,
}

#[derive(Clone, Copy, Default)]
struct State {
    count: i64,
    sum: f64,
    scale: f64,
    seed: Option<i64>,
}

impl ValueAggregate for Noisy {
    type State = State;
    const IGNORES_NULLS: &'static [bool] = &[true, true, true, true, true];

    fn add(&self, state: &mut State, row: ValueRow<'_>) -> Result<()> {
        let scale = row.number(1).unwrap_or(f64::NAN);
        if !(scale >= 0.0 && scale.is_finite()) {
            let message = format!("the scale of noise must not be negative: {scale}");
            return Err(Error::invalid_value(message));
        }
        state.scale = scale;
        state.seed = self.seed.and_then(|it| row.integer(it));
        if self.what == What::CountIf && row.value(0).as_bool() != Some(true) {
            return Ok(());
        }
        state.count += 1;
        if matches!(self.what, What::Sum | What::Average) {
            let mut value = row.number(0).unwrap_or(0.0);
            if let Some((lower, upper)) = self.bounds {
                let (lower, upper) = (row.number(lower), row.number(upper));
                let (lower, upper) = (lower.unwrap_or(f64::NAN), upper.unwrap_or(f64::NAN));
                if lower > upper {
                    let message = format!("the bounds are out of order: {lower}, {upper}");
                    return Err(Error::invalid_value(message));
                }
                value = value.max(lower).min(upper);
            }
            state.sum += value;
        }
        Ok(())
    }

    fn merge(&self, state: &mut State, partial: &Value) -> Result<()> {
        if let [count, Value::Double(sum), Value::Double(scale), seed] = elements(partial) {
            let count = count.as_i128().unwrap_or(0) as i64;
            if count > 0 {
                state.scale = *scale;
                state.seed = seed.as_i128().map(|it| it as i64);
            }
            state.count += count;
            state.sum += sum;
        }
        Ok(())
    }

    fn partial(&self, state: &State) -> Result<Value> {
        let seed = state.seed.map_or(Value::Null, Value::BigInt);
        let numbers = [state.sum, state.scale].map(Value::Double);
        let count = [Value::BigInt(state.count)];
        Ok(Value::Row(count.into_iter().chain(numbers).chain([seed]).collect()))
    }

    fn result(&self, state: &State) -> Result<Value> {
        if state.count == 0 {
            return Ok(Value::Null);
        }
        let noise = state.scale * normal(state.seed);
        let count = state.count as f64;
        Ok(match self.what {
            What::Sum => Value::Double(state.sum + noise),
            What::Average => Value::Double(state.sum / count + noise),
            What::Count | What::CountIf => {
                // The conversion saturates.
                Value::BigInt((count + noise).round().max(0.0) as i64)
            }
        })
    }
}

/// A number of the standard normal distribution.
fn normal(seed: Option<i64>) -> f64 {
    let seed = seed.map_or_else(|| RandomState::new().build_hasher().finish(), |it| it as u64);
    // From above 0 up to 1.
    let uniform = |it: u64| ((mix(it) >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    (-2.0 * uniform(seed).ln()).sqrt() * (TAU * uniform(mix(seed ^ u64::MAX))).cos()
}

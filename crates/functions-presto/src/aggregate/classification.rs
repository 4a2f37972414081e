//! How well predictions tell two classes apart, at thresholds: `classification_precision` and
//! others.
//!
//! Predictions from 0 to 1 fall into buckets of one width. The answer has an element for each
//! bucket up to the last one that is used: the threshold is where it begins.

use super::{doc, presto};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// The most buckets: each may become an element of the answer.
const BUCKETS_MAX: i64 = 1_000_000;

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let measures: [(&str, &str, &str, Measure); 5] = [
        (
            "classification_precision",
            "of the rows at or above the threshold, the share where y is true",
            "[0.5, 1.0]",
            |it| it.true_above / (it.true_above + it.false_above),
        ),
        (
            "classification_recall",
            "of the rows where y is true, the share at or above the threshold",
            "[1.0, 1.0]",
            |it| it.true_above / it.true_all,
        ),
        (
            "classification_miss_rate",
            "of the rows where y is true, the share below the threshold",
            "[0.0, 0.0]",
            |it| (it.true_all - it.true_above) / it.true_all,
        ),
        (
            "classification_fall_out",
            "of the rows where y is false, the share at or above the threshold",
            "[1.0, 0.0]",
            |it| it.false_above / it.false_all,
        ),
        ("classification_thresholds", "the threshold", "[0.0, 0.5]", |it| it.threshold),
    ];
    for (name, what, example, measure) in measures {
        let call = format!("{name}(2, y, x) FROM (VALUES (false, 0.1), (true, 0.9)) t(y, x)");
        let signature = format!("{name}(buckets, y, x[, weight]) -> array(double)");
        let text = format!(
            "For each threshold of predictions x from 0 to 1 of whether y is true: {what}. Null \
             when there is no row."
        );
        let doc = doc(&signature, &text, &[(&call, example)]);
        registry.add_aggregate(&presto(name), doc, Arc::new(move |args| bind(args, measure)));
    }
}

fn bind(args: &[Type], measure: Measure) -> Option<BoundAggregate> {
    let types = [Type::BigInt, Type::Boolean, Type::Double, Type::Double];
    let types = types.get(..args.len()).filter(|it| it.len() >= 3)?;
    let fits = args.iter().zip(types).all(|(from, to)| implicit_cast_cost(from, to).is_some());
    let bucket = ["bucket", "true", "false"].map(|it| Field::new(it, Type::Double));
    let partial = Type::row([
        Field::new("buckets", Type::BigInt),
        Field::new("weights", Type::array(Type::row(bucket))),
    ]);
    let result = Type::array(Type::Double);
    fits.then(|| value_aggregate::bound(types.to_vec(), partial, result, Classified { measure }))
}

/// What is told of a threshold.
type Measure = fn(&Threshold) -> f64;

/// Weights on both sides of a threshold.
struct Threshold {
    threshold: f64,
    true_above: f64,
    false_above: f64,
    true_all: f64,
    false_all: f64,
}

struct Classified {
    measure: Measure,
}

/// The weights of true and false rows, by bucket.
#[derive(Clone, Default)]
struct Buckets {
    /// 0 before the first row.
    count: i64,
    weights: BTreeMap<u32, (f64, f64)>,
}

impl Buckets {
    fn set_count(&mut self, count: i64) -> Result<()> {
        if !(2..=BUCKETS_MAX).contains(&count) {
            let message = format!("the number of buckets must be from 2 to {BUCKETS_MAX}: {count}");
            return Err(Error::invalid_value(message));
        }
        if self.count != 0 && self.count != count {
            let message = format!("the number of buckets changes from {} to {count}", self.count);
            return Err(Error::invalid_value(message));
        }
        self.count = count;
        Ok(())
    }

    fn put(&mut self, bucket: u32, weights: (f64, f64)) {
        let kept = self.weights.entry(bucket).or_default();
        kept.0 += weights.0;
        kept.1 += weights.1;
    }

    fn thresholds(&self) -> impl Iterator<Item = Threshold> {
        let all = self.weights.values().fold((0.0, 0.0), |all, it| (all.0 + it.0, all.1 + it.1));
        let used = self.weights.last_key_value().map_or(0, |it| it.0 + 1);
        let mut above = all;
        (0..used).map(move |bucket| {
            let threshold = Threshold {
                threshold: f64::from(bucket) / self.count as f64,
                true_above: above.0,
                false_above: above.1,
                true_all: all.0,
                false_all: all.1,
            };
            if let Some(weights) = self.weights.get(&bucket) {
                above = (above.0 - weights.0, above.1 - weights.1);
            }
            threshold
        })
    }
}

impl ValueAggregate for Classified {
    type State = Buckets;
    const IGNORES_NULLS: &'static [bool] = &[true, true, true, true];

    fn add(&self, state: &mut Buckets, row: ValueRow<'_>) -> Result<()> {
        state.set_count(row.integer(0).unwrap_or(0))?;
        let x = row.number(2).unwrap_or(f64::NAN);
        let weight = row.number(3).unwrap_or(1.0);
        if !(0.0..=1.0).contains(&x) {
            return Err(Error::invalid_value(format!("a prediction must be from 0 to 1: {x}")));
        }
        if weight < 0.0 || weight.is_nan() {
            return Err(Error::invalid_value(format!("a weight must not be negative: {weight}")));
        }
        let bucket = ((x * state.count as f64) as i64).min(state.count - 1) as u32;
        let is_true = row.value(1).as_bool() == Some(true);
        state.put(bucket, if is_true { (weight, 0.0) } else { (0.0, weight) });
        Ok(())
    }

    fn merge(&self, state: &mut Buckets, partial: &Value) -> Result<()> {
        let [count, buckets] = elements(partial) else { return Ok(()) };
        state.set_count(count.as_i128().unwrap_or(0) as i64)?;
        for bucket in elements(buckets) {
            if let [Value::Double(bucket), Value::Double(of_true), Value::Double(of_false)] =
                elements(bucket)
            {
                state.put(*bucket as u32, (*of_true, *of_false));
            }
        }
        Ok(())
    }

    fn partial(&self, state: &Buckets) -> Result<Value> {
        if state.count == 0 {
            return Ok(Value::Null);
        }
        let bucket = |(bucket, weights): (&u32, &(f64, f64))| {
            let parts = [f64::from(*bucket), weights.0, weights.1];
            Value::Row(parts.map(Value::Double).into())
        };
        let buckets = Value::Array(state.weights.iter().map(bucket).collect());
        Ok(Value::Row([Value::BigInt(state.count), buckets].into()))
    }

    fn result(&self, state: &Buckets) -> Result<Value> {
        if state.count == 0 {
            return Ok(Value::Null);
        }
        let measured = state.thresholds().map(|it| Value::Double((self.measure)(&it)));
        Ok(Value::Array(measured.collect()))
    }

    fn external_state_bytes(&self, state: &Buckets) -> usize {
        // A node of 11 entries is at least half full.
        state.weights.len() * 2 * size_of::<(u32, (f64, f64))>()
    }
}

//! `differential_entropy`: the entropy of the distribution that numbers are drawn from, in bits.
//!
//! Estimated from a sample (Efraimidis, Spirakis: "Weighted random sampling with a reservoir",
//! 2006) by how far apart its values are:
//!
//! ```text
//! h = 1/n * sum of log2(n / (a m) * (x[i + m] - x[i - m]))     m = round(sqrt(n)), at least 2
//! ```
//!
//! where places beyond the sorted values mean the first and the last one, and `a` is 2 where
//! neither is the case, and else 1 (Alizadeh Noughabi, Arghami: "A new estimator of entropy",
//! 2010).
//!
//! Or from a histogram of buckets of one width: the entropy of the shares of its buckets, and the
//! logarithm of the width. The jackknife subtracts what it is wrong by when rows are left out:
//! `n H - (n - 1) / n * sum of H without row i`. As in Presto, no entropy of a histogram is below
//! 0.

use super::{doc, presto};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements, mix};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// The maximum number of values of a sample, and buckets of a histogram.
const SIZE_MAX: i64 = 1_000_000;

/// Registers `differential_entropy`.
pub(super) fn register(registry: &mut Registry) {
    let name = presto("differential_entropy");
    let sampled = doc(
        "differential_entropy(sample_size, x[, weight]) -> double",
        "An estimate of the entropy, in bits, of the distribution of x, from a random sample of \
         at most `sample_size` rows; NaN without rows.",
        &[(
            "differential_entropy(10, x) FROM (VALUES (1), (2), (3), (4)) t(x)",
            "2.292481250360578",
        )],
    );
    registry.add_aggregate(&name, sampled, Arc::new(bind_sample));
    let of_histogram = doc(
        "differential_entropy(buckets, x, weight, method, min, max) -> double",
        "The same, estimated from a histogram with `buckets` buckets from `min` to `max`. The \
         method is 'fixed_histogram_mle' or 'fixed_histogram_jacknife', which corrects the bias.",
        &[(
            "differential_entropy(2, x, 1, 'fixed_histogram_mle', 0, 4) FROM (VALUES (1), (3)) \
             t(x)",
            "2.0",
        )],
    );
    registry.add_aggregate(&name, of_histogram, Arc::new(bind_histogram));
}

fn fit(args: &[Type], types: &[Type]) -> bool {
    let fits = |(from, to)| implicit_cast_cost(from, to).is_some();
    args.len() == types.len() && args.iter().zip(types).all(fits)
}

fn bind_sample(args: &[Type]) -> Option<BoundAggregate> {
    let types = [Type::BigInt, Type::Double, Type::Double];
    let types = types.get(..args.len()).filter(|it| it.len() >= 2 && fit(args, it))?;
    let drawn = Type::row(["priority", "x"].map(|it| Field::new(it, Type::Double)));
    let partial = Type::row([
        Field::new("size", Type::BigInt),
        Field::new("processed", Type::BigInt),
        Field::new("drawn", Type::array(drawn)),
    ]);
    let bound = value_aggregate::bound(types.to_vec(), partial, Type::Double, OfSample);
    Some(BoundAggregate { order_sensitive: true, ..bound })
}

fn bind_histogram(args: &[Type]) -> Option<BoundAggregate> {
    let number = Type::Double;
    let types =
        [Type::BigInt, number.clone(), number.clone(), Type::Varchar, number.clone(), number];
    if !fit(args, &types) {
        return None;
    }
    let entry = Type::row([
        Field::new("bucket", Type::BigInt),
        Field::new("each", Type::Double),
        Field::new("count", Type::BigInt),
        Field::new("weight", Type::Double),
    ]);
    let partial = Type::row([
        Field::new("buckets", Type::BigInt),
        Field::new("min", Type::Double),
        Field::new("max", Type::Double),
        Field::new("is_corrected", Type::Boolean),
        Field::new("entries", Type::array(entry)),
    ]);
    Some(value_aggregate::bound(types.to_vec(), partial, Type::Double, OfHistogram))
}

fn invalid<T>(message: impl std::fmt::Display) -> Result<T> {
    Err(Error::invalid_value(format!("differential_entropy: {message}")))
}

fn double(value: &Value) -> f64 {
    match value {
        Value::Double(value) => *value,
        _ => 0.0,
    }
}

fn integer(value: &Value) -> i64 {
    value.as_i128().unwrap_or(0) as i64
}

fn checked_weight(weight: f64) -> Result<f64> {
    if weight >= 0.0 && weight.is_finite() {
        return Ok(weight);
    }
    invalid(format_args!("weight must be finite and not negative: {weight}"))
}

/// The estimate from a sample.
struct OfSample;

/// The values of the greatest priorities.
#[derive(Clone, Default)]
struct Sample {
    /// 0 before the first row.
    size: i64,
    /// Rows that the sample was drawn from.
    processed: i64,
    /// Priorities and values; more than `size` until they are thinned out.
    drawn: Vec<(f64, f64)>,
}

impl Sample {
    fn start(&mut self, size: i64) -> Result<()> {
        if !(1..=SIZE_MAX).contains(&size) {
            return invalid(format_args!("sample size must be from 1 to {SIZE_MAX}: {size}"));
        }
        if self.size != 0 && self.size != size {
            return invalid(format_args!("sample size changes from {} to {size}", self.size));
        }
        self.size = size;
        Ok(())
    }

    fn draw(&mut self, priority: f64, value: f64) {
        self.drawn.push((priority, value));
        if self.drawn.len() >= 2 * self.size as usize {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let size = self.size as usize;
        if self.drawn.len() > size {
            let order = |a: &(f64, f64), b: &(f64, f64)| {
                b.0.total_cmp(&a.0).then_with(|| b.1.total_cmp(&a.1))
            };
            self.drawn.select_nth_unstable_by(size - 1, order);
            self.drawn.truncate(size);
        }
    }
}

/// A number from 0 to 1, without both, that looks random.
fn unit(seed: u64) -> f64 {
    ((mix(seed) >> 12) as f64 + 0.5) / 2f64.powi(52)
}

impl ValueAggregate for OfSample {
    type State = Sample;
    const IGNORES_NULLS: &'static [bool] = &[true; 3];

    fn add(&self, state: &mut Sample, row: ValueRow<'_>) -> Result<()> {
        state.start(row.integer(0).unwrap_or(0))?;
        let value = double(&row.value(1));
        let weight = checked_weight(row.number(2).unwrap_or(1.0))?;
        state.processed += 1;
        if weight > 0.0 {
            // The logarithm of what the method calls a key.
            let priority = unit(mix(state.processed as u64) ^ value.to_bits()).ln() / weight;
            state.draw(priority, value);
        }
        Ok(())
    }

    fn merge(&self, state: &mut Sample, partial: &Value) -> Result<()> {
        let [size, processed, drawn] = elements(partial) else { return Ok(()) };
        state.start(integer(size))?;
        state.processed += integer(processed);
        for pair in elements(drawn) {
            if let [priority, value] = elements(pair) {
                state.draw(double(priority), double(value));
            }
        }
        Ok(())
    }

    fn partial(&self, state: &Sample) -> Result<Value> {
        if state.size == 0 {
            return Ok(Value::Null);
        }
        let mut state = state.clone();
        state.thin_out();
        let pair = |it: &(f64, f64)| Value::Row([it.0, it.1].map(Value::Double).into());
        let drawn = Value::Array(state.drawn.iter().map(pair).collect());
        let row = [Value::BigInt(state.size), Value::BigInt(state.processed), drawn];
        Ok(Value::Row(row.into()))
    }

    fn result(&self, state: &Sample) -> Result<Value> {
        let mut state = state.clone();
        state.thin_out();
        let mut values: Vec<f64> = state.drawn.iter().map(|it| it.1).collect();
        values.sort_unstable_by(f64::total_cmp);
        Ok(Value::Double(entropy_of_sample(&values)))
    }

    fn external_state_bytes(&self, state: &Sample) -> usize {
        state.drawn.capacity() * size_of::<(f64, f64)>()
    }
}

/// The estimate from sorted values.
fn entropy_of_sample(values: &[f64]) -> f64 {
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return f64::NAN };
    let count = values.len() as f64;
    let distance = (count.sqrt().round() as usize).max(2);
    let term = |at: usize| {
        let above = values.get(at + distance);
        // As in Presto, the first place counts as beyond the values.
        let below = at.checked_sub(distance).filter(|it| *it > 0).and_then(|it| values.get(it));
        let sides = if above.is_some() && below.is_some() { 2.0 } else { 1.0 };
        let spread = above.unwrap_or(last) - below.unwrap_or(first);
        (count / (sides * distance as f64) * spread).log2()
    };
    (0..values.len()).map(term).sum::<f64>() / count
}

/// The estimate from a histogram.
struct OfHistogram;

/// The weights of buckets.
#[derive(Clone, Default)]
struct Histogram {
    /// 0 before the first row.
    buckets: i64,
    min: f64,
    max: f64,
    /// Whether rows are left out in turn.
    is_corrected: bool,
    /// By bucket and, where rows are left out, the bits of the weight of each row: how many rows
    /// there are, and their weight.
    entries: BTreeMap<(u32, u64), (i64, f64)>,
}

impl Histogram {
    fn start(&mut self, buckets: i64, min: f64, max: f64, is_corrected: bool) -> Result<()> {
        if !(1..=SIZE_MAX).contains(&buckets) {
            return invalid(format_args!("bucket count must be from 1 to {SIZE_MAX}: {buckets}"));
        }
        if !(min.is_finite() && max.is_finite() && min < max) {
            return invalid(format_args!("min must be below max, and both finite: {min}, {max}"));
        }
        let is_same = (self.buckets, self.min, self.max, self.is_corrected)
            == (buckets, min, max, is_corrected);
        if self.buckets != 0 && !is_same {
            return invalid("bucket count, method, min and max must be the same in all rows");
        }
        (self.buckets, self.min, self.max, self.is_corrected) = (buckets, min, max, is_corrected);
        Ok(())
    }

    fn add(&mut self, value: f64, weight: f64) -> Result<()> {
        if !(self.min..=self.max).contains(&value) {
            let (min, max) = (self.min, self.max);
            return invalid(format_args!("x must be from min to max: {value}, {min}, {max}"));
        }
        let share = (value - self.min) / (self.max - self.min);
        let bucket = ((share * self.buckets as f64) as i64).min(self.buckets - 1) as u32;
        let each = if self.is_corrected { weight.to_bits() } else { 0 };
        self.put(bucket, each, (1, weight));
        Ok(())
    }

    fn put(&mut self, bucket: u32, each: u64, (count, weight): (i64, f64)) {
        let kept = self.entries.entry((bucket, each)).or_default();
        kept.0 += count;
        kept.1 += weight;
    }

    fn entropy(&self) -> f64 {
        let mut buckets: BTreeMap<u32, f64> = BTreeMap::new();
        for ((bucket, _), (_, weight)) in &self.entries {
            *buckets.entry(*bucket).or_default() += weight;
        }
        let total = buckets.values().sum::<f64>();
        if total == 0.0 {
            return f64::NAN;
        }
        let width = (self.max - self.min) / self.buckets as f64;
        // The entropy of weights, of which the sum and that of each one's `w log w` is known.
        let entropy = |sum: f64, logs: f64| ((width * sum).ln() - logs / sum).max(0.0);
        let logs = buckets.values().copied().map(weighted_log).sum::<f64>();
        let all = entropy(total, logs);
        if !self.is_corrected {
            return all / std::f64::consts::LN_2;
        }
        let rows = self.entries.values().map(|it| it.0).sum::<i64>() as f64;
        let mut corrected = rows * all;
        for ((bucket, each), (count, _)) in &self.entries {
            let weight = buckets.get(bucket).copied().unwrap_or(0.0);
            let rest = (weight - f64::from_bits(*each)).max(0.0);
            let sum = total - weight + rest;
            if sum > 0.0 {
                let without = entropy(sum, logs - weighted_log(weight) + weighted_log(rest));
                corrected -= *count as f64 * (rows - 1.0) / rows * without;
            }
        }
        corrected / std::f64::consts::LN_2
    }
}

fn weighted_log(weight: f64) -> f64 {
    if weight > 0.0 { weight * weight.ln() } else { 0.0 }
}

fn is_corrected(method: &Value) -> Result<bool> {
    let method = match method {
        Value::Varchar(method) => method.as_ref(),
        _ => "",
    };
    match method.to_ascii_lowercase().as_str() {
        "fixed_histogram_mle" => Ok(false),
        "fixed_histogram_jacknife" => Ok(true),
        _ => invalid(format_args!(
            "method must be fixed_histogram_mle or fixed_histogram_jacknife: '{method}'"
        )),
    }
}

impl ValueAggregate for OfHistogram {
    type State = Histogram;
    const IGNORES_NULLS: &'static [bool] = &[true; 6];

    fn add(&self, state: &mut Histogram, row: ValueRow<'_>) -> Result<()> {
        let is_corrected = is_corrected(&row.value(3))?;
        let (min, max) = (double(&row.value(4)), double(&row.value(5)));
        state.start(row.integer(0).unwrap_or(0), min, max, is_corrected)?;
        let weight = checked_weight(double(&row.value(2)))?;
        if weight == 0.0 {
            return Ok(());
        }
        state.add(double(&row.value(1)), weight)
    }

    fn merge(&self, state: &mut Histogram, partial: &Value) -> Result<()> {
        let [buckets, min, max, is_corrected, entries] = elements(partial) else { return Ok(()) };
        let is_corrected = *is_corrected == Value::Boolean(true);
        state.start(integer(buckets), double(min), double(max), is_corrected)?;
        for entry in elements(entries) {
            if let [bucket, each, count, weight] = elements(entry) {
                let sums = (integer(count), double(weight));
                state.put(integer(bucket) as u32, double(each).to_bits(), sums);
            }
        }
        Ok(())
    }

    fn partial(&self, state: &Histogram) -> Result<Value> {
        if state.buckets == 0 {
            return Ok(Value::Null);
        }
        let entry = |(key, sums): (&(u32, u64), &(i64, f64))| {
            let each = Value::Double(f64::from_bits(key.1));
            let (count, weight) = (Value::BigInt(sums.0), Value::Double(sums.1));
            Value::Row([Value::BigInt(key.0.into()), each, count, weight].into())
        };
        let (min, max) = (Value::Double(state.min), Value::Double(state.max));
        let is_corrected = Value::Boolean(state.is_corrected);
        let entries = Value::Array(state.entries.iter().map(entry).collect());
        let row = [Value::BigInt(state.buckets), min, max, is_corrected, entries];
        Ok(Value::Row(row.into()))
    }

    fn result(&self, state: &Histogram) -> Result<Value> {
        Ok(Value::Double(state.entropy()))
    }

    fn external_state_bytes(&self, state: &Histogram) -> usize {
        // Nodes are at least half full.
        state.entries.len() * 2 * size_of::<((u32, u64), (i64, f64))>()
    }
}

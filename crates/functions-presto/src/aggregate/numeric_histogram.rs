//! `numeric_histogram`: an approximate histogram of numbers (Ben-Haim, Tom-Tov: "A streaming
//! parallel decision tree algorithm", 2010): the nearest of too many bins become one.

use super::{doc, presto};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, SqlOrder, ValueAggregate, ValueRow, elements};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// The most bins that may be asked for.
const BINS_MAX: i64 = 10_000;

/// Registers `numeric_histogram`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "numeric_histogram(buckets, value[, weight]) -> map(double, double)",
        "An approximate histogram of at most `buckets` bins: the mean of the values of each and the \
         sum of their weights, 1 when left out. Of real values it is a map of real.",
        &[("numeric_histogram(2, x) FROM (VALUES (1.0), (2.0), (9.0)) t(x)", "{1.5=2.0, 9.0=1.0}")],
    );
    registry.add_aggregate(&presto("numeric_histogram"), doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let (buckets, value) = (args.first()?, args.get(1)?);
    implicit_cast_cost(buckets, &Type::BigInt)?;
    implicit_cast_cost(value, &Type::Double)?;
    if args.len() > 3
        || args.get(2).is_some_and(|it| implicit_cast_cost(it, &Type::Double).is_none())
    {
        return None;
    }
    let number = if *value == Type::Real { Type::Real } else { Type::Double };
    let types = [Type::BigInt, number.clone(), Type::Double];
    let result = Type::map(number.clone(), number.clone());
    let pair = ["mean", "weight"].map(|it| Field::new(it, Type::Double));
    let partial = Type::row([
        Field::new("buckets", Type::BigInt),
        Field::new("bins", Type::array(Type::row(pair))),
    ]);
    let aggregate = NumericHistogram { is_real: number == Type::Real };
    let types = types.into_iter().take(args.len()).collect();
    Some(value_aggregate::bound(types, partial, result, aggregate))
}

struct NumericHistogram {
    is_real: bool,
}

#[derive(Clone, Default)]
struct Bins {
    /// The requested number; 0 before the first row.
    wanted: i64,
    /// Means and weights: sorted ones of different means, and after them new ones.
    bins: Vec<(f64, f64)>,
}

impl Bins {
    fn set_wanted(&mut self, wanted: i64) -> Result<()> {
        if !(2..=BINS_MAX).contains(&wanted) {
            let message = format!("the number of buckets must be from 2 to {BINS_MAX}: {wanted}");
            return Err(Error::invalid_value(message));
        }
        self.wanted = wanted;
        Ok(())
    }

    fn put(&mut self, mean: f64, weight: f64) {
        self.bins.push((mean, weight));
        if self.bins.len() as i64 >= self.wanted * 2 + 32 {
            self.compact();
        }
    }

    /// Sorts the bins, joins those of one mean, and then the nearest until few enough are left.
    fn compact(&mut self) {
        let mut bins = std::mem::take(&mut self.bins);
        bins.sort_by(|left, right| left.0.sql_cmp(&right.0));
        for bin in bins {
            match self.bins.last_mut().filter(|it| it.0 == bin.0) {
                Some(same) => same.1 += bin.1,
                None => self.bins.push(bin),
            }
        }
        while self.bins.len() as i64 > self.wanted {
            self.join_nearest(self.bins.len() - self.wanted as usize);
        }
    }

    /// Joins up to `most` pairs of neighbors, the nearest first, each bin with one other.
    fn join_nearest(&mut self, most: usize) {
        let gap = |it: &[(f64, f64)]| it[1].0 - it[0].0;
        let mut gaps: Vec<(f64, usize)> = self.bins.windows(2).map(gap).zip(0..).collect();
        gaps.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        let mut is_taken = vec![false; self.bins.len()];
        let mut is_removed = is_taken.clone();
        let mut joined = 0;
        for (_, left) in gaps {
            if joined == most {
                break;
            }
            if !is_taken[left] && !is_taken[left + 1] {
                is_taken[left..=left + 1].fill(true);
                let (one, other) = (self.bins[left], self.bins[left + 1]);
                let weight = one.1 + other.1;
                let share = if weight == 0.0 { 0.5 } else { other.1 / weight };
                self.bins[left] = (one.0 + (other.0 - one.0) * share, weight);
                is_removed[left + 1] = true;
                joined += 1;
            }
        }
        let mut is_removed = is_removed.into_iter();
        self.bins.retain(|_| !is_removed.next().unwrap_or(false));
    }

    fn compacted(&self) -> Bins {
        let mut bins = self.clone();
        bins.compact();
        bins
    }
}

impl ValueAggregate for NumericHistogram {
    type State = Bins;
    const IGNORES_NULLS: &'static [bool] = &[true, true, true];

    fn add(&self, state: &mut Bins, row: ValueRow<'_>) -> Result<()> {
        state.set_wanted(row.integer(0).unwrap_or(0))?;
        let (value, weight) = (row.number(1).unwrap_or(f64::NAN), row.number(2).unwrap_or(1.0));
        if !value.is_finite() || !weight.is_finite() {
            let message = format!("numeric_histogram takes finite numbers: {value}, {weight}");
            return Err(Error::invalid_value(message));
        }
        state.put(value + 0.0, weight);
        Ok(())
    }

    fn merge(&self, state: &mut Bins, partial: &Value) -> Result<()> {
        let [wanted, bins] = elements(partial) else { return Ok(()) };
        state.set_wanted(wanted.as_i128().unwrap_or(0) as i64)?;
        for bin in elements(bins) {
            if let [Value::Double(mean), Value::Double(weight)] = elements(bin) {
                state.put(*mean, *weight);
            }
        }
        Ok(())
    }

    fn partial(&self, state: &Bins) -> Result<Value> {
        if state.wanted == 0 {
            return Ok(Value::Null);
        }
        let pair = |it: &(f64, f64)| Value::Row([it.0, it.1].map(Value::Double).into());
        let bins = Value::Array(state.bins.iter().map(pair).collect());
        Ok(Value::Row([Value::BigInt(state.wanted), bins].into()))
    }

    fn result(&self, state: &Bins) -> Result<Value> {
        if state.wanted == 0 {
            return Ok(Value::Null);
        }
        let mut bins = state.compacted().bins;
        if !self.is_real {
            let entry = |it: (f64, f64)| (Value::Double(it.0), Value::Double(it.1));
            return Ok(Value::Map(bins.into_iter().map(entry).collect()));
        }
        // Means that REAL does not tell apart are one key.
        bins.dedup_by(|later, kept| {
            let is_same = later.0 as f32 == kept.0 as f32;
            kept.1 += if is_same { later.1 } else { 0.0 };
            is_same
        });
        let entry = |it: (f64, f64)| (Value::Real(it.0 as f32), Value::Real(it.1 as f32));
        Ok(Value::Map(bins.into_iter().map(entry).collect()))
    }

    fn external_state_bytes(&self, state: &Bins) -> usize {
        state.bins.capacity() * size_of::<(f64, f64)>()
    }
}

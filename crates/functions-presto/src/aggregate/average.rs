//! `avg`: of the argument's type for REAL, DECIMAL and INTERVAL; else as the core's, DOUBLE.

use super::{core_binding, doc, presto};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::{BigInt, Double, Real},
};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements};
use volley_types::{Field, Interval, Type, Value};

/// Registers `avg`.
pub(super) fn register(registry: &mut Registry) {
    let core = core_binding(registry, "avg");
    let doc = doc(
        "avg(x) -> double; as x for real, decimal and interval",
        "The mean of the values that are not null, of decimals rounded half up to the scale; \
         null if there is none.",
        &[("avg(x) FROM (VALUES (1.0), (1.1)) t(x)", "1.1")],
    );
    let bind = move |args: &[Type]| match args {
        [Type::Real] => {
            let partial =
                Type::row([Field::new("sum", Type::Double), Field::new("count", Type::BigInt)]);
            Some(simple::bound(vec![Type::Real], partial, Type::Real, RealMean))
        }
        [arg @ (Type::Decimal { .. } | Type::Interval)] => {
            let partial = Type::row([
                Field::new("high", Type::HugeInt),
                Field::new("low", Type::HugeInt),
                Field::new("count", Type::BigInt),
            ]);
            let mean = Mean { is_interval: *arg == Type::Interval };
            Some(value_aggregate::bound(args.to_vec(), partial, arg.clone(), mean))
        }
        _ => core(args),
    };
    registry.add_aggregate(&presto("avg"), doc, Arc::new(bind));
}

struct RealMean;

impl SimpleAggregate for RealMean {
    type State = (f64, i64);
    type Args = Real;
    type Partial = (Double, BigInt);
    type Result = Real;

    #[inline(always)]
    fn add(&self, state: &mut (f64, i64), value: f32) -> Result<()> {
        state.0 += f64::from(value);
        state.1 += 1;
        Ok(())
    }

    fn merge(&self, state: &mut (f64, i64), (sum, count): (f64, i64)) -> Result<()> {
        state.0 += sum;
        state.1 += count;
        Ok(())
    }

    fn partial(&self, state: &(f64, i64)) -> Result<Option<(f64, i64)>> {
        Ok(Some(*state))
    }

    fn result(&self, state: &(f64, i64)) -> Result<Option<f32>> {
        Ok((state.1 > 0).then(|| (state.0 / state.1 as f64) as f32))
    }
}

/// Two sums and the number of values. Of decimals the upper and lower 64 bits of the unscaled
/// values, which as sums of 128 bits do not overflow; of intervals the months, and the days and
/// nanoseconds as nanoseconds.
#[derive(Clone, Copy, Default)]
struct Sums {
    high: i128,
    low: i128,
    count: i64,
}

struct Mean {
    is_interval: bool,
}

const DAY_NANOS: i128 = 24 * 3600 * 1_000_000_000;

impl ValueAggregate for Mean {
    type State = Sums;

    fn add(&self, state: &mut Sums, row: ValueRow<'_>) -> Result<()> {
        match row.value(0) {
            Value::Interval(it) => {
                state.high += i128::from(it.months);
                state.low += i128::from(it.days) * DAY_NANOS + i128::from(it.nanoseconds);
            }
            other => {
                let unscaled = other.as_i128().unwrap_or(0);
                state.high += unscaled >> 64;
                state.low += i128::from(unscaled as u64);
            }
        }
        state.count += 1;
        Ok(())
    }

    fn merge(&self, state: &mut Sums, partial: &Value) -> Result<()> {
        if let [high, low, count] = elements(partial) {
            state.high += high.as_i128().unwrap_or(0);
            state.low += low.as_i128().unwrap_or(0);
            state.count += count.as_i128().unwrap_or(0) as i64;
        }
        Ok(())
    }

    fn partial(&self, state: &Sums) -> Result<Value> {
        let Sums { high, low, count } = *state;
        let fields = [Value::HugeInt(high), Value::HugeInt(low), Value::BigInt(count)];
        Ok(Value::Row(fields.into()))
    }

    fn result(&self, state: &Sums) -> Result<Value> {
        if state.count == 0 {
            return Ok(Value::Null);
        }
        match self.is_interval {
            true => interval_mean(state).map(Value::Interval),
            false => Ok(Value::Decimal(decimal_mean(state))),
        }
    }
}

/// `(high * 2^64 + low) / count`, rounded half away from zero; it lies between the values, so it
/// fits their type.
fn decimal_mean(state: &Sums) -> i128 {
    let count = i128::from(state.count);
    let (quotient, rest) = (state.high.div_euclid(count), state.high.rem_euclid(count));
    // The rest is below 2^63, so that it and the lower sum, at most count * 2^64, are divided in
    // two steps of 32 bits.
    let (carry, low) = (state.low >> 64, state.low as u64);
    let upper = (rest + carry) << 32 | i128::from(low >> 32);
    let (upper_quotient, upper_rest) = (upper.div_euclid(count), upper.rem_euclid(count));
    let lower = upper_rest << 32 | i128::from(low as u32);
    let (lower_quotient, rest) = (lower.div_euclid(count), lower.rem_euclid(count));
    let floor = (quotient << 64) + (upper_quotient << 32) + lower_quotient;
    let is_up = if floor < 0 { rest * 2 > count } else { rest * 2 >= count };
    floor + i128::from(is_up)
}

/// Months that do not go up in the quotient count 30 days.
fn interval_mean(state: &Sums) -> Result<Interval> {
    let count = i128::from(state.count);
    let months = state.high / count;
    let nanos = state.low + state.high % count * 30 * DAY_NANOS;
    let half = if nanos < 0 { -count } else { count };
    let nanos = (2 * nanos + half) / (2 * count);
    let interval = (|| {
        Some(Interval {
            months: months.try_into().ok()?,
            days: (nanos / DAY_NANOS).try_into().ok()?,
            nanoseconds: (nanos % DAY_NANOS).try_into().ok()?,
        })
    })();
    interval.ok_or_else(|| Error::invalid_value("overflow in avg of intervals"))
}

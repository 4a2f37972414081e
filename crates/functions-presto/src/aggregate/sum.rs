//! `sum`: BIGINT of integers, REAL of REAL, INTERVAL of INTERVAL; else as the core's.

use super::{core_binding, doc, presto};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundAggregate, Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::{BigInt, Double, HugeInt, Real},
};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow};
use volley_types::{Interval, Type, Value};

/// Registers `sum`.
pub(super) fn register(registry: &mut Registry) {
    let core = core_binding(registry, "sum");
    let doc = doc(
        "sum(x) -> bigint, real, double, decimal(38, s) or interval",
        "The sum of the values that are not null; null if there is none. A sum of integers that \
         leaves BIGINT is an error.",
        &[("sum(x) FROM (VALUES (1), (2), (NULL)) t(x)", "3")],
    );
    let bind = move |args: &[Type]| match args {
        [Type::Real] => Some(simple::bound(vec![Type::Real], Type::Double, Type::Real, RealSum)),
        [Type::Interval] => {
            let interval = || Type::Interval;
            Some(value_aggregate::bound(vec![interval()], interval(), interval(), IntervalSum))
        }
        [Type::Double | Type::Decimal { .. }] => core(args),
        _ => bind_integers(args),
    };
    registry.add_aggregate(&presto("sum"), doc, Arc::new(bind));
}

fn bind_integers(args: &[Type]) -> Option<BoundAggregate> {
    simple::bind(IntegerSum)(args)
}

struct IntegerSum;

impl SimpleAggregate for IntegerSum {
    type State = Option<i128>;
    type Args = BigInt;
    type Partial = HugeInt;
    type Result = BigInt;

    #[inline(always)]
    fn add(&self, state: &mut Option<i128>, value: i64) -> Result<()> {
        // 2^64 values of 64 bits fit.
        *state = Some(state.unwrap_or(0).wrapping_add(value.into()));
        Ok(())
    }

    fn add_repeated(&self, state: &mut Option<i128>, value: i64, times: usize) -> Result<()> {
        let sum = i128::from(value) * times as i128;
        *state = Some(state.unwrap_or(0).wrapping_add(sum));
        Ok(())
    }

    fn merge(&self, state: &mut Option<i128>, sum: i128) -> Result<()> {
        *state = Some(state.unwrap_or(0).wrapping_add(sum));
        Ok(())
    }

    fn partial(&self, state: &Option<i128>) -> Result<Option<i128>> {
        Ok(*state)
    }

    fn result(&self, state: &Option<i128>) -> Result<Option<i64>> {
        let overflow = |_| {
            Error::invalid_value("overflow in sum: the result does not fit BIGINT")
                .hint("cast the argument to DOUBLE or DECIMAL")
        };
        state.map(i64::try_from).transpose().map_err(overflow)
    }
}

struct RealSum;

impl SimpleAggregate for RealSum {
    type State = Option<f64>;
    type Args = Real;
    type Partial = Double;
    type Result = Real;

    #[inline(always)]
    fn add(&self, state: &mut Option<f64>, value: f32) -> Result<()> {
        *state = Some(state.unwrap_or(0.0) + f64::from(value));
        Ok(())
    }

    fn merge(&self, state: &mut Option<f64>, sum: f64) -> Result<()> {
        *state = Some(state.unwrap_or(0.0) + sum);
        Ok(())
    }

    fn partial(&self, state: &Option<f64>) -> Result<Option<f64>> {
        Ok(*state)
    }

    fn result(&self, state: &Option<f64>) -> Result<Option<f32>> {
        Ok(state.map(|it| it as f32))
    }
}

struct IntervalSum;

impl IntervalSum {
    fn add_value(state: &mut Option<Interval>, value: &Value) -> Result<()> {
        let Value::Interval(value) = value else { return Ok(()) };
        let kept = state.unwrap_or_default();
        let sum = (|| {
            Some(Interval {
                months: kept.months.checked_add(value.months)?,
                days: kept.days.checked_add(value.days)?,
                nanoseconds: kept.nanoseconds.checked_add(value.nanoseconds)?,
            })
        })();
        let overflow = || Error::invalid_value("overflow in sum of intervals");
        *state = Some(sum.ok_or_else(overflow)?);
        Ok(())
    }
}

impl ValueAggregate for IntervalSum {
    type State = Option<Interval>;

    fn add(&self, state: &mut Option<Interval>, row: ValueRow<'_>) -> Result<()> {
        IntervalSum::add_value(state, &row.value(0))
    }

    fn merge(&self, state: &mut Option<Interval>, partial: &Value) -> Result<()> {
        IntervalSum::add_value(state, partial)
    }

    fn partial(&self, state: &Option<Interval>) -> Result<Value> {
        Ok(state.map_or(Value::Null, Value::Interval))
    }

    fn result(&self, state: &Option<Interval>) -> Result<Value> {
        self.partial(state)
    }
}

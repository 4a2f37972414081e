//! Series of TIMESTAMP WITH TIME ZONE, whose days and months are those of the session's calendar.

use super::{VALUES_MAX, arrays_of, too_many};
use crate::date::instant_moved;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, EvalContext, ScalarTraits, simple};
use volley_memory::check_cancelled;
use volley_types::{Clock, Interval, Series, SeriesStep, Type, custom::TimestampTz};
use volley_vector::{Decoded, NullBuffer, Rows, Vector};

/// How many values are made between inspects whether the query is to stop.
const VALUES_BETWEEN_LOOKS: usize = 1 << 16;

/// `(start, end, step)`, of which one bound at least is an instant.
pub(super) fn bind(args: &[Type], includes_end: bool) -> Option<BoundScalar> {
    let [start, end, Type::Interval] = args else { return None };
    let takes = |it: &Type| {
        TimestampTz::is(it) || matches!(it, Type::Timestamp | Type::Date | Type::Unknown)
    };
    if !takes(start) || !takes(end) || ![start, end].into_iter().any(TimestampTz::is) {
        return None;
    }
    let function = simple::vectorized(
        move |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
            let query = Arc::clone(&ctx.query);
            let mut clock = query.time_zone.clock();
            let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
            let [start, end, step] = args.as_slice() else {
                return Err(Error::internal("a series with another number of arguments"));
            };
            let mut values: Vec<i64> = Vec::new();
            let mut sizes = vec![0i32; rows.len()];
            let is_null = |row: usize| args.iter().any(|it| it.is_null(row));
            let instant = |of: &Decoded<'_>, row| of.native::<i64>().get(of.index(row)).copied();
            rows.try_for_each(|row| {
                let step = step.native::<Interval>().get(step.index(row)).copied();
                let (Some(start), Some(end), Some(interval), false) =
                    (instant(start, row), instant(end, row), step, is_null(row))
                else {
                    return Ok(());
                };
                let step = match SeriesStep::of_interval(interval) {
                    Ok(step) => step,
                    Err(error) => {
                        ctx.fail(row, || error);
                        return Ok(());
                    }
                };
                let first = values.len();
                let series = Series { start, end, step, includes_end };
                let mut next = series.first();
                while let Some(value) = next {
                    if values.len() >= VALUES_MAX {
                        return Err(too_many());
                    }
                    if !values.is_empty() && values.len().is_multiple_of(VALUES_BETWEEN_LOOKS) {
                        check_cancelled()?;
                        // The list is made twice as large when it is full.
                        ctx.charge(2 * VALUES_BETWEEN_LOOKS * size_of::<i64>())?;
                    }
                    values.push(value);
                    let after = later(&mut clock, value, interval);
                    next = after.filter(|it| series.contains(*it));
                }
                sizes[row] = (values.len() - first) as i32;
                Ok(())
            })?;
            let nulls = NullBuffer::from_iter((0..rows.len()).map(|row| !is_null(row)));
            arrays_of(values, sizes, nulls, to)
        },
    );
    let instant = TimestampTz::data_type();
    let takes = vec![instant.clone(), instant.clone(), Type::Interval];
    Some(BoundScalar::new(takes, Type::array(instant), ScalarTraits::DEFAULT, function))
}

/// The next instant. Where clocks skipped a day, a day before the one after it is that one again:
/// then the next is two steps away.
fn later(clock: &mut Clock<'_>, instant: i64, step: Interval) -> Option<i64> {
    let is_backwards = step.months < 0 || step.days < 0 || step.nanoseconds < 0;
    let leads_on = |it: &i64| *it != instant && (*it < instant) == is_backwards;
    let next = instant_moved(clock, instant, step, 1)?;
    if leads_on(&next) {
        return Some(next);
    }
    let twice = Interval {
        months: step.months.checked_mul(2)?,
        days: step.days.checked_mul(2)?,
        nanoseconds: step.nanoseconds.checked_mul(2)?,
    };
    instant_moved(clock, instant, twice, 1).filter(leads_on)
}

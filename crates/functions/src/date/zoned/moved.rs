//! Instants moved by intervals, cut to units, and what lies between them.
//!
//! Months and days are those of the session's calendar, everything shorter is a length of time.

use super::is_instant;
use crate::date::{
    difference::{borders, micros_of, whole},
    timestamp_out_of_range,
    truncate::truncate,
    unit::Unit,
};
use std::{cell::RefCell, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{self, BigInt, Interval, Timestamp, Varchar},
};
use volley_types::{
    Clock, Interval as IntervalValue, Type,
    civil::{self, MICROS_PER_DAY},
    custom::TimestampTz,
};
use volley_vector::{Rows, Vector};

/// Intervals keep nanoseconds; timestamps microseconds.
const NANOS_PER_MICRO: i64 = 1_000;

/// Registers the overloads of `plus`, `minus`, `date_add`, `date_trunc`, `date_diff`, `date_sub`.
pub(super) fn register(registry: &mut Registry) {
    let mut add = |name: &str, bind: fn(&[Type]) -> Option<BoundScalar>| {
        registry.add_scalar(name, FunctionDoc::default(), Arc::new(bind));
    };
    add("plus", |args| bind_moved(args, 1));
    add("date_add", |args| bind_moved(args, 1));
    add("plus", |args| match args {
        [interval, instant] => bind_moved(&[instant.clone(), interval.clone()], 1).map(swapped),
        _ => None,
    });
    add("minus", |args| bind_moved(args, -1));
    add("minus", bind_between);
    add("date_trunc", bind_truncated);
    add("datetrunc", bind_truncated);
    add("date_diff", |args| bind_counted(args, count_borders));
    add("datediff", |args| bind_counted(args, count_borders));
    add("date_sub", |args| bind_counted(args, count_whole));
    add("datesub", |args| bind_counted(args, count_whole));
}

fn bind_moved(args: &[Type], sign: i64) -> Option<BoundScalar> {
    let [instant, Type::Interval] = args else { return None };
    if !is_instant(instant) {
        return None;
    }
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let query = Arc::clone(&ctx.query);
        let clock = RefCell::new(query.time_zone.clock());
        simple::map2::<Timestamp, Interval, Timestamp, Result<i64>>(
            rows,
            args,
            to,
            ctx,
            |instant, interval| {
                let moved = moved(&mut clock.borrow_mut(), instant, interval, sign);
                moved.ok_or_else(timestamp_out_of_range)
            },
        )
    });
    let types = vec![instant.clone(), Type::Interval];
    Some(BoundScalar::new(types, instant.clone(), ScalarTraits::DEFAULT, function))
}

/// The function of the arguments in the other order.
fn swapped(of: BoundScalar) -> BoundScalar {
    let inner = of.function;
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let [first, second] = args else {
            return Err(Error::internal("other than two arguments"));
        };
        inner.evaluate(rows, &[second.clone(), first.clone()], to, ctx)
    });
    BoundScalar { args: of.args.into_iter().rev().collect(), function, ..of }
}

/// The instant `interval` later, or with a `sign` of -1 earlier: months first, then days, then the
/// time.
pub(crate) fn moved(
    clock: &mut Clock<'_>,
    instant: i64,
    interval: IntervalValue,
    sign: i64,
) -> Option<i64> {
    if civil::is_infinite_timestamp(instant) {
        return Some(instant);
    }
    let mut at = instant;
    if interval.months != 0 {
        at = in_calendar(clock, at, |days| {
            civil::add_months(days, sign * i64::from(interval.months))
        })?;
    }
    if interval.days != 0 {
        at = in_calendar(clock, at, |days| {
            i32::try_from(i64::from(days) + sign * i64::from(interval.days)).ok()
        })?;
    }
    at.checked_add((interval.nanoseconds / NANOS_PER_MICRO).checked_mul(sign)?)
}

/// The instant at which clocks show the same time on another day.
fn in_calendar(
    clock: &mut Clock<'_>,
    instant: i64,
    day: impl Fn(i32) -> Option<i32>,
) -> Option<i64> {
    let offset = clock.offset_at(instant);
    let (days, of_day) = civil::split_timestamp(instant.checked_add(offset)?);
    let local = civil::timestamp_of(day(days)?, of_day)?;
    Some(clock.instant_near(local, offset))
}

fn bind_between(args: &[Type]) -> Option<BoundScalar> {
    let [left, right] = args else { return None };
    let takes = |it: &Type| is_instant(it) || matches!(it, Type::Timestamp | Type::Unknown);
    if !takes(left) || !takes(right) || !args.iter().any(is_instant) {
        return None;
    }
    let function = simple::vectorized(|rows, args, to, ctx| {
        let query = Arc::clone(&ctx.query);
        let clock = RefCell::new(query.time_zone.clock());
        simple::map2::<Timestamp, Timestamp, Interval, Result<IntervalValue>>(
            rows,
            args,
            to,
            ctx,
            |left, right| {
                let between = between(&mut clock.borrow_mut(), left, right);
                between.ok_or_else(timestamp_out_of_range)
            },
        )
    });
    let instant = TimestampTz::data_type();
    Some(BoundScalar::new(vec![instant; 2], Type::Interval, ScalarTraits::DEFAULT, function))
}

/// Whole days of the calendar and the time left over, of the same sign.
fn between(clock: &mut Clock<'_>, left: i64, right: i64) -> Option<IntervalValue> {
    let (start, end, sign) = if left < right { (left, right, -1) } else { (right, left, 1) };
    let local = clock.local_of(end).checked_sub(clock.local_of(start))?;
    let mut days = local.max(0) / MICROS_PER_DAY;
    let later = |clock: &mut Clock<'_>, days: i64| {
        in_calendar(clock, start, |it| i32::try_from(i64::from(it) + days).ok())
    };
    let mut reached = if days == 0 { start } else { later(clock, days)? };
    if reached > end {
        days -= 1;
        reached = later(clock, days)?;
    }
    let nanoseconds = end.checked_sub(reached)?.checked_mul(NANOS_PER_MICRO * sign)?;
    Some(IntervalValue { months: 0, days: i32::try_from(sign * days).ok()?, nanoseconds })
}

fn bind_truncated(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown, instant] = args else { return None };
    if !is_instant(instant) {
        return None;
    }
    let function = simple::vectorized(|rows, args, to, ctx| {
        let query = Arc::clone(&ctx.query);
        let clock = RefCell::new(query.time_zone.clock());
        simple::map2::<Varchar, Timestamp, Timestamp, Result<i64>>(
            rows,
            args,
            to,
            ctx,
            |name, instant| truncated(&mut clock.borrow_mut(), Unit::parse(name)?, instant),
        )
    });
    let types = vec![Type::Varchar, instant.clone()];
    Some(BoundScalar::new(types, instant.clone(), ScalarTraits::DEFAULT, function))
}

/// The start of the unit that holds an instant. Minutes and shorter units stay on their side of a
/// change of the clocks.
fn truncated(clock: &mut Clock<'_>, unit: Unit, instant: i64) -> Result<i64> {
    let local = clock.local_of(instant);
    let start = truncate(unit, local)?;
    match micros_of(unit) {
        Some(_) if unit != Unit::Hour => {
            let cut = local.checked_sub(start).and_then(|it| instant.checked_sub(it));
            cut.ok_or_else(timestamp_out_of_range)
        }
        _ => Ok(clock.instant_of(start)),
    }
}

type Count = fn(&mut Clock<'_>, Unit, i64, i64) -> Result<i64>;

fn bind_counted(args: &[Type], count: Count) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown, start, end] = args else { return None };
    let takes =
        |it: &Type| is_instant(it) || matches!(it, Type::Timestamp | Type::Date | Type::Unknown);
    if !takes(start) || !takes(end) || !args.iter().any(is_instant) {
        return None;
    }
    let function = simple::vectorized(
        move |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
            let query = Arc::clone(&ctx.query);
            let clock = RefCell::new(query.time_zone.clock());
            simple::map3::<Varchar, Timestamp, Timestamp, BigInt, Result<i64>>(
                rows,
                args,
                to,
                ctx,
                |name, start, end| count(&mut clock.borrow_mut(), Unit::parse(name)?, start, end),
            )
        },
    );
    let instant = TimestampTz::data_type();
    let types = vec![Type::Varchar, instant.clone(), instant];
    Some(BoundScalar::new(types, Type::BigInt, ScalarTraits::DEFAULT, function))
}

fn count_borders(clock: &mut Clock<'_>, unit: Unit, start: i64, end: i64) -> Result<i64> {
    match micros_of(unit) {
        Some(step) => {
            let (start, end) = (truncated(clock, unit, start)?, truncated(clock, unit, end)?);
            Ok(end.checked_sub(start).ok_or_else(timestamp_out_of_range)? / step)
        }
        None => borders(unit, clock.local_of(start), clock.local_of(end)),
    }
}

fn count_whole(clock: &mut Clock<'_>, unit: Unit, start: i64, end: i64) -> Result<i64> {
    match micros_of(unit) {
        Some(_) => whole(unit, start, end),
        None => whole(unit, clock.local_of(start), clock.local_of(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Zone;

    /// Keeps the clock from being made again for each case.
    fn check(zone: &str, start: &str, interval: IntervalValue, expected: &str) {
        let zone = Zone::find(zone).unwrap();
        let micros = |it: &str| volley_types::text::parse_timestamp(it).unwrap();
        let moved = moved(&mut zone.clock(), micros(start), interval, 1).unwrap();
        let mut text = String::new();
        volley_types::text::push_timestamp(&mut text, moved);
        assert_eq!(text, expected, "{start}");
    }

    #[test]
    fn days_keep_the_time_of_day_and_hours_do_not() {
        let days = |days| IntervalValue { months: 0, days, nanoseconds: 0 };
        check("Europe/Berlin", "2021-03-27 11:00:00", days(1), "2021-03-28 10:00:00");
        check("Europe/Berlin", "2021-10-30 00:30:00", days(1), "2021-10-31 00:30:00");
        check("Europe/Berlin", "2021-11-01 01:30:00", days(-1), "2021-10-31 01:30:00");
        let day = IntervalValue { months: 0, days: 0, nanoseconds: 24 * 3600 * 1_000_000_000 };
        check("Europe/Berlin", "2021-03-27 11:00:00", day, "2021-03-28 11:00:00");
    }
}

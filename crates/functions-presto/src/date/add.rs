//! `date_add`, and `plus` and `minus` of points in time and intervals.
//!
//! Units of days and more are those of the calendar: a day beyond the end of a month becomes its
//! last one. Shorter ones are lengths of time, also where clocks are changed: a TIMESTAMP passes as
//! clocks of the session's zone do. Days of an interval are 24 hours for a timestamp.

use super::{
    doc,
    field::millis_of,
    out_of_range,
    point::{Moment, OfDate, OfTimestamp, OfZoned, Point, Zones, exact},
    unit::Unit,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, BoundScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{
        BigInt, Date, Interval, Physical, Time, Timestamp, Varchar, map2, map3, ternary, vectorized,
    },
};
use volley_types::{
    Interval as IntervalValue, Type,
    civil::{self, MICROS_PER_DAY},
    custom::ZonedTimestamp,
};

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i64 = 1_000;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let name = "presto.date_add";
    let described = doc(
        "date_add(unit, value, date, time or timestamp) -> same as input",
        "The point in time `value` units later, or earlier for a negative value. Months end on \
         their last day; times of day wrap around at midnight.",
        &[("date_add('month', 1, date '2020-01-31')", "2020-02-29")],
    );
    registry.add_scalar(name, described, added::<OfDate>(Unit::of_date));
    registry.add_scalar(name, FunctionDoc::default(), added::<OfTimestamp>(Unit::parse));
    registry.add_scalar(name, FunctionDoc::default(), added::<OfZoned>(Unit::parse));
    let of_time = ternary::<Varchar, BigInt, Time, Time, _>(
        |unit: &str, value: i64, it: i64| -> Result<i64> {
            let step = i128::from(Unit::of_time(unit)?);
            let moved = i128::from(it) + step * i128::from(value);
            Ok(moved.rem_euclid(MICROS_PER_DAY.into()) as i64)
        },
    );
    registry.add_scalar(name, FunctionDoc::default(), of_time);
    let plus = doc(
        "plus(date, time or timestamp, interval) -> same as input",
        "A point in time and an interval: `date '2020-01-31' + interval '1' month`. Times of day are \
         an error for a date.",
        &[("plus(date '2020-01-31', interval '1' month)", "2020-02-29")],
    );
    let minus = doc(
        "minus(date, time or timestamp, interval) -> same as input",
        "A point in time without an interval; of two points in time, the interval between them.",
        &[("minus(date '2020-03-31', interval '1' month)", "2020-02-29")],
    );
    for (name, described, sign) in [("presto.plus", plus, 1), ("presto.minus", minus, -1)] {
        registry.add_scalar(name, described, moved(sign));
    }
    registry.add_scalar("presto.minus", FunctionDoc::default(), Arc::new(bind_between));
}

fn added<P: Point>(unit_of: fn(&str) -> Result<Unit>) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let add = |unit: &str, value: i64, it: P::Stored| -> Result<P::Stored> {
            let (unit, moment) = (unit_of(unit)?, P::moment(it, &zones));
            match unit.micros() {
                Some(micros) => {
                    let micros = value.checked_mul(micros).ok_or_else(out_of_range)?;
                    later::<P>(&moment, micros, &zones)
                }
                None => P::changed(later_by_calendar(unit, value, &moment)?, &moment, &zones),
            }
        };
        map3::<Varchar, BigInt, P::Marker, P::Marker, _>(rows, args, to, ctx, add)
    });
    let types = vec![Type::Varchar, Type::BigInt, P::data_type()];
    exact(types, P::data_type(), ScalarTraits::DEFAULT, function)
}

/// The local time a number of days, weeks, months, quarters or years later.
fn later_by_calendar(unit: Unit, value: i64, moment: &Moment) -> Result<i64> {
    let of = |count: i64| value.checked_mul(count).ok_or_else(out_of_range);
    let days = match unit {
        Unit::Year => civil::add_months(moment.days, of(12)?),
        Unit::Quarter => civil::add_months(moment.days, of(3)?),
        Unit::Month => civil::add_months(moment.days, value),
        Unit::Week => days_later(moment.days, of(7)?),
        _ => days_later(moment.days, value),
    };
    let days = days.ok_or_else(out_of_range)?;
    civil::timestamp_of(days, moment.of_day).ok_or_else(out_of_range)
}

fn days_later(days: i32, more: i64) -> Option<i32> {
    i64::from(days).checked_add(more)?.try_into().ok()
}

/// The point in time that many microseconds later.
fn later<P: Point>(moment: &Moment, micros: i64, zones: &Zones) -> Result<P::Stored> {
    match zones.located::<P>(*moment)?.instant {
        Some(instant) => {
            let instant = instant.checked_add(micros).ok_or_else(out_of_range)?;
            let moved = zones.moment_at(instant, moment.zone);
            P::changed(moved.local()?, &moved, zones)
        }
        None => {
            let local = moment.local()?.checked_add(micros).ok_or_else(out_of_range)?;
            P::changed(local, moment, zones)
        }
    }
}

/// `point + interval`, `interval + point`, or with a negative sign `point - interval`.
fn moved(sign: i64) -> BindScalar {
    Arc::new(move |given: &[Type]| match given {
        [point, Type::Interval] => bind_moved(point, sign),
        [Type::Interval, point] if sign > 0 => {
            let inner = bind_moved(point, sign)?;
            let function = inner.function;
            let swapped = vectorized(move |rows, args, to, ctx| {
                let [interval, point] = args else {
                    return Err(Error::internal("other than two arguments"));
                };
                function.evaluate(rows, &[point.clone(), interval.clone()], to, ctx)
            });
            let types = inner.args.into_iter().rev().collect();
            Some(BoundScalar::new(types, inner.result, inner.traits, swapped))
        }
        _ => None,
    })
}

fn bind_moved(point: &Type, sign: i64) -> Option<BoundScalar> {
    match point {
        Type::Date => Some(moved_point::<OfDate>(sign, reject_times)),
        Type::Timestamp => Some(moved_point::<OfTimestamp>(sign, |_| Ok(()))),
        Type::Time => Some(moved_time(sign)),
        it if ZonedTimestamp::is(it) => Some(moved_point::<OfZoned>(sign, |_| Ok(()))),
        _ => None,
    }
}

fn reject_times(interval: IntervalValue) -> Result<()> {
    const NANOS_PER_DAY: i64 = MICROS_PER_DAY * NANOS_PER_MICRO;
    if interval.nanoseconds % NANOS_PER_DAY == 0 {
        return Ok(());
    }
    Err(Error::invalid_value("cannot add hours, minutes or seconds to a date")
        .hint("cast the date to a timestamp"))
}

fn moved_point<P: Point>(sign: i64, check: fn(IntervalValue) -> Result<()>) -> BoundScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let add = |it: P::Stored, interval: IntervalValue| -> Result<P::Stored> {
            check(interval)?;
            let moment = P::moment(it, &zones);
            let days = civil::add_months(moment.days, sign * i64::from(interval.months));
            let mut days = days.ok_or_else(out_of_range)?;
            let mut micros = sign * (interval.nanoseconds / NANOS_PER_MICRO);
            if P::IN_ZONE {
                let of_days = i64::from(interval.days).checked_mul(sign * MICROS_PER_DAY);
                micros = of_days.and_then(|it| it.checked_add(micros)).ok_or_else(out_of_range)?;
            } else {
                let later = days_later(days, sign * i64::from(interval.days));
                days = later.ok_or_else(out_of_range)?;
            }
            if days == moment.days {
                return later::<P>(&moment, micros, &zones);
            }
            let local = civil::timestamp_of(days, moment.of_day).ok_or_else(out_of_range)?;
            let by_calendar = P::moment(P::changed(local, &moment, &zones)?, &zones);
            later::<P>(&by_calendar, micros, &zones)
        };
        map2::<P::Marker, Interval, P::Marker, _>(rows, args, to, ctx, add)
    });
    let types = vec![P::data_type(), Type::Interval];
    BoundScalar::new(types, P::data_type(), ScalarTraits::DEFAULT, function)
}

/// Times of day begin again after midnight; days and months of the interval change nothing.
fn moved_time(sign: i64) -> BoundScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let add = |it: i64, interval: IntervalValue| {
            let micros = millis_of(IntervalValue { days: 0, ..interval }) * 1_000;
            (it + sign * (micros % MICROS_PER_DAY)).rem_euclid(MICROS_PER_DAY)
        };
        map2::<Time, Interval, Time, i64>(rows, args, to, ctx, add)
    });
    let types = vec![Type::Time, Type::Interval];
    BoundScalar::new(types, Type::Time, ScalarTraits::INFALLIBLE, function)
}

/// The interval between two dates, times or instants with zones, in days and a time.
fn bind_between(given: &[Type]) -> Option<BoundScalar> {
    let [left, right] = given else { return None };
    match (left, right) {
        (Type::Date, Type::Date) => return Some(between_dates()),
        (Type::Time, Type::Time) => return Some(between_times()),
        (Type::Timestamp, Type::Timestamp) => return Some(between_timestamps()),
        _ => {}
    }
    let becomes_zoned =
        |it: &Type| volley_types::implicit_cast_cost(it, &ZonedTimestamp::data_type()).is_some();
    let has_zoned = ZonedTimestamp::is(left) || ZonedTimestamp::is(right);
    if !has_zoned || !becomes_zoned(left) || !becomes_zoned(right) {
        return None;
    }
    let function = vectorized(|rows, args, to, ctx| {
        let between = |end: i64, start: i64| -> Result<IntervalValue> {
            interval_between(ZonedTimestamp::unpack(end).0, ZonedTimestamp::unpack(start).0)
        };
        map2::<Physical<i64>, Physical<i64>, Interval, _>(rows, args, to, ctx, between)
    });
    let types = vec![ZonedTimestamp::data_type(); 2];
    Some(BoundScalar::new(types, Type::Interval, ScalarTraits::DEFAULT, function))
}

/// The interval between two instants, in microseconds.
fn interval_between(end: i64, start: i64) -> Result<IntervalValue> {
    let micros = end.checked_sub(start).ok_or_else(out_of_range)?;
    let days = i32::try_from(micros / MICROS_PER_DAY).map_err(|_| out_of_range())?;
    let nanoseconds = micros % MICROS_PER_DAY * NANOS_PER_MICRO;
    Ok(IntervalValue { months: 0, days, nanoseconds })
}

/// Timestamps are those of clocks of the session's zone.
fn between_timestamps() -> BoundScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let instant = |it: i64| zones.instant(&OfTimestamp::moment(it, &zones));
        let between = |end: i64, start: i64| -> Result<IntervalValue> {
            interval_between(instant(end)?, instant(start)?)
        };
        map2::<Timestamp, Timestamp, Interval, _>(rows, args, to, ctx, between)
    });
    BoundScalar::new(vec![Type::Timestamp; 2], Type::Interval, ScalarTraits::DEFAULT, function)
}

fn between_dates() -> BoundScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let between = |end: i32, start: i32| -> Result<IntervalValue> {
            let days = end.checked_sub(start).ok_or_else(out_of_range)?;
            Ok(IntervalValue { months: 0, days, nanoseconds: 0 })
        };
        map2::<Date, Date, Interval, _>(rows, args, to, ctx, between)
    });
    BoundScalar::new(vec![Type::Date; 2], Type::Interval, ScalarTraits::DEFAULT, function)
}

fn between_times() -> BoundScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let between = |end: i64, start: i64| IntervalValue {
            months: 0,
            days: 0,
            nanoseconds: (end - start) * NANOS_PER_MICRO,
        };
        map2::<Time, Time, Interval, IntervalValue>(rows, args, to, ctx, between)
    });
    BoundScalar::new(vec![Type::Time; 2], Type::Interval, ScalarTraits::INFALLIBLE, function)
}

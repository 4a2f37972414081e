//! `date_diff`: how many whole units lie between two points in time.

use super::{
    doc,
    point::{Moment, OfDate, OfTimestamp, OfZoned, Point, Zones, exact},
    unit::Unit,
};
use volley_error::Result;
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{BigInt, Time, Varchar, map3, ternary, vectorized},
};
use volley_types::{
    Type,
    civil::{MICROS_PER_DAY, civil_of_days, days_in_month},
};

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let name = "presto.date_diff";
    let described = doc(
        "date_diff(unit, start, end) -> bigint",
        "How many whole units lie between two dates, times or timestamps; negative where the end is \
         before the start. Units from days on are those that clocks of the start's zone show.",
        &[("date_diff('month', date '2020-01-31', date '2020-02-29')", "1")],
    );
    registry.add_scalar(name, described, counted::<OfDate>(Unit::of_date));
    registry.add_scalar(name, FunctionDoc::default(), counted::<OfTimestamp>(Unit::parse));
    registry.add_scalar(name, FunctionDoc::default(), counted::<OfZoned>(Unit::parse));
    let of_times = ternary::<Varchar, Time, Time, BigInt, _>(
        |unit: &str, start: i64, end: i64| -> Result<i64> {
            Ok((end - start) / Unit::of_time(unit)?)
        },
    );
    registry.add_scalar(name, FunctionDoc::default(), of_times);
}

fn counted<P: Point>(unit_of: fn(&str) -> Result<Unit>) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let count = |unit: &str, start: P::Stored, end: P::Stored| -> Result<i64> {
            let unit = unit_of(unit)?;
            let (start, end) = (P::moment(start, &zones), P::moment(end, &zones));
            if unit.micros().is_none() {
                return count(unit, &start, &end, &zones);
            }
            count(unit, &zones.located::<P>(start)?, &zones.located::<P>(end)?, &zones)
        };
        map3::<Varchar, P::Marker, P::Marker, BigInt, _>(rows, args, to, ctx, count)
    });
    let types = vec![Type::Varchar, P::data_type(), P::data_type()];
    exact(types, Type::BigInt, ScalarTraits::DEFAULT, function)
}

fn count(unit: Unit, start: &Moment, end: &Moment, zones: &Zones) -> Result<i64> {
    if let (Some(start), Some(end), Some(micros)) = (start.instant, end.instant, unit.micros()) {
        // Instants of the type differ by less than 2^63 microseconds.
        return Ok((end - start) / micros);
    }
    let end = match end.instant {
        Some(instant) => &zones.moment_at(instant, start.zone),
        None => end,
    };
    let micros = || {
        let days = i128::from(end.days) - i128::from(start.days);
        days * i128::from(MICROS_PER_DAY) + i128::from(end.of_day - start.of_day)
    };
    let of = |micros_of_unit: i64| Ok((micros() / i128::from(micros_of_unit)) as i64);
    match unit {
        Unit::Year => Ok(months(start, end) / 12),
        Unit::Quarter => Ok(months(start, end) / 3),
        Unit::Month => Ok(months(start, end)),
        Unit::Week => of(7 * MICROS_PER_DAY),
        Unit::Day => of(MICROS_PER_DAY),
        other => of(other.micros().unwrap_or(1)),
    }
}

/// Whole months: the last day of a month is as late as any later day of the start.
fn months(start: &Moment, end: &Moment) -> i64 {
    if (end.days, end.of_day) < (start.days, start.of_day) {
        return -months(end, start);
    }
    let (first, last) = (civil_of_days(start.days), civil_of_days(end.days));
    let years = i64::from(last.year) - i64::from(first.year);
    let between = years * 12 + i64::from(last.month) - i64::from(first.month);
    let is_last_day = last.day == days_in_month(last.year.into(), last.month);
    let first_day = if is_last_day { first.day.min(last.day) } else { first.day };
    between - i64::from((last.day, end.of_day) < (first_day, start.of_day))
}

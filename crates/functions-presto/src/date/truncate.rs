//! `date_trunc`: the start of the unit that holds a point in time.

use super::{
    doc,
    field::iso_day_of_week,
    out_of_range,
    point::{Moment, OfDate, OfTimestamp, OfZoned, Point, Zones, exact},
    unit::Unit,
};
use volley_error::Result;
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{Time, Varchar, binary, map2, vectorized},
};
use volley_types::{
    Type,
    civil::{MICROS_PER_DAY, civil_of_days, days_of_civil},
};

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let name = "presto.date_trunc";
    let described = doc(
        "date_trunc(unit, date, time or timestamp) -> same as input",
        "The start of the millisecond, second, minute, hour, day, week, month, quarter or year that \
         holds the point in time.",
        &[("date_trunc('month', date '2020-02-29')", "2020-02-01")],
    );
    registry.add_scalar(name, described, truncated::<OfDate>(Unit::of_date));
    registry.add_scalar(name, FunctionDoc::default(), truncated::<OfTimestamp>(Unit::parse));
    registry.add_scalar(name, FunctionDoc::default(), truncated::<OfZoned>(Unit::parse));
    let of_time = binary::<Varchar, Time, Time, _>(|unit: &str, it: i64| -> Result<i64> {
        Ok(it - it.rem_euclid(Unit::of_time(unit)?))
    });
    registry.add_scalar(name, FunctionDoc::default(), of_time);
}

fn truncated<P: Point>(unit_of: fn(&str) -> Result<Unit>) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let truncate = |unit: &str, it: P::Stored| -> Result<P::Stored> {
            start_of::<P>(unit_of(unit)?, &P::moment(it, &zones), &zones)
        };
        map2::<Varchar, P::Marker, P::Marker, _>(rows, args, to, ctx, truncate)
    });
    exact(vec![Type::Varchar, P::data_type()], P::data_type(), ScalarTraits::DEFAULT, function)
}

/// The start of the unit that holds a moment.
fn start_of<P: Point>(unit: Unit, moment: &Moment, zones: &Zones) -> Result<P::Stored> {
    let local = match unit.micros() {
        Some(step) => moment.local()? - moment.of_day.rem_euclid(step),
        None => {
            let first = first_day(unit, moment.days).checked_mul(MICROS_PER_DAY);
            first.ok_or_else(out_of_range)?
        }
    };
    P::changed(local, moment, zones)
}

/// The first day of the unit that holds a day.
fn first_day(unit: Unit, days: i32) -> i64 {
    let date = civil_of_days(days);
    let year = i64::from(date.year);
    match unit {
        Unit::Year => days_of_civil(year, 1, 1),
        Unit::Quarter => days_of_civil(year, (date.month - 1) / 3 * 3 + 1, 1),
        Unit::Month => days_of_civil(year, date.month, 1),
        Unit::Week => i64::from(days) + 1 - iso_day_of_week(days),
        _ => days.into(),
    }
}

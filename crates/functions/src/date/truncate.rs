//! `date_trunc`: the start of the unit that holds a point in time.

use super::{
    field::{iso_week, iso_year_start, monday_of, split},
    timestamp_out_of_range,
    unit::Unit,
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Argument, BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits,
    simple::{self, Date, Interval, Timestamp, Varchar},
};
use volley_types::{
    Interval as IntervalValue, Type, Value,
    civil::{
        MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_of_days,
        days_of_civil, is_infinite_date, is_infinite_timestamp, timestamp_of,
    },
};
use volley_vector::{Rows, Vector};

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i64 = 1_000;

/// Registers `date_trunc`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "date_trunc(unit, date, timestamp or interval) -> timestamp or interval",
        "The start of the year, month, week, hour, ... that holds the point in time.",
        "date",
        &[("date_trunc('month', date '2020-02-29')", "2020-02-01 00:00:00")],
    );
    for name in ["date_trunc", "datetrunc"] {
        registry.add_scalar(name, doc.clone(), Arc::new(bind));
    }
}

fn bind(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown, point] = args else { return None };
    let (source, result) = match point {
        Type::Date => (Type::Date, Type::Timestamp),
        Type::Timestamp | Type::Unknown => (Type::Timestamp, Type::Timestamp),
        Type::Interval => (Type::Interval, Type::Interval),
        _ => return None,
    };
    Some(BoundScalar {
        name: String::new(),
        args: vec![Type::Varchar, source.clone()],
        result,
        traits: ScalarTraits::DEFAULT,
        function: Arc::new(DateTrunc { source }),
    })
}

struct DateTrunc {
    source: Type,
}

impl ScalarFunction for DateTrunc {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        match self.source {
            Type::Date => {
                simple::map2::<Varchar, Date, Timestamp, _>(rows, args, to, ctx, |name, it| {
                    truncate_date(Unit::parse(name)?, it)
                })
            }
            Type::Timestamp => {
                simple::map2::<Varchar, Timestamp, Timestamp, _>(rows, args, to, ctx, |name, it| {
                    truncate(Unit::parse(name)?, it)
                })
            }
            _ => simple::map2::<Varchar, Interval, Interval, _>(rows, args, to, ctx, |name, it| {
                truncate_interval(Unit::parse(name)?, it)
            }),
        }
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let name = args.first().and_then(|it| it.constant.as_ref()).and_then(Value::as_str);
        let Some(name) = name else { return Ok(None) };
        let unit = Unit::parse(name)?;
        let function = match self.source {
            Type::Date => {
                simple::function1::<Date, Timestamp, _>(move |it| truncate_date(unit, it))
            }
            Type::Timestamp => {
                simple::function1::<Timestamp, Timestamp, _>(move |it| truncate(unit, it))
            }
            _ => simple::function1::<Interval, Interval, _>(move |it| truncate_interval(unit, it)),
        };
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            function.evaluate(rows, &args[1..], to, ctx)
        })))
    }
}

fn truncate_date(unit: Unit, days: i32) -> Result<i64, Error> {
    if is_infinite_date(days) {
        return timestamp_of(days, 0).ok_or_else(timestamp_out_of_range);
    }
    midnight(truncate_days(unit, days))
}

fn midnight(days: i64) -> Result<i64, Error> {
    days.checked_mul(MICROS_PER_DAY).ok_or_else(timestamp_out_of_range)
}

pub(super) fn truncate(unit: Unit, micros: i64) -> Result<i64, Error> {
    if is_infinite_timestamp(micros) {
        return Ok(micros);
    }
    let step = match unit {
        Unit::Hour => MICROS_PER_HOUR,
        Unit::Minute => MICROS_PER_MINUTE,
        Unit::Second | Unit::Epoch => MICROS_PER_SECOND,
        Unit::Millisecond => 1_000,
        Unit::Microsecond => 1,
        _ => return midnight(truncate_days(unit, split(micros).0)),
    };
    // Toward the past, also before 1970.
    micros.checked_sub(micros.rem_euclid(step)).ok_or_else(timestamp_out_of_range)
}

/// The first day of the unit that holds a day; the day itself for units within it.
fn truncate_days(unit: Unit, days: i32) -> i64 {
    let date = civil_of_days(days);
    let year = i64::from(date.year);
    let start_of = |year| days_of_civil(year, 1, 1);
    match unit {
        Unit::Millennium => start_of(year / 1000 * 1000),
        Unit::Century => start_of(year / 100 * 100),
        Unit::Decade => start_of(year / 10 * 10),
        Unit::Year => start_of(year),
        Unit::IsoYear => iso_year_start(iso_week(days).0),
        Unit::Quarter => days_of_civil(year, (date.month - 1) / 3 * 3 + 1, 1),
        Unit::Month => days_of_civil(year, date.month, 1),
        Unit::Week | Unit::YearWeek => monday_of(days),
        Unit::Era if year > 0 => start_of(1),
        _ => days.into(),
    }
}

fn truncate_interval(unit: Unit, interval: IntervalValue) -> Result<IntervalValue, Error> {
    let months = match unit {
        Unit::Millennium => 12_000,
        Unit::Century => 1_200,
        Unit::Decade => 120,
        Unit::Year | Unit::IsoYear => 12,
        Unit::Quarter => 3,
        Unit::Month => 1,
        _ => return Ok(truncate_time(unit, interval)),
    };
    let months = interval.months / months * months;
    Ok(IntervalValue { months, days: 0, nanoseconds: 0 })
}

fn truncate_time(unit: Unit, interval: IntervalValue) -> IntervalValue {
    let step = match unit {
        Unit::Week | Unit::YearWeek => {
            return IntervalValue { days: interval.days / 7 * 7, nanoseconds: 0, ..interval };
        }
        Unit::Hour => MICROS_PER_HOUR,
        Unit::Minute => MICROS_PER_MINUTE,
        Unit::Second | Unit::Epoch => MICROS_PER_SECOND,
        Unit::Millisecond => 1_000,
        Unit::Microsecond => 1,
        _ => return IntervalValue { nanoseconds: 0, ..interval },
    };
    let step = step * NANOS_PER_MICRO;
    IntervalValue { nanoseconds: interval.nanoseconds / step * step, ..interval }
}

//! `sequence`: numbers, dates and timestamps in steps.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{ArrayWriter, DateDays, Interval, TimestampMicros},
};
use volley_types::civil::{
    MICROS_PER_DAY, add_months, civil_of_days, split_timestamp, timestamp_of,
};

/// The maximum number of elements of a sequence.
const ELEMENTS_MAX: i128 = 10_000;

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i128 = 1_000;

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let name = "presto.sequence";
    let numbers = doc(
        "sequence(start, stop[, step]) -> array of bigint",
        "The numbers from start to stop, by steps of 1 or -1 when none is given. A sequence has at \
         most 10000 elements.",
        &[("sequence(1, 4)", "[1, 2, 3, 4]"), ("sequence(5, 0, -2)", "[5, 3, 1]")],
    );
    registry.simple(
        name,
        numbers,
        |start: i64, stop: i64, out: &mut ArrayWriter<i64>| -> Result<()> {
            write_numbers(start, stop, toward(start, stop), |it| out.push(it))
        },
    );
    registry.simple(
        name,
        FunctionDoc::default(),
        |start: i64, stop: i64, step: i64, out: &mut ArrayWriter<i64>| -> Result<()> {
            write_numbers(start, stop, step.into(), |it| out.push(it))
        },
    );
    register_points(registry);
}

/// Sequences of dates and timestamps.
fn register_points(registry: &mut Registry) {
    let name = "presto.sequence";
    let dates = doc(
        "sequence(start date, stop date[, step interval]) -> array of date",
        "The dates from start to stop, by steps of a day when none is given: of whole days or of \
         months.",
        &[(
            "sequence(DATE '2024-01-31', DATE '2024-03-31', INTERVAL '1' MONTH)",
            "[2024-01-31, 2024-02-29, 2024-03-31]",
        )],
    );
    registry.simple(
        name,
        dates,
        |start: DateDays, stop: DateDays, out: &mut ArrayWriter<DateDays>| -> Result<()> {
            write_dates(start.0, stop.0, toward(start.0.into(), stop.0.into()), out)
        },
    );
    registry.simple(
        name,
        FunctionDoc::default(),
        |start: DateDays,
         stop: DateDays,
         step: Interval,
         out: &mut ArrayWriter<DateDays>|
         -> Result<()> {
            match Step::of(step)? {
                Step::Months(months) => {
                    let at = |months| add_months(start.0, months).map(i64::from);
                    write_months(start.0, stop.0, stop.0.into(), months, at, |it| {
                        out.push(DateDays(it as i32));
                    })
                }
                Step::Micros(micros) => {
                    if micros % i128::from(MICROS_PER_DAY) != 0 {
                        let message =
                            "the step of a sequence of dates must be whole days or months";
                        return Err(Error::invalid_value(message));
                    }
                    write_dates(start.0, stop.0, micros / i128::from(MICROS_PER_DAY), out)
                }
            }
        },
    );
    let timestamps = doc(
        "sequence(start timestamp, stop timestamp, step interval) -> array of timestamp",
        "The timestamps from start to stop, by steps of days and times or of months.",
        &[(
            "sequence(TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-01 12:00:00', \
             INTERVAL '12' HOUR)",
            "['2024-01-01 00:00:00', '2024-01-01 12:00:00']",
        )],
    );
    registry.simple(name, timestamps, write_timestamps);
}

/// The step of a sequence for which none is given.
fn toward(start: i64, stop: i64) -> i128 {
    if start <= stop { 1 } else { -1 }
}

/// How many elements there are before and at `stop`.
fn count_of(distance: i128, step: i128) -> Result<i128> {
    if step == 0 {
        return Err(Error::invalid_value("step of sequence must not be zero"));
    }
    if distance != 0 && (distance > 0) != (step > 0) {
        let message = "sequence stop value should be greater than or equal to start value if step \
                       is greater than zero otherwise stop should be less than or equal to start";
        return Err(Error::invalid_value(message));
    }
    checked_count(distance / step + 1)
}

fn checked_count(count: i128) -> Result<i128> {
    if count > ELEMENTS_MAX {
        let message = "result of sequence function must not have more than";
        return Err(Error::invalid_value(format!("{message} {ELEMENTS_MAX} entries: {count}")));
    }
    Ok(count)
}

fn write_numbers(start: i64, stop: i64, step: i128, mut push: impl FnMut(i64)) -> Result<()> {
    let count = count_of(i128::from(stop) - i128::from(start), step)?;
    // All are between start and stop.
    (0..count).for_each(|it| push((i128::from(start) + it * step) as i64));
    Ok(())
}

fn write_dates(start: i32, stop: i32, step: i128, out: &mut ArrayWriter<DateDays>) -> Result<()> {
    write_numbers(start.into(), stop.into(), step, |it| out.push(DateDays(it as i32)))
}

fn write_timestamps(
    start: TimestampMicros,
    stop: TimestampMicros,
    step: Interval,
    out: &mut ArrayWriter<TimestampMicros>,
) -> Result<()> {
    match Step::of(step)? {
        Step::Months(months) => {
            let (first, of_day) = split_timestamp(start.0);
            let (last, _) = split_timestamp(stop.0);
            let at = |months| timestamp_of(add_months(first, months)?, of_day);
            write_months(first, last, stop.0, months, at, |it| out.push(TimestampMicros(it)))
        }
        Step::Micros(micros) => {
            write_numbers(start.0, stop.0, micros, |it| out.push(TimestampMicros(it)))
        }
    }
}

/// A step of months, or of days and times.
enum Step {
    Months(i64),
    Micros(i128),
}

impl Step {
    fn of(interval: Interval) -> Result<Step> {
        let days = i128::from(interval.days) * i128::from(MICROS_PER_DAY);
        let micros = days + i128::from(interval.nanoseconds) / NANOS_PER_MICRO;
        match (interval.months, micros) {
            (0, micros) => Ok(Step::Micros(micros)),
            (months, 0) => Ok(Step::Months(months.into())),
            _ => {
                Err(Error::invalid_value("the step of a sequence mixes months with days or times"))
            }
        }
    }
}

/// Steps of months from a date on; `at` returns the element a number of months later, `stop` is the
/// upper bound.
fn write_months(
    first: i32,
    last: i32,
    stop: i64,
    step: i64,
    at: impl Fn(i64) -> Option<i64>,
    mut push: impl FnMut(i64),
) -> Result<()> {
    let month = |days: i32| {
        let date = civil_of_days(days);
        i64::from(date.year) * 12 + i64::from(date.month)
    };
    let mut months = month(last) - month(first);
    // A day or time beyond that of the end: the last month is not whole.
    let is_beyond = |months: i64| match step > 0 {
        true => at(months).is_none_or(|it| it > stop),
        false => at(months).is_none_or(|it| it < stop),
    };
    if months != 0 && is_beyond(months) {
        months -= months.signum();
    }
    let is_backward = at(0).is_some_and(|start| match step > 0 {
        true => start > stop,
        false => start < stop,
    });
    let distance = if is_backward { -i128::from(step) } else { i128::from(months) };
    let count = count_of(distance, step.into())?;
    (0..count as i64).filter_map(|it| at(it * step)).for_each(&mut push);
    Ok(())
}

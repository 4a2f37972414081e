//! Fields of points in time, of times of day and of intervals.

use super::{
    doc,
    point::{Moment, OfDate, OfTimestamp, OfZoned, Zones, exact, field_of},
};
use volley_function::{
    FunctionDoc, Registry, ScalarTraits,
    simple::{BigInt, Date, Interval, Time, map1, unary, vectorized},
};
use volley_types::{
    Interval as IntervalValue, Type,
    civil::{
        MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_of_days, days_in_month,
        days_of_civil,
    },
};

use super::point::Point;

/// Nanoseconds of a millisecond and milliseconds of a day.
const NANOS_PER_MILLI: i64 = 1_000_000;
const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;

/// A field of a moment.
struct FieldDoc {
    /// The names, the first of which is described.
    names: &'static [&'static str],
    of: fn(&Moment) -> i64,
    description: &'static str,
    example: (&'static str, &'static str),
}

const FIELDS: [FieldDoc; 12] = [
    FieldDoc {
        names: &["year"],
        of: |it| civil_of_days(it.days).year.into(),
        description: "The year; of an interval the whole years.",
        example: ("year(date '2020-02-29')", "2020"),
    },
    FieldDoc {
        names: &["quarter"],
        of: |it| i64::from(civil_of_days(it.days).month - 1) / 3 + 1,
        description: "The quarter of the year, 1 to 4.",
        example: ("quarter(date '2020-02-29')", "1"),
    },
    FieldDoc {
        names: &["month"],
        of: |it| civil_of_days(it.days).month.into(),
        description: "The month of the year, 1 to 12; for an interval the months in excess of \
             whole years.",
        example: ("month(date '2020-02-29')", "2"),
    },
    FieldDoc {
        names: &["week", "week_of_year"],
        of: |it| iso_week(it.days).1,
        description: "The ISO week of the year, 1 to 53.",
        example: ("week(date '2021-01-03')", "53"),
    },
    FieldDoc {
        names: &["year_of_week", "yow"],
        of: |it| iso_week(it.days).0,
        description: "The year that the ISO week belongs to.",
        example: ("year_of_week(date '2021-01-03')", "2020"),
    },
    FieldDoc {
        names: &["day", "day_of_month"],
        of: |it| civil_of_days(it.days).day.into(),
        description: "The day of the month, 1 to 31; of an interval the whole days.",
        example: ("day(date '2020-02-29')", "29"),
    },
    FieldDoc {
        names: &["day_of_week", "dow"],
        of: |it| iso_day_of_week(it.days),
        description: "The ISO day of the week, from 1 for Monday to 7 for Sunday.",
        example: ("day_of_week(date '2020-02-29')", "6"),
    },
    FieldDoc {
        names: &["day_of_year", "doy"],
        of: |it| day_of_year(it.days),
        description: "The day of the year, 1 to 366.",
        example: ("day_of_year(date '2020-02-29')", "60"),
    },
    FieldDoc {
        names: &["hour"],
        of: |it| it.of_day / MICROS_PER_HOUR,
        description: "The hour of the day, 0 to 23.",
        example: ("hour(timestamp '2020-02-29 13:14:15.678')", "13"),
    },
    FieldDoc {
        names: &["minute"],
        of: |it| it.of_day / MICROS_PER_MINUTE % 60,
        description: "The minute of the hour, 0 to 59.",
        example: ("minute(timestamp '2020-02-29 13:14:15.678')", "14"),
    },
    FieldDoc {
        names: &["second"],
        of: |it| it.of_day / MICROS_PER_SECOND % 60,
        description: "The second of the minute, 0 to 59.",
        example: ("second(timestamp '2020-02-29 13:14:15.678')", "15"),
    },
    FieldDoc {
        names: &["millisecond"],
        of: |it| it.of_day % MICROS_PER_SECOND / 1_000,
        description: "The millisecond of the second, 0 to 999.",
        example: ("millisecond(timestamp '2020-02-29 13:14:15.678')", "678"),
    },
];

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    for field in &FIELDS {
        let of = field.of;
        for name in field.names {
            let signature = format!("{name}(date, timestamp, time or interval) -> bigint");
            let described = doc(&signature, field.description, &[field.example]);
            let name = format!("presto.{name}");
            registry.add_scalar(&name, described, field_of::<OfDate>(move |it, _| of(it)));
            let same = FunctionDoc::default;
            let of_timestamp = field_of::<OfTimestamp>(move |it, _| of(it));
            registry.add_scalar(&name, same(), of_timestamp);
            registry.add_scalar(&name, same(), field_of::<OfZoned>(move |it, _| of(it)));
        }
    }
    register_of_times(registry);
    register_of_zones(registry);
    let last = doc(
        "last_day_of_month(date or timestamp) -> date",
        "The last day of the month.",
        &[("last_day_of_month(date '2020-02-05')", "2020-02-29")],
    );
    let name = "presto.last_day_of_month";
    registry.add_scalar(name, last, last_day_of::<OfDate>());
    registry.add_scalar(name, FunctionDoc::default(), last_day_of::<OfTimestamp>());
    registry.add_scalar(name, FunctionDoc::default(), last_day_of::<OfZoned>());
}

fn register_of_times(registry: &mut Registry) {
    let of_time: [(&str, fn(i64) -> i64); 4] = [
        ("presto.hour", |it| it / MICROS_PER_HOUR),
        ("presto.minute", |it| it / MICROS_PER_MINUTE % 60),
        ("presto.second", |it| it / MICROS_PER_SECOND % 60),
        ("presto.millisecond", |it| it % MICROS_PER_SECOND / 1_000),
    ];
    for (name, of) in of_time {
        registry.add_scalar(name, FunctionDoc::default(), unary::<Time, BigInt, i64>(of));
    }
    let of_interval: [(&str, fn(IntervalValue) -> i64); 8] = [
        ("presto.year", |it| i64::from(it.months) / 12),
        ("presto.month", |it| i64::from(it.months) % 12),
        ("presto.day", |it| millis_of(it) / MILLIS_PER_DAY),
        ("presto.day_of_month", |it| millis_of(it) / MILLIS_PER_DAY),
        ("presto.hour", |it| millis_of(it) % MILLIS_PER_DAY / 3_600_000),
        ("presto.minute", |it| millis_of(it) % 3_600_000 / 60_000),
        ("presto.second", |it| millis_of(it) % 60_000 / 1_000),
        ("presto.millisecond", |it| millis_of(it) % 1_000),
    ];
    for (name, of) in of_interval {
        registry.add_scalar(name, FunctionDoc::default(), unary::<Interval, BigInt, i64>(of));
    }
}

fn register_of_zones(registry: &mut Registry) {
    let offset = |moment: &Moment, zones: &Zones| zones.offset_seconds(moment).unwrap_or_default();
    let hour = doc(
        "timezone_hour(timestamp with time zone) -> bigint",
        "The hours of the offset of the time zone from UTC.",
        &[("timezone_hour(timestamp '2020-07-01 12:00:00 Asia/Kolkata')", "5")],
    );
    let of = field_of::<OfZoned>(move |it, zones| offset(it, zones) / 3_600);
    registry.add_scalar("presto.timezone_hour", hour, of);
    let minute = doc(
        "timezone_minute(timestamp with time zone) -> bigint",
        "The minutes of the offset of the time zone from UTC, in excess of whole hours.",
        &[("timezone_minute(timestamp '2020-07-01 12:00:00 Asia/Kolkata')", "30")],
    );
    let of = field_of::<OfZoned>(move |it, zones| offset(it, zones) % 3_600 / 60);
    registry.add_scalar("presto.timezone_minute", minute, of);
}

fn last_day_of<P: Point>() -> volley_function::BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        map1::<P::Marker, Date, i32>(rows, args, to, ctx, |it| {
            let days = P::moment(it, &zones).days;
            let date = civil_of_days(days);
            let rest = days_in_month(date.year.into(), date.month) - date.day;
            days.saturating_add_unsigned(rest)
        })
    });
    exact(vec![P::data_type()], Type::Date, ScalarTraits::INFALLIBLE, function)
}

/// Milliseconds of the days and the time of an interval.
pub(super) fn millis_of(interval: IntervalValue) -> i64 {
    i64::from(interval.days) * MILLIS_PER_DAY + interval.nanoseconds / NANOS_PER_MILLI
}

/// Monday is 1, Sunday 7.
pub(super) fn iso_day_of_week(days: i32) -> i64 {
    // 1970-01-01 was a Thursday.
    (i64::from(days) + 3).rem_euclid(7) + 1
}

/// The year and the week in it, by ISO 8601.
pub(super) fn iso_week(days: i32) -> (i64, i64) {
    // A week belongs to the year of its Thursday.
    let thursday = i64::from(days) + 4 - iso_day_of_week(days);
    let in_range = thursday.clamp(i32::MIN.into(), i32::MAX.into());
    let year = i64::from(civil_of_days(in_range as i32).year);
    (year, (thursday - days_of_civil(year, 1, 1)) / 7 + 1)
}

/// 1 to 366.
pub(super) fn day_of_year(days: i32) -> i64 {
    let year = i64::from(civil_of_days(days).year);
    i64::from(days) - days_of_civil(year, 1, 1) + 1
}

//! Dates and timestamps as ISO 8601 writes them.

use super::{
    doc,
    field::iso_day_of_week,
    point::{OfTimestamp, OfZoned, Point, Zones, exact},
    unix::packed,
};
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{
        Date, Physical, StringWriter, Varchar, map_text, map1, text_unary, unary, vectorized,
    },
};
use volley_types::{
    Type, ZoneId,
    civil::{self, MICROS_PER_HOUR, checked_days, days_of_civil, is_leap_year},
    custom::ZonedTimestamp,
    text::{push_date_signed, push_time_millis},
};

/// Registers `to_iso8601`, `from_iso8601_date` and `from_iso8601_timestamp`.
pub(super) fn register(registry: &mut Registry) {
    let name = "presto.to_iso8601";
    let described = doc(
        "to_iso8601(date or timestamp) -> varchar",
        "The date, or the timestamp with the offset of its time zone, as ISO 8601 writes it.",
        &[
            ("to_iso8601(date '2020-02-29')", "2020-02-29"),
            (
                "to_iso8601(timestamp '2020-07-01 12:00:00 Europe/Berlin')",
                "2020-07-01T12:00:00.000+02:00",
            ),
        ],
    );
    let of_date = text_unary::<Date, Varchar, _>(|days, out| {
        let mut text = String::new();
        push_date_signed(&mut text, days);
        out.push_str(&text);
    });
    registry.add_scalar(name, described, of_date);
    registry.add_scalar(name, FunctionDoc::default(), written::<OfTimestamp>());
    registry.add_scalar(name, FunctionDoc::default(), written::<OfZoned>());
    let date = doc(
        "from_iso8601_date(varchar) -> date",
        "The date that a text in a form of ISO 8601 is: 2020-02-29, 2020-02, 2020, 2020-060 (day of \
         the year), 2020-W09-6 (day of a week), 2020-W09.",
        &[("from_iso8601_date('2020-W09-6')", "2020-02-29")],
    );
    let parse = |text: &str| -> Result<i32, Error> {
        let parsed = date_of(text).filter(|it| it.1.is_empty());
        parsed.map(|it| it.0).ok_or_else(|| not_iso(text, "date"))
    };
    registry.add_scalar("presto.from_iso8601_date", date, unary::<Varchar, Date, _>(parse));
    let timestamp = doc(
        "from_iso8601_timestamp(varchar) -> timestamp with time zone",
        "The timestamp that a text in a form of ISO 8601 is, with the offset that is written, or else \
         in the session's time zone.",
        &[(
            "to_iso8601(from_iso8601_timestamp('2020-02-29T12:00+05:30'))",
            "2020-02-29T12:00:00.000+05:30",
        )],
    );
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let parse = |text: &str| -> Result<i64> {
            let (local, zone) = timestamp_of(text).ok_or_else(|| not_iso(text, "timestamp"))?;
            let zone = zone.unwrap_or(zones.session);
            packed(zones.instant_of(local, zone), zone)
        };
        map1::<Varchar, Physical<i64>, _>(rows, args, to, ctx, parse)
    });
    let zoned = ZonedTimestamp::data_type();
    let bind = exact(vec![Type::Varchar], zoned, ScalarTraits::DEFAULT, function);
    registry.add_scalar("presto.from_iso8601_timestamp", timestamp, bind);
}

fn not_iso(text: &str, what: &str) -> Error {
    Error::invalid_value(format!("not a {what} of ISO 8601: '{text}'"))
}

fn written<P: Point>() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let write = |(it,): (P::Stored,), out: &mut StringWriter| -> Result<()> {
            let moment = P::moment(it, &zones);
            let mut text = String::new();
            push_date_signed(&mut text, moment.days);
            text.push('T');
            push_time_millis(&mut text, moment.of_day);
            super::layout::push_offset(&mut text, zones.offset_seconds(&moment)?, ":", "Z");
            out.push_str(&text);
            Ok(())
        };
        map_text::<(P::Marker,), _>(rows, args, to, ctx, write)
    });
    exact(vec![P::data_type()], Type::Varchar, ScalarTraits::DEFAULT, function)
}

/// A number of `width` digits, and the rest.
fn number(text: &str, width: usize) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(width)?;
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_number)?, rest))
}

/// A number of two digits after a separator; `None` without the separator.
fn part(text: &str, separator: char) -> Option<Option<(i64, &str)>> {
    text.strip_prefix(separator).map(|rest| number(rest, 2))
}

/// The date at the beginning of a text, and the rest.
fn date_of(text: &str) -> Option<(i32, &str)> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", rest) => (-1, rest),
        ("+", rest) => (1, rest),
        _ => (1, text),
    };
    let width = digits.bytes().take_while(u8::is_ascii_digit).count();
    if !(4..=9).contains(&width) {
        return None;
    }
    let (year, rest) = number(digits, width)?;
    let year = sign * year;
    if let Some(rest) = rest.strip_prefix("-W") {
        return week_date(year, rest);
    }
    let of_year = rest.strip_prefix('-').and_then(|it| number(it, 3));
    if let Some((day, rest)) =
        of_year.filter(|it| !it.1.starts_with(|it: char| it.is_ascii_digit()))
    {
        let days = if is_leap_year(year) { 366 } else { 365 };
        let first = checked_days(year, 1, 1)?;
        let day = i32::try_from(day).ok().filter(|it| (1..=days).contains(it))?;
        return Some((first.checked_add(day - 1)?, rest));
    }
    let (month, rest) = part(rest, '-').unwrap_or(Some((1, rest)))?;
    let (day, rest) = part(rest, '-').unwrap_or(Some((1, rest)))?;
    Some((checked_days(year, month, day)?, rest))
}

/// A week of a year, and perhaps the day of the week.
fn week_date(year: i64, text: &str) -> Option<(i32, &str)> {
    let (week, rest) = number(text, 2)?;
    let (day, rest) = match rest.strip_prefix('-') {
        Some(rest) => number(rest, 1)?,
        None => (1, rest),
    };
    Some((days_of_week(year, week, day)?, rest))
}

/// The day of a week of an ISO year; `None` when there is none.
pub(super) fn days_of_week(year: i64, week: i64, day: i64) -> Option<i32> {
    let start = |year: i64| -> Option<i64> {
        checked_days(year, 1, 1)?;
        let fourth = days_of_civil(year, 1, 4);
        Some(fourth + 1 - iso_day_of_week(i32::try_from(fourth).ok()?))
    };
    let (first, next) = (start(year)?, start(year.checked_add(1)?)?);
    let days = first + (week - 1) * 7;
    if !(1..=53).contains(&week) || !(1..=7).contains(&day) || days >= next {
        return None;
    }
    i32::try_from(days + day - 1).ok()
}

/// What clocks show by a text, and the zone that is written.
fn timestamp_of(text: &str) -> Option<(i64, Option<ZoneId>)> {
    let (days, rest) = if text.starts_with('T') { (0, text) } else { date_of(text)? };
    let Some(clock) = rest.strip_prefix('T') else {
        return rest
            .is_empty()
            .then(|| civil::timestamp_of(days, 0))
            .flatten()
            .map(|it| (it, None));
    };
    let (of_day, rest) = if clock.is_empty() || clock.starts_with(['Z', '+', '-']) {
        (0, clock)
    } else {
        time_of(clock)?
    };
    let zone = match rest {
        "" => None,
        "Z" => Some(ZoneId::UTC),
        offset if offset.starts_with(['+', '-']) => Some(ZoneId::find(offset)?),
        _ => return None,
    };
    Some((civil::timestamp_of(days, of_day)?, zone))
}

/// Hours, and perhaps minutes and seconds; the last may have a fraction.
fn time_of(text: &str) -> Option<(i64, &str)> {
    let (hour, mut rest) = number(text, 2)?;
    let mut micros = hour * MICROS_PER_HOUR;
    let mut unit = MICROS_PER_HOUR;
    while unit > MICROS_PER_HOUR / 3_600 {
        let Some(read) = part(rest, ':') else { break };
        let (value, behind) = read.filter(|it| it.0 < 60)?;
        unit /= 60;
        micros += value * unit;
        rest = behind;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let width = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = fraction.split_at(width);
        // Digits beyond these are less than a microsecond of an hour.
        let digits = digits.get(..digits.len().min(12)).filter(|it| !it.is_empty())?;
        let scale = 10i128.checked_pow(u32::try_from(digits.len()).ok()?)?;
        micros += i64::try_from(digits.parse::<i128>().ok()? * i128::from(unit) / scale).ok()?;
        rest = behind;
    }
    (hour < 24).then_some((micros, rest))
}

use crate::calls::{call, fails, text};
use volley_types::{Interval, Type, Value, text as types_text};

fn name(text: &str) -> (Type, Value) {
    (Type::Varchar, Value::text(text))
}

fn date(text: &str) -> (Type, Value) {
    (Type::Date, Value::Date(types_text::parse_date(text).unwrap()))
}

fn timestamp(text: &str) -> (Type, Value) {
    (Type::Timestamp, Value::Timestamp(types_text::parse_timestamp(text).unwrap()))
}

fn time(text: &str) -> (Type, Value) {
    (Type::Time, Value::Time(types_text::parse_time(text).unwrap()))
}

fn interval(text: &str) -> (Type, Value) {
    (Type::Interval, Value::Interval(types_text::parse_interval(text).unwrap()))
}

fn number(value: i64) -> (Type, Value) {
    (Type::BigInt, Value::BigInt(value))
}

#[track_caller]
fn part(field: &str, point: (Type, Value), expected: i64) {
    assert_eq!(call("date_part", &[name(field), point]), Value::BigInt(expected), "{field}");
}

#[test]
fn fields_of_dates_follow_the_calendar() {
    for (field, expected) in [
        ("year", 2024),
        ("month", 12),
        ("day", 30),
        ("quarter", 4),
        ("week", 1),
        ("isoyear", 2025),
        ("yearweek", 202_501),
        ("dow", 1),
        ("isodow", 1),
        ("doy", 365),
        ("century", 21),
        ("decade", 202),
        ("millennium", 3),
        ("era", 1),
        ("hour", 0),
    ] {
        part(field, date("2024-12-30"), expected);
    }
    part("century", date("2000-01-01"), 20);
    part("century", date("0001-01-01 (BC)"), -1);
    part("decade", date("0011-01-01 (BC)"), -1);
    part("year", date("0044-03-15 (BC)"), -43);
    part("week", date("1970-01-01"), 1);
    part("week", date("2021-01-03"), 53);
    part("dow", date("2020-03-01"), 0);
    part("isodow", date("2020-03-01"), 7);
    part("doy", date("2020-02-29"), 60);
    assert_eq!(call("year", &[date("1969-12-31")]), Value::BigInt(1969));
    let failed = fails("date_part", &[name("yeer"), date("2020-01-01")]);
    assert_eq!(failed, "unknown date part: 'yeer'");
}

#[test]
fn fields_of_times_count_from_midnight() {
    let moment = || timestamp("1969-12-31 12:30:15.25");
    part("hour", moment(), 12);
    part("minute", moment(), 30);
    part("second", moment(), 15);
    part("millisecond", moment(), 15_250);
    part("microseconds", moment(), 15_250_000);
    part("YEAR", moment(), 1969);
    part("minute", time("12:34:56.7"), 34);
    let failed = fails("date_part", &[name("year"), time("12:34:56")]);
    assert_eq!(failed, "a time has no field year");
    part("year", interval("14 months"), 1);
    part("month", interval("-14 months"), -2);
    part("hour", interval("25 hours"), 25);
    part("quarter", interval("14 months"), 1);
    assert_eq!(
        fails("date_part", &[name("dow"), interval("1 day")]),
        "an interval has no field dow"
    );
    assert_eq!(call("epoch", &[moment()]), Value::Double(-41384.75));
    let years = call("epoch", &[interval("1 year 1 month 1 day 00:00:01.5")]);
    assert_eq!(years, Value::Double(34_236_001.5));
    assert_eq!(call("julian", &[timestamp("2024-12-30 12:00:00")]), Value::Double(2_460_675.5));
    assert_eq!(call("epoch_ms", &[timestamp("1970-01-01 00:00:01")]), Value::BigInt(1000));
}

#[test]
fn points_in_time_are_truncated_toward_the_past() {
    let check = |unit: &str, point: (Type, Value), expected: &str| {
        assert_eq!(text("date_trunc", &[name(unit), point]), expected, "{unit}");
    };
    check("year", date("2020-02-29"), "2020-01-01 00:00:00");
    check("quarter", date("2020-05-29"), "2020-04-01 00:00:00");
    check("month", date("1969-12-31"), "1969-12-01 00:00:00");
    check("week", date("1970-01-01"), "1969-12-29 00:00:00");
    check("decade", date("2025-05-05"), "2020-01-01 00:00:00");
    check("century", date("2025-05-05"), "2000-01-01 00:00:00");
    check("isoyear", date("2024-12-30"), "2024-12-30 00:00:00");
    check("hour", timestamp("1969-12-31 12:30:15.25"), "1969-12-31 12:00:00");
    check("second", timestamp("1969-12-31 23:59:59.5"), "1969-12-31 23:59:59");
    check("millisecond", timestamp("2020-01-01 00:00:00.123456"), "2020-01-01 00:00:00.123");
    check("day", timestamp("1969-12-31 12:30:15"), "1969-12-31 00:00:00");
    check("quarter", interval("-14 months 3 days"), "-1 year");
    check("day", interval("1 month 25 hours"), "1 month");
    check("hour", interval("1 day 25:30:00"), "1 day 25:00:00");
    let failed = fails("date_trunc", &[name("nothing"), date("2020-01-01")]);
    assert_eq!(failed, "unknown date part: 'nothing'");
}

#[test]
fn differences_count_borders_or_whole_units() {
    let diff = |unit: &str, start: (Type, Value), end: (Type, Value), expected: i64| {
        assert_eq!(call("date_diff", &[name(unit), start, end]), Value::BigInt(expected), "{unit}");
    };
    diff("day", date("2020-01-01"), date("2020-03-01"), 60);
    diff("month", date("2020-01-31"), date("2020-02-01"), 1);
    diff("year", date("2019-12-31"), date("2020-01-01"), 1);
    diff("week", date("2020-01-01"), date("2020-01-15"), 2);
    diff("week", date("2024-01-06"), date("2024-01-08"), 0);
    diff("quarter", date("2020-01-01"), date("2021-01-01"), 4);
    diff("decade", date("1999-01-01"), date("2000-01-01"), 1);
    diff("hour", timestamp("2020-01-01 00:59:59"), timestamp("2020-01-01 01:00:00"), 1);
    diff("day", timestamp("2020-01-01 23:59:59"), timestamp("2020-01-02 00:00:00"), 1);
    diff("hour", time("01:30:00"), time("02:00:00"), 1);
    let sub = |unit: &str, start: (Type, Value), end: (Type, Value), expected: i64| {
        assert_eq!(call("date_sub", &[name(unit), start, end]), Value::BigInt(expected), "{unit}");
    };
    sub("month", date("2024-01-31"), date("2024-02-29"), 1);
    sub("month", date("2024-01-15"), date("2024-02-14"), 0);
    sub("month", date("2024-02-29"), date("2024-01-31"), -1);
    sub("year", date("2024-02-29"), date("2025-02-28"), 1);
    sub("day", timestamp("2024-01-01 12:00:00"), timestamp("2024-01-02 11:00:00"), 0);
    sub("quarter", date("2024-01-01"), date("2024-12-31"), 3);
    let age = |end: &str, start: &str| text("age", &[timestamp(end), timestamp(start)]);
    assert_eq!(age("2001-04-10 00:00:00", "1957-06-13 00:00:00"), "43 years 9 months 27 days");
    assert_eq!(age("2024-01-31 12:00:00", "2024-03-01 00:00:00"), "-1 month -12:00:00");
}

#[test]
fn the_ends_of_the_range_do_not_wrap_around() {
    let last_day = (Type::Date, Value::Date(i32::MAX - 1));
    assert_eq!(fails("epoch_us", &[last_day]), "date out of range of the result");
    let first_moment = (Type::Timestamp, Value::Timestamp(i64::MIN));
    let format = (Type::Varchar, Value::text("%c"));
    assert!(!text("strftime", &[first_moment, format]).is_empty());
}

#[test]
fn points_in_time_are_made_of_numbers() {
    assert_eq!(call("make_date", &[number(2020), number(2), number(29)]), date("2020-02-29").1);
    let failed = fails("make_date", &[number(2021), number(2), number(29)]);
    assert_eq!(failed, "date out of range: 2021-2-29");
    let second = (Type::Double, Value::Double(5.678_901));
    let args = [number(2020), number(1), number(2), number(3), number(4), second];
    assert_eq!(text("make_timestamp", &args), "2020-01-02 03:04:05.678901");
    let args = [number(24), number(0), (Type::Double, Value::Double(0.0))];
    assert_eq!(fails("make_time", &args), "time out of range: 24:0:0");
    assert_eq!(call("last_day", &[date("2020-02-05")]), date("2020-02-29").1);
    assert_eq!(text("to_months", &[number(13)]), "1 year 1 month");
    assert_eq!(text("to_seconds", &[(Type::Double, Value::Double(1.5))]), "00:00:01.5");
    assert_eq!(fails("to_years", &[number(i64::MAX)]), "interval out of range");
    let zero = Value::Interval(Interval { months: 0, days: 0, nanoseconds: 0 });
    assert_eq!(call("to_days", &[number(0)]), zero);
    assert_eq!(text("now", &[]), "1970-01-01 00:00:00+00");
}

#[test]
fn formats_write_and_read_every_field() {
    let moment = timestamp("2024-01-05 15:04:05.678901");
    let check = |format: &str, expected: &str| {
        assert_eq!(text("strftime", &[moment.clone(), name(format)]), expected);
    };
    check("%Y-%m-%d %H:%M:%S.%f|%g|%y", "2024-01-05 15:04:05.678901|678|24");
    check("%b|%B|%a|%A|%j|%I|%p|%-d|%-m|%%", "Jan|January|Fri|Friday|005|03|PM|5|1|%");
    check(
        "%U|%W|%w|%u|%V|%G|%c|%x|%X",
        "00|01|5|5|01|2024|2024-01-05 15:04:05|2024-01-05|15:04:05",
    );
    assert_eq!(fails("strftime", &[moment.clone(), name("%e")]), "unknown date format: '%e'");
    let read = |value: &str, format: &str| text("strptime", &[name(value), name(format)]);
    assert_eq!(read("2024-01-05 15:04:05", "%Y-%m-%d %H:%M:%S"), "2024-01-05 15:04:05");
    assert_eq!(read("05/Jan/24 03:04 PM", "%d/%b/%y %I:%M %p"), "2024-01-05 15:04:00");
    assert_eq!(read("20240105", "%Y%m%d"), "2024-01-05 00:00:00");
    assert_eq!(read("5.1.2024", "%d.%m.%Y"), "2024-01-05 00:00:00");
    assert_eq!(call("try_strptime", &[name("x"), name("%Y")]), Value::Null);
    assert_eq!(fails("strptime", &[name("x"), name("%Y")]), "cannot read 'x' as '%Y'");
    assert_eq!(text("dayname", &[date("2020-01-01")]), "Wednesday");
    assert_eq!(text("monthname", &[date("2020-01-01")]), "January");
}

//! Dates, times and timestamps to text.

use super::number::push_padded;
use crate::civil::{
    MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_of_days, is_infinite_date,
    is_infinite_timestamp, split_timestamp,
};

/// Appends `infinity` or `-infinity`.
fn push_infinity(out: &mut String, is_negative: bool) {
    out.push_str(if is_negative { "-infinity" } else { "infinity" });
}

/// Appends `2020-01-31`; years before 1 as `0044-03-15 (BC)`.
pub fn push_date(out: &mut String, days: i32) {
    if is_infinite_date(days) {
        return push_infinity(out, days < 0);
    }
    if push_date_digits(out, days) {
        out.push_str(" (BC)");
    }
}

/// Appends `2020-01-31 12:00:00`, with the fraction's digits up to the last that is not zero.
pub fn push_timestamp(out: &mut String, micros: i64) {
    if is_infinite_timestamp(micros) {
        return push_infinity(out, micros < 0);
    }
    let (days, micros_of_day) = split_timestamp(micros);
    push_date(out, days);
    out.push(' ');
    push_time(out, micros_of_day);
}

/// Appends `2020-01-31 12:00:00.123456789` of nanoseconds, with the fraction's digits up to the
/// last that is not zero.
pub fn push_timestamp_nanos(out: &mut String, nanos: i64) {
    const NANOS_PER_SECOND: i64 = 1_000_000_000;
    if is_infinite_timestamp(nanos) {
        return push_infinity(out, nanos < 0);
    }
    let (seconds, fraction) =
        (nanos.div_euclid(NANOS_PER_SECOND), nanos.rem_euclid(NANOS_PER_SECOND));
    push_timestamp(out, seconds * MICROS_PER_SECOND);
    if fraction != 0 {
        out.push('.');
        push_padded(out, fraction.unsigned_abs(), 9);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Appends `2020-01-31 12:00:00.000`, as Presto writes timestamps: with three digits of the
/// fraction, and years before 1 as negative numbers.
pub fn push_timestamp_millis(out: &mut String, micros: i64) {
    if is_infinite_timestamp(micros) {
        return push_infinity(out, micros < 0);
    }
    let (days, micros_of_day) = split_timestamp(micros);
    push_date_signed(out, days);
    out.push(' ');
    push_time_millis(out, micros_of_day);
}

/// Appends `2020-01-31`, with the year as a number: 0 is 1 BC.
pub fn push_date_signed(out: &mut String, days: i32) {
    if is_infinite_date(days) {
        return push_infinity(out, days < 0);
    }
    let date = civil_of_days(days);
    if date.year < 0 {
        out.push('-');
    }
    push_padded(out, date.year.unsigned_abs().into(), 4);
    out.push('-');
    push_padded(out, date.month.into(), 2);
    out.push('-');
    push_padded(out, date.day.into(), 2);
}

/// Appends `12:00:00.000`.
pub fn push_time_millis(out: &mut String, micros: i64) {
    let micros = micros.unsigned_abs();
    push_clock(out, micros - micros % MICROS_PER_SECOND as u64);
    out.push('.');
    push_padded(out, micros % MICROS_PER_SECOND as u64 / 1_000, 3);
}

/// Appends how far a zone is ahead of UTC: `+02`, `-03:30`, `+10:36:20`.
pub fn push_offset(out: &mut String, seconds: i64) {
    out.push(if seconds < 0 { '-' } else { '+' });
    let (minutes, seconds) = (seconds.unsigned_abs() / 60, seconds.unsigned_abs() % 60);
    push_padded(out, minutes / 60, 2);
    if seconds != 0 || !minutes.is_multiple_of(60) {
        out.push(':');
        push_padded(out, minutes % 60, 2);
    }
    if seconds != 0 {
        out.push(':');
        push_padded(out, seconds, 2);
    }
}

/// Appends `12:00:00.5`.
pub fn push_time(out: &mut String, micros: i64) {
    push_clock(out, micros.unsigned_abs());
}

/// Appends hours (at least two digits), minutes, seconds and the fraction.
pub(super) fn push_clock(out: &mut String, micros: u64) {
    push_padded(out, micros / MICROS_PER_HOUR as u64, 2);
    out.push(':');
    push_padded(out, micros / MICROS_PER_MINUTE as u64 % 60, 2);
    out.push(':');
    push_padded(out, micros / MICROS_PER_SECOND as u64 % 60, 2);
    let fraction = micros % MICROS_PER_SECOND as u64;
    if fraction != 0 {
        out.push('.');
        push_padded(out, fraction, 6);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Appends year, month and day; returns whether the year counts before Christ.
fn push_date_digits(out: &mut String, days: i32) -> bool {
    let date = civil_of_days(days);
    let before_christ = date.year <= 0;
    let year = if before_christ { 1 - i64::from(date.year) } else { date.year.into() };
    push_padded(out, year.unsigned_abs(), 4);
    out.push('-');
    push_padded(out, date.month.into(), 2);
    out.push('-');
    push_padded(out, date.day.into(), 2);
    before_christ
}

//! The proleptic Gregorian calendar: days since 1970-01-01 to year, month and day, and back.
//!
//! Years count astronomically: year 0 is 1 BC. After Howard Hinnant, "chrono-Compatible Low-Level
//! Date Algorithms" (2013): years start in March, so that the leap day is the last one of a year,
//! and 400 years (an era) repeat exactly.

/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;

/// Microseconds of a minute.
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;

/// Microseconds of an hour.
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;

/// The date that is after all others; negated, the one before all others.
pub const DATE_INFINITY: i32 = i32::MAX;

/// As [`DATE_INFINITY`], of timestamps.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;

/// The names of the months, from January.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The names of the days of the week, from Monday.
pub const DAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Days of an era of 400 years.
const DAYS_PER_ERA: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

/// The same, for days of the whole range in 32 bits.
const DAYS_OF_ERA: u32 = DAYS_PER_ERA as u32;

/// Days of a century whose last year is not a leap year.
const DAYS_OF_CENTURY: u32 = 100 * 365 + 24;

const DAYS_OF_FOUR_YEARS: u32 = 4 * 365 + 1;

/// The era of the first day that 32 bits can represent, and that day's number in it.
const FIRST_ERA: i32 = (i32::MIN as i64 + DAYS_TO_EPOCH).div_euclid(DAYS_PER_ERA) as i32;
const FIRST_DAY_OF_ERA: u32 = (i32::MIN as i64 + DAYS_TO_EPOCH).rem_euclid(DAYS_PER_ERA) as u32;

/// A calendar date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The astronomical year: 0 is 1 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

/// Whether a date is `infinity` or `-infinity`.
#[inline(always)]
pub fn is_infinite_date(days: i32) -> bool {
    days == DATE_INFINITY || days == -DATE_INFINITY
}

/// Whether a timestamp is `infinity` or `-infinity`.
#[inline(always)]
pub fn is_infinite_timestamp(micros: i64) -> bool {
    micros == TIMESTAMP_INFINITY || micros == -TIMESTAMP_INFINITY
}

/// The date of a timestamp, also of an infinite one.
#[inline]
pub fn date_of(micros: i64) -> i32 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        it if it == -TIMESTAMP_INFINITY => -DATE_INFINITY,
        it => split_timestamp(it).0,
    }
}

/// The date of a number of days since 1970-01-01.
#[inline(always)]
pub fn civil_of_days(days: i32) -> Civil {
    // 32 bits and no branches, so that a loop over days becomes vector instructions.
    let from_first = (days as u32) ^ (1 << 31);
    let (eras, rest) = (from_first / DAYS_OF_ERA, from_first % DAYS_OF_ERA);
    let is_next = u32::from(rest >= DAYS_OF_ERA - FIRST_DAY_OF_ERA);
    let era = FIRST_ERA + (eras + is_next) as i32;
    let day_of_era = rest + FIRST_DAY_OF_ERA - is_next * DAYS_OF_ERA;
    let is_from = |century: u32| u32::from(day_of_era >= century * DAYS_OF_CENTURY);
    // The fourth century is longer by a day.
    let century = is_from(1) + is_from(2) + is_from(3);
    let day_of_century = day_of_era - century * DAYS_OF_CENTURY;
    let year_of_century = (4 * day_of_century + 3) / DAYS_OF_FOUR_YEARS;
    let day_of_year = day_of_century - year_of_century * DAYS_OF_FOUR_YEARS / 4;
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + (century * 100 + year_of_century) as i32 + i32::from(day_of_year >= 306);
    Civil { year, month, day }
}

/// Days since 1970-01-01 of a date whose month is 1 to 12; days beyond the end of the month
/// continue into the next.
#[inline]
pub fn days_of_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH
}

/// Days since 1970-01-01 of a date, if it exists and fits.
pub fn checked_days(year: i64, month: i64, day: i64) -> Option<i32> {
    let month = u32::try_from(month).ok().filter(|it| (1..=12).contains(it))?;
    let day = u32::try_from(day).ok().filter(|it| *it >= 1 && *it <= days_in_month(year, month))?;
    // Years beyond this leave the range of days; the bound keeps the arithmetic from overflowing.
    let year = Some(year).filter(|it| (-6_000_000..6_000_000).contains(it))?;
    let days = i32::try_from(days_of_civil(year, month, day)).ok()?;
    (days > -DATE_INFINITY && days < DATE_INFINITY).then_some(days)
}

/// Whether a year has a 29th of February.
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days of a month, 1 to 12.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date `months` later; a day beyond the end of the new month becomes its last one.
pub fn add_months(days: i32, months: i64) -> Option<i32> {
    if is_infinite_date(days) {
        return Some(days);
    }
    let date = civil_of_days(days);
    let total = i64::from(date.year) * 12 + i64::from(date.month) - 1;
    let total = total.checked_add(months)?;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    let last = days_in_month(year, month as u32);
    checked_days(year, month, date.day.min(last).into())
}

/// The day and the microseconds since its midnight of a timestamp.
#[inline]
pub fn split_timestamp(micros: i64) -> (i32, i64) {
    (micros.div_euclid(MICROS_PER_DAY) as i32, micros.rem_euclid(MICROS_PER_DAY))
}

/// The timestamp of a day and microseconds since its midnight; infinite of an infinite day. `None`
/// beyond the finite timestamps.
#[inline]
pub fn timestamp_of(days: i32, micros_of_day: i64) -> Option<i64> {
    if is_infinite_date(days) {
        return Some(i64::from(days.signum()) * TIMESTAMP_INFINITY);
    }
    let micros = i64::from(days).checked_mul(MICROS_PER_DAY)?.checked_add(micros_of_day)?;
    (micros > -TIMESTAMP_INFINITY && micros < TIMESTAMP_INFINITY).then_some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_nine_centuries_follows_the_day_before() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        let first = checked_days(1600, 1, 1).unwrap();
        for days in first..first + 900 * 365 {
            let expected = Civil { year, month, day };
            assert_eq!(civil_of_days(days), expected);
            assert_eq!(days_of_civil(year.into(), month, day), i64::from(days));
            day += 1;
            if day > days_in_month(year.into(), month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn days_of_the_whole_range_are_dates() {
        let ends = [i32::MIN, i32::MIN + 1, -719_469, -719_468, -1, 0, i32::MAX - 1, i32::MAX];
        for days in ends.into_iter().chain((i32::MIN..i32::MAX).step_by(4_999)) {
            let date = civil_of_days(days);
            assert_eq!(days_of_civil(date.year.into(), date.month, date.day), i64::from(days));
            let year = i64::from(date.year);
            assert!((1..=days_in_month(year, date.month)).contains(&date.day), "{date:?}");
        }
        assert_eq!(checked_days(6_000_000, 1, 1), None);
        assert_eq!(checked_days(2021, 2, 29), None);
    }

    #[test]
    fn months_end_on_their_last_day() {
        let days = |year, month, day| checked_days(year, month, day).unwrap();
        assert_eq!(add_months(days(2020, 1, 31), 1), Some(days(2020, 2, 29)));
        assert_eq!(add_months(days(2020, 3, 31), -1), Some(days(2020, 2, 29)));
        assert_eq!(add_months(days(2020, 2, 29), 12), Some(days(2021, 2, 28)));
        assert_eq!(add_months(days(2020, 2, 29), i64::MAX), None);
    }
}

//! Text to dates, times and timestamps.

use crate::civil::{
    DATE_INFINITY, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    checked_days, days_in_month, is_infinite_date, is_infinite_timestamp, split_timestamp,
    timestamp_of,
};

/// Reads a date: `2020-01-31`, also with `/`, `\` or blanks between, one-digit months and days, a
/// sign before the year, ` (BC)` after; a time of day may follow and is checked and ignored.
pub fn parse_date(text: &str) -> Option<i32> {
    parse_parts(text).map(|(days, _)| days)
}

/// Reads a timestamp: a date, then `T` or blanks, then a time of day. A time zone's offset is
/// checked and ignored. A date alone is its midnight.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let (days, micros) = parse_parts(text)?;
    timestamp_of(days, micros)
}

/// Like [`parse_timestamp`], with the nanoseconds since 1970-01-01; digits beyond those are cut
/// off. `None` also beyond 64 bits.
pub fn parse_timestamp_nanos(text: &str) -> Option<i64> {
    let micros = parse_timestamp(text)?;
    if is_infinite_timestamp(micros) {
        return Some(micros);
    }
    // All other digits belong to the year or come before the fraction.
    let fraction = text.split_once('.').map_or("", |it| it.1);
    let beyond_micros = fraction.bytes().take_while(u8::is_ascii_digit).skip(6);
    let digits = beyond_micros.chain(std::iter::repeat(b'0')).take(3);
    let nanos = digits.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    i64::try_from(i128::from(micros) * 1_000 + i128::from(nanos)).ok()
}

/// The zone after a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenZone<'a> {
    /// There is none.
    None,
    /// Seconds ahead of UTC.
    Offset(i64),
    /// Its name.
    Name(&'a str),
}

/// Reads a timestamp as [`parse_timestamp`] does, and the zone after it, whether it exists or not:
/// an offset, or a name.
pub fn parse_zoned(text: &str) -> Option<(i64, WrittenZone<'_>)> {
    let mut cursor = Cursor::new(text);
    if cursor.rest.eq_ignore_ascii_case(b"epoch") {
        return Some((0, WrittenZone::Offset(0)));
    }
    if let Some(days) = cursor.infinity() {
        return Some((timestamp_of(days, 0)?, WrittenZone::None));
    }
    let days = cursor.date()?;
    if cursor.is_at_end() {
        return Some((timestamp_of(days, 0)?, WrittenZone::None));
    }
    if !cursor.eat(b'T') && !cursor.eat_blanks() {
        return None;
    }
    let local = timestamp_of(days, cursor.clock()?)?;
    let has_blanks = cursor.eat_blanks();
    // What the cursor left is the end of the text.
    let rest = text.trim_ascii().get(text.trim_ascii().len() - cursor.rest.len()..)?;
    let is_name = rest.bytes().any(|it| it.is_ascii_alphabetic());
    if rest.eq_ignore_ascii_case("Z") {
        return Some((local, WrittenZone::Offset(0)));
    }
    if is_name {
        return has_blanks.then_some((local, WrittenZone::Name(rest)));
    }
    Some((
        local,
        if rest.is_empty() { WrittenZone::None } else { WrittenZone::Offset(cursor.offset()?) },
    ))
}

/// Reads a time of day and the seconds that its zone is ahead of UTC: `12:34:56.789+02:30`,
/// `12:34Z`, `12:34` in UTC.
pub fn parse_zoned_time(text: &str) -> Option<(i64, i64)> {
    let mut cursor = Cursor::new(text);
    let micros = cursor.clock()?;
    cursor.eat_blanks();
    if cursor.is_at_end() || cursor.rest.eq_ignore_ascii_case(b"Z") {
        return Some((micros, 0));
    }
    Some((micros, cursor.offset()?))
}

/// Reads a time of day: `12:34`, `12:34:56.789`, or the time of a timestamp.
pub fn parse_time(text: &str) -> Option<i64> {
    let mut cursor = Cursor::new(text);
    if let Some(micros) = cursor.clock() {
        cursor.zone()?;
        return cursor.is_at_end().then_some(micros);
    }
    let (days, micros) = parse_parts(text)?;
    (!is_infinite_date(days)).then(|| split_timestamp(micros).1)
}

/// The day and the microseconds since its midnight (a whole day for 24:00:00).
fn parse_parts(text: &str) -> Option<(i32, i64)> {
    if let Some(days) = text.as_bytes().as_array().and_then(parse_plain_date) {
        return Some((days, 0));
    }
    let mut cursor = Cursor::new(text);
    if cursor.rest.eq_ignore_ascii_case(b"epoch") {
        return Some((0, 0));
    }
    if let Some(days) = cursor.infinity() {
        return Some((days, 0));
    }
    let days = cursor.date()?;
    if cursor.is_at_end() {
        return Some((days, 0));
    }
    if !cursor.eat(b'T') && !cursor.eat_blanks() {
        return None;
    }
    let micros = cursor.clock()?;
    cursor.zone()?;
    cursor.is_at_end().then_some((days, micros))
}

/// Reads `2020-01-31`, the form in which most dates are written; `None` when it is another one, or
/// no date.
fn parse_plain_date(text: &[u8; 10]) -> Option<i32> {
    // Other characters have a larger value.
    let digits = text.map(|it| u32::from(it.wrapping_sub(b'0')));
    let [y1, y2, y3, y4, _, m1, m2, _, d1, d2] = digits;
    let is_plain = [y1, y2, y3, y4, m1, m2, d1, d2].iter().all(|it| *it < 10);
    if !is_plain || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let (year, month, day) = (((y1 * 10 + y2) * 10 + y3) * 10 + y4, m1 * 10 + m2, d1 * 10 + d2);
    if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year.into(), month) {
        return None;
    }
    // As `days_of_civil`, without negative numbers: years begin in March, 400 years early.
    let (years, from_march) =
        if month > 2 { (year + 400, month - 3) } else { (year + 399, month + 9) };
    let days = years * 365 + years / 4 - years / 100 + years / 400;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    Some((days + day_of_year).cast_signed() - PLAIN_DAYS_TO_EPOCH)
}

/// Days from 1 March 400 years before year 0 to 1970-01-01.
const PLAIN_DAYS_TO_EPOCH: i32 = 719_468 + 146_097;

/// What is left to read, without blanks at the ends.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Cursor<'a> {
        Cursor { rest: text.trim_ascii().as_bytes() }
    }

    /// The whole text as `infinity`, `inf` or one of them with `-`.
    fn infinity(&self) -> Option<i32> {
        let (sign, word) = match self.rest {
            [b'-', word @ ..] => (-1, word),
            word => (1, word),
        };
        let is_infinite =
            word.eq_ignore_ascii_case(b"infinity") || word.eq_ignore_ascii_case(b"inf");
        is_infinite.then_some(sign * DATE_INFINITY)
    }

    fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn eat_blanks(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_ascii_start();
        self.rest.len() < before
    }

    /// A number of 1 to `digits_max` digits.
    fn number(&mut self, digits_max: usize) -> Option<i64> {
        let digits = self.rest.iter().take_while(|it| it.is_ascii_digit()).count();
        if digits == 0 || digits > digits_max {
            return None;
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        Some(number.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    fn date(&mut self) -> Option<i32> {
        let negative = self.eat(b'-');
        let year = self.number(7)?;
        let separator = *self.rest.first()?;
        if !matches!(separator, b'-' | b'/' | b'\\' | b' ') || !self.eat(separator) {
            return None;
        }
        let month = self.number(2)?;
        if !self.eat(separator) {
            return None;
        }
        let day = self.number(2)?;
        let before_christ = self.rest.get(..5).is_some_and(|it| it.eq_ignore_ascii_case(b" (BC)"));
        if before_christ {
            self.rest = &self.rest[5..];
        }
        let year = match (negative, before_christ) {
            (true, true) => return None,
            (true, false) => -year,
            (false, true) if year == 0 => return None,
            (false, true) => 1 - year,
            (false, false) => year,
        };
        checked_days(year, month, day)
    }

    /// `hh:mm[:ss[.ffffff]]`, digits of the fraction beyond microseconds cut off.
    fn clock(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        if !self.eat(b':') {
            return None;
        }
        let minute = self.number(2)?;
        let second = if self.eat(b':') { self.number(2)? } else { 0 };
        let fraction = if self.eat(b'.') { self.fraction() } else { 0 };
        if minute > 59 || second > 59 {
            return None;
        }
        let micros = hour * MICROS_PER_HOUR
            + minute * MICROS_PER_MINUTE
            + second * MICROS_PER_SECOND
            + fraction;
        Some(micros).filter(|it| *it <= MICROS_PER_DAY)
    }

    fn fraction(&mut self) -> i64 {
        let digits = self.rest.iter().take_while(|it| it.is_ascii_digit()).count();
        let (fraction, rest) = self.rest.split_at(digits);
        self.rest = rest;
        let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(6);
        padded.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
    }

    /// An optional time zone: `Z`, `UTC`, `+02`, `-02:30`, `+0230`.
    fn zone(&mut self) -> Option<()> {
        self.eat_blanks();
        if self.rest.eq_ignore_ascii_case(b"Z") || self.rest.eq_ignore_ascii_case(b"UTC") {
            self.rest = &[];
        }
        if self.is_at_end() {
            return Some(());
        }
        self.offset().map(|_| ())
    }

    /// Seconds ahead of UTC: `+02`, `-02:30`, `+0230`, `+02:30:15`; then the end.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.rest.first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let digits = &self.rest[1..];
        let well_formed = digits.iter().enumerate().all(|(index, it)| match it {
            b':' => index == 2 || index == 5,
            _ => it.is_ascii_digit(),
        });
        self.rest = &[];
        if !well_formed {
            return None;
        }
        let digits: Vec<i64> =
            digits.iter().filter(|it| **it != b':').map(|it| i64::from(it - b'0')).collect();
        if !matches!(digits.len(), 2 | 4 | 6) {
            return None;
        }
        let parts = digits.chunks_exact(2).map(|it| it[0] * 10 + it[1]).zip([3600, 60, 1]);
        Some(sign * parts.map(|(value, seconds)| value * seconds).sum::<i64>())
    }
}

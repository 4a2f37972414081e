//! Guesses how dates and timestamps of a CSV column are written, if not as `2020-01-31`.
//!
//! A format is a candidate until a value does not have it. With several candidates left, the first
//! of the list counts: `10/11/12` begins with its year, and `10/11/2012` with its day.

use crate::text_type::{TextFormats, TimeFormat};

/// Reads a text in a format of strptime: microseconds since 1970.
pub type ReadTime = fn(&str, &str) -> Option<i64>;

/// Orders of year, month and day, the likeliest first; `-` stands for the separator.
const DATES: [&str; 6] = ["%y-%m-%d", "%Y-%m-%d", "%d-%m-%y", "%d-%m-%Y", "%m-%d-%y", "%m-%d-%Y"];

/// What separates them.
const SEPARATORS: [&str; 4] = ["-", "/", ".", " "];

/// Times of day behind a date.
const TIMES: [&str; 2] = [" %H:%M:%S", " %I:%M:%S %p"];

const DATE_FORMATS: u32 = (DATES.len() * SEPARATORS.len()) as u32;
const TIMESTAMP_FORMATS: u32 = DATE_FORMATS * TIMES.len() as u32;

/// The formats that all values of a column have; a bit for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeGuess {
    read: Option<ReadTime>,
    dates: u64,
    timestamps: u64,
}

impl TimeGuess {
    /// All formats, or none without something that reads them.
    pub(crate) fn new(read: Option<ReadTime>) -> TimeGuess {
        let all = |formats: u32| if read.is_some() { (1 << formats) - 1 } else { 0 };
        TimeGuess { read, dates: all(DATE_FORMATS), timestamps: all(TIMESTAMP_FORMATS) }
    }

    /// Learns from a value.
    pub(crate) fn learn(&mut self, text: &str) {
        if self.dates | self.timestamps == 0 {
            return;
        }
        let (dates, timestamps) = match shape(text) {
            Shape::Date => (self.dates, 0),
            Shape::Timestamp => (0, self.timestamps),
            Shape::Other => (0, 0),
        };
        self.dates = self.kept(dates, text, date_format);
        self.timestamps = self.kept(timestamps, text, timestamp_format);
    }

    /// Those of the candidates in `formats` that a text has.
    fn kept(&self, formats: u64, text: &str, format: impl Fn(u32) -> String) -> u64 {
        let Some(read) = self.read else { return 0 };
        let mut kept = formats;
        let mut left = formats;
        while left != 0 {
            let index = left.trailing_zeros();
            left &= left - 1;
            if read(text, &format(index)).is_none() {
                kept &= !(1 << index);
            }
        }
        kept
    }

    /// The format of dates that all values have, as options.
    pub(crate) fn dates(&self) -> Option<TextFormats> {
        let (read, index) = (self.read?, first(self.dates)?);
        let date = Some(TimeFormat { format: date_format(index), read });
        Some(TextFormats { date, ..TextFormats::default() })
    }

    /// The format of timestamps that all values have, as options.
    pub(crate) fn timestamps(&self) -> Option<TextFormats> {
        let (read, index) = (self.read?, first(self.timestamps)?);
        let timestamp = Some(TimeFormat { format: timestamp_format(index), read });
        Some(TextFormats { timestamp, ..TextFormats::default() })
    }
}

fn first(formats: u64) -> Option<u32> {
    (formats != 0).then(|| formats.trailing_zeros())
}

fn date_format(index: u32) -> String {
    let (order, separator) = (index as usize / SEPARATORS.len(), index as usize % SEPARATORS.len());
    let parts = DATES.get(order).zip(SEPARATORS.get(separator));
    parts.map(|(order, separator)| order.replace('-', separator)).unwrap_or_default()
}

fn timestamp_format(index: u32) -> String {
    let time = TIMES.get((index / DATE_FORMATS) as usize).copied().unwrap_or_default();
    date_format(index % DATE_FORMATS) + time
}

/// What a text looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Date,
    Timestamp,
    Other,
}

/// Three numbers of 1, 2 or 4 digits with the same separator, and maybe a time behind a blank. Of
/// single digits, one number must have four: `1.2.3` is no date.
fn shape(text: &str) -> Shape {
    let is_digit = |it: &u8| it.is_ascii_digit();
    let mut rest = text.as_bytes();
    let mut lengths = [0; 3];
    let mut separator = None;
    for (index, length) in lengths.iter_mut().enumerate() {
        if index > 0 {
            let Some((found, after)) = rest.split_first() else { return Shape::Other };
            let is_separator = SEPARATORS.iter().any(|it| it.as_bytes() == [*found]);
            if !is_separator || *separator.get_or_insert(*found) != *found {
                return Shape::Other;
            }
            rest = after;
        }
        *length = rest.iter().take_while(|it| is_digit(it)).count();
        rest = rest.get(*length..).unwrap_or_default();
    }
    let has_year = lengths.contains(&4);
    if !lengths.iter().all(|it| matches!(it, 2 | 4) || *it == 1 && has_year) {
        return Shape::Other;
    }
    match rest {
        [] => Shape::Date,
        [b' ', time @ ..] if time.contains(&b':') => Shape::Timestamp,
        _ => Shape::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads years, months and days alone, in the order and with the separators of the format.
    fn read(text: &str, format: &str) -> Option<i64> {
        let separator = format.chars().nth(2)?;
        let (date, time) = match text.split_once(' ').filter(|_| separator != ' ') {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let wants_time = format.contains(":%M");
        if time.is_some() != wants_time {
            return None;
        }
        if let Some(time) = time
            && time.ends_with('M') != format.ends_with("%p")
        {
            return None;
        }
        let orders = format.split(' ').next().filter(|_| separator != ' ').unwrap_or(format);
        let mut parts = date.split(separator);
        for order in orders.split(separator) {
            let part = parts.next()?;
            let number: u32 = part.parse().ok()?;
            let fits = match order {
                "%Y" => part.len() == 4,
                "%y" => part.len() <= 2,
                "%m" => number <= 12 && part.len() <= 2,
                "%d" => number <= 31 && part.len() <= 2,
                _ => false,
            };
            if !fits {
                return None;
            }
        }
        parts.next().is_none().then_some(0)
    }

    fn guessed(texts: &[&str]) -> (Option<String>, Option<String>) {
        let mut guess = TimeGuess::new(Some(read));
        texts.iter().for_each(|it| guess.learn(it));
        let date = guess.dates().and_then(|it| it.date).map(|it| it.format);
        (date, guess.timestamps().and_then(|it| it.timestamp).map(|it| it.format))
    }

    #[test]
    fn the_first_format_of_all_values_counts() {
        let date = |texts: &[&str]| guessed(texts).0.unwrap_or_default();
        assert_eq!(date(&["10/11/12"]), "%y/%m/%d");
        assert_eq!(date(&["10/11/2012"]), "%d/%m/%Y");
        assert_eq!(date(&["10/11/2012", "10/31/2012"]), "%m/%d/%Y");
        assert_eq!(date(&["31.10.2012", "1.2.2013"]), "%d.%m.%Y");
        assert_eq!(date(&["31 10 12"]), "%y %m %d");
        assert_eq!(date(&["31 10 32"]), "%d %m %y");
        let none = ["1.2.3", "10/11", "10/11-12", "10/11/12/13", "x", "", "2012/13/32", "10.5"];
        assert!(none.iter().all(|it| guessed(&[it]) == (None, None)));
        assert_eq!(date(&["10/11/2012", "x"]), "");
    }

    #[test]
    fn timestamps_have_a_date_and_a_time() {
        let timestamp = |texts: &[&str]| guessed(texts).1.unwrap_or_default();
        assert_eq!(timestamp(&["10/11/2012 10:11:12"]), "%d/%m/%Y %H:%M:%S");
        assert_eq!(timestamp(&["10/31/2012 10:11:12 PM"]), "%m/%d/%Y %I:%M:%S %p");
        assert_eq!(timestamp(&["10/31/2012 10:11:12", "10/31/2012"]), "");
        assert_eq!(timestamp(&["10/31/2012"]), "");
    }

    #[test]
    fn nothing_is_guessed_without_a_reader() {
        let mut guess = TimeGuess::new(None);
        guess.learn("10/11/2012");
        assert!(guess.dates().is_none() && guess.timestamps().is_none());
    }
}

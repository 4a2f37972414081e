//! Units of time by name.

use volley_error::{Error, Result};
use volley_types::civil::{MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

const NAMES: [(&str, Unit); 9] = [
    ("millisecond", Unit::Millisecond),
    ("second", Unit::Second),
    ("minute", Unit::Minute),
    ("hour", Unit::Hour),
    ("day", Unit::Day),
    ("week", Unit::Week),
    ("month", Unit::Month),
    ("quarter", Unit::Quarter),
    ("year", Unit::Year),
];

impl Unit {
    /// The unit of this name in any case, for points in time that have days and times of day.
    pub(super) fn parse(name: &str) -> Result<Unit> {
        Unit::among(name, "timestamp", |_| true)
    }

    /// Like [`Unit::parse`], for dates.
    pub(super) fn of_date(name: &str) -> Result<Unit> {
        Unit::among(name, "date", |it| it.micros().is_none())
    }

    /// Like [`Unit::parse`], for times of day: the microseconds of the unit.
    pub(super) fn of_time(name: &str) -> Result<i64> {
        let unit = Unit::among(name, "time", |it| it.micros().is_some())?;
        Ok(unit.micros().unwrap_or(1))
    }

    /// The length of a unit of time of day.
    pub(super) fn micros(self) -> Option<i64> {
        match self {
            Unit::Millisecond => Some(1_000),
            Unit::Second => Some(MICROS_PER_SECOND),
            Unit::Minute => Some(MICROS_PER_MINUTE),
            Unit::Hour => Some(MICROS_PER_HOUR),
            _ => None,
        }
    }

    fn among(name: &str, of: &str, is_one: impl Fn(Unit) -> bool) -> Result<Unit> {
        let mut units = NAMES.iter().filter(|it| is_one(it.1));
        units.find(|it| it.0.eq_ignore_ascii_case(name)).map(|it| it.1).ok_or_else(|| {
            let known = NAMES.iter().filter(|it| is_one(it.1)).map(|it| it.0);
            let known: Vec<&str> = known.collect();
            Error::invalid_value(format!("not a unit of a {of}: '{name}'"))
                .hint(format!("units are {}", known.join(", ")))
        })
    }
}

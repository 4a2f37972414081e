//! The names of units and fields: `'year'`, `'month'`, `'dow'`, ...

use volley_error::{Error, Result};

/// A unit of time or a field of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Era,
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    YearWeek,
    Week,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Epoch,
    Julian,
    Zone,
    ZoneHour,
    ZoneMinute,
}

/// The names, the first of each unit being the plain one.
const NAMES: [(&str, Unit); 72] = [
    ("era", Unit::Era),
    ("millennium", Unit::Millennium),
    ("millennia", Unit::Millennium),
    ("millenniums", Unit::Millennium),
    ("millenium", Unit::Millennium),
    ("mil", Unit::Millennium),
    ("mils", Unit::Millennium),
    ("century", Unit::Century),
    ("centuries", Unit::Century),
    ("cent", Unit::Century),
    ("c", Unit::Century),
    ("decade", Unit::Decade),
    ("decades", Unit::Decade),
    ("dec", Unit::Decade),
    ("decs", Unit::Decade),
    ("year", Unit::Year),
    ("years", Unit::Year),
    ("yr", Unit::Year),
    ("yrs", Unit::Year),
    ("y", Unit::Year),
    ("isoyear", Unit::IsoYear),
    ("quarter", Unit::Quarter),
    ("quarters", Unit::Quarter),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("mon", Unit::Month),
    ("mons", Unit::Month),
    ("yearweek", Unit::YearWeek),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("weekofyear", Unit::Week),
    ("w", Unit::Week),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("dayofmonth", Unit::Day),
    ("d", Unit::Day),
    ("dow", Unit::DayOfWeek),
    ("dayofweek", Unit::DayOfWeek),
    ("weekday", Unit::DayOfWeek),
    ("isodow", Unit::IsoDayOfWeek),
    ("doy", Unit::DayOfYear),
    ("dayofyear", Unit::DayOfYear),
    ("hour", Unit::Hour),
    ("hours", Unit::Hour),
    ("hr", Unit::Hour),
    ("hrs", Unit::Hour),
    ("h", Unit::Hour),
    ("minute", Unit::Minute),
    ("minutes", Unit::Minute),
    ("min", Unit::Minute),
    ("mins", Unit::Minute),
    ("m", Unit::Minute),
    ("second", Unit::Second),
    ("seconds", Unit::Second),
    ("sec", Unit::Second),
    ("secs", Unit::Second),
    ("s", Unit::Second),
    ("millisecond", Unit::Millisecond),
    ("milliseconds", Unit::Millisecond),
    ("ms", Unit::Millisecond),
    ("msec", Unit::Millisecond),
    ("msecs", Unit::Millisecond),
    ("microsecond", Unit::Microsecond),
    ("microseconds", Unit::Microsecond),
    ("us", Unit::Microsecond),
    ("usec", Unit::Microsecond),
    ("usecs", Unit::Microsecond),
    ("epoch", Unit::Epoch),
    ("julian", Unit::Julian),
    ("timezone", Unit::Zone),
    ("timezone_hour", Unit::ZoneHour),
    ("timezone_minute", Unit::ZoneMinute),
];

impl Unit {
    /// The unit of this name, in any case.
    pub(super) fn parse(name: &str) -> Result<Unit> {
        let found = NAMES.iter().find(|it| it.0.eq_ignore_ascii_case(name));
        found.map(|it| it.1).ok_or_else(|| {
            let error = Error::invalid_value(format!("unknown date part: '{name}'"));
            match volley_types::nearest_name(name, NAMES.iter().map(|it| it.0)) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error.hint("parts are year, month, day, hour, minute, second, ..."),
            }
        })
    }

    /// The plain name.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

//! Lengths of time as text: `30s`, `1.5min`, or milliseconds as a plain number.

use std::time::Duration;
use volley_error::{Error, Result};

/// Names and milliseconds of the units, the largest first.
const UNITS: [(&str, u128); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

/// The time that `text` says, a whole number of milliseconds; `None` for none: 0.
pub(crate) fn parse(name: &str, text: &str) -> Result<Option<Duration>> {
    let wrong = || {
        Error::invalid_value(format!("{name} must be a length of time: '{text}'"))
            .hint("write a number and ms, s, min, h or d, such as '30s'; 0 for none")
    };
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = if unit.is_empty() { "ms" } else { unit.trim() };
    let found = UNITS.iter().find(|it| it.0.eq_ignore_ascii_case(unit));
    let millis = number.parse::<f64>().ok().zip(found).map(|it| it.0 * it.1.1 as f64);
    // More than u64 can say is too much for clocks, too.
    let millis = millis.filter(|it| (0.0..u64::MAX as f64).contains(it)).ok_or_else(wrong)?;
    // What is not none does not become none.
    let millis = if millis > 0.0 { (millis.round() as u64).max(1) } else { 0 };
    Ok((millis > 0).then(|| Duration::from_millis(millis)))
}

/// The time in the largest unit of which it is a whole number.
pub(crate) fn text(time: Option<Duration>) -> String {
    let Some(time) = time else { return "0".to_owned() };
    let millis = time.as_millis();
    let unit = UNITS.iter().find(|it| millis % it.1 == 0).unwrap_or(&("ms", 1));
    format!("{}{}", millis / unit.1, unit.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, millis: u64, shown: &str) {
        let time = parse("t", written).unwrap();
        assert_eq!(time.map_or(0, |it| it.as_millis()), u128::from(millis), "{written}");
        assert_eq!(text(time), shown);
        assert_eq!(parse("t", shown).unwrap(), time);
    }

    #[test]
    fn times_are_read_and_shown() {
        check("30s", 30_000, "30s");
        check("1500", 1_500, "1500ms");
        check("90 S", 90_000, "90s");
        check("1.5min", 90_000, "90s");
        check("120s", 120_000, "2min");
        check("2h", 7_200_000, "2h");
        check("1d", 86_400_000, "1d");
        check("0", 0, "0");
        check("0s", 0, "0");
        check("0.1ms", 1, "1ms");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "s", "-1", "1 year", "1s2", "1..2s", "1e400", "99999999999999999999d"] {
            let error = parse("statement_timeout", text).unwrap_err();
            assert!(error.to_string().contains("statement_timeout"), "{error}");
        }
    }
}

//! Durations and sizes as Presto writes them: `1.00s`, `2097152B`.

use std::time::Duration;

/// A number and a unit, such as `1.00s` or `500ms`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86400.0),
    ];
    Duration::try_from_secs_f64(parse(text, &UNITS)?).ok()
}

/// A number of bytes and a unit, such as `2097152B` or `1.5MB`; at most what fits in memory.
pub(crate) fn parse_data_size(text: &str) -> Option<usize> {
    const UNITS: [(&str, f64); 6] = [
        ("B", 1.0),
        ("kB", 1024.0),
        ("MB", 1048576.0),
        ("GB", 1073741824.0),
        ("TB", 1099511627776.0),
        ("PB", 1125899906842624.0),
    ];
    Some(parse(text, &UNITS)? as usize)
}

fn parse(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.')?;
    let (number, unit) = text.split_at(end);
    let unit = units.iter().find(|it| it.0 == unit.trim())?.1;
    let value = number.parse::<f64>().ok()? * unit;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_numbers_with_units() {
        assert_eq!(parse_duration("1.00s"), Some(Duration::from_secs(1)));
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_data_size("2097152B"), Some(2 << 20));
        assert_eq!(parse_data_size("1.5MB"), Some(3 << 19));
        for text in ["", "s", "1", "1x", "1.2.3s", "-1s", "1e9s", "9999999999999999999999d"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        for text in ["", "B", "1", "1b", "-1B"] {
            assert_eq!(parse_data_size(text), None, "{text}");
        }
    }
}

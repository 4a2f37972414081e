//! Parses and prints sizes, such as `1.5GB`.

use volley_error::{Error, Result};

/// Units, largest first: suffix and bytes.
const UNITS: [(&str, u64); 9] = [
    ("tib", 1 << 40),
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("kib", 1 << 10),
    ("tb", 1_000_000_000_000),
    ("gb", 1_000_000_000),
    ("mb", 1_000_000),
    ("kb", 1_000),
    ("b", 1),
];

/// Bytes in the largest binary unit that keeps them above 1, such as `1.5 GiB`.
pub fn format_bytes(bytes: usize) -> String {
    let names = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < names.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", names[unit])
}

/// Reads a size such as `512MB`, `1.5 GiB` or `1048576`.
///
/// # Errors
///
/// Invalid value, when `text` is not a number with an optional unit.
pub fn parse_bytes(text: &str) -> Result<usize> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(suffix, unit)| lower.strip_suffix(suffix).map(|digits| (digits, *unit)))
        .unwrap_or((lower.as_str(), 1));
    let value = digits.trim().parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
    let bytes = value.map(|it| it * unit as f64).filter(|it| *it <= usize::MAX as f64);
    bytes.map(|it| it as usize).ok_or_else(|| {
        Error::invalid_value(format!("not a size in bytes: '{text}'"))
            .hint("write a number and a unit, such as 512MB or 2GiB")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_decimal_and_binary_units() {
        assert_eq!(parse_bytes("512MB").unwrap(), 512_000_000);
        assert_eq!(parse_bytes(" 1.5 GiB ").unwrap(), 3 << 29);
        assert_eq!(parse_bytes("1024").unwrap(), 1024);
        assert!(parse_bytes("many").is_err());
        assert!(parse_bytes("-1GB").is_err());
    }

    #[test]
    fn sizes_are_printed_in_binary_units() {
        assert_eq!(format_bytes(1), "1 B");
        assert_eq!(format_bytes(3 << 29), "1.5 GiB");
    }
}

//! The types that a text can be parsed as.

use std::borrow::Cow;
use volley_types::{
    Type, Zone,
    custom::TimestampTz,
    text::{self, WrittenZone},
};

/// The types that text is treated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextType {
    /// `true`, `false`, `t`, `f` in any case.
    Boolean,
    /// A decimal number without leading zeros.
    BigInt,
    /// The same, beyond 64 bits.
    HugeInt,
    /// A number with a fraction or an exponent, `inf`, `nan`.
    Double,
    /// `2020-01-31`.
    Date,
    /// `10:11:12.5`.
    Time,
    /// A date and a time, apart by a space or `T`.
    Timestamp,
    /// The same with a zone behind it, such as `Z`, `+02` or ` Europe/Berlin`; not all need one.
    TimestampTz,
    /// Anything.
    Varchar,
}

/// How dates, times and numbers are written.
#[derive(Clone, Debug, Default)]
pub struct TextFormats {
    /// Dates; `None`: as `2020-01-31`.
    pub date: Option<TimeFormat>,
    /// Timestamps; `None`: as `2020-01-31 10:11:12`.
    pub timestamp: Option<TimeFormat>,
    /// Whether a comma stands between a number and its fraction, not a point.
    pub has_decimal_comma: bool,
}

/// A format as strptime takes it.
#[derive(Clone, Debug)]
pub struct TimeFormat {
    /// Such as `%d.%m.%Y`.
    pub format: String,
    /// Reads a text in a format: microseconds since 1970.
    pub read: fn(&str, &str) -> Option<i64>,
}

impl TimeFormat {
    fn parse(&self, text: &str) -> Option<i64> {
        (self.read)(text, &self.format)
    }
}

impl TextFormats {
    /// A number with a point.
    pub(crate) fn number<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        if !self.has_decimal_comma {
            return Some(text.into());
        }
        // What has a point is no number then.
        (!text.contains('.')).then(|| text.replace(',', ".").into())
    }

    pub(crate) fn date(&self, text: &str, origin: TypeOrigin) -> Option<i32> {
        let Some(format) = &self.date else { return parse_date(text, origin) };
        let days = format.parse(text)?.div_euclid(MICROS_PER_DAY);
        i32::try_from(days).ok()
    }

    pub(crate) fn timestamp(&self, text: &str, origin: TypeOrigin) -> Option<i64> {
        match &self.timestamp {
            Some(format) => format.parse(text),
            None => parse_timestamp(text, origin),
        }
    }
}

/// Where the type of a column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeOrigin {
    /// Requested explicitly: texts are read as by a cast, which drops what the type cannot store,
    /// such as the zone of a TIMESTAMP.
    Declared,
    /// Its texts: others than such that all of is kept are not of the type.
    Found,
}

/// In the order in which they are tried.
pub(crate) const CANDIDATES: [TextType; 9] = [
    TextType::Boolean,
    TextType::BigInt,
    TextType::HugeInt,
    TextType::Double,
    TextType::Date,
    TextType::Time,
    TextType::Timestamp,
    TextType::TimestampTz,
    TextType::Varchar,
];

impl TextType {
    /// The type of values.
    pub fn data_type(self) -> Type {
        match self {
            TextType::Boolean => Type::Boolean,
            TextType::BigInt => Type::BigInt,
            TextType::HugeInt => Type::HugeInt,
            TextType::Double => Type::Double,
            TextType::Date => Type::Date,
            TextType::Time => Type::Time,
            TextType::Timestamp => Type::Timestamp,
            TextType::TimestampTz => TimestampTz::data_type(),
            TextType::Varchar => Type::Varchar,
        }
    }

    /// The text type for columns of `data_type`.
    pub fn of(data_type: &Type) -> Option<TextType> {
        CANDIDATES.into_iter().find(|it| it.data_type() == *data_type)
    }

    /// Whether `text` is of this type.
    pub fn accepts(self, text: &str) -> bool {
        self.accepts_as(text, &TextFormats::default())
    }

    /// Whether `text` is of this type where values are written in these formats.
    pub(crate) fn accepts_as(self, text: &str, formats: &TextFormats) -> bool {
        match self {
            TextType::Boolean => parse_boolean(text).is_some(),
            TextType::BigInt => is_plain_integer(text) && parse_integer::<i64>(text).is_some(),
            TextType::HugeInt => is_plain_integer(text) && parse_integer::<i128>(text).is_some(),
            TextType::Double => {
                let number = formats.number(text);
                is_plain_number(text) && number.is_some_and(|it| parse_double(&it).is_some())
            }
            TextType::Date => formats.date(text, TypeOrigin::Found).is_some(),
            TextType::Time => parse_time(text, TypeOrigin::Found).is_some(),
            TextType::Timestamp => formats.timestamp(text, TypeOrigin::Found).is_some(),
            TextType::TimestampTz => formats.timestamp.is_none() && is_zoned_timestamp(text),
            TextType::Varchar => true,
        }
    }
}

const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Whether all types of numbers accept it at first sight: it fits 64 bits, without white space.
pub(crate) fn is_short_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    matches!(digits, [b'0'] | [b'1'..=b'9', ..])
        && digits.len() <= 18
        && digits.iter().all(u8::is_ascii_digit)
}

/// Not `+7`, not `007`: those are treated as text, which keeps all of it.
fn is_plain_integer(text: &str) -> bool {
    let digits = text.trim();
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    digits.bytes().all(|it| it.is_ascii_digit()) && !has_leading_zero(text)
}

fn is_plain_number(text: &str) -> bool {
    !text.trim().starts_with('+') && !text.contains('_') && !has_leading_zero(text)
}

fn has_leading_zero(text: &str) -> bool {
    let digits = text.trim().trim_start_matches(['-', '+']).as_bytes();
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

/// `true`, `false`, `t` or `f`.
pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    if is("true") || is("t") {
        return Some(true);
    }
    (is("false") || is("f")).then_some(false)
}

/// A whole number that fits.
pub(crate) fn parse_integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

pub(crate) fn parse_double(text: &str) -> Option<f64> {
    text::parse_f64(text)
}

/// A date; where that was detected, without a time.
fn parse_date(text: &str, origin: TypeOrigin) -> Option<i32> {
    let is_found = origin == TypeOrigin::Found;
    // `10/11/12` is not of the year 10.
    let is_plain = || text.trim().bytes().take(4).all(|it| it.is_ascii_digit());
    if is_found && (text.contains(':') || !is_plain()) { None } else { text::parse_date(text) }
}

/// A time of day; where that was detected, without a date.
pub(crate) fn parse_time(text: &str, origin: TypeOrigin) -> Option<i64> {
    let has_date = || text.trim().contains(['-', '/', ' ']);
    if origin == TypeOrigin::Found && has_date() { None } else { text::parse_time(text) }
}

/// A timestamp; where that was detected, with a time and without a zone other than `UTC`.
fn parse_timestamp(text: &str, origin: TypeOrigin) -> Option<i64> {
    if origin == TypeOrigin::Declared {
        return text::parse_timestamp(text);
    }
    let (local, zone) = parse_zoned_time(text)?;
    let is_plain = match zone {
        WrittenZone::None => true,
        WrittenZone::Offset(_) => false,
        WrittenZone::Name(name) => name.eq_ignore_ascii_case("UTC"),
    };
    is_plain.then_some(local)
}

fn is_zoned_timestamp(text: &str) -> bool {
    match parse_zoned_time(text) {
        Some((_, WrittenZone::Name(name))) => Zone::find(name).is_some(),
        other => other.is_some(),
    }
}

/// A date, a time, and a zone.
fn parse_zoned_time(text: &str) -> Option<(i64, WrittenZone<'_>)> {
    if text.contains(':') { text::parse_zoned(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_taken_for_the_first_type_that_holds_it() {
        let first = |text: &str| CANDIDATES.into_iter().find(|it| it.accepts(text));
        assert_eq!(first("F"), Some(TextType::Boolean));
        assert_eq!(first(" 7 "), Some(TextType::BigInt));
        assert_eq!(first("-0"), Some(TextType::BigInt));
        assert_eq!(first("99999999999999999999"), Some(TextType::HugeInt));
        assert_eq!(first("1e5"), Some(TextType::Double));
        assert_eq!(first("0.5"), Some(TextType::Double));
        assert_eq!(first("2020-01-02"), Some(TextType::Date));
        assert_eq!(first("10:00:00"), Some(TextType::Time));
        for text in ["2020-01-02 10:00", "2020-01-02T10:00:00", "2020-01-02 10:00 UTC"] {
            assert_eq!(first(text), Some(TextType::Timestamp), "{text}");
        }
        for zone in ["Z", "+02", "-05:30", "+0530", " Europe/Berlin"] {
            let text = format!("2020-01-02T10:00:00{zone}");
            assert_eq!(first(&text), Some(TextType::TimestampTz), "{text}");
        }
        let texts = ["007", "+7", "x", "1_000", "2020-13-01", "24:99", "10:00Z-", "2020-01-02+02"];
        for text in texts.into_iter().chain(["2020-01-02 10:00+2", "2020-01-02 10:00 Nowhere/X"]) {
            assert_eq!(first(text), Some(TextType::Varchar), "{text}");
        }
    }

    #[test]
    fn short_integers_are_of_all_types_of_numbers() {
        let numbers = [TextType::BigInt, TextType::HugeInt, TextType::Double];
        for text in ["0", "-0", "7", "-12", "999999999999999999", "-999999999999999999"] {
            assert!(is_short_integer(text), "{text}");
            for has_decimal_comma in [false, true] {
                let formats = TextFormats { has_decimal_comma, ..TextFormats::default() };
                assert!(numbers.iter().all(|it| it.accepts_as(text, &formats)), "{text}");
            }
        }
        for text in ["", "-", "--1", "+1", "01", "-01", " 1", "1 ", "1.5", "1e5", "1_0", "\u{661}"]
        {
            assert!(!is_short_integer(text), "{text}");
        }
        assert!(!is_short_integer("1000000000000000000"));
    }

    #[test]
    fn types_that_are_declared_take_what_casts_take() {
        let formats = TextFormats::default();
        let midnight = 1_577_923_200_000_000;
        for (text, found, declared) in [
            ("2020-01-02", None, Some(midnight)),
            ("2020-01-02 00:00:00", Some(midnight), Some(midnight)),
            ("2020-01-02 00:00:00+02", None, Some(midnight)),
            ("2020-01-02T00:00:00Z", None, Some(midnight)),
        ] {
            assert_eq!(formats.timestamp(text, TypeOrigin::Found), found, "{text}");
            assert_eq!(formats.timestamp(text, TypeOrigin::Declared), declared, "{text}");
        }
        assert_eq!(formats.date("2020-01-02 10:00", TypeOrigin::Found), None);
        assert_eq!(formats.date("2020-01-02 10:00", TypeOrigin::Declared), Some(18_263));
        assert_eq!(parse_time("2020-01-02 00:01", TypeOrigin::Found), None);
        assert_eq!(parse_time("2020-01-02 00:01", TypeOrigin::Declared), Some(60_000_000));
    }
}

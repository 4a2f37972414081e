//! Numbers and times as people read them, and text inside markup.

use std::{borrow::Cow, time::Duration};
use volley_exec::OperatorCounts;

/// Milliseconds below ten seconds, then seconds.
pub(crate) fn time(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        return format!("{:.1} ms", time.as_secs_f64() * 1e3);
    }
    format!("{:.1} s", time.as_secs_f64())
}

/// The value of a named counter.
pub(crate) fn counter(name: &str, value: u64) -> String {
    if name.starts_with("bytes") { bytes(value) } else { value.to_string() }
}

/// The encodings of output columns, such as `flat 75 %, dictionary 25 %`, most frequent first;
/// `None` when no output was seen.
pub(crate) fn encodings(counts: &OperatorCounts) -> Option<String> {
    let all: u64 = counts.encodings.iter().map(|it| it.1).sum();
    let mut encodings = counts.encodings.clone();
    encodings.sort_by_key(|it| std::cmp::Reverse(it.1));
    let share = |(name, count): &(&str, u64)| {
        format!("{name} {}", percent(*count as f64 / all.max(1) as f64))
    };
    (all > 0).then(|| encodings.iter().map(share).collect::<Vec<_>>().join(", "))
}

/// Such as `3.4 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    volley_memory::format_bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Digits in groups of three.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// An estimated number of rows.
pub(crate) fn estimate(rows: f64) -> String {
    // A plan may be estimated to make more rows than there are numbers.
    if rows >= 1e15 { format!("{rows:.1e}") } else { count(rows.round().max(0.0) as u64) }
}

/// A share as per cent.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        it if it > 0.0 && it < 1.0 => format!("{it:.1} %"),
        it => format!("{it:.0} %"),
    }
}

/// Text between tags and in quoted attributes, of HTML and SVG.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// The first characters of a text, with `…` when there are more.
pub(crate) fn shortened(text: &str, chars_max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars_max) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
            Cow::Owned(kept + "…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_estimates_rounded() {
        let counts = [0, 999, 1000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        let estimates = [f64::NAN, -1.0, 0.4, 1234.5, 1e300].map(estimate);
        assert_eq!(estimates, ["0", "0", "0", "1,235", "1.0e300"]);
        assert_eq!([0.0, 0.004, 0.5, 1.0].map(percent), ["0 %", "0.4 %", "50 %", "100 %"]);
    }

    #[test]
    fn text_is_escaped_and_shortened_by_characters() {
        assert_eq!(escaped("a < 'b' & \"c\">"), "a &lt; &#39;b&#39; &amp; &quot;c&quot;&gt;");
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äö…");
    }
}

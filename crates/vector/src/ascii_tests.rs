//! Tests of the ASCII flag of strings, for whole columns and slices.

use crate::{Buffer, StringValues, StringView};

#[test]
fn ascii_is_found_in_views_and_buffers() {
    let long = "a string that is longer than a view";
    let cases: [(&[&str], bool); 8] = [
        (&[], true),
        (&["", "short", "exactly 12 b", long], true),
        (&["ö"], false),
        (&["twelve byt\u{e9}"], false),
        (&["größer than a view, from the start"], false),
        (&["a view's prefix is ASCII, not its end: ö"], false),
        (&[long, long, "mostly", "ASCII", "ß"], false),
        (&["\u{7f}", "\0"], true),
    ];
    for (strings, expected) in cases {
        let strings: StringValues = strings.iter().copied().collect();
        assert_eq!(strings.knows_ascii(), None);
        assert_eq!(strings.is_ascii(), expected, "{strings:?}");
        assert_eq!(strings.clone().knows_ascii(), Some(expected));
    }
}

#[test]
fn lengths_and_positions_are_no_text() {
    // A length, buffer number or offset of 128 and more has the bit that ASCII bytes lack.
    let long = "x".repeat(200);
    let strings: StringValues = std::iter::repeat_n(long.as_str(), 3).collect();
    assert!(strings.is_ascii());
    assert!(StringView::position(strings.views[1]).1 >= 128);
}

#[test]
fn bytes_between_strings_do_not_count() {
    let text = "a string of many bytes\u{f6}another one that is long";
    let buffer = Buffer::from(text.as_bytes());
    let view = |range: std::ops::Range<usize>| {
        StringView::new(&text.as_bytes()[range.clone()], 0, range.start as u32)
    };
    let (first, second) = (view(0..22), view(24..text.len()));
    let of = |views: Vec<u128>| StringValues::new(views.into(), [buffer.clone()].into());
    assert!(of(vec![first, second]).is_ascii());
    assert!(of(vec![second, first, first]).is_ascii());
    assert!(!of(vec![first, view(1..24)]).is_ascii());
    assert!(!of(vec![first, view(22..text.len())]).is_ascii());
}

#[test]
fn parts_of_ascii_are_ascii() {
    let strings: StringValues = ["a", "b", "ö"].into_iter().collect();
    assert!(!strings.is_ascii());
    assert!(strings.with_views(strings.views.slice(0, 2)).is_ascii());
    let strings: StringValues = ["a", "b"].into_iter().collect();
    assert!(strings.is_ascii());
    assert_eq!(strings.with_views(strings.views.slice(0, 1)).knows_ascii(), Some(true));
}

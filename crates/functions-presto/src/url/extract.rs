//! Parts of URLs: `url_extract_host` and its like. Bytes written as `%` and two digits are read.

use super::{
    doc,
    escape::{Plus, decoded},
    parse::Url,
};
use std::borrow::Cow;
use volley_function::{Registry, simple::PartWriter};

/// A part of a URL, as it is written.
type Part = for<'a> fn(&Url<'a>) -> &'a str;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let parts: [(&str, &str, Part, &str); 5] = [
        ("protocol", "The protocol", |it| it.scheme, "https"),
        ("host", "The host", |it| it.host, "example.com"),
        ("path", "The path", |it| it.path, "/a/b"),
        ("query", "The query", |it| it.query.unwrap_or(""), "x=1&y=2"),
        ("fragment", "The fragment", |it| it.fragment, "top"),
    ];
    for (name, what, part, example) in parts {
        let name = format!("url_extract_{name}");
        let call = format!("{name}('https://example.com:8080/a/b?x=1&y=2#top')");
        let description = format!("{what} of a URL, empty when it has none; null of no URL.");
        let doc = doc(&format!("{name}(url) -> varchar"), &description, &[(&call, example)]);
        registry.simple(
            &format!("presto.{name}"),
            doc,
            move |url: &str, out: &mut PartWriter<0>| {
                if let Some(url) = Url::parse(url) {
                    out.set(&read(part(&url)));
                }
            },
        );
    }
    registry.simple(
        "presto.url_extract_port",
        doc(
            "url_extract_port(url) -> bigint",
            "The port of a URL, null when it has none; null of no URL.",
            &[("url_extract_port('https://example.com:8080/a')", "8080")],
        ),
        |url: &str| Url::parse(url).and_then(|it| it.port.parse::<i64>().ok()),
    );
    registry.simple(
        "presto.url_extract_parameter",
        doc(
            "url_extract_parameter(url, name) -> varchar",
            "The value of the first parameter of that name in the query of a URL, empty when it \
             is without one; null if there is no such parameter, or if it is not a URL.",
            &[("url_extract_parameter('http://example.com/?x=1&y=2', 'y')", "2")],
        ),
        |url: &str, name: &str, out: &mut PartWriter<0>| {
            let query = Url::parse(url).and_then(|it| it.query);
            if let Some(value) = query.map(read).as_deref().and_then(|it| parameter(it, name)) {
                out.set(value);
            }
        },
    );
}

/// The text that a part of a URL means.
fn read(part: &str) -> Cow<'_, str> {
    // The parser has checked that all digits exist.
    decoded(part, Plus::IsPlus).unwrap_or(Cow::Borrowed(part))
}

/// The value of the first parameter of that name.
fn parameter<'a>(query: &'a str, wanted: &str) -> Option<&'a str> {
    let parameters = query.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
    parameters.into_iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

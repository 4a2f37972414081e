//! The parts of a URL (RFC 3986, appendix A).

/// The parts of a URL, as they are written. Those that are not there are empty, or `None` where
/// that is something else.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub(super) scheme: &'a str,
    /// With brackets, when it is an IPv6 address.
    pub(super) host: &'a str,
    pub(super) port: &'a str,
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
    pub(super) fragment: &'a str,
}

impl<'a> Url<'a> {
    /// The parts of `text`; `None` when it is no URL and no relative reference.
    pub(super) fn parse(text: &'a str) -> Option<Url<'a>> {
        let (rest, fragment) = split(text, '#');
        let (rest, query) = split(rest, '?');
        let is_query_char = |it: char| is_path_char(it) || it == '?';
        for part in [query, fragment].into_iter().flatten() {
            check(part, is_query_char)?;
        }
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            _ => ("", rest),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        check(path, is_path_char)?;
        let first_segment = path.split('/').next().unwrap_or("");
        // It would be a scheme.
        if scheme.is_empty() && authority.is_none() && first_segment.contains(':') {
            return None;
        }
        let (host, port) = authority.map_or(Some(("", "")), host_and_port)?;
        Some(Url { scheme, host, port, path, query, fragment: fragment.unwrap_or("") })
    }
}

/// The text before and after the first separator.
fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

fn is_scheme(text: &str) -> bool {
    let is_scheme_char = |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.');
    text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(is_scheme_char)
}

/// Of `user@host:port`.
fn host_and_port(authority: &str) -> Option<(&str, &str)> {
    let rest = match authority.split_once('@') {
        Some((user, rest)) => {
            check(user, |it| is_name_char(it) || it == ':')?;
            rest
        }
        None => authority,
    };
    let (host, port) = match rest.starts_with('[') {
        true => {
            let (host, port) = rest.split_at(rest.find(']')? + 1);
            is_literal(&host[1..host.len() - 1]).then_some(())?;
            (host, if port.is_empty() { "" } else { port.strip_prefix(':')? })
        }
        false => {
            let (host, port) = rest.split_once(':').unwrap_or((rest, ""));
            check(host, is_name_char)?;
            (host, port)
        }
    };
    port.bytes().all(|it| it.is_ascii_digit()).then_some((host, port))
}

/// An IPv6 address, or one of a later version, as `v1.text`.
fn is_literal(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix(['v', 'V']) {
        let is_address_char = |it: char| it.is_ascii() && (is_name_char(it) || it == ':');
        return rest.split_once('.').is_some_and(|(version, address)| {
            !version.is_empty()
                && version.bytes().all(|it| it.is_ascii_hexdigit())
                && !address.is_empty()
                && address.chars().all(is_address_char)
        });
    }
    text.parse::<std::net::Ipv6Addr>().is_ok()
}

/// `unreserved` and `sub-delims`.
fn is_name_char(it: char) -> bool {
    if !it.is_ascii() {
        return !it.is_whitespace() && !it.is_control();
    }
    it.is_ascii_alphanumeric()
        || matches!(it, '-' | '.' | '_' | '~' | '!' | '$' | '&' | '\'' | '(' | ')')
        || matches!(it, '*' | '+' | ',' | ';' | '=')
}

/// `pchar`, and what separates segments.
fn is_path_char(it: char) -> bool {
    is_name_char(it) || matches!(it, ':' | '@' | '/')
}

/// Whether all characters are allowed, or bytes written as `%` and two digits.
fn check(text: &str, is_allowed: impl Fn(char) -> bool) -> Option<()> {
    let mut rest = text.chars();
    while let Some(it) = rest.next() {
        let is_digit = |it: Option<char>| it.is_some_and(|it| it.is_ascii_hexdigit());
        let is_right = match it {
            '%' => is_digit(rest.next()) && is_digit(rest.next()),
            _ => is_allowed(it),
        };
        if !is_right {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn parts_stand_where_the_syntax_says() {
        let url = Url::parse("http://me:pw@[::1]:80/a;b/c?x=1?#f/?").unwrap();
        let wanted = Url {
            scheme: "http",
            host: "[::1]",
            port: "80",
            path: "/a;b/c",
            query: Some("x=1?"),
            fragment: "f/?",
        };
        assert_eq!(url, wanted);
    }

    #[test]
    fn whatever_breaks_the_syntax_is_no_url() {
        for text in [
            "http://a b/",
            "http://a/%2",
            "http://a/%zz",
            "http://[::1",
            "http://[:::]/",
            "1a:b",
            "http://a:b/",
            "http://a/\u{7f}",
            "http://a/<x>",
            "?q#a#b",
            "http://[v.x]/",
            "\\x",
            "http://[::1]x/",
        ] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }

    #[test]
    fn references_without_a_scheme_are_read() {
        for text in ["", "a/b:c", "//host", "?q", "#f", "mailto:a@b", "a:", "http://[v1f.a:b]/"] {
            assert!(Url::parse(text).is_some(), "{text}");
        }
    }
}

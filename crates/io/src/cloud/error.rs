//! Errors of stores, in the engine's words.
//!
//! An error of the client repeats the request. Its URL and the server's answer may contain keys and
//! signatures, so only the status, and the code and message of an S3 answer, are taken from it.

use std::{error, fmt, io};
use volley_error::{Error, ErrorKind};

/// The error of a request about `location`.
pub(super) fn store_error(location: &str, error: &object_store::Error) -> Error {
    use object_store::Error as E;
    let cause = Cause::of(error);
    let location = without_query(location);
    match error {
        E::NotFound { .. } => Error::io(location, io::ErrorKind::NotFound.into()),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            Error::io(location, io::ErrorKind::PermissionDenied.into())
                .at("store", cause)
                .hint("CREATE SECRET names the credentials of a store")
        }
        E::Precondition { .. } => changed(location),
        E::NotSupported { .. } => {
            let message = format!("server does not read ranges of files: {location}");
            Error::unsupported(message).hint("copy the file and read the copy")
        }
        _ => {
            let is_region = cause.0.contains("redirect without LOCATION");
            let error = Error::io(location, io::ErrorKind::Other.into()).at("store", cause);
            if is_region {
                error.hint("the bucket is in another region: set it in the secret or AWS_REGION")
            } else {
                error
            }
        }
    }
}

/// The error of a file whose contents are not those of the time when it was opened.
pub(super) fn changed(location: &str) -> Error {
    Error::new(ErrorKind::Io, format!("file was replaced while it was read: {location}"))
        .hint("run the statement again")
}

/// The location without what follows `?`, which may be a signature.
pub(super) fn without_query(location: &str) -> &str {
    match location.split_once('?') {
        Some((path, _)) if location.contains("://") => path,
        _ => location,
    }
}

/// Whether the server said that there are no such bytes, or sent all.
pub(super) fn is_range_error(error: &object_store::Error) -> bool {
    let text = text_of(error);
    text.contains("code: 416") || text.contains("non-partial response")
}

/// What is known of the reason, without secrets.
struct Cause(String);

impl Cause {
    fn of(error: &object_store::Error) -> Cause {
        let text = text_of(error);
        let status = text.split_once("status code: ").and_then(|it| it.1.split([':', '\n']).next());
        let code = between(&text, "<Code>", "</Code>");
        let message = between(&text, "<Message>", "</Message>");
        let known: Vec<&str> = [status, code, message].into_iter().flatten().collect();
        if !known.is_empty() {
            return Cause(known.join(": "));
        }
        // The last cause tells most: a refused connection, an unknown host.
        let mut last: &dyn error::Error = error;
        while let Some(source) = last.source() {
            last = source;
        }
        Cause(last.to_string())
    }
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    text.split_once(start)?.1.split_once(end).map(|it| it.0)
}

/// The error and what caused it.
fn text_of(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut next = error::Error::source(error);
    while let Some(source) = next {
        text.push('\n');
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: text.into() }
    }

    #[test]
    fn errors_say_status_and_code_but_no_key() {
        let text = "Error performing GET http://h/b?X-Amz-Signature=abc in 1ms - Server returned \
                    non-2xx status code: 400 Bad Request: <Error><Code>InvalidAccessKeyId</Code>\
                    <Message>no such key</Message><AWSAccessKeyId>KEY1</AWSAccessKeyId></Error>";
        let error = store_error("http://h/b?X-Amz-Signature=abc", &generic(text));
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains("abc") && !shown.contains("KEY1"), "{shown}");
        assert!(shown.contains("400 Bad Request: InvalidAccessKeyId: no such key"), "{shown}");
        assert!(is_range_error(&generic("status code: 416 Range")));
    }
}

//! One error type for the engine: 8 bytes, so that `Result<Batch>` stays cheap.
//!
//! An error answers three questions at every boundary: *what* failed ([`ErrorKind`]), *whose* fault
//! it is ([`Blame`], shown to the user), and *may the caller try again*
//! ([`ErrorKind::is_transient`]). Errors that come from SQL text also carry the [`Span`] of the
//! text they speak of and a hint that says what to do.
//!
//! This crate knows nothing of the engine.

use std::{error, fmt, time::Duration};

/// The engine's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, with the frames it passed through.
#[derive(Debug)]
pub struct Error(Box<Repr>);

#[derive(Debug)]
struct Repr {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    span: Option<Span>,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

const _: () = assert!(size_of::<Error>() == 8);

/// What failed. The number is part of the protocol: never renumber, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum ErrorKind {
    /// The text is not SQL that the parser understands.
    Syntax = 1,
    /// The query names something that does not exist, or its types do not fit.
    InvalidQuery = 2,
    /// The query uses a construct that is not supported.
    Unsupported = 3,
    /// A value left the range of its type, or cannot be converted.
    InvalidValue = 4,
    /// The memory budget is exhausted.
    OutOfMemory = 5,
    /// A file or directory is missing, unreadable or not writable.
    Io = 6,
    /// Bytes that are not what their format says.
    Corruption = 7,
    /// The query was cancelled.
    Cancelled = 8,
    /// An invariant of ours is broken: a bug.
    Internal = 9,
    /// The query took longer than it may.
    TimedOut = 10,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The person who wrote the query.
    User,
    /// This code.
    Engine,
    /// The machine, a file or a remote service.
    Environment,
}

/// A range of bytes of the SQL text, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl ErrorKind {
    /// Whose fault errors of this kind are.
    pub fn blame(self) -> Blame {
        match self {
            ErrorKind::Syntax
            | ErrorKind::InvalidQuery
            | ErrorKind::Unsupported
            | ErrorKind::InvalidValue
            | ErrorKind::Cancelled
            | ErrorKind::TimedOut => Blame::User,
            ErrorKind::OutOfMemory | ErrorKind::Io | ErrorKind::Corruption => Blame::Environment,
            ErrorKind::Internal => Blame::Engine,
        }
    }

    /// Whether the same call may succeed later without any change of input.
    pub fn is_transient(self) -> bool {
        matches!(self, ErrorKind::OutOfMemory | ErrorKind::Cancelled | ErrorKind::TimedOut)
    }
}

impl Error {
    /// Creates an error; `message` is lower case, without a full stop, values last.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Repr {
            kind,
            message: message.into(),
            hint: None,
            span: None,
            context: Vec::new(),
            source: None,
        }))
    }

    /// An [`ErrorKind::InvalidQuery`] error.
    pub fn invalid_query(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidQuery, message)
    }

    /// An [`ErrorKind::Unsupported`] error.
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// An [`ErrorKind::InvalidValue`] error.
    pub fn invalid_value(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidValue, message)
    }

    /// An [`ErrorKind::Corruption`] error.
    pub fn corruption(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corruption, message)
    }

    /// An [`ErrorKind::Internal`] error: a bug of ours, reported instead of a panic.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    /// The [`ErrorKind::Cancelled`] error.
    pub fn cancelled() -> Error {
        Error::new(ErrorKind::Cancelled, "query cancelled")
    }

    /// The [`ErrorKind::TimedOut`] error of a statement that may take `limit`.
    pub fn timed_out(limit: Duration) -> Error {
        let error = Error::new(ErrorKind::TimedOut, "statement took longer than it may");
        error
            .at("statement_timeout", format_args!("{limit:?}"))
            .hint("SET statement_timeout = '10min' raises the limit, 0 removes it")
    }

    /// An [`ErrorKind::Io`] error about `path`; the error inside, if `source` was made of one.
    pub fn io(path: impl fmt::Display, source: std::io::Error) -> Error {
        let source = match source.downcast::<Error>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        let what = match source.kind() {
            std::io::ErrorKind::NotFound => "no such file or directory",
            std::io::ErrorKind::PermissionDenied => "permission denied",
            std::io::ErrorKind::IsADirectory => "is a directory",
            _ => "cannot access file",
        };
        let mut error = Error::new(ErrorKind::Io, format!("{what}: {path}"));
        error.0.source = Some(Box::new(source));
        error
    }

    /// Adds what the user can do about it, such as `did you mean "lineitem"?`.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says which part of the SQL text the error speaks of, unless that is known already.
    pub fn span(mut self, span: Option<Span>) -> Error {
        self.0.span = self.0.span.or(span);
        self
    }

    /// The error of a text that begins after `bytes` of another one, for that other text.
    pub fn moved(mut self, bytes: u32) -> Error {
        let moved = |it: u32| it.saturating_add(bytes);
        self.0.span = self.0.span.map(|it| Span { start: moved(it.start), end: moved(it.end) });
        self
    }

    /// Adds context while the error goes up, such as `at("file", path)`.
    pub fn at(mut self, key: &'static str, value: impl fmt::Display) -> Error {
        self.0.context.push((key, value.to_string()));
        self
    }

    /// Keeps the error that caused this one.
    pub fn caused_by(mut self, source: impl error::Error + Send + Sync + 'static) -> Error {
        self.0.source = Some(Box::new(source));
        self
    }

    /// What failed.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without context and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the user can do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The part of the SQL text that the error speaks of.
    pub fn text_span(&self) -> Option<Span> {
        self.0.span
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.message)?;
        for (key, value) in &self.0.context {
            write!(f, " ({key}: {value})")?;
        }
        Ok(())
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_deref().map(|it| it as _)
    }
}

impl Clone for Error {
    /// Copies everything but the source, which is kept as text in the context.
    fn clone(&self) -> Error {
        let repr = &self.0;
        let mut context = repr.context.clone();
        if let Some(source) = &repr.source
            && !context.iter().any(|(key, _)| *key == "cause")
        {
            context.push(("cause", source.to_string()));
        }
        Error(Box::new(Repr {
            kind: repr.kind,
            message: repr.message.clone(),
            hint: repr.hint.clone(),
            span: repr.span,
            context,
            source: None,
        }))
    }
}

impl Span {
    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

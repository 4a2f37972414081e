//! The position of an expression or call in the SQL text, for errors of rows.

use std::fmt;
use volley_error::{Blame, Error, ErrorKind, Span};

/// A place in the SQL text, or none. It is of no account when expressions, calls and plans are
/// compared or told apart by their text: all places are equal, and print alike.
#[derive(Clone, Copy, Default)]
pub struct SourceSpan(Option<Span>);

impl SourceSpan {
    /// The place of a span.
    pub fn of(span: Option<Span>) -> SourceSpan {
        SourceSpan(span)
    }

    /// The span, if there is one.
    pub fn span(self) -> Option<Span> {
        self.0
    }

    /// The error, pointing here if it is about values and does not point elsewhere.
    pub fn locate(self, error: Error) -> Error {
        let stops = matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut);
        if stops || error.kind().blame() != Blame::User { error } else { error.span(self.0) }
    }
}

impl PartialEq for SourceSpan {
    fn eq(&self, _: &SourceSpan) -> bool {
        true
    }
}

impl Eq for SourceSpan {}

impl fmt::Debug for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

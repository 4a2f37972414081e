//! Date and time functions and operators.
//!
//! ```text
//! DATE             days               ─┐
//! TIMESTAMP        what clocks show    ├─ point ──> Moment: a day, the time of day, a zone
//! ZONED_TIMESTAMP  an instant, a zone ─┘
//! ZONED_TIME       an instant of 1970-01-01, a zone; see clock
//! ```
//!
//! A timestamp without a zone is the instant of this local time in the session's zone. A repeated
//! local time is the first instant; a skipped one is later by the length of the gap. Weeks are
//! those of ISO 8601.

mod add;
mod clock;
mod current;
mod difference;
mod field;
mod interval;
mod iso;
mod joda;
mod layout;
mod layout_parse;
mod mysql;
mod point;
mod truncate;
mod unit;
mod unix;
mod zone;

use volley_error::Error;
use volley_function::{FunctionDoc, Registry};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    zone::register(registry);
    current::register(registry);
    field::register(registry);
    truncate::register(registry);
    add::register(registry);
    difference::register(registry);
    unix::register(registry);
    iso::register(registry);
    mysql::register(registry);
    joda::register(registry);
    interval::register(registry);
    clock::register(registry);
}

/// The documentation of a function of this chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "date", examples)
}

fn out_of_range() -> Error {
    Error::invalid_value("timestamp out of range")
}

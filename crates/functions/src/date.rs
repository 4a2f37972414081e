//! Functions on dates, times, timestamps and intervals.
//!
//! Dates are days and timestamps microseconds since 1970-01-01, in the proleptic Gregorian calendar
//! (see [`volley_types::civil`]); weeks are those of ISO 8601.

mod unit;
mod infinite;
mod field;
mod part;
mod truncate;
mod difference;
mod elapsed;
mod make;
mod bucket;
mod now;
mod zoned;
mod format;
mod format_parse;
mod format_parts;

pub use format_parse::{check_time_format, read_timestamp};
pub(crate) use infinite::null_of_infinite;
pub(crate) use zoned::moved as instant_moved;

use volley_error::Error;
use volley_function::{BoundScalar, Registry};
use volley_types::Type;

/// Registers the functions on points in time, except for the operators.
pub(crate) fn register(registry: &mut Registry) {
    part::register(registry);
    truncate::register(registry);
    difference::register(registry);
    elapsed::register(registry);
    make::register(registry);
    bucket::register(registry);
    now::register(registry);
    format::register(registry);
    format_parse::register(registry);
    zoned::register(registry);
}

/// A conversion between instants and dates, times and timestamps.
pub(crate) fn instants(from: &Type, to: &Type) -> Option<BoundScalar> {
    zoned::conversion(from, to)
}

pub(crate) fn timestamp_out_of_range() -> Error {
    Error::invalid_value("timestamp out of range")
}

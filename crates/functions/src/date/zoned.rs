//! TIMESTAMP WITH TIME ZONE: instants, converted from and to fields in the session's zone.
//!
//! ```text
//! instant ── local time ──> the function for TIMESTAMP ──> a number, a text, an interval, or
//!                                                          a local time ──> instant
//! ```
//!
//! Most functions apply the TIMESTAMP function to the local time of the session; `local` makes
//! them. The others are in `moved` and `made`. Skipped and repeated local times are described at
//! [`volley_types::Clock::instant_of`]; these are DuckDB's rules.

mod convert;
mod format;
mod local;
mod made;
mod moved;
mod part;

pub(crate) use moved::moved;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundScalar, EvalContext, Registry};
use volley_types::{Type, Value, custom::TimestampTz};
use volley_vector::{Encoding, Values, Vector};

/// A conversion between instants and dates, times and timestamps.
pub(super) fn conversion(from: &Type, to: &Type) -> Option<BoundScalar> {
    convert::bind(from, to)
}

/// Registers the type's functions; those for TIMESTAMP must be there.
pub(super) fn register(registry: &mut Registry) {
    registry.add_casts(Arc::new(convert::bind));
    local::register(registry);
    format::register(registry);
    moved::register(registry);
    part::register(registry);
    made::register(registry);
}

/// Whether an argument of this type is, or becomes, an instant.
fn is_instant(data_type: &Type) -> bool {
    TimestampTz::is(data_type)
}

/// The vector with `f` of every value, for types stored as 64-bit integers; constants and
/// dictionaries stay what they are. What `f` makes of null rows does not matter.
fn map_micros(vector: &Vector, to: &Type, f: &mut dyn FnMut(i64) -> i64) -> Result<Vector> {
    match vector.encoding() {
        Encoding::Constant(base) => Ok(Vector::repeat(map_micros(base, to, f)?, vector.len())),
        Encoding::Dictionary { codes, base } if base.len() <= vector.len() => {
            let base = Arc::new(map_micros(base, to, f)?);
            Ok(Vector::dictionary(codes.clone(), base, vector.null_buffer().cloned()))
        }
        Encoding::Flat(Values::I64(values)) => {
            let mapped: Vec<i64> = values.iter().map(|it| f(*it)).collect();
            Ok(Vector::native::<i64>(to.clone(), mapped, vector.null_buffer().cloned()))
        }
        Encoding::Flat(_) => Ok(Vector::from_values(to.clone(), &vec![Value::Null; vector.len()])),
        _ => map_micros(&vector.flatten()?, to, f),
    }
}

/// What the session's clocks show.
fn to_local(vector: &Vector, ctx: &EvalContext) -> Result<Vector> {
    let mut clock = ctx.query.time_zone.clock();
    map_micros(vector, &Type::Timestamp, &mut |it| clock.local_of(it))
}

/// The instants at which the session's clocks show these times.
fn to_instants(vector: &Vector, to: &Type, ctx: &EvalContext) -> Result<Vector> {
    let mut clock = ctx.query.time_zone.clock();
    map_micros(vector, to, &mut |it| clock.instant_of(it))
}

//! Values as JSON, as `to_json` makes them, and JSON as values of all types.
//!
//! Texts are read as JSON; JSON as text stays as it is written.

use super::{custom, fallible, settle};
use crate::json::{cast_json, to_json};
use volley_function::{BoundScalar, EvalContext, simple};
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// A conversion one side of which is JSON.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    match (from, to) {
        (Type::Varchar, _) | (_, Type::Varchar) => custom::bind(from, to),
        (Type::Opaque(_), _) | (_, Type::Opaque(_)) => None,
        _ if super::is_json(to) => {
            let made = to_json(from);
            settle(from, to, made.traits, made.function)
        }
        _ => {
            let function = |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
                cast_json(rows, &args[0], to, ctx)
            };
            fallible(from, to, simple::vectorized(function))
        }
    }
}

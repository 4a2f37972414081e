//! Conversion functions: what CAST and TRY_CAST mean in Presto.
//!
//! ```text
//! anything ─> VARCHAR        as Presto prints it                to_text
//! VARCHAR ─> anything        as Presto reads it                 of_text
//! DOUBLE, REAL ─> number     halves are rounded away from zero  of_float
//! anything ─> JSON           to_json
//! JSON ─> anything           of_json
//! ARRAY, MAP, ROW            by element; fields by position
//! ```
//!
//! All else is as in the core.

mod of_float;
mod of_json;
mod of_text;
mod to_json;
mod to_text;

pub(crate) use of_text::date as date_of_text;
pub(crate) use to_text::push_double;

use std::sync::Arc;
use volley_error::Error;
use volley_function::{BindCast, BoundScalar, Package, Registry, ScalarFunction, ScalarTraits};
use volley_functions::cast::{FieldMatch, PartErrors, PartRules, bind_parts};
use volley_types::{Type, custom::Json};

/// Registers the conversions; those of the core and of the package's types must be there.
pub(crate) fn register(registry: &mut Registry) {
    let core = registry.casts_so_far();
    registry.add_package_casts(Package::Presto, Arc::new(move |from, to| bind(from, to, &core)));
}

/// The conversion of one type to another, where it is not the core's.
pub(crate) fn bind(from: &Type, to: &Type, core: &BindCast) -> Option<BoundScalar> {
    if from == to || *from == Type::Unknown {
        return None;
    }
    let json = Json::data_type();
    match (from, to) {
        _ if *to == json => to_json::bind(from, to),
        _ if *from == json => of_json::bind(from, to),
        (_, Type::Varchar) => to_text::bind(from),
        (Type::Varchar, _) => of_text::bind(to),
        (Type::Varbinary, Type::Custom(_)) => crate::sketch::bind_bytes(to),
        (Type::Real | Type::Double, _) if to.is_numeric() => of_float::bind(from, to),
        (Type::Time, Type::Timestamp) => Some(time_to_timestamp()),
        _ if from.is_nested() && to.is_nested() => {
            let part = |from: &Type, to: &Type| bind(from, to, core).or_else(|| core(from, to));
            let rules = PartRules { fields: FieldMatch::Position, errors: PartErrors::Spread };
            bind_parts(from, to, rules, &part)
        }
        _ => None,
    }
}

/// A time of day on 1970-01-01.
fn time_to_timestamp() -> BoundScalar {
    use volley_function::simple::{Time, Timestamp, function1};
    let function = function1::<Time, Timestamp, i64>(|it: i64| it);
    settled(&Type::Time, &Type::Timestamp, ScalarTraits::INFALLIBLE, function)
}

fn settled(
    from: &Type,
    to: &Type,
    traits: ScalarTraits,
    function: Arc<dyn ScalarFunction>,
) -> BoundScalar {
    let bound = BoundScalar::new(vec![from.clone()], to.clone(), traits, function);
    BoundScalar { name: "cast".to_owned(), ..bound }
}

/// The error of a text that is no value of `to`.
fn invalid_text(text: &str, to: &Type) -> Error {
    Error::invalid_value(format!("cannot cast '{text}' to {to}"))
        .hint("TRY_CAST gives NULL instead of an error")
}

/// The error of a value, as text, beyond the range of `to`.
fn out_of_range(value: impl std::fmt::Display, to: &Type) -> Error {
    Error::invalid_value(format!("value {value} out of range for {to}"))
}

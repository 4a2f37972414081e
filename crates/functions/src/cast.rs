//! Casts between all types.
//!
//! ```text
//! number ─ number     exact, or rounded, or the row fails      cast/number
//! anything ─> VARCHAR                                          cast/to_text
//! VARCHAR ─> anything the row fails when the text is no such value   cast/from_text
//! points in time                                               cast/temporal, cast/timestamp_unit
//! TIME WITH TIME ZONE ─ text, points in time                     cast/time_tz
//! ARRAY, MAP, ROW     by element                               cast/nested
//! anything ─ JSON     as to_json and json_transform do         cast/json
//! ENUM ─> anything    as its text does                         cast/enumeration
//! unsigned integers ─ numbers, text                            cast/unsigned
//! other custom types  as they say                              cast/custom
//! ```

mod number;
mod decimal;
mod to_text;
mod from_text;
mod temporal;
mod custom;
mod enumeration;
mod json;
mod nested;
mod time_tz;
mod timestamp_unit;
mod unsigned;

pub(crate) use from_text::value_of;
pub use nested::{ElementCast, FieldMatch, PartErrors, PartRules, bind_parts};

use std::sync::Arc;
use volley_error::Error;
use volley_function::{BoundScalar, Registry, ScalarFunction, ScalarTraits, simple};
use volley_types::{
    Type,
    custom::{Json, TimeTz, TimestampUnit},
};
use volley_vector::Vector;

/// Registers all conversions.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_casts(Arc::new(bind));
}

/// The conversion from one type to another.
fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    if from == to {
        return infallible(from, to, simple::vectorized(|_, args, _, _| Ok(args[0].clone())));
    }
    match (from, to) {
        (Type::Unknown, _) => {
            let nulls =
                simple::vectorized(|rows, _, to, _| Ok(Vector::nulls(to.clone(), rows.len())));
            infallible(from, to, nulls)
        }
        _ if is_json(from) || is_json(to) => json::bind(from, to),
        _ if from.labels().is_some() => enumeration::bind(from, to),
        _ if from.unsigned().is_some() || to.unsigned().is_some() => unsigned::bind(from, to),
        _ if TimeTz::is(from) || TimeTz::is(to) => time_tz::bind(from, to),
        _ if TimestampUnit::of(from).is_some() || TimestampUnit::of(to).is_some() => {
            timestamp_unit::bind(from, to)
        }
        (Type::Custom(_), _) | (_, Type::Custom(_)) => custom::bind(from, to),
        (_, Type::Varchar) => to_text::bind(from),
        (Type::Varchar, _) => from_text::bind(to),
        _ if number::is_numeric_or_boolean(from) && number::is_numeric_or_boolean(to) => {
            number::bind(from, to)
        }
        _ if from.is_nested() && to.is_nested() => {
            let rules = PartRules { fields: FieldMatch::Name, errors: PartErrors::AsAsked };
            bind_parts(from, to, rules, &bind)
        }
        _ => temporal::bind(from, to),
    }
}

fn is_json(data_type: &Type) -> bool {
    *data_type == Json::data_type()
}

fn settle(
    from: &Type,
    to: &Type,
    traits: ScalarTraits,
    function: Arc<dyn ScalarFunction>,
) -> Option<BoundScalar> {
    let (args, result) = (vec![from.clone()], to.clone());
    Some(BoundScalar { name: "cast".to_owned(), args, result, traits, function })
}

fn infallible(from: &Type, to: &Type, function: Arc<dyn ScalarFunction>) -> Option<BoundScalar> {
    settle(from, to, ScalarTraits::INFALLIBLE, function)
}

fn fallible(from: &Type, to: &Type, function: Arc<dyn ScalarFunction>) -> Option<BoundScalar> {
    settle(from, to, ScalarTraits::DEFAULT, function)
}

/// An error shows the values of an ENUM that has no more of them.
const LABELS_SHOWN: usize = 20;

/// The error of a text that is no value of `to`.
fn invalid_text(text: &str, to: &Type) -> Error {
    let to = match to.labels() {
        Some(labels) if labels.len() > LABELS_SHOWN => format!("an ENUM of {} texts", labels.len()),
        _ => to.to_string(),
    };
    Error::invalid_value(format!("cannot cast '{text}' to {to}"))
        .hint("TRY_CAST gives NULL instead of an error")
}

/// The error of a value, as text, beyond the range of `to`.
fn out_of_range(value: impl std::fmt::Display, to: &Type) -> Error {
    Error::invalid_value(format!("value {value} out of range for {to}"))
}

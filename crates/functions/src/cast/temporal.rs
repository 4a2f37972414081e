//! Between dates, times and timestamps, and from bytes.

use super::{fallible, infallible};
use volley_error::Error;
use volley_function::{
    BoundScalar,
    simple::{Date, Time, Timestamp, function1},
};
use volley_types::{Type, civil};

/// A conversion between points in time; `None` for all other pairs of types.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    match (from, to) {
        (Type::Date, Type::Timestamp) => {
            let midnight = |days: i32| {
                let range = || Error::invalid_value("timestamp out of range");
                civil::timestamp_of(days, 0).ok_or_else(range)
            };
            fallible(from, to, function1::<Date, Timestamp, _>(midnight))
        }
        (Type::Timestamp, Type::Date) => {
            infallible(from, to, function1::<Timestamp, Date, _>(civil::date_of))
        }
        (Type::Timestamp, Type::Time) => {
            let of_day = |micros: i64| {
                if civil::is_infinite_timestamp(micros) {
                    return Err(Error::invalid_value("an infinite timestamp has no time of day"));
                }
                Ok(civil::split_timestamp(micros).1)
            };
            fallible(from, to, function1::<Timestamp, Time, _>(of_day))
        }
        _ => None,
    }
}

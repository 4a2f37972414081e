//! Membership and position of an element: `contains`, `array_position`.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{ArrayView, Equatable, EquatableValue},
};
use volley_functions::nested::add_search;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let contains = doc(
        "contains(array, x) -> boolean",
        "Whether the array has an element equal to x; null when it has none but a null.",
        &[("contains(ARRAY[1, 2], 2)", "true"), ("contains(ARRAY[1, NULL], 2)", "NULL")],
    );
    add_search(registry, "presto.contains", &contains, |place, has_nulls| {
        (place.is_some() || !has_nulls()).then_some(place.is_some())
    });
    let position = doc(
        "array_position(array, x) -> bigint",
        "The position of the first element equal to x, from 1; 0 if there is none.",
        &[("array_position(ARRAY[1, 2], 2)", "2"), ("array_position(ARRAY[1, 2], 3)", "0")],
    );
    add_search(registry, "presto.array_position", &position, |place, _| from_one(place));
    let instance = doc(
        "array_position(array, x, instance) -> bigint",
        "The position of the element equal to x that is the `instance`-th one, or the \
         `instance`-th from the end when negative; 0 if there is none.",
        &[
            ("array_position(ARRAY[1, 2, 1], 1, 2)", "3"),
            ("array_position(ARRAY[1, 2, 1], 1, -2)", "1"),
        ],
    );
    registry.simple(
        "presto.array_position",
        instance,
        |array: ArrayView<Equatable<0>>, x: EquatableValue<0>, instance: i64| -> Result<i64> {
            if instance == 0 {
                let message = "array_position cannot take a 0-valued instance argument";
                return Err(Error::invalid_value(message));
            }
            let skipped = usize::try_from(instance.unsigned_abs() - 1).unwrap_or(usize::MAX);
            let is_match = |it: &usize| array.get(*it) == Some(x);
            let places = 0..array.len();
            Ok(from_one(match instance > 0 {
                true => places.filter(is_match).nth(skipped),
                false => places.rev().filter(is_match).nth(skipped),
            }))
        },
    );
}

fn from_one(position: Option<usize>) -> i64 {
    position.map_or(0, |at| at as i64 + 1)
}

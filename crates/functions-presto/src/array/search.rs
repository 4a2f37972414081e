//! Where an element stands, and whether it does: `contains`, `array_position`.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Arg, ArrayView, Equatable, EquatableValue, Key, Simple, SqlType, Varchar, scalar},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let contains_doc = doc(
        "contains(array, x) -> boolean",
        "Whether the array has an element equal to x; null when it has none but a null.",
        &[("contains(ARRAY[1, 2], 2)", "true"), ("contains(ARRAY[1, NULL], 2)", "NULL")],
    );
    add(
        registry,
        "presto.contains",
        &contains_doc,
        [contains_native::<i32>, contains_native::<i64>, contains_native::<f64>, || {
            scalar(|array: ArrayView<Varchar>, x: &str| contains(array, x))
        }],
        || scalar(|array: ArrayView<Equatable<0>>, x: EquatableValue<0>| contains(array, x)),
    );
    let position_doc = doc(
        "array_position(array, x) -> bigint",
        "Where the first element equal to x stands, from 1; 0 when there is none.",
        &[("array_position(ARRAY[1, 2], 2)", "2"), ("array_position(ARRAY[1, 2], 3)", "0")],
    );
    add(
        registry,
        "presto.array_position",
        &position_doc,
        [position_native::<i32>, position_native::<i64>, position_native::<f64>, || {
            scalar(|array: ArrayView<Varchar>, x: &str| from_one(array.position(x)))
        }],
        || {
            scalar(|array: ArrayView<Equatable<0>>, x: EquatableValue<0>| {
                from_one(array.position(x))
            })
        },
    );
    let instance = doc(
        "array_position(array, x, instance) -> bigint",
        "Where the element equal to x stands that is the `instance`-th one, or the `instance`-th \
         from the end when negative; 0 when there is none.",
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
            let is_wanted = |it: &usize| array.get(*it) == Some(x);
            let places = 0..array.len();
            Ok(from_one(match instance > 0 {
                true => places.filter(is_wanted).nth(skipped),
                false => places.rev().filter(is_wanted).nth(skipped),
            }))
        },
    );
}

/// Adds the overload for all types last: of two that fit alike, the first one is taken.
fn add(
    registry: &mut Registry,
    name: &str,
    doc: &FunctionDoc,
    frequent: [fn() -> Simple; 4],
    all: fn() -> Simple,
) {
    for simple in frequent {
        registry.simple(name, doc.clone(), simple());
    }
    registry.simple(name, doc.clone(), all());
}

fn contains_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>() -> Simple {
    scalar(|array: ArrayView<T>, x: T| contains(array, x))
}

fn position_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>() -> Simple {
    scalar(|array: ArrayView<T>, x: T| from_one(array.position(x)))
}

fn contains<A: Key>(array: ArrayView<'_, A>, x: A::Value<'_>) -> Option<bool> {
    let found = array.position(x).is_some();
    (found || !array.has_nulls()).then_some(found)
}

fn from_one(position: Option<usize>) -> i64 {
    position.map_or(0, |at| at as i64 + 1)
}

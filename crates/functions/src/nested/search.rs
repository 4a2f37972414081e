//! Searching arrays and maps: `array_contains`, `array_position`, `element_at`.
//!
//! The most frequent element types have loops of their own; all others are compared as values of a
//! type variable.

use crate::documentation::doc;
use volley_function::{
    FunctionDoc, Registry,
    simple::{
        Any, AnyWriter, Arg, ArrayView, Equatable, EquatableValue, Key, MapView, Simple, SqlType,
        Varchar, scalar,
    },
};

/// Registers the functions that search.
pub(super) fn register(registry: &mut Registry) {
    let contains = doc(
        "array_contains(array, x) -> boolean",
        "Whether the array has an element equal to x.",
        "nested",
        &[("array_contains([1, 2], 2)", "true")],
    );
    for name in ["array_contains", "list_contains", "list_has", "array_has", "contains"] {
        add(
            registry,
            name,
            &contains,
            [contains_native::<i32>, contains_native::<i64>, contains_native::<f64>, || {
                scalar(|array: ArrayView<Varchar>, x: &str| array.position(x).is_some())
            }],
            || {
                scalar(|array: ArrayView<Equatable<0>>, x: EquatableValue<0>| {
                    array.position(x).is_some()
                })
            },
        );
    }
    let position = doc(
        "array_position(array, x) -> bigint",
        "Where the first element equal to x stands, from 1; null when there is none.",
        "nested",
        &[("array_position([1, 2], 2)", "2")],
    );
    for name in ["array_position", "list_position", "list_indexof"] {
        add(
            registry,
            name,
            &position,
            [position_native::<i32>, position_native::<i64>, position_native::<f64>, || {
                scalar(|array: ArrayView<Varchar>, x: &str| from_one(array.position(x)))
            }],
            || {
                scalar(|array: ArrayView<Equatable<0>>, x: EquatableValue<0>| {
                    from_one(array.position(x))
                })
            },
        );
    }
    let value = doc(
        "element_at(map, key) -> value",
        "The value of the key; null when there is none.",
        "nested",
        &[("map(['a'], [1])['a']", "1")],
    );
    for name in ["element_at", "map_extract_value"] {
        add(
            registry,
            name,
            &value,
            [value_native::<i32>, value_native::<i64>, value_native::<f64>, || {
                scalar(|map: MapView<Varchar, Any<0>>, key: &str, out: &mut AnyWriter<0>| {
                    set(out, map, key);
                })
            }],
            || {
                scalar(
                    |map: MapView<Equatable<1>, Any<0>>,
                     key: EquatableValue<1>,
                     out: &mut AnyWriter<0>| set(out, map, key),
                )
            },
        );
    }
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
    scalar(|array: ArrayView<T>, x: T| array.position(x).is_some())
}

fn position_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>() -> Simple {
    scalar(|array: ArrayView<T>, x: T| from_one(array.position(x)))
}

fn value_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>() -> Simple {
    scalar(|map: MapView<T, Any<0>>, key: T, out: &mut AnyWriter<0>| set(out, map, key))
}

fn from_one(position: Option<usize>) -> Option<i64> {
    position.map(|at| at as i64 + 1)
}

fn set<K: Key>(out: &mut AnyWriter<0>, map: MapView<'_, K, Any<0>>, key: K::Value<'_>) {
    if let Some(value) = map.get(key) {
        out.set(value);
    }
}

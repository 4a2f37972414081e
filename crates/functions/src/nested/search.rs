//! Searching arrays and maps: `array_contains`, `array_position`, `element_at`.
//!
//! The most frequent element types have loops of their own; all others are compared as values of a
//! type variable.

use crate::documentation::doc;
use volley_function::{
    FunctionDoc, Registry,
    simple::{
        Any, AnyWriter, Arg, ArrayView, Equatable, EquatableValue, Key, MapView, Returned, Simple,
        SqlType, Varchar, scalar,
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
        add_search(registry, name, &contains, |place, _| place.is_some());
    }
    let position = doc(
        "array_position(array, x) -> bigint",
        "The position of the first element equal to x, from 1, or of the first null if x is null; \
         null if there is none.",
        "nested",
        &[("array_position([1, 2], 2)", "2"), ("array_position([1, NULL], NULL)", "2")],
    );
    for name in ["array_position", "list_position", "list_indexof", "array_indexof"] {
        add_position(registry, name, &position);
    }
    let value = doc(
        "element_at(map, key) -> value",
        "The value of the key; null if there is none.",
        "nested",
        &[("map(['a'], [1])['a']", "1")],
    );
    for name in ["element_at", "map_extract_value"] {
        for simple in [value_native::<i32>, value_native::<i64>, value_native::<f64>] {
            registry.simple(name, value.clone(), simple());
        }
        let of_text = |map: MapView<Varchar, Any<0>>, key: &str, out: &mut AnyWriter<0>| {
            set(out, map, key);
        };
        registry.simple(name, value.clone(), of_text);
        let of_any = |map: MapView<Equatable<1>, Any<0>>,
                      key: EquatableValue<1>,
                      out: &mut AnyWriter<0>| set(out, map, key);
        registry.simple(name, value.clone(), of_any);
    }
}

/// Adds a function of an array and a value. `answer` is given where the first element stands that
/// is equal to the value, from 0, and what says whether an element is null.
pub fn add_search<R: Returned>(
    registry: &mut Registry,
    name: &str,
    doc: &FunctionDoc,
    answer: impl Fn(Option<usize>, &dyn Fn() -> bool) -> R + Copy + Send + Sync + 'static,
) {
    let frequent = [native::<i32, R>(answer), native::<i64, R>(answer), native::<f64, R>(answer)];
    frequent.into_iter().for_each(|it| registry.simple(name, doc.clone(), it));
    registry.simple(name, doc.clone(), move |array: ArrayView<Varchar>, x: &str| {
        answer(array.position(x), &|| array.has_nulls())
    });
    // Last: of two overloads that fit alike, the first one is taken.
    registry.simple(
        name,
        doc.clone(),
        move |array: ArrayView<Equatable<0>>, x: EquatableValue<0>| {
            answer(array.position(x), &|| array.has_nulls())
        },
    );
}

/// Adds `array_position` under a name.
fn add_position(registry: &mut Registry, name: &str, doc: &FunctionDoc) {
    let frequent = [position_native::<i32>, position_native::<i64>, position_native::<f64>];
    frequent.into_iter().for_each(|it| registry.simple(name, doc.clone(), it()));
    registry.simple(name, doc.clone(), |array: ArrayView<Varchar>, x: Option<&str>| {
        position_from_one(&array, x)
    });
    // Last: of two overloads that fit alike, the first one is taken.
    registry.simple(
        name,
        doc.clone(),
        |array: ArrayView<Equatable<0>>, x: Option<EquatableValue<0>>| position_from_one(&array, x),
    );
}

fn position_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>() -> Simple {
    scalar(|array: ArrayView<T>, x: Option<T>| position_from_one(&array, x))
}

/// The position of the first element that is equal to `x`, from 1; of the first null without `x`.
fn position_from_one<K: Key>(array: &ArrayView<'_, K>, x: Option<K::Value<'_>>) -> Option<i64> {
    let place = match x {
        Some(x) => array.position(x),
        None => (0..array.len()).find(|it| array.is_null(*it)),
    };
    place.map(|at| at as i64 + 1)
}

fn native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>, R: Returned>(
    answer: impl Fn(Option<usize>, &dyn Fn() -> bool) -> R + Copy + Send + Sync + 'static,
) -> Simple {
    scalar(move |array: ArrayView<T>, x: T| answer(array.position(x), &|| array.has_nulls()))
}

fn value_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>() -> Simple {
    scalar(|map: MapView<T, Any<0>>, key: T, out: &mut AnyWriter<0>| set(out, map, key))
}

fn set<K: Key>(out: &mut AnyWriter<0>, map: MapView<'_, K, Any<0>>, key: K::Value<'_>) {
    if let Some(value) = map.get(key) {
        out.set(value);
    }
}

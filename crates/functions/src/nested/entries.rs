//! What maps have: `map_extract`, `map_contains_value`, `map_contains_entry`.

use super::nested_doc;
use volley_function::{
    Registry,
    simple::{Any, ArrayWriter, Equatable, EquatableValue, MapView},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "map_extract",
        nested_doc(
            "map_extract(map, key) -> array",
            "The value of the key as an array of one; empty when there is none.",
            &[("map_extract(MAP {'a': 1}, 'a')", "[1]"), ("map_extract(MAP {'a': 1}, 'b')", "[]")],
        ),
        |map: MapView<Equatable<0>, Any<1>>,
         key: EquatableValue<0>,
         out: &mut ArrayWriter<Any<1>>| {
            out.extend(map.iter().find(|it| it.0 == key).map(|it| it.1));
        },
    );
    registry.simple(
        "map_contains_value",
        nested_doc(
            "map_contains_value(map, x) -> boolean",
            "Whether a key of the map has this value.",
            &[("map_contains_value(MAP {'a': 1}, 1)", "true")],
        ),
        |map: MapView<Any<0>, Equatable<1>>, value: EquatableValue<1>| {
            map.iter().any(|it| it.1 == Some(value))
        },
    );
    registry.simple(
        "map_contains_entry",
        nested_doc(
            "map_contains_entry(map, key, x) -> boolean",
            "Whether the key has this value in the map.",
            &[("map_contains_entry(MAP {'a': 1}, 'a', 2)", "false")],
        ),
        |map: MapView<Equatable<0>, Equatable<1>>,
         key: EquatableValue<0>,
         value: EquatableValue<1>| {
            map.iter().any(|it| it.0 == key && it.1 == Some(value))
        },
    );
}

//! What maps have: `map_entries`, `map_extract`, `map_contains_value`, `map_contains_entry`.

use super::{infallible, nested_doc, nested_values};
use std::sync::Arc;
use volley_function::{
    BoundScalar, Registry, ScalarTraits,
    simple::{Any, ArrayWriter, Equatable, EquatableValue, MapView},
};
use volley_types::Type;
use volley_vector::{Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let entries = nested_doc(
        "map_entries(map) -> array(row)",
        "The entries, rows of `key` and `value`.",
        &[
            ("map_entries(MAP {'a': 1})", "[{'key': a, 'value': 1}]"),
            ("list_transform(map_entries(MAP {'a': 1}), x -> x.key)", "[a]"),
        ],
    );
    registry.add_scalar("map_entries", entries, Arc::new(bind_entries));
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

/// A map has its entries as such rows already.
fn bind_entries(args: &[Type]) -> Option<BoundScalar> {
    let [map @ Type::Map(_)] = args else { return None };
    let function = infallible(|_, args, to| {
        let flat = args[0].flatten()?;
        let entries = Values::Array(nested_values(&flat)?.clone());
        Ok(Vector::flat(to.clone(), entries, flat.null_buffer().cloned()))
    });
    let result = Type::Array(Arc::new(map.entry_type()));
    Some(BoundScalar::new(args.to_vec(), result, ScalarTraits::INFALLIBLE, function))
}

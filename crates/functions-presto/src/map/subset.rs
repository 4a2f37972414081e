//! Some entries of a map, and whether it has keys.

use super::doc;
use std::collections::HashSet;
use volley_function::{
    Registry,
    simple::{
        Any, ArrayView, Equatable, EquatableValue, MapView, MapWriter, Orderable, OrderableValue,
    },
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_by_keys(registry);
    registry.simple(
        "presto.map_key_exists",
        doc(
            "map_key_exists(map, key) -> boolean",
            "Whether the map has the key.",
            &[("map_key_exists(map(ARRAY['a'], ARRAY[1]), 'a')", "true")],
        ),
        |map: MapView<Equatable<0>, Any<1>>, key: EquatableValue<0>| map.position(key).is_some(),
    );
    registry.simple(
        "presto.map_keys_overlap",
        doc(
            "map_keys_overlap(map, keys) -> boolean",
            "Whether the map has one of the keys.",
            &[("map_keys_overlap(map(ARRAY[1, 2], ARRAY[10, 20]), ARRAY[1, 5])", "true")],
        ),
        |map: MapView<Equatable<0>, Any<1>>, keys: ArrayView<Equatable<0>>| {
            let wanted: HashSet<_> = keys.iter().flatten().collect();
            map.keys().iter().flatten().any(|it| wanted.contains(&it))
        },
    );
    register_ranges(registry);
}

/// Functions that look at where keys or values stand.
fn register_ranges(registry: &mut Registry) {
    registry.simple(
        "presto.map_subset_key_in_range",
        doc(
            "map_subset_key_in_range(map, low, high) -> map",
            "The entries whose keys are from low to high, both included.",
            &[(
                "map_subset_key_in_range(map(ARRAY[1, 2, 3], ARRAY['a', 'b', 'c']), 2, 3)",
                "{2=b, 3=c}",
            )],
        ),
        |map: MapView<Orderable<0>, Any<1>>,
         low: OrderableValue<0>,
         high: OrderableValue<0>,
         out: &mut MapWriter<Any<0>, Any<1>>| {
            let entries = map.iter().filter(|it| low <= it.0 && it.0 <= high);
            entries.for_each(|it| out.push(it.0, it.1));
        },
    );
    registry.simple(
        "presto.map_remove_null_values",
        doc(
            "map_remove_null_values(map) -> map",
            "The entries whose value is not null.",
            &[("map_remove_null_values(map(ARRAY[1, 2], ARRAY[NULL, 4]))", "{2=4}")],
        ),
        |map: MapView<Any<0>, Any<1>>, out: &mut MapWriter<Any<0>, Any<1>>| {
            map.iter().filter(|it| it.1.is_some()).for_each(|it| out.push(it.0, it.1));
        },
    );
    registry.simple(
        "presto.map_values_in_range",
        doc(
            "map_values_in_range(map, low, high) -> map",
            "The entries whose values are null or from low to high, both included; a bound that is \
             null does not count.",
            &[(
                "map_values_in_range(map(ARRAY['a', 'b', 'c'], ARRAY[1e0, 2e0, 3e0]), 2, NULL)",
                "{b=2.0, c=3.0}",
            )],
        ),
        |map: MapView<Any<0>, Orderable<1>>,
         low: Option<OrderableValue<1>>,
         high: Option<OrderableValue<1>>,
         out: &mut MapWriter<Any<0>, Any<1>>| {
            let is_within = |value: OrderableValue<'_, 1>| {
                low.is_none_or(|it| it <= value) && high.is_none_or(|it| value <= it)
            };
            let entries = map.iter().filter(|it| it.1.is_none_or(is_within));
            entries.for_each(|it| out.push(it.0, it.1));
        },
    );
}

fn register_by_keys(registry: &mut Registry) {
    let subset = "The entries whose keys are in the array.";
    for name in ["map_subset", "map_intersect"] {
        let call = format!("{name}(map(ARRAY[1, 2], ARRAY['a', 'b']), ARRAY[1, 3])");
        registry.simple(
            &format!("presto.{name}"),
            doc(&format!("{name}(map, keys) -> map"), subset, &[(&call, "{1=a}")]),
            |map: MapView<Equatable<0>, Any<1>>,
             keys: ArrayView<Equatable<0>>,
             out: &mut MapWriter<Any<0>, Any<1>>| {
                let wanted: HashSet<_> = keys.iter().flatten().collect();
                let entries = map.iter().filter(|it| wanted.contains(&it.0));
                entries.for_each(|it| out.push(it.0, it.1));
            },
        );
    }
    registry.simple(
        "presto.map_except",
        doc(
            "map_except(map, keys) -> map",
            "The entries whose keys are not in the array.",
            &[("map_except(map(ARRAY[1, 2], ARRAY['a', 'b']), ARRAY[1, 3])", "{2=b}")],
        ),
        |map: MapView<Equatable<0>, Any<1>>,
         keys: ArrayView<Equatable<0>>,
         out: &mut MapWriter<Any<0>, Any<1>>| {
            let left_out: HashSet<_> = keys.iter().flatten().collect();
            let entries = map.iter().filter(|it| !left_out.contains(&it.0));
            entries.for_each(|it| out.push(it.0, it.1));
        },
    );
}

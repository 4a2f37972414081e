//! Maps with other entries: put together, added to, renamed.

use super::doc;
use std::collections::HashMap;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Any, ArrayView, Equatable, Map, MapView, MapWriter, VariadicView},
};
use volley_functions::nested::MapEntries;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.map_concat",
        doc(
            "map_concat(map, ...) -> map",
            "The entries of all maps; of those with the same key, the value of the last map.",
            &[(
                "map_concat(map(ARRAY[1, 2], ARRAY['a', 'b']), map(ARRAY[2], ARRAY['c']))",
                "{1=a, 2=c}",
            )],
        ),
        |maps: VariadicView<Map<Equatable<0>, Any<1>>>, out: &mut MapWriter<Any<0>, Any<1>>| {
            let mut entries = MapEntries::default();
            maps.iter().for_each(|map| map.iter().for_each(|it| entries.set(it.0, it.1)));
            entries.write(out);
        },
    );
    registry.simple(
        "presto.map_append",
        doc(
            "map_append(map, keys, values) -> map",
            "The map with further entries, whose keys it must not have; null keys are left out.",
            &[(
                "map_append(map(ARRAY[1], ARRAY[10]), ARRAY[2, NULL, 3], ARRAY[20, 30, 40])",
                "{1=10, 2=20, 3=40}",
            )],
        ),
        |map: MapView<Equatable<0>, Any<1>>,
         keys: ArrayView<Equatable<0>>,
         values: ArrayView<Any<1>>,
         out: &mut MapWriter<Any<0>, Any<1>>|
         -> Result<()> {
            check_lengths(keys.len(), values.len(), "keys and values")?;
            map.iter().for_each(|it| out.push(it.0, it.1));
            let new = keys.iter().zip(values.iter());
            new.for_each(|it| it.0.into_iter().for_each(|key| out.push(key, it.1)));
            Ok(())
        },
    );
    register_replacing(registry);
}

/// Functions that put values or keys in place of others.
fn register_replacing(registry: &mut Registry) {
    registry.simple(
        "presto.map_update",
        doc(
            "map_update(map, keys, values) -> map",
            "The map with other values for the keys that it has, and further entries for others; \
             null keys are left out.",
            &[(
                "map_update(map(ARRAY[1, 2], ARRAY[10, 20]), ARRAY[2, 4], ARRAY[200, 400])",
                "{1=10, 2=200, 4=400}",
            )],
        ),
        |map: MapView<Equatable<0>, Any<1>>,
         keys: ArrayView<Equatable<0>>,
         values: ArrayView<Any<1>>,
         out: &mut MapWriter<Any<0>, Any<1>>|
         -> Result<()> {
            check_lengths(keys.len(), values.len(), "keys and values")?;
            let mut new = MapEntries::default();
            for (key, value) in keys.iter().zip(values.iter()) {
                let Some(key) = key else { continue };
                new.add(key, value)?;
            }
            let mut entries = MapEntries::default();
            map.iter().for_each(|it| entries.set(it.0, it.1));
            new.entries.into_iter().for_each(|it| entries.set(it.0, it.1));
            entries.write(out);
            Ok(())
        },
    );
    registry.simple(
        "presto.remap_keys",
        doc(
            "remap_keys(map, old keys, new keys) -> map",
            "The map with new keys in place of old ones; others stay, and null keys are left out.",
            &[(
                "remap_keys(map(ARRAY[1, 2], ARRAY['a', 'b']), ARRAY[1, 9], ARRAY[100, 900])",
                "{100=a, 2=b}",
            )],
        ),
        |map: MapView<Equatable<0>, Any<1>>,
         old: ArrayView<Equatable<0>>,
         new: ArrayView<Equatable<0>>,
         out: &mut MapWriter<Any<0>, Any<1>>|
         -> Result<()> {
            check_lengths(old.len(), new.len(), "old and new keys")?;
            let pairs = old.iter().zip(new.iter()).filter_map(|(old, new)| old.zip(new));
            let names: HashMap<_, _> = pairs.collect();
            map.iter().for_each(|it| out.push(*names.get(&it.0).unwrap_or(&it.0), it.1));
            Ok(())
        },
    );
}

fn check_lengths(left: usize, right: usize, what: &str) -> Result<()> {
    if left == right {
        return Ok(());
    }
    Err(Error::invalid_value(format!("there must be as many {what}: {left} and {right}")))
}

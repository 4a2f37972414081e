//! Entries of maps: `map_concat`, `map_entries`, `map_extract`, `map_contains_value`,
//! `map_contains_entry`.

use super::{infallible, nested_doc, nested_values};
use std::{collections::HashMap, hash::Hash, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, Registry, ScalarTraits,
    simple::{
        Any, AnyValue, ArrayWriter, Equatable, EquatableValue, Map, MapView, MapWriter, Nullable,
        Scratch, VariadicView,
    },
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
            "The value of the key as an array of one; empty when there is none, or the key is null.",
            &[("map_extract(MAP {'a': 1}, 'a')", "[1]"), ("map_extract(MAP {'a': 1}, 'b')", "[]")],
        ),
        |map: MapView<Equatable<0>, Any<1>>,
         key: Option<EquatableValue<0>>,
         out: &mut ArrayWriter<Any<1>>| {
            let found = key.and_then(|key| map.iter().find(|it| it.0 == key));
            out.extend(found.map(|it| it.1));
        },
    );
    registry.simple(
        "map_concat",
        nested_doc(
            "map_concat(map, ...) -> map",
            "The entries of all maps that are not null; of those with the same key, the value of \
             the last map. Null when all are.",
            &[("map_concat(MAP {1: 'a', 2: 'b'}, NULL, MAP {2: 'c'})", "{1=a, 2=c}")],
        ),
        |maps: VariadicView<Nullable<Map<Equatable<0>, Any<1>>>>,
         out: &mut MapWriter<Any<0>, Any<1>>|
         -> Option<()> {
            let mut entries = MapEntries::default();
            let mut are_null = true;
            for map in maps.iter().flatten() {
                are_null = false;
                map.iter().for_each(|it| entries.set(it.0, it.1));
            }
            entries.write(out);
            (!are_null).then_some(())
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

/// Entries with keys that differ, in the order in which the keys came first.
pub struct MapEntries<K, V> {
    places: HashMap<K, usize>,
    /// The entries.
    pub entries: Vec<(K, V)>,
    /// For both.
    scratch: Scratch,
}

impl<K, V> Default for MapEntries<K, V> {
    fn default() -> Self {
        MapEntries { places: HashMap::new(), entries: Vec::new(), scratch: Scratch::default() }
    }
}

impl<K: Copy + Eq + Hash, V> MapEntries<K, V> {
    /// Gives a key its value. One that there is no memory for is left out; the call that asks fails
    /// for that.
    pub fn set(&mut self, key: K, value: V) {
        match self.places.get(&key).copied() {
            Some(place) => self.entries[place].1 = value,
            None if self.has_room() => {
                self.places.insert(key, self.entries.len());
                self.entries.push((key, value));
            }
            None => {}
        }
    }

    fn has_room(&mut self) -> bool {
        let len = self.entries.len();
        if len < self.entries.capacity().min(self.places.capacity()) {
            return true;
        }
        // While both are made twice as large, the old ones are there, too.
        let bytes = 3 * (size_of::<(K, usize)>() + 1 + size_of::<(K, V)>());
        self.scratch.raise(len.saturating_mul(bytes))
    }

    /// Like [`MapEntries::set`], for a key that must be new.
    ///
    /// # Errors
    ///
    /// It is there already.
    pub fn add(&mut self, key: K, value: V) -> Result<()> {
        if self.places.contains_key(&key) {
            return Err(Error::invalid_value("duplicate keys are not allowed"));
        }
        self.set(key, value);
        Ok(())
    }
}

impl<'a> MapEntries<EquatableValue<'a, 0>, Option<AnyValue<'a, 1>>> {
    /// Appends the entries to the map that is being written.
    pub fn write(self, out: &mut MapWriter<Any<0>, Any<1>>) {
        self.entries.into_iter().for_each(|it| out.push(it.0, it.1));
    }
}

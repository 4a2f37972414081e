//! Maps from entries, and entries of maps.

use super::doc;
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, Registry, ScalarTraits,
    simple::{self, Any, Array, ArrayView, ArrayWriter, Equatable, MapView, MapWriter, Row},
};
use volley_functions::nested::{entries_of, nested_of};
use volley_types::Type;
use volley_vector::{Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let empty = doc("map() -> map", "A map without entries.", &[("map()", "{}")]);
    registry.add_scalar("presto.map", empty, Arc::new(bind_empty));
    registry.simple(
        "presto.map_entries",
        doc(
            "map_entries(map) -> array of rows",
            "The entries as rows of key and value.",
            &[("map_entries(map(ARRAY[1, 2], ARRAY['x', 'y']))", "[(1, x), (2, y)]")],
        ),
        |map: MapView<Any<0>, Any<1>>, out: &mut ArrayWriter<Row<(Any<0>, Any<1>)>>| {
            map.iter().for_each(|it| out.push(it));
        },
    );
    registry.simple(
        "presto.map_from_entries",
        doc(
            "map_from_entries(array of rows) -> map",
            "The map with these entries, rows of key and value. Keys must differ and not be null.",
            &[("map_from_entries(ARRAY[(1, 'x'), (2, 'y')])", "{1=x, 2=y}")],
        ),
        |entries: ArrayView<Row<(Equatable<0>, Any<1>)>>,
         out: &mut MapWriter<Any<0>, Any<1>>|
         -> Result<()> {
            for entry in entries.iter() {
                let (key, value) = present(entry)?;
                out.push(key, value);
            }
            Ok(())
        },
    );
    registry.simple(
        "presto.multimap_from_entries",
        doc(
            "multimap_from_entries(array of rows) -> map of arrays",
            "For each key of the entries, rows of key and value, the array of its values.",
            &[("multimap_from_entries(ARRAY[(1, 'x'), (2, 'y'), (1, 'z')])", "{1=[x, z], 2=[y]}")],
        ),
        |entries: ArrayView<Row<(Equatable<0>, Any<1>)>>,
         out: &mut MapWriter<Any<0>, Array<Any<1>>>|
         -> Result<()> {
            let mut places = HashMap::with_capacity(entries.len());
            let mut groups = Vec::new();
            for entry in entries.iter() {
                let (key, value) = present(entry)?;
                let place = *places.entry(key).or_insert_with(|| {
                    groups.push((key, Vec::new()));
                    groups.len() - 1
                });
                groups[place].1.push(value);
            }
            for (key, values) in groups {
                out.push_with(key, |it| it.extend(values));
            }
            Ok(())
        },
    );
}

/// The key and the value of an entry.
fn present<K, V>(entry: Option<(Option<K>, V)>) -> Result<(K, V)> {
    let (key, value) = entry.ok_or_else(|| Error::invalid_value("map entry cannot be null"))?;
    let key = key.ok_or_else(|| Error::invalid_value("map key cannot be null"))?;
    Ok((key, value))
}

fn bind_empty(args: &[Type]) -> Option<BoundScalar> {
    if !args.is_empty() {
        return None;
    }
    let result = Type::map(Type::Unknown, Type::Unknown);
    let function = simple::vectorized(|rows, _, to, _| {
        let children = [0, 1].map(|_| Vector::from_values(Type::Unknown, &[]));
        let entries = entries_of(&to.entry_type(), children);
        let nested = nested_of(vec![0; rows.len()], entries)?;
        Ok(Vector::flat(to.clone(), Values::Map(nested), None))
    });
    Some(BoundScalar::new(Vec::new(), result, ScalarTraits::INFALLIBLE, function))
}

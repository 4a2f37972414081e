//! Maps with other values under the same keys.

use super::doc;
use std::sync::Arc;
use volley_error::Error;
use volley_function::{
    BoundScalar, Registry, ScalarTraits,
    simple::{self, MapView, MapWriter, Varchar},
};
use volley_functions::nested::{entries_of, entry_field, nested_of};
use volley_types::{Type, implicit_cast_cost};
use volley_vector::{Decoded, Nested, NullBuffer, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.map_normalize",
        doc(
            "map_normalize(map of varchar to double) -> map",
            "The map with its values divided by their sum; nulls stay.",
            &[(
                "map_normalize(map(ARRAY['a', 'b', 'c'], ARRAY[1, 4, 5]))",
                "{a=0.1, b=0.4, c=0.5}",
            )],
        ),
        |map: MapView<Varchar, f64>, out: &mut MapWriter<Varchar, f64>| {
            let sum: f64 = map.values().iter().flatten().sum();
            map.iter().for_each(|(key, value)| out.push(key, value.map(|it| it / sum)));
        },
    );
    let trim = doc(
        "map_trim_values(map of arrays, n) -> map of arrays",
        "The map with arrays of at most their first n elements; itself when n is negative.",
        &[(
            "map_trim_values(map(ARRAY[1, 2], ARRAY[ARRAY[10, 20, 30], ARRAY[40]]), 2)",
            "{1=[10, 20], 2=[40]}",
        )],
    );
    registry.add_scalar("presto.map_trim_values", trim, Arc::new(bind_trim));
}

/// Elements stay where they are: the arrays are shorter ranges of them.
fn bind_trim(given: &[Type]) -> Option<BoundScalar> {
    let [map @ Type::Map(entry), n] = given else { return None };
    if !matches!(entry.1, Type::Array(_)) {
        return None;
    }
    implicit_cast_cost(n, &Type::BigInt)?;
    let function = simple::vectorized(|rows, args, to, _| {
        let (maps, counts) = (Decoded::new(&args[0])?, Decoded::new(&args[1])?);
        let Values::Map(nested) = maps.values() else { return Err(unexpected()) };
        let (keys, values) = (entry_field(nested, 0)?, entry_field(nested, 1)?.flatten()?);
        let Some(Values::Array(arrays)) = values.flat_values() else { return Err(unexpected()) };
        let numbers = counts.native::<i64>();
        let (mut positions, mut array_sizes) = (Vec::new(), Vec::new());
        let mut sizes = vec![0i32; rows.len()];
        rows.for_each(|row| {
            let most = i32::try_from(numbers[counts.index(row)]).unwrap_or(i32::MAX);
            let range = nested.range(maps.index(row));
            sizes[row] = range.len() as i32;
            for at in range {
                let size = arrays.sizes[at];
                positions.push(at as u32);
                array_sizes.push(if most < 0 { size } else { size.min(most) });
            }
        });
        let trimmed = taken(&values, arrays, &positions, array_sizes);
        let entries = entries_of(&to.entry_type(), [keys.select(&positions), trimmed]);
        Ok(Vector::flat(to.clone(), Values::Map(nested_of(sizes, entries)?), None))
    });
    let args = vec![map.clone(), Type::BigInt];
    Some(BoundScalar::new(args, map.clone(), ScalarTraits::INFALLIBLE, function))
}

/// The arrays at `positions`, with other sizes.
fn taken(values: &Vector, arrays: &Nested, positions: &[u32], sizes: Vec<i32>) -> Vector {
    let offsets: Vec<i32> = positions.iter().map(|it| arrays.offsets[*it as usize]).collect();
    let elements = arrays.elements.clone();
    let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
    let is_valid = |it: &u32| values.null_buffer().is_none_or(|nulls| nulls.is_valid(*it as usize));
    let nulls: NullBuffer = positions.iter().map(is_valid).collect();
    Vector::flat(values.data_type().clone(), Values::Array(nested), Some(nulls))
}

fn unexpected() -> Error {
    Error::internal("map_trim_values of a vector of an unexpected layout")
}

//! `zip`.

use super::doc;
use std::{ops::RangeInclusive, sync::Arc};
use volley_function::{BoundScalar, Registry};
use volley_functions::nested::bind_zip;
use volley_types::Type;

/// How many arrays there may be.
const ARRAYS: RangeInclusive<usize> = 2..=7;

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let zip = doc(
        "zip(array, array, ...) -> array of rows",
        "Rows of the elements at the same place, of 2 to 7 arrays; shorter arrays are filled up \
         with nulls.",
        &[("zip(ARRAY[1, 2], ARRAY['a', NULL, 'c'])", "[(1, a), (2, NULL), (NULL, c)]")],
    );
    registry.add_scalar("presto.zip", zip, Arc::new(bind));
}

fn bind(given: &[Type]) -> Option<BoundScalar> {
    if ARRAYS.contains(&given.len()) { bind_zip(given) } else { None }
}

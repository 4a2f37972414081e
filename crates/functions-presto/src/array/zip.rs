//! `zip`.

use super::doc;
use std::{ops::RangeInclusive, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundScalar, Registry, ScalarTraits, simple};
use volley_functions::nested::{gather_or_null, nested_of};
use volley_types::{Field, Type};
use volley_vector::{Decoded, Nested, Values, Vector};

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
    let element = |it: &Type| match it {
        Type::Array(element) => Some(element.as_ref().clone()),
        Type::Unknown => Some(Type::Unknown),
        _ => None,
    };
    let elements: Vec<Type> = given.iter().map(element).collect::<Option<_>>()?;
    if !ARRAYS.contains(&elements.len()) {
        return None;
    }
    let args = elements.iter().cloned().map(Type::array).collect();
    let result = Type::array(Type::row(elements.into_iter().map(|it| Field::new("", it))));
    let function = simple::vectorized(|rows, args, to, _| {
        let decoded = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let nested = decoded.iter().map(nested_of_array).collect::<Result<Vec<&Nested>>>()?;
        let mut positions: Vec<Vec<Option<u32>>> = vec![Vec::new(); nested.len()];
        let mut sizes = vec![0i32; rows.len()];
        rows.for_each(|row| {
            let ranges = nested.iter().zip(&decoded).map(|(it, at)| it.range(at.index(row)));
            let size = ranges.clone().map(|it| it.len()).max().unwrap_or(0);
            for (range, positions) in ranges.zip(&mut positions) {
                let missing = size - range.len();
                positions.extend(range.map(|it| Some(it as u32)));
                positions.extend(std::iter::repeat_n(None, missing));
            }
            sizes[row] = size as i32;
        });
        let fields = nested.iter().zip(&positions);
        let children =
            fields.map(|(it, positions)| gather_or_null(&it.elements, positions)?.flatten());
        let children = children.collect::<Result<_>>()?;
        let len = positions.first().map_or(0, Vec::len);
        let Type::Array(row_type) = to else {
            return Err(Error::internal("zip makes something else than arrays"));
        };
        let zipped = Vector::flat(row_type.as_ref().clone(), Values::Row { children, len }, None);
        Ok(Vector::flat(to.clone(), Values::Array(nested_of(sizes, zipped)?), None))
    });
    Some(BoundScalar::new(args, result, ScalarTraits::INFALLIBLE, function))
}

fn nested_of_array<'a>(decoded: &'a Decoded<'_>) -> Result<&'a Nested> {
    match decoded.values() {
        Values::Array(nested) => Ok(nested),
        _ => Err(Error::internal("zip got a vector of an unexpected layout")),
    }
}

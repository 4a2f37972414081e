//! Constructors: `list_value`, `row`, `map`.

use super::{Keys, entries_of, infallible, nested_of, nested_values};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, Registry, ScalarTraits, simple};
use volley_types::{Field, Type, common_type};
use volley_vector::{Decoded, NullBuffer, Values, Vector};

/// Registers the constructors.
pub(super) fn register(registry: &mut Registry) {
    let list = doc(
        "list_value(x, ...) -> array",
        "The array of the values.",
        "nested",
        &[("[1, 2, NULL]", "[1, 2, NULL]")],
    );
    for name in ["list_value", "list_pack", "array_value"] {
        registry.add_scalar(name, list.clone(), Arc::new(bind_list));
    }
    let row =
        doc("row(x, ...) -> row", "The row of the values.", "nested", &[("row(1, 'a')", "(1, a)")]);
    registry.add_scalar("row", row, Arc::new(bind_row));
    let map = doc(
        "map(array of keys, array of values) -> map",
        "The map from each key to the value at the same place. Keys must differ and not be null.",
        "nested",
        &[("map(['a', 'b'], [1, 2])", "{a=1, b=2}")],
    );
    registry.add_scalar("map", map, Arc::new(bind_map));
}

const KEEPS_NULLS: ScalarTraits =
    ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };

fn bind_list(args: &[Type]) -> Option<BoundScalar> {
    let unknown = Type::Unknown;
    let common = args.iter().try_fold(unknown, |a, b| common_type(&a, b))?;
    let result = Type::array(common.clone());
    let function = infallible(move |rows, args, to| {
        let len = rows.len();
        if args.is_empty() {
            let elements = Vector::from_values(Type::Unknown, &[]);
            let values = Values::Array(nested_of(vec![0; len], elements)?);
            return Ok(Vector::flat(to.clone(), values, None));
        }
        // Element `i` of row `r` is row `r` of argument `i`.
        let columns = Vector::concat(args[0].data_type(), args)?;
        let indices: Vec<u32> = (0..len as u32)
            .flat_map(|row| (0..args.len() as u32).map(move |arg| arg * len as u32 + row))
            .collect();
        let elements = columns.gather(&indices)?;
        let values = Values::Array(nested_of(vec![args.len() as i32; len], elements)?);
        Ok(Vector::flat(to.clone(), values, None))
    });
    Some(BoundScalar::new(vec![common; args.len()], result, KEEPS_NULLS, function))
}

fn bind_row(args: &[Type]) -> Option<BoundScalar> {
    let fields = args.iter().map(|it| Field::new("", it.clone()));
    let result = Type::row(fields);
    let function = infallible(|rows, args, to| {
        let children = args.iter().map(Vector::flatten).collect::<Result<_>>()?;
        Ok(Vector::flat(to.clone(), Values::Row { children, len: rows.len() }, None))
    });
    Some(BoundScalar::new(args.to_vec(), result, KEEPS_NULLS, function))
}

fn bind_map(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Array(key), Type::Array(value)] = args else { return None };
    let result = Type::map((**key).clone(), (**value).clone());
    let function = simple::vectorized(|rows, args, to, ctx| {
        let (keys, values) = (args[0].flatten()?, args[1].flatten()?);
        let (key_lists, value_lists) = (nested_values(&keys)?, nested_values(&values)?);
        let known_keys = Keys::new(&key_lists.elements)?;
        let decoded = [Decoded::new(&keys)?, Decoded::new(&values)?];
        let mut total = 0;
        rows.for_each(|row| total += key_lists.range(row).len());
        // For each entry two positions, a key and a value.
        ctx.charge(2 * total * (size_of::<u32>() + size_of::<u128>()))?;
        let mut key_indices = Vec::with_capacity(total);
        let mut value_indices = Vec::with_capacity(total);
        let mut sizes = vec![0i32; rows.len()];
        let mut valid = vec![true; rows.len()];
        rows.for_each(|row| {
            if decoded.iter().any(|it| it.is_null(row)) {
                valid[row] = false;
                return;
            }
            let (key_range, value_range) = (key_lists.range(row), value_lists.range(row));
            let wrong = if key_range.len() != value_range.len() {
                Some("a map needs as many keys as values")
            } else {
                known_keys.fault(key_range.clone())
            };
            if let Some(message) = wrong {
                return ctx.fail(row, || Error::invalid_value(message));
            }
            sizes[row] = key_range.len() as i32;
            key_indices.extend(key_range.map(|it| it as u32));
            value_indices.extend(value_range.map(|it| it as u32));
        });
        let children = [
            key_lists.elements.gather(&key_indices)?,
            value_lists.elements.gather(&value_indices)?,
        ];
        // Rows that are not active have no entries, so offsets follow from sizes.
        let nested = nested_of(sizes, entries_of(&to.entry_type(), children))?;
        Ok(Vector::flat(to.clone(), Values::Map(nested), Some(NullBuffer::from(valid))))
    });
    Some(BoundScalar::new(args.to_vec(), result, ScalarTraits::DEFAULT, function))
}

//! Access: elements of arrays, values of maps, fields of rows.

use super::{entry_field, gather_or_null, infallible, nested_values, settle};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, Registry, ScalarTraits};
use volley_types::{Type, implicit_cast_cost};
use volley_vector::{Decoded, Nested, NullBuffer, Values, Vector, comparator};

/// Registers the functions that take parts of nested values.
pub(super) fn register(registry: &mut Registry) {
    let element = doc(
        "array_extract(array, index) -> element",
        "The element at `index`, from 1, or from the end when negative; null when there is none.",
        "nested",
        &[("[10, 20][2]", "20"), ("[10, 20][-1]", "20")],
    );
    for name in ["array_extract", "list_extract", "list_element", "element_at"] {
        registry.add_scalar(name, element.clone(), Arc::new(bind_element));
    }
    let value = doc(
        "element_at(map, key) -> value",
        "The value of the key; null when there is none.",
        "nested",
        &[("map(['a'], [1])['a']", "1")],
    );
    for name in ["element_at", "map_extract_value"] {
        registry.add_scalar(name, value.clone(), Arc::new(bind_value));
    }
    let field = doc(
        "struct_extract(row, 'name') -> field",
        "The field of a row.",
        "nested",
        &[("struct_extract({'a': 1, 'b': 2}, 'b')", "2")],
    );
    registry.add_scalar("struct_extract", field, Arc::new(bind_field));
    for (name, index, text, example) in [
        ("map_keys", 0, "The keys of a map.", ("map_keys(map(['a'], [1]))", "[a]")),
        ("map_values", 1, "The values of a map.", ("map_values(map(['a'], [1]))", "[1]")),
    ] {
        let doc = doc(&format!("{name}(map) -> array"), text, "nested", &[example]);
        registry.add_scalar(name, doc, Arc::new(move |args: &[Type]| bind_entries(args, index)));
    }
}

fn bind_element(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Array(element), index] = args else { return None };
    implicit_cast_cost(index, &Type::BigInt)?;
    let function = infallible(|rows, args, _| {
        let arrays = args[0].flatten()?;
        let nested = nested_values(&arrays)?;
        let (decoded, indices) = (Decoded::new(&arrays)?, Decoded::new(&args[1])?);
        let positions = indices.native::<i64>();
        let mut found = vec![None; rows.len()];
        rows.for_each(|row| {
            if !decoded.is_null(row) && !indices.is_null(row) {
                let range = nested.range(row);
                let at = position(positions[indices.index(row)], range.len());
                found[row] = at.map(|at| (range.start + at) as u32);
            }
        });
        gather_or_null(&nested.elements, &found)
    });
    let (args, result) = (vec![args[0].clone(), Type::BigInt], (**element).clone());
    settle(args, result, ScalarTraits::INFALLIBLE, function)
}

/// The place, from 0, that an index from 1 or from the end means.
fn position(index: i64, len: usize) -> Option<usize> {
    let len = len as i64;
    let at = if index > 0 { index - 1 } else { len.checked_add(index)? };
    (index != 0 && (0..len).contains(&at)).then_some(at as usize)
}

fn bind_value(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Map(entry), key] = args else { return None };
    implicit_cast_cost(key, &entry.0)?;
    let function = infallible(|rows, args, _| {
        let maps = args[0].flatten()?;
        let nested = nested_values(&maps)?;
        let compare = comparator(&entry_field(nested, 0)?, &args[1])?;
        let decoded = Decoded::new(&maps)?;
        let mut found = vec![None; rows.len()];
        rows.for_each(|row| {
            if !decoded.is_null(row) && !compare.right_is_null(row) {
                let equal = |at: &usize| compare.is_equal(*at, row);
                found[row] = nested.range(row).find(equal).map(|at| at as u32);
            }
        });
        gather_or_null(&entry_field(nested, 1)?, &found)
    });
    let types = vec![args[0].clone(), entry.0.clone()];
    settle(types, entry.1.clone(), ScalarTraits::INFALLIBLE, function)
}

/// The name is looked up when the batch is evaluated: the type of the result is that of the field,
/// which only whoever knows the name can say.
fn bind_field(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Row(fields), Type::Varchar] = args else { return None };
    let result = fields.first()?.data_type.clone();
    let function = infallible(|_, args, to| {
        let (flat, names) = (args[0].flatten()?, Decoded::new(&args[1])?);
        let (Type::Row(fields), Some(Values::Row { children, .. })) =
            (flat.data_type(), flat.flat_values())
        else {
            return Err(Error::internal("struct_extract of a vector of an unexpected layout"));
        };
        if flat.is_empty() {
            return Ok(Vector::from_values(to.clone(), &[]));
        }
        let name = names.text(0);
        let index = fields.iter().position(|it| it.name.eq_ignore_ascii_case(name));
        let index = index.ok_or_else(|| Error::invalid_query(format!("no such field: {name}")))?;
        with_nulls(&children[index], flat.null_buffer())
    });
    settle(args.to_vec(), result, ScalarTraits::INFALLIBLE, function)
}

/// The vector with more null rows.
fn with_nulls(vector: &Vector, nulls: Option<&NullBuffer>) -> Result<Vector> {
    let Some(nulls) = nulls else { return Ok(vector.clone()) };
    let flat = vector.flatten()?;
    let all = NullBuffer::union(Some(nulls), flat.null_buffer());
    match flat.flat_values() {
        Some(values) => Ok(Vector::flat(flat.data_type().clone(), values.clone(), all)),
        None => Err(Error::internal("flattened vector is not flat")),
    }
}

fn bind_entries(args: &[Type], index: usize) -> Option<BoundScalar> {
    let [Type::Map(entry)] = args else { return None };
    let element = if index == 0 { &entry.0 } else { &entry.1 };
    let result = Type::array(element.clone());
    let function = infallible(move |_, args, to| {
        let maps = args[0].flatten()?;
        let nested = nested_values(&maps)?;
        let elements = Arc::new(entry_field(nested, index)?);
        let (offsets, sizes) = (nested.offsets.clone(), nested.sizes.clone());
        let values = Values::Array(Nested { offsets, sizes, elements });
        Ok(Vector::flat(to.clone(), values, maps.null_buffer().cloned()))
    });
    settle(args.to_vec(), result, ScalarTraits::INFALLIBLE, function)
}

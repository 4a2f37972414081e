//! Rows with more fields, and what their fields are called: `struct_concat`, `struct_insert`,
//! `struct_update`, `struct_keys`.

use super::{access::with_nulls, infallible, nested_doc};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, Registry, ScalarTraits};
use volley_types::{Field, Type, Value};
use volley_vector::{Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let concat = nested_doc(
        "struct_concat(row, ...) -> row",
        "The row of the fields of all rows, whose names must differ.",
        &[("struct_concat({'a': 1}, {'b': 'x'})", "{'a': 1, 'b': x}")],
    );
    registry.add_scalar("struct_concat", concat, Arc::new(bind_concat));
    let insert = nested_doc(
        "struct_insert(row, name := x, ...) -> row",
        "The row with further fields, whose names it must not have.",
        &[("struct_insert({'a': 1}, b := 2)", "{'a': 1, 'b': 2}")],
    );
    registry.add_scalar("struct_insert", insert, Arc::new(bind_concat));
    let update = nested_doc(
        "struct_update(row, name := x, ...) -> row",
        "The row with other values of fields, and with further fields.",
        &[("struct_update({'a': 1, 'b': 2}, a := 'x', c := 3)", "{'a': x, 'b': 2, 'c': 3}")],
    );
    registry.add_scalar("struct_update", update, Arc::new(bind_update));
    let keys = nested_doc(
        "struct_keys(row) -> array",
        "The names of the fields.",
        &[("struct_keys({'a': 1, 'b': 2})", "[a, b]")],
    );
    registry.add_scalar("struct_keys", keys, Arc::new(bind_keys));
    let values = nested_doc(
        "struct_values(row) -> row",
        "The row without names of its fields.",
        &[("struct_values({'a': 1, 'b': 'x'})", "(1, x)")],
    );
    registry.add_scalar("struct_values", values, Arc::new(bind_values));
}

const KEEPS_NULLS: ScalarTraits =
    ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };

fn fields_of(row: &Type) -> Option<&[Field]> {
    match row {
        Type::Row(fields) => Some(fields),
        _ => None,
    }
}

/// The position of the field called `name`.
fn place_of(fields: &[Field], name: &str) -> Option<usize> {
    fields.iter().position(|it| !name.is_empty() && it.name.eq_ignore_ascii_case(name))
}

/// Rows of all named or all unnamed fields; no name twice.
fn bind_concat(args: &[Type]) -> Option<BoundScalar> {
    let rows = args.iter().map(fields_of).collect::<Option<Vec<_>>>()?;
    let mut fields: Vec<Field> = Vec::new();
    for field in rows.into_iter().flatten() {
        if place_of(&fields, &field.name).is_some() {
            return None;
        }
        fields.push(field.clone());
    }
    let places = (0..args.len()).flat_map(|row| {
        (0..fields_of(&args[row]).map_or(0, <[Field]>::len)).map(move |field| (row, field))
    });
    put_together(args, fields, places.collect())
}

fn bind_update(args: &[Type]) -> Option<BoundScalar> {
    let [old, new] = args else { return None };
    let (old, new) = (fields_of(old)?, fields_of(new)?);
    let mut fields = old.to_vec();
    let mut places: Vec<(usize, usize)> = (0..old.len()).map(|it| (0, it)).collect();
    for (at, field) in new.iter().enumerate() {
        match place_of(&fields, &field.name) {
            Some(place) => {
                fields[place].data_type = field.data_type.clone();
                places[place] = (1, at);
            }
            None => {
                fields.push(field.clone());
                places.push((1, at));
            }
        }
    }
    put_together(args, fields, places)
}

/// The row of `fields`, each of which is that at a place: which argument, and which field of it.
/// The fields of a null row are null.
fn put_together(
    args: &[Type],
    fields: Vec<Field>,
    places: Vec<(usize, usize)>,
) -> Option<BoundScalar> {
    let first = fields.first()?;
    if fields.iter().any(|it| it.name.is_empty() != first.name.is_empty()) {
        return None;
    }
    let function = infallible(move |rows, args, to| {
        let flat = args.iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
        let child = |(row, field): &(usize, usize)| {
            let row = flat.get(*row).ok_or_else(unexpected_layout)?;
            let Some(Values::Row { children, .. }) = row.flat_values() else {
                return Err(unexpected_layout());
            };
            with_nulls(children.get(*field).ok_or_else(unexpected_layout)?, row.null_buffer())
        };
        let children = places.iter().map(child).collect::<Result<_>>()?;
        Ok(Vector::flat(to.clone(), Values::Row { children, len: rows.len() }, None))
    });
    Some(BoundScalar::new(args.to_vec(), Type::row(fields), KEEPS_NULLS, function))
}

fn unexpected_layout() -> Error {
    Error::internal("rows of an unexpected layout")
}

fn bind_keys(args: &[Type]) -> Option<BoundScalar> {
    let [row] = args else { return None };
    let names: Vec<Value> = fields_of(row)?.iter().map(|it| Value::text(&it.name)).collect();
    let names = Value::Array(names.into());
    let function =
        infallible(move |rows, _, to| Ok(Vector::constant(to.clone(), &names, rows.len())));
    let result = Type::array(Type::Varchar);
    Some(BoundScalar::new(args.to_vec(), result, ScalarTraits::INFALLIBLE, function))
}

fn bind_values(args: &[Type]) -> Option<BoundScalar> {
    let [row] = args else { return None };
    let fields = fields_of(row)?.iter().map(|it| Field::new("", it.data_type.clone()));
    let result = Type::row(fields);
    let function = infallible(|_, args, to| Ok(args[0].with_type(to.clone())));
    Some(BoundScalar::new(args.to_vec(), result, ScalarTraits::INFALLIBLE, function))
}

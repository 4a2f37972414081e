//! JSON made of values: `to_json`, `json_object`, `json_array`, and the aggregates
//! `json_group_array` and `json_group_object`.
//!
//! Numbers, booleans and nulls are what they are in JSON, lists and rows without names arrays, maps
//! and rows with names objects; everything else is its text. JSON stays as it is.

use super::{
    json_doc,
    text::{self, push_quoted},
};
use std::{fmt::Write, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundScalar, EvalContext, Registry, ScalarTraits, simple};
use volley_types::{Type, Value, Zone, custom::Json};
use volley_vector::{Decoded, NullBuffer, Rows, StringView, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let to = json_doc(
        "to_json(x) -> json",
        "The value as JSON: numbers and booleans as they are, lists as arrays, rows and maps as \
         objects, other values as their text; infinite numbers and NaN as null.",
        &[
            ("to_json({'a': 1, 'b': [true, NULL]})", "{\"a\":1,\"b\":[true,null]}"),
            ("to_json(DATE '2020-01-01')", "\"2020-01-01\""),
        ],
    );
    for name in ["to_json", "json_quote"] {
        registry.add_scalar(name, to.clone(), Arc::new(|args: &[Type]| bind_one(args, |_| true)));
    }
    let row = json_doc(
        "row_to_json(row) -> json",
        "The row as a JSON object.",
        &[("row_to_json({'a': 1})", "{\"a\":1}")],
    );
    let is_row = |it: &Type| matches!(it, Type::Row(_));
    registry.add_scalar("row_to_json", row, Arc::new(move |args: &[Type]| bind_one(args, is_row)));
    let array = json_doc(
        "array_to_json(array) -> json",
        "The list as a JSON array.",
        &[("array_to_json([1, NULL])", "[1,null]")],
    );
    let is_array = |it: &Type| matches!(it, Type::Array(_));
    let bind_array = move |args: &[Type]| bind_one(args, is_array);
    registry.add_scalar("array_to_json", array, Arc::new(bind_array));
    let list = json_doc(
        "json_array(x, ...) -> json",
        "The JSON array of the values.",
        &[("json_array(1, 'a', NULL)", "[1,\"a\",null]")],
    );
    registry.add_scalar("json_array", list, Arc::new(bind_array_of));
    let object = json_doc(
        "json_object(name, x, ...) -> json",
        "The JSON object with these members: their names, each with its value behind it.",
        &[("json_object('a', 1, 'b', [2])", "{\"a\":1,\"b\":[2]}")],
    );
    registry.add_scalar("json_object", object, Arc::new(bind_object));
}

fn bind_one(args: &[Type], takes: impl Fn(&Type) -> bool) -> Option<BoundScalar> {
    let [arg] = args else { return None };
    takes(arg).then(|| to_json(arg))
}

/// The function that makes values of a type JSON; null stays null.
pub(crate) fn to_json(data_type: &Type) -> BoundScalar {
    let bound = settled(std::slice::from_ref(data_type), |out, row| match row {
        [(value, data_type)] => {
            push(out, value, data_type);
            Ok(())
        }
        _ => Err(Error::internal("to_json takes one value")),
    });
    BoundScalar { traits: ScalarTraits::INFALLIBLE, ..bound }
}

fn bind_array_of(args: &[Type]) -> Option<BoundScalar> {
    Some(settled(args, |out, row| {
        push_list(out, row.iter().copied());
        Ok(())
    }))
}

fn bind_object(args: &[Type]) -> Option<BoundScalar> {
    let is_name = |it: &Type| *it == Type::Varchar;
    if args.len() % 2 == 1 || !args.iter().step_by(2).all(is_name) {
        return None;
    }
    let bound = settled(args, |out, row| {
        let members = row.chunks_exact(2).map(|it| (it[0].0, it[1]));
        push_object(out, members)
    });
    Some(BoundScalar {
        traits: ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT },
        ..bound
    })
}

/// A value and its type.
type Typed<'a> = (&'a Value, &'a Type);

/// A function that writes the values of a row.
fn settled(
    args: &[Type],
    write: impl Fn(&mut String, &[Typed<'_>]) -> Result<()> + Send + Sync + 'static,
) -> BoundScalar {
    let types = args.to_vec();
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let zone = ctx.query.time_zone.clone();
        let types = shown_types(&types, &zone);
        for arg in args {
            // The values, and the text of a row.
            ctx.charge(tree_bytes(arg)?.saturating_mul(2))?;
        }
        let columns = args.iter().map(Vector::to_values).collect::<Result<Vec<_>>>()?;
        texts(rows, to, ctx, |row, out| {
            let values = columns.iter().zip(&types);
            let values: Vec<Typed<'_>> =
                values.filter_map(|(it, data_type)| Some((it.get(row)?, data_type))).collect();
            write(out, &values)
        })
    });
    let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };
    BoundScalar::new(args.to_vec(), Json::data_type(), traits, function)
}

/// The types as their values are shown in a time zone.
fn shown_types(types: &[Type], zone: &Zone) -> Vec<Type> {
    types.iter().map(|it| it.in_zone(zone)).collect()
}

fn texts(
    rows: &Rows,
    to: &Type,
    ctx: &mut EvalContext,
    write: impl Fn(usize, &mut String) -> Result<()>,
) -> Result<Vector> {
    let mut text = String::new();
    let (strings, _) = simple::write_texts(rows, ctx, |row, out| -> Result<()> {
        text.clear();
        write(row, &mut text)?;
        out.push_str(&text);
        Ok(())
    })?;
    // Others than these rows are null.
    let nulls = (!rows.is_all()).then(|| NullBuffer::new(rows.to_bits()));
    Ok(Vector::flat(to.clone(), Values::View(strings), nulls))
}

/// What the values of a column take as a tree, roughly: of many rows, some are looked at.
fn tree_bytes(column: &Vector) -> Result<usize> {
    /// All rows of a batch, and not all elements that batches share.
    const SAMPLED: usize = 64 << 10;
    let decoded = Decoded::new(column)?;
    let step = (decoded.len() / SAMPLED).max(1);
    let rows = (0..decoded.len()).step_by(step).filter(|it| !decoded.is_null(*it));
    let indices = rows.map(|it| decoded.index(it));
    // As if all elements were alike.
    let of_parts = |parts: usize, elements: &Vector| -> Result<usize> {
        let all = tree_bytes(elements)? as u128;
        let share = all * parts as u128 / (elements.len().max(1)) as u128;
        Ok(usize::try_from(share).unwrap_or(usize::MAX))
    };
    let below = match decoded.values() {
        Values::View(strings) => indices.map(|it| StringView::len_of(strings.views[it])).sum(),
        Values::Array(nested) | Values::Map(nested) => {
            of_parts(indices.map(|it| nested.range(it).len()).sum(), &nested.elements)?
        }
        Values::FixedArray(arrays) => of_parts(indices.count() * arrays.size, &arrays.elements)?,
        Values::Row { children, .. } => {
            let count = indices.count();
            let of_child = children.iter().map(|it| of_parts(count, it));
            of_child.sum::<Result<usize>>()?
        }
        _ => 0,
    };
    let below = below.saturating_mul(step);
    Ok(below.saturating_add(decoded.len() * size_of::<Value>()))
}

/// Appends a value as JSON.
pub(crate) fn push(out: &mut String, value: &Value, data_type: &Type) {
    match (value, data_type) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Array(elements), Type::Array(element)) => {
            push_list(out, elements.iter().map(|it| (it, element.as_ref())));
        }
        (Value::Array(elements), Type::FixedArray(array)) => {
            push_list(out, elements.iter().map(|it| (it, &array.0)));
        }
        (Value::Row(values), Type::Row(fields)) => {
            if fields.iter().all(|it| it.name.is_empty()) {
                return push_list(out, values.iter().zip(fields.iter().map(|it| &it.data_type)));
            }
            let members = values
                .iter()
                .zip(fields.iter())
                .map(|(value, field)| (field.name.to_string(), (value, &field.data_type)));
            text::push_members(out, members, push_typed);
        }
        (Value::Map(entries), Type::Map(types)) => {
            let name = |key: &Value| key.display(&types.0).to_string();
            let members = entries.iter().map(|it| (name(&it.0), (&it.1, &types.1)));
            text::push_members(out, members, push_typed);
        }
        (Value::Varchar(text), data_type) if *data_type == Json::data_type() => out.push_str(text),
        (Value::Varchar(text), _) => push_quoted(text, out),
        _ => push_plain(out, value, data_type),
    }
}

/// Appends a value that has neither parts nor is a text.
fn push_plain(out: &mut String, value: &Value, data_type: &Type) {
    let number = match value {
        Value::Double(number) => Some(*number),
        Value::Real(number) => Some(f64::from(*number)),
        _ => None,
    };
    let is_bare = number.is_some() || data_type.is_numeric() || *data_type == Type::Boolean;
    if number.is_some_and(|it| !it.is_finite()) {
        out.push_str("null");
    } else if let Some(number) = number {
        // Writing to memory does not fail.
        let _ = write!(out, "{}", Value::Double(number).display(&Type::Double));
    } else if is_bare {
        let _ = write!(out, "{}", value.display(data_type));
    } else {
        push_quoted(&value.display(data_type).to_string(), out);
    }
}

/// Appends an array.
pub(crate) fn push_list<'a>(out: &mut String, elements: impl Iterator<Item = Typed<'a>>) {
    text::push_array(out, elements, push_typed);
}

/// Appends an object.
///
/// # Errors
///
/// A name that is null.
pub(crate) fn push_object<'a>(
    out: &mut String,
    members: impl Iterator<Item = (&'a Value, Typed<'a>)>,
) -> Result<()> {
    let mut named = Vec::new();
    for (name, value) in members {
        let Value::Varchar(name) = name else {
            return Err(Error::invalid_value("the name of a member must not be null"));
        };
        named.push((name.to_string(), value));
    }
    text::push_members(out, named.into_iter(), push_typed);
    Ok(())
}

fn push_typed(out: &mut String, (value, data_type): Typed<'_>) {
    push(out, value, data_type);
}

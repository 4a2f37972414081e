//! Arrays, maps and rows, by element.

use super::{bind as bind_cast, settle};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, EvalContext, ScalarTraits, simple};
use volley_types::{Field, Type};
use volley_vector::{Nested, Rows, Values, Vector};

/// A conversion between two nested types; `None` when an element's is missing.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    match (from, to) {
        (Type::Array(a), Type::Array(b)) => bind_elements(from, to, (**a).clone(), (**b).clone()),
        (Type::Map(_), Type::Map(_)) => bind_elements(from, to, from.entry_type(), to.entry_type()),
        (Type::Row(a), Type::Row(b)) => bind_row(from, to, a, b),
        _ => None,
    }
}

fn bind_elements(from: &Type, to: &Type, inner: Type, outer: Type) -> Option<BoundScalar> {
    let cast = bind_cast(&inner, &outer)?;
    let traits = cast.traits;
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let flat = args[0].flatten()?;
        let (Some(Values::Array(nested)) | Some(Values::Map(nested))) = flat.flat_values() else {
            return Err(Error::internal("cast of a vector of an unexpected layout"));
        };
        let elements = cast_elements(&cast, &flat, nested, rows, ctx)?;
        let elements = Arc::new(elements);
        let (offsets, sizes) = (nested.offsets.clone(), nested.sizes.clone());
        let nested = Nested { offsets, sizes, elements };
        let values = match to {
            Type::Map(_) => Values::Map(nested),
            _ => Values::Array(nested),
        };
        Ok(Vector::flat(to.clone(), values, flat.null_buffer().cloned()))
    });
    settle(from, to, traits, function)
}

/// Converts the elements of the active rows; an element's error is its row's.
fn cast_elements(
    cast: &BoundScalar,
    flat: &Vector,
    nested: &Nested,
    rows: &Rows,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let len = nested.elements.len();
    let mut owner = vec![u32::MAX; len];
    rows.for_each(|row| {
        if flat.null_buffer().is_none_or(|it| it.is_valid(row)) {
            nested.range(row).for_each(|element| owner[element] = row as u32);
        }
    });
    let active = (0..len).filter(|element| owner[*element] != u32::MAX);
    let active = Rows::from_indices(len, active);
    let arg = nested.elements.as_ref().clone();
    evaluate(cast, arg, active, ctx, |element| owner[element] as usize)
}

/// Runs a cast over other rows than the batch's; `to_row` says where an error belongs.
fn evaluate(
    cast: &BoundScalar,
    arg: Vector,
    mut rows: Rows,
    ctx: &mut EvalContext,
    to_row: impl Fn(usize) -> usize,
) -> Result<Vector> {
    let arg = arg.flatten()?;
    if let Some(nulls) = arg.null_buffer() {
        rows.subtract_nulls(nulls);
    }
    let nulls = arg.null_buffer().cloned();
    let mut inner = EvalContext {
        errors_discarded: ctx.errors_discarded,
        ..EvalContext::new(ctx.query.clone())
    };
    let result = cast.function.evaluate(&rows, &[arg], &cast.result, &mut inner)?;
    ctx.errors.append(inner.errors, to_row);
    // The function was asked for rows without nulls only; the others stay null.
    let result = result.flatten()?;
    let all = volley_vector::NullBuffer::union(nulls.as_ref(), result.null_buffer());
    let values = result.flat_values().cloned();
    let values = values.ok_or_else(|| Error::internal("flattened vector is not flat"))?;
    Ok(Vector::flat(cast.result.clone(), values, all))
}

/// Fields by name where both sides name them, else by position. A name that is missing is null.
fn bind_row(from: &Type, to: &Type, a: &[Field], b: &[Field]) -> Option<BoundScalar> {
    let named = |fields: &[Field]| fields.iter().all(|it| !it.name.is_empty());
    let find = |field: &Field| a.iter().position(|it| it.name.eq_ignore_ascii_case(&field.name));
    let by_name = named(a) && named(b) && b.iter().any(|it| find(it).is_some());
    if !by_name && a.len() != b.len() {
        return None;
    }
    let sources: Vec<Option<usize>> = b
        .iter()
        .enumerate()
        .map(|(index, field)| if by_name { find(field) } else { Some(index) })
        .collect();
    let casts = sources.iter().zip(b).map(|(source, field)| {
        let from = source.map_or(&Type::Unknown, |it| &a[it].data_type);
        bind_cast(from, &field.data_type)
    });
    let casts = casts.collect::<Option<Vec<_>>>()?;
    let infallible = casts.iter().all(|it| it.traits.infallible);
    let traits = ScalarTraits { infallible, ..ScalarTraits::DEFAULT };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let flat = args[0].flatten()?;
        let Some(Values::Row { children, len }) = flat.flat_values() else {
            return Err(Error::internal("cast of a vector of an unexpected layout"));
        };
        let mut converted = Vec::with_capacity(casts.len());
        for (cast, source) in casts.iter().zip(&sources) {
            converted.push(match source {
                Some(source) => {
                    evaluate(cast, children[*source].clone(), rows.clone(), ctx, |row| row)?
                }
                None => Vector::nulls(cast.result.clone(), *len).flatten()?,
            });
        }
        let values = Values::Row { children: converted.into(), len: *len };
        Ok(Vector::flat(to.clone(), values, flat.null_buffer().cloned()))
    });
    settle(from, to, traits, function)
}

//! Arrays, maps and rows, by element.

use super::settle;
use crate::value_aggregate::{Keys, ValueMap};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BadParts, BoundScalar, EvalContext, ScalarTraits, simple};
use volley_types::{Field, Type, Value};
use volley_vector::{FixedArrays, Nested, NullBuffer, Rows, Values, Vector};

/// Which conversion an element or field has; `None` for none.
pub type ElementCast<'a> = &'a dyn Fn(&Type, &Type) -> Option<BoundScalar>;

/// Which fields of two rows belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldMatch {
    /// Those of one name where both rows name all of theirs, else those of one position.
    Name,
    /// Those of one position.
    Position,
}

/// What becomes of a part that cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartErrors {
    /// What the evaluation says: TRY_CAST makes it null.
    AsAsked,
    /// The value it is part of cannot be converted either.
    Spread,
}

impl PartErrors {
    fn bad_parts(self, ctx: &EvalContext) -> BadParts {
        match self {
            PartErrors::AsAsked => ctx.bad_parts,
            PartErrors::Spread => BadParts::Fail,
        }
    }
}

/// How a dialect converts values with parts.
#[derive(Clone, Copy, Debug)]
pub struct PartRules {
    /// Which fields belong together.
    pub fields: FieldMatch,
    /// What becomes of a part that cannot be converted.
    pub errors: PartErrors,
}

/// A conversion of a field of one row to one of another.
struct FieldCast {
    /// The position of the field that it takes; `None`: it is null.
    source: Option<usize>,
    cast: BoundScalar,
    errors: PartErrors,
}

/// A conversion between two nested types, part by part; `None` when a part's is missing.
pub fn bind_parts(
    from: &Type,
    to: &Type,
    rules: PartRules,
    bind_cast: ElementCast<'_>,
) -> Option<BoundScalar> {
    let bind_elements = |inner: Type, outer: Type| {
        bind_elements(from, to, bind_cast(&inner, &outer)?, rules.errors)
    };
    match (from, to) {
        (Type::Array(a), Type::Array(b)) => bind_elements((**a).clone(), (**b).clone()),
        (Type::FixedArray(a), Type::Array(b)) if a.0 == **b => {
            settle(from, to, ScalarTraits::INFALLIBLE, simple::vectorized(without_size))
        }
        (Type::FixedArray(a), Type::Array(b)) => bind_elements(a.0.clone(), (**b).clone()),
        (Type::Array(a), Type::FixedArray(b)) => bind_elements((**a).clone(), b.0.clone()),
        (Type::FixedArray(a), Type::FixedArray(b)) if a.1 == b.1 => {
            bind_elements(a.0.clone(), b.0.clone())
        }
        (Type::Map(a), Type::Map(b)) => {
            let (key, value) = (bind_cast(&a.0, &b.0)?, bind_cast(&a.1, &b.1)?);
            let key = FieldCast { source: Some(0), cast: key, errors: PartErrors::Spread };
            let value = FieldCast { source: Some(1), cast: value, errors: rules.errors };
            let entry = bind_row(&from.entry_type(), &to.entry_type(), vec![key, value])?;
            let cast = self::bind_elements(from, to, entry, PartErrors::Spread)?;
            Some(if a.0 == b.0 { cast } else { with_distinct_keys(cast, &b.0) })
        }
        (Type::Row(a), Type::Row(b)) => {
            let sources = matching_fields(a, b, rules.fields)?;
            let casts = sources.into_iter().zip(b.iter()).map(|(source, field)| {
                let from = source.map_or(&Type::Unknown, |it| &a[it].data_type);
                let cast = bind_cast(from, &field.data_type)?;
                Some(FieldCast { source, cast, errors: rules.errors })
            });
            bind_row(from, to, casts.collect::<Option<Vec<_>>>()?)
        }
        _ => None,
    }
}

/// A cast to maps that fails rows where two keys become the same.
fn with_distinct_keys(cast: BoundScalar, key: &Type) -> BoundScalar {
    let keys = Keys::of(key);
    let inner = cast.function;
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let result = inner.evaluate(rows, args, to, ctx)?;
        let mut check = |row: usize| -> Result<()> {
            let Value::Map(entries) = result.value(row)? else { return Ok(()) };
            let mut seen: ValueMap<()> = ValueMap::default();
            for (key, _) in entries.iter().filter(|it| !it.0.is_null()) {
                let known = seen.len();
                seen.entry(&keys, key.clone(), || ());
                if seen.len() == known {
                    ctx.fail(row, || Error::invalid_value("two keys of a map become the same"));
                    break;
                }
            }
            Ok(())
        };
        let mut checked = Ok(());
        rows.for_each(|row| {
            if checked.is_ok() {
                checked = check(row);
            }
        });
        checked.map(|()| result)
    });
    let traits = ScalarTraits { infallible: false, ..cast.traits };
    BoundScalar { traits, function, ..cast }
}

fn bind_elements(
    from: &Type,
    to: &Type,
    cast: BoundScalar,
    errors: PartErrors,
) -> Option<BoundScalar> {
    let checks_sizes = matches!((from, to), (Type::Array(_), Type::FixedArray(_)));
    let infallible = cast.traits.infallible && !checks_sizes;
    let traits = ScalarTraits { infallible, ..cast.traits };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let flat = args[0].without_size()?;
        let (Some(Values::Array(nested)) | Some(Values::Map(nested))) = flat.flat_values() else {
            return Err(Error::internal("cast of a vector of an unexpected layout"));
        };
        let active = without_nulls(rows, &flat);
        ctx.charge(nested.elements.len() * size_of::<u32>())?;
        let nested = match owners(nested, &active) {
            Some(owners) => cast_elements(&cast, nested, &owners, errors, ctx)?,
            None => {
                let nested = unshared(nested, &active, ctx)?;
                let owners = owners(&nested, &active)
                    .ok_or_else(|| Error::internal("two rows still share an element"))?;
                cast_elements(&cast, &nested, &owners, errors, ctx)?
            }
        };
        let values = match to {
            Type::Map(_) => Values::Map(nested),
            Type::FixedArray(array) => Values::FixedArray(sized(&nested, array.1, &active, ctx)?),
            _ => Values::Array(nested),
        };
        Ok(Vector::flat(to.clone(), values, flat.null_buffer().cloned()))
    });
    settle(from, to, traits, function)
}

/// The arrays of a fixed size as arrays of any size, which share their elements.
fn without_size(_: &Rows, args: &[Vector], _: &Type, _: &mut EvalContext) -> Result<Vector> {
    args[0].without_size()
}

/// The arrays of `rows` as arrays of `size` elements, which must have as many; other rows have any
/// elements. Copies none that are in order already.
fn sized(nested: &Nested, size: u32, rows: &Rows, ctx: &mut EvalContext) -> Result<FixedArrays> {
    let (len, size) = (nested.offsets.len(), size as usize);
    let mut fitting = rows.clone();
    let mut wrong = Vec::new();
    rows.for_each(|row| {
        let found = nested.range(row).len();
        if found != size {
            wrong.push(row);
            ctx.fail(row, || {
                let message = format!("cannot cast an array of {found} elements to one of {size}");
                Error::invalid_value(message).hint("TRY_CAST gives NULL instead of an error")
            });
        }
    });
    fitting.subtract(&Rows::from_indices(len, wrong));
    let mut starts: Vec<Option<usize>> = vec![None; len];
    fitting.for_each(|row| starts[row] = Some(nested.range(row).start));
    let count = len.checked_mul(size).filter(|it| i32::try_from(*it).is_ok());
    let count = count.ok_or_else(|| Error::invalid_value("more than 2^31 array elements"))?;
    let in_order = starts.iter().enumerate().all(|(row, it)| it.is_none_or(|it| it == row * size));
    let elements = if fitting.is_empty() {
        Vector::nulls(nested.elements.data_type().clone(), count).flatten()?
    } else if in_order && count <= nested.elements.len() {
        nested.elements.flatten()?.slice(0, count)
    } else {
        ctx.charge(count * (size_of::<u32>() + size_of::<u128>()))?;
        let mut positions = Vec::with_capacity(count);
        for start in &starts {
            match start {
                Some(start) => positions.extend((*start..*start + size).map(|it| it as u32)),
                None => positions.resize(positions.len() + size, 0),
            }
        }
        nested.elements.gather(&positions)?
    };
    Ok(FixedArrays { size, len, elements: Arc::new(elements) })
}

/// The row of an element that no row has.
const NO_OWNER: u32 = u32::MAX;

fn without_nulls(rows: &Rows, vector: &Vector) -> Rows {
    let mut rows = rows.clone();
    if let Some(nulls) = vector.null_buffer() {
        rows.subtract_nulls(nulls);
    }
    rows
}

/// The row of `rows` that each element belongs to; `None` when two rows share one.
fn owners(nested: &Nested, rows: &Rows) -> Option<Vec<u32>> {
    let mut owners = vec![NO_OWNER; nested.elements.len()];
    let mut is_shared = false;
    rows.for_each(|row| {
        for owner in &mut owners[nested.range(row)] {
            is_shared |= *owner != NO_OWNER;
            *owner = row as u32;
        }
    });
    (!is_shared).then_some(owners)
}

/// The same arrays with elements of their own; rows other than `rows` become empty.
fn unshared(nested: &Nested, rows: &Rows, ctx: &mut EvalContext) -> Result<Nested> {
    let mut count = 0usize;
    rows.for_each(|row| count = count.saturating_add(nested.range(row).len()));
    // Positions, elements and their owners.
    ctx.charge(count.saturating_mul(2 * size_of::<u32>() + size_of::<u128>()))?;
    let mut elements: Vec<u32> = Vec::with_capacity(count);
    let mut offsets = vec![0; nested.offsets.len()];
    let mut sizes = vec![0; nested.offsets.len()];
    rows.for_each(|row| {
        offsets[row] = elements.len();
        sizes[row] = nested.sizes[row];
        elements.extend(nested.range(row).map(|it| it as u32));
    });
    let offsets = offsets.into_iter().map(i32::try_from).collect::<Result<Vec<_>, _>>();
    let offsets = offsets.map_err(|_| Error::invalid_value("more than 2^31 array elements"))?;
    let elements = Arc::new(nested.elements.gather(&elements)?);
    Ok(Nested { offsets: offsets.into(), sizes: sizes.into(), elements })
}

/// Converts the elements that have an owner; an element's error is its owner's.
fn cast_elements(
    cast: &BoundScalar,
    nested: &Nested,
    owners: &[u32],
    errors: PartErrors,
    ctx: &mut EvalContext,
) -> Result<Nested> {
    let len = owners.len();
    let active = Rows::from_indices(len, (0..len).filter(|it| owners[*it] != NO_OWNER));
    let elements = nested.elements.as_ref().clone();
    let bad_parts = errors.bad_parts(ctx);
    let to_row = |element| owners[element] as usize;
    let elements = evaluate(cast, elements, active, bad_parts, ctx, to_row)?;
    let (offsets, sizes) = (nested.offsets.clone(), nested.sizes.clone());
    Ok(Nested { offsets, sizes, elements: Arc::new(elements) })
}

/// Runs a cast over other rows than the batch's; `to_row` says where an error belongs, unless bad
/// parts are null.
fn evaluate(
    cast: &BoundScalar,
    arg: Vector,
    rows: Rows,
    bad_parts: BadParts,
    ctx: &mut EvalContext,
    to_row: impl Fn(usize) -> usize,
) -> Result<Vector> {
    let arg = arg.flatten()?;
    let rows = without_nulls(&rows, &arg);
    if rows.is_empty() {
        return Vector::nulls(cast.result.clone(), arg.len()).flatten();
    }
    let nulls = arg.null_buffer().cloned();
    let mut inner = EvalContext {
        errors_discarded: ctx.errors_discarded,
        bad_parts: ctx.bad_parts,
        memory: ctx.memory.take(),
        ..EvalContext::new(ctx.query.clone())
    };
    let result = cast.function.evaluate(&rows, &[arg], &cast.result, &mut inner);
    ctx.memory = inner.memory.take();
    let result = result?;
    // The function was asked for rows without nulls only; the others stay null.
    let result = result.flatten()?;
    let mut all = NullBuffer::union(nulls.as_ref(), result.null_buffer());
    match bad_parts {
        BadParts::Fail => ctx.errors.append(inner.errors, to_row),
        BadParts::Null if inner.errors.is_empty() => {}
        BadParts::Null => {
            let mut good = Rows::all(result.len());
            good.subtract(&Rows::from_indices(result.len(), inner.errors.rows()));
            all = NullBuffer::union(all.as_ref(), Some(&NullBuffer::new(good.to_bits())));
        }
    }
    let values = result.flat_values().cloned();
    let values = values.ok_or_else(|| Error::internal("flattened vector is not flat"))?;
    Ok(Vector::flat(cast.result.clone(), values, all))
}

/// The fields of `a` that those of `b` are made of. A name that is missing is null; at least one
/// must be there.
fn matching_fields(a: &[Field], b: &[Field], fields: FieldMatch) -> Option<Vec<Option<usize>>> {
    let named = |fields: &[Field]| fields.iter().all(|it| !it.name.is_empty());
    let find = |field: &Field| a.iter().position(|it| it.name.eq_ignore_ascii_case(&field.name));
    let by_name = fields == FieldMatch::Name && named(a) && named(b);
    let fits = if by_name { b.iter().any(|it| find(it).is_some()) } else { a.len() == b.len() };
    let source = |(index, field): (usize, &Field)| if by_name { find(field) } else { Some(index) };
    fits.then(|| b.iter().enumerate().map(source).collect())
}

/// The conversion of a row, field by field.
fn bind_row(from: &Type, to: &Type, casts: Vec<FieldCast>) -> Option<BoundScalar> {
    let infallible = casts.iter().all(|it| it.cast.traits.infallible);
    let traits = ScalarTraits { infallible, ..ScalarTraits::DEFAULT };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let flat = args[0].flatten()?;
        let Some(Values::Row { children, len }) = flat.flat_values() else {
            return Err(Error::internal("cast of a vector of an unexpected layout"));
        };
        let mut converted = Vec::with_capacity(casts.len());
        for FieldCast { source, cast, errors } in &casts {
            let Some(source) = source else {
                converted.push(Vector::nulls(cast.result.clone(), *len).flatten()?);
                continue;
            };
            let (field, bad_parts) = (children[*source].clone(), errors.bad_parts(ctx));
            converted.push(evaluate(cast, field, rows.clone(), bad_parts, ctx, |row| row)?);
        }
        let values = Values::Row { children: converted.into(), len: *len };
        Ok(Vector::flat(to.clone(), values, flat.null_buffer().cloned()))
    });
    settle(from, to, traits, function)
}

//! Arrays next to each other: `list_zip`.

use super::{LIST_OR_ARRAY, gather_or_null, nested_doc, nested_of, too_many_elements};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{self, CancelCheck},
};
use volley_types::{Field, Type};
use volley_vector::{Decoded, Nested, Rows, Values, Vector};

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    for prefix in LIST_OR_ARRAY {
        let name = format!("{prefix}_zip");
        let doc = nested_doc(
            &format!("{name}(array, ...[, is shortest]) -> array of rows"),
            "Rows of the elements at the same place. Shorter arrays, and null ones, are filled up \
             with nulls; or the longer ones are cut, if the last argument is true.",
            &[
                (&format!("{name}([1, 2], ['a'])"), "[(1, a), (2, NULL)]"),
                (&format!("{name}([1, 2], ['a'], true)"), "[(1, a)]"),
            ],
        );
        registry.add_scalar(&name, doc, Arc::new(bind_zip));
    }
}

fn bind_zip(given: &[Type]) -> Option<BoundScalar> {
    let (arrays, is_cut) = match given.split_last()? {
        (Type::Boolean, arrays) => (arrays, true),
        _ => (given, false),
    };
    let mut bound = bind(arrays)?;
    bound.args.extend(is_cut.then_some(Type::Boolean));
    bound.traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };
    Some(bound)
}

/// The binding of a function that puts arrays next to each other; after them a boolean may occur
/// that says whether the shortest array ends the result.
pub fn bind(arrays: &[Type]) -> Option<BoundScalar> {
    let element = |it: &Type| match it {
        Type::Array(element) => Some(element.as_ref().clone()),
        Type::Unknown => Some(Type::Unknown),
        _ => None,
    };
    let elements: Vec<Type> = arrays.iter().map(element).collect::<Option<_>>()?;
    if elements.is_empty() {
        return None;
    }
    let args = elements.iter().cloned().map(Type::array).collect();
    let result = Type::array(Type::row(elements.into_iter().map(|it| Field::new("", it))));
    let count = arrays.len();
    let function = simple::vectorized(move |rows, args, to, ctx: &mut EvalContext| {
        let (arrays, is_cut) = args.split_at(count.min(args.len()));
        let is_cut = is_cut.first().map(Decoded::new).transpose()?;
        let is_cut =
            |row: usize| is_cut.as_ref().is_some_and(|it| !it.is_null(row) && it.boolean(row));
        zipped(rows, arrays, is_cut, to, ctx)
    });
    Some(BoundScalar::new(args, result, ScalarTraits::INFALLIBLE, function))
}

fn zipped(
    rows: &Rows,
    arrays: &[Vector],
    is_cut: impl Fn(usize) -> bool,
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let decoded = arrays.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
    let nested = decoded.iter().map(nested_of_array).collect::<Result<Vec<&Nested>>>()?;
    let ranges = |row: usize| {
        nested.iter().zip(&decoded).map(move |(it, at)| match at.is_null(row) {
            true => 0..0,
            false => it.range(at.index(row)),
        })
    };
    let size_of_row = |row: usize| {
        let lengths = ranges(row).map(|it| it.len());
        if is_cut(row) { lengths.min() } else { lengths.max() }.unwrap_or(0)
    };
    // Counted first, so that nothing grows. Next to the positions there are codes and elements.
    let mut total = 0usize;
    rows.for_each(|row| total = total.saturating_add(size_of_row(row)));
    i32::try_from(total).map_err(|_| too_many_elements())?;
    let bytes = size_of::<Option<u32>>() + size_of::<u32>() + size_of::<u128>();
    ctx.charge((total * nested.len()).saturating_mul(bytes))?;
    let mut positions: Vec<Vec<Option<u32>>> =
        nested.iter().map(|_| Vec::with_capacity(total)).collect();
    let mut sizes = vec![0i32; rows.len()];
    let mut cancel = CancelCheck::default();
    rows.try_for_each(|row| {
        let size = size_of_row(row);
        cancel.check(size)?;
        for (range, positions) in ranges(row).zip(&mut positions) {
            let missing = size.saturating_sub(range.len());
            positions.extend(range.take(size).map(|it| Some(it as u32)));
            positions.extend(std::iter::repeat_n(None, missing));
        }
        sizes[row] = size as i32;
        Ok::<_, Error>(())
    })?;
    let fields = nested.iter().zip(&positions);
    let children = fields.map(|(it, positions)| gather_or_null(&it.elements, positions)?.flatten());
    let children = children.collect::<Result<_>>()?;
    let len = positions.first().map_or(0, Vec::len);
    let Type::Array(row_type) = to else {
        return Err(Error::internal("zip makes something else than arrays"));
    };
    let zipped = Vector::flat(row_type.as_ref().clone(), Values::Row { children, len }, None);
    Ok(Vector::flat(to.clone(), Values::Array(nested_of(sizes, zipped)?), None))
}

fn nested_of_array<'a>(decoded: &'a Decoded<'_>) -> Result<&'a Nested> {
    match decoded.values() {
        Values::Array(nested) => Ok(nested),
        _ => Err(Error::internal("zip got a vector of an unexpected layout")),
    }
}

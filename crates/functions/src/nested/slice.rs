//! Slices: the elements of arrays, or the parts of texts, between two indices.

use super::nested_of;
use crate::{
    documentation::doc,
    string::{byte_of, code_points},
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{self, BigInt, CancelCheck, ascii_slice_ternary},
};
use volley_types::Type;
use volley_vector::{Decoded, Nested, Rows, Values, Vector};

/// Registers the functions that take several elements.
pub(super) fn register(registry: &mut Registry) {
    let slice = doc(
        "array_slice(array, begin, end[, step]) -> array",
        "The elements from the index `begin` to the index `end`, both from 1, or from the end when \
         negative; every `step`th of them, backwards when it is negative. `array[begin:end:step]` \
         is the same.",
        "nested",
        &[
            ("array_slice([1, 2, 3, 4], 2, 3)", "[2, 3]"),
            ("array_slice([1, 2, 3, 4], -2, -1)", "[3, 4]"),
            ("array_slice([1, 2, 3, 4], 4, 1, -2)", "[4, 2]"),
        ],
    );
    let text = doc(
        "array_slice(varchar or varbinary, begin, end) -> varchar or varbinary",
        "The code points, or bytes, from the index `begin` to the index `end`, as of arrays; \
         `text[begin:end]` is the same.",
        "nested",
        &[("array_slice('hello', 2, 3)", "el"), ("array_slice('hello', -2, -1)", "lo")],
    );
    for name in ["array_slice", "list_slice"] {
        registry.add_scalar(name, slice.clone(), Arc::new(bind_slice));
        let of_text = ascii_slice_ternary::<BigInt, BigInt>(
            |text, begin, end| {
                let part = part_of(code_points(text), begin, end);
                let rest = &text[byte_of(text, part.start)..];
                &rest[..byte_of(rest, part.len())]
            },
            part_of,
        );
        registry.add_scalar(name, text.clone(), of_text);
        registry.simple(name, FunctionDoc::default(), |bytes: &[u8], begin: i64, end: i64| {
            bytes[part_of(bytes.len(), begin, end)].to_vec()
        });
    }
}

/// The positions, from 0, of a slice of what has `len` parts.
fn part_of(len: usize, begin: i64, end: i64) -> Range<usize> {
    let part = Part::of(len as i64, begin, end, 1);
    part.first as usize..(part.first + part.count) as usize
}

fn bind_slice(args: &[Type]) -> Option<BoundScalar> {
    let (list, bounds) = args.split_first()?;
    let element = match list {
        Type::Array(element) => (**element).clone(),
        Type::FixedArray(array) => array.0.clone(),
        _ => return None,
    };
    let fits = |it: &Type| *it == Type::Unknown || it.is_integer();
    if !matches!(bounds.len(), 2 | 3) || !bounds.iter().all(fits) {
        return None;
    }
    let result = Type::array(element);
    let takes = std::iter::once(result.clone()).chain(bounds.iter().map(|_| Type::BigInt));
    let takes = takes.collect();
    let function = simple::vectorized(slices);
    // A step of zero is an error.
    let traits = if bounds.len() == 2 { ScalarTraits::INFALLIBLE } else { ScalarTraits::DEFAULT };
    Some(BoundScalar::new(takes, result, traits, function))
}

fn slices(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let decoded = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
    let [lists, bounds @ ..] = decoded.as_slice() else {
        return Err(Error::internal("slice without an array"));
    };
    let Values::Array(nested) = lists.values() else {
        return Ok(Vector::nulls(to.clone(), rows.len()));
    };
    let bound = |at: usize, row: usize| {
        let of = bounds.get(at)?;
        of.native::<i64>().get(of.index(row)).copied()
    };
    let mut parts = vec![Part::NONE; rows.len()];
    let is_null = |row: usize| decoded.iter().any(|it| it.is_null(row));
    rows.for_each(|row| {
        if is_null(row) {
            return;
        }
        let range = nested.range(lists.index(row));
        let step = bound(2, row).unwrap_or(1);
        if step == 0 {
            return ctx.fail(row, || Error::invalid_value("step of a slice is zero"));
        }
        let (begin, end) = (bound(0, row).unwrap_or(1), bound(1, row).unwrap_or(-1));
        let part = Part::of(range.len() as i64, begin, end, step);
        parts[row] = Part { first: part.first + range.start as i64, ..part };
    });
    let nulls = volley_vector::NullBuffer::from_iter((0..rows.len()).map(|row| !is_null(row)));
    let values = match parts.iter().all(|it| it.step == 1) {
        true => shared(&parts, nested),
        false => gathered(&parts, nested, ctx)?,
    };
    Ok(Vector::flat(to.clone(), Values::Array(values), Some(nulls)))
}

/// The elements of a slice: `count` of them from `first` on, `step` apart.
#[derive(Clone, Copy)]
struct Part {
    first: i64,
    count: i64,
    step: i64,
}

impl Part {
    const NONE: Part = Part { first: 0, count: 0, step: 1 };

    /// The part of a list of `len` elements; `first` counts from 0.
    fn of(len: i64, begin: i64, end: i64, step: i64) -> Part {
        let from_start = |index: i64| if index < 0 { len + 1 + index.max(-len - 1) } else { index };
        let (low, high) = if step > 0 { (begin, end) } else { (end, begin) };
        let (low, high) = (from_start(low).max(1), from_start(high).min(len));
        if low > high {
            return Part::NONE;
        }
        let count = ((high - low) as u64 / step.unsigned_abs() + 1) as i64;
        let first = if step > 0 { low } else { high } - 1;
        Part { first, count, step }
    }
}

/// Slices of neighbors share the elements.
fn shared(parts: &[Part], nested: &Nested) -> Nested {
    let offsets: Vec<i32> = parts.iter().map(|it| it.first as i32).collect();
    let sizes: Vec<i32> = parts.iter().map(|it| it.count as i32).collect();
    Nested { offsets: offsets.into(), sizes: sizes.into(), elements: Arc::clone(&nested.elements) }
}

fn gathered(parts: &[Part], nested: &Nested, ctx: &mut EvalContext) -> Result<Nested> {
    let total: i64 = parts.iter().map(|it| it.count).sum();
    // Positions and elements.
    let bytes = size_of::<u32>() + size_of::<u128>();
    ctx.charge(usize::try_from(total).unwrap_or(usize::MAX).saturating_mul(bytes))?;
    let mut positions = Vec::with_capacity(usize::try_from(total).unwrap_or(0));
    let mut cancel = CancelCheck::default();
    for part in parts {
        cancel.check(part.count as usize)?;
        positions.extend((0..part.count).map(|it| (part.first + it * part.step) as u32));
    }
    let sizes = parts.iter().map(|it| it.count as i32).collect();
    nested_of(sizes, nested.elements.gather(&positions)?)
}

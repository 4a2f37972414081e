//! Whole arrays: their lengths, what they contain, and arrays made of them.

use super::{infallible, nested_of, nested_values, search, too_many_elements};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{self, Any, ArrayView, ArrayWriter, CancelCheck, Equatable, Seen, Simple, scalar},
};
use volley_types::{Type, common_type};
use volley_vector::{Decoded, Deltas, Nested, ScalarBuffer, Values, Vector};

/// Registers the functions on whole arrays.
pub(super) fn register(registry: &mut Registry) {
    let length = doc(
        "cardinality(array or map) -> bigint",
        "The number of elements or entries.",
        "nested",
        &[("cardinality([1, NULL])", "2")],
    );
    for name in ["cardinality", "array_length", "length", "len"] {
        registry.add_scalar(name, length.clone(), Arc::new(bind_length));
    }
    search::register(registry);
    let concat = doc(
        "list_concat(array, array) -> array",
        "The elements of both arrays.",
        "nested",
        &[("list_concat([1], [2])", "[1, 2]")],
    );
    for name in ["list_concat", "array_concat", "list_cat", "array_cat"] {
        registry.add_scalar(
            name,
            concat.clone(),
            Arc::new(|args: &[Type]| bind_concat(args, false)),
        );
    }
    let none = FunctionDoc::default;
    registry.add_scalar("concat", none(), Arc::new(|args: &[Type]| bind_concat(args, false)));
    registry.add_scalar("concat_op", none(), Arc::new(|args: &[Type]| bind_concat(args, true)));
    register_values(registry);
    let repeat = doc(
        "repeat(array, count) -> array",
        "The elements, `count` times.",
        "nested",
        &[("repeat([1, 2], 2)", "[1, 2, 1, 2]")],
    );
    registry.simple(
        "repeat",
        repeat,
        |array: ArrayView<Any<0>>, count: i64, out: &mut ArrayWriter<Any<0>>| -> Result<()> {
            let times = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
            if times.checked_mul(array.len()).is_none_or(|it| it > REPEATED_MAX) {
                let message = format!("an array repeated to more than {REPEATED_MAX} elements");
                return Err(Error::invalid_value(message));
            }
            if !array.is_empty() {
                (0..times).for_each(|_| out.extend(array.iter()));
            }
            Ok(())
        },
    );
}

/// Elements of a repeated array: 64 MiB of positions.
const REPEATED_MAX: usize = 1 << 24;

/// The sizes exist already, as distances from 0, and need no copy.
fn bind_length(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Array(_) | Type::Map(_)] = args else { return None };
    let function = infallible(|_, args, to| {
        let flat = args[0].flatten()?;
        let sizes = &nested_values(&flat)?.sizes;
        // Sizes are not negative, in null rows neither.
        let sizes = ScalarBuffer::new(sizes.inner().clone(), 0, sizes.len());
        Ok(Vector::bias(to.clone(), 0, Deltas::U32(sizes), flat.null_buffer().cloned()))
    });
    Some(BoundScalar::new(args.to_vec(), Type::BigInt, ScalarTraits::INFALLIBLE, function))
}

/// `concat` and `list_concat` leave out null arrays; `||` with one is null.
fn bind_concat(args: &[Type], propagates_nulls: bool) -> Option<BoundScalar> {
    let args: Vec<Type> = args.iter().map(Type::without_size).collect();
    let is_array = |it: &Type| matches!(it, Type::Array(_) | Type::Unknown);
    if args.len() < 2 || !args.iter().all(is_array) || args.iter().all(|it| *it == Type::Unknown) {
        return None;
    }
    let common = args.iter().cloned().try_fold(Type::Unknown, |a, b| common_type(&a, &b))?;
    let function = simple::vectorized(|rows, args, to, ctx: &mut EvalContext| {
        let flat = args.iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
        let nested = flat.iter().map(nested_values).collect::<Result<Vec<&Nested>>>()?;
        let decoded = flat.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let parts: Vec<Vector> = nested.iter().map(|it| it.elements.as_ref().clone()).collect();
        let starts = starts_of(&parts)?;
        // Counted first, so that nothing grows.
        let count = |row: usize| {
            let present = nested.iter().zip(&decoded).filter(|it| !it.1.is_null(row));
            present.map(|it| it.0.range(row).len()).sum::<usize>()
        };
        let mut total = 0usize;
        rows.for_each(|row| total = total.saturating_add(count(row)));
        i32::try_from(total).map_err(|_| too_many_elements())?;
        let bytes: usize = parts.iter().map(Vector::retained_bytes).sum();
        ctx.charge(bytes.saturating_add(total * size_of::<u32>()))?;
        let mut sizes = vec![0i32; rows.len()];
        let mut indices = Vec::with_capacity(total);
        let mut cancel = CancelCheck::default();
        rows.try_for_each(|row| {
            cancel.check(count(row))?;
            let before = indices.len();
            for (index, nested) in nested.iter().enumerate() {
                if !decoded[index].is_null(row) {
                    indices.extend(nested.range(row).map(|at| starts[index] + at as u32));
                }
            }
            sizes[row] = (indices.len() - before) as i32;
            Ok::<_, Error>(())
        })?;
        let element = match to {
            Type::Array(element) => element.as_ref(),
            _ => &Type::Unknown,
        };
        let elements = Vector::concat(element, &parts)?;
        Ok(Vector::flat(to.clone(), arrays_of(&elements, indices, sizes)?, None))
    });
    let traits = ScalarTraits { propagates_nulls, ..ScalarTraits::INFALLIBLE };
    Some(BoundScalar::new(vec![common.clone(); args.len()], common, traits, function))
}

/// The position of the elements of each part among those of all.
fn starts_of(parts: &[Vector]) -> Result<Vec<u32>> {
    let mut end = 0u32;
    let start = |part: &Vector| {
        let start = end;
        end = u32::try_from(part.len()).ok().and_then(|len| end.checked_add(len))?;
        Some(start)
    };
    let starts: Option<Vec<u32>> = parts.iter().map(start).collect();
    starts.ok_or_else(too_many_elements)
}

/// Arrays of the elements at `positions`, one row after the other. No element is copied.
fn arrays_of(elements: &Vector, positions: Vec<u32>, sizes: Vec<i32>) -> Result<Values> {
    let taken = elements.loaded()?.wrap(&positions.into(), &mut Vec::new());
    Ok(Values::Array(nested_of(sizes, taken)?))
}

/// Functions that arrange the elements of one array again.
fn register_values(registry: &mut Registry) {
    let mut add = |names: [&str; 2], text: &str, example: (&str, &str), simple: fn() -> Simple| {
        for name in names {
            let doc = doc(&format!("{name}(array) -> array"), text, "nested", &[example]);
            registry.simple(name, doc, simple());
        }
    };
    add(
        ["list_distinct", "array_distinct"],
        "Each element once, at its first position, without nulls.",
        ("list_distinct([2, 1, 2, NULL])", "[2, 1]"),
        || {
            scalar(|array: ArrayView<Equatable<0>>, out: &mut ArrayWriter<Any<0>>| {
                let mut seen = Seen::default();
                out.extend(array.iter().flatten().filter(|it| seen.insert(*it)));
            })
        },
    );
    add(
        ["list_reverse", "array_reverse"],
        "The elements in reverse order.",
        ("list_reverse([1, 2])", "[2, 1]"),
        || {
            scalar(|array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
                out.extend(array.iter().rev());
            })
        },
    );
}

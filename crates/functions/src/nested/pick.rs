//! Arrays of some elements of others: by position, by a mask, up to a length, of inner arrays.

use super::{LIST_OR_ARRAY, nested_doc};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Any, AnyValue, ArrayView, ArrayWriter},
};

/// The maximum number of elements that an array is filled up to.
const ELEMENTS_MAX: usize = 32 << 20;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    for prefix in LIST_OR_ARRAY {
        register_picking(registry, prefix);
        register_resizing(registry, prefix);
    }
    registry.simple(
        "array_pop_front",
        nested_doc(
            "array_pop_front(array) -> array",
            "The array without its first element.",
            &[("array_pop_front([1, 2, 3])", "[2, 3]")],
        ),
        |array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| out.extend(array.iter().skip(1)),
    );
    registry.simple(
        "array_pop_back",
        nested_doc(
            "array_pop_back(array) -> array",
            "The array without its last element.",
            &[("array_pop_back([1, 2, 3])", "[1, 2]")],
        ),
        |array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
            out.extend(array.iter().take(array.len().saturating_sub(1)));
        },
    );
}

fn register_picking(registry: &mut Registry, prefix: &str) {
    let name = format!("{prefix}_select");
    let doc = nested_doc(
        &format!("{name}(array, positions) -> array"),
        "The elements at the positions, from 1; null where there is none.",
        &[(&format!("{name}([10, 20, 30], [3, 1])"), "[30, 10]")],
    );
    registry.simple(
        &name,
        doc,
        |array: ArrayView<Any<0>>,
         positions: ArrayView<i64>,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> {
            for position in positions.iter() {
                let index = position.ok_or_else(|| without_nulls("positions"))?.checked_sub(1);
                let index = index.and_then(|it| usize::try_from(it).ok());
                out.push(index.and_then(|it| array.get(it)));
            }
            Ok(())
        },
    );
    let name = format!("{prefix}_where");
    let doc = nested_doc(
        &format!("{name}(array, mask) -> array"),
        "The elements where the array of booleans has true; null where the array has ended.",
        &[(&format!("{name}([10, 20, 30], [true, false, true])"), "[10, 30]")],
    );
    registry.simple(
        &name,
        doc,
        |array: ArrayView<Any<0>>,
         mask: ArrayView<bool>,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> {
            for (index, keeps) in mask.iter().enumerate() {
                if keeps.ok_or_else(|| without_nulls("a mask"))? {
                    out.push(array.get(index));
                }
            }
            Ok(())
        },
    );
}

fn without_nulls(what: &str) -> Error {
    Error::invalid_value(format!("{what} must not be null"))
}

fn register_resizing(registry: &mut Registry, prefix: &str) {
    let name = format!("{prefix}_resize");
    let doc = nested_doc(
        &format!("{name}(array, length[, x]) -> array"),
        "The first `length` elements, filled up with x, or null.",
        &[
            (&format!("{name}([1, 2, 3], 2)"), "[1, 2]"),
            (&format!("{name}([1], 3, 0)"), "[1, 0, 0]"),
        ],
    );
    registry.simple(
        &name,
        doc,
        |array: ArrayView<Any<0>>,
         length: Option<i64>,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> { resize(array, length, None, out) },
    );
    registry.simple(
        &name,
        FunctionDoc::default(),
        |array: ArrayView<Any<0>>,
         length: Option<i64>,
         fill: Option<AnyValue<0>>,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> { resize(array, length, fill, out) },
    );
}

fn resize(
    array: ArrayView<'_, Any<0>>,
    length: Option<i64>,
    fill: Option<AnyValue<'_, 0>>,
    out: &mut ArrayWriter<Any<0>>,
) -> Result<()> {
    let length = length.unwrap_or(0);
    let fits = usize::try_from(length).ok().filter(|it| *it <= ELEMENTS_MAX);
    let length = fits.ok_or_else(|| {
        Error::invalid_value(format!("length must be from 0 to {ELEMENTS_MAX}, not {length}"))
    })?;
    out.extend(array.iter().take(length));
    out.extend(std::iter::repeat_n(fill, length.saturating_sub(array.len())));
    Ok(())
}

//! Parts of an array, and its elements in another order.

use super::doc;
use std::ops::Range;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Any, AnyValue, ArrayView, ArrayWriter, Scratch, scalar},
};

/// The maximum number of elements that `repeat` makes.
const REPEATED_MAX: i64 = 10_000;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_parts(registry);
    registry.simple(
        "presto.reverse",
        doc(
            "reverse(array) -> array",
            "The elements in reverse order.",
            &[("reverse(ARRAY[1, 2])", "[2, 1]")],
        ),
        |array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| out.extend(array.iter().rev()),
    );
    let shuffle = scalar(|array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
        let Some(_scratch) = Scratch::of(array.len() * size_of::<usize>()) else { return };
        let mut order: Vec<usize> = (0..array.len()).collect();
        fastrand::shuffle(&mut order);
        out.extend(order.into_iter().map(|it| array.get(it)));
    });
    registry.simple(
        "presto.shuffle",
        doc(
            "shuffle(array) -> array",
            "The elements in a random order.",
            &[("cardinality(shuffle(ARRAY[1, 2, 3]))", "3")],
        ),
        shuffle.nondeterministic(),
    );
    registry.simple(
        "presto.repeat",
        doc(
            "repeat(x, count) -> array",
            "An array of `count` times x, which are at most 10000.",
            &[("repeat('a', 3)", "[a, a, a]"), ("repeat(NULL, 2)", "[NULL, NULL]")],
        ),
        |x: Option<AnyValue<0>>, count: i64, out: &mut ArrayWriter<Any<0>>| -> Result<()> {
            if !(0..=REPEATED_MAX).contains(&count) {
                let message = "count argument of repeat must be from 0 to";
                return Err(Error::invalid_value(format!("{message} {REPEATED_MAX}: {count}")));
            }
            (0..count).for_each(|_| out.push(x));
            Ok(())
        },
    );
}

fn register_parts(registry: &mut Registry) {
    registry.simple(
        "presto.slice",
        doc(
            "slice(array, start, length) -> array",
            "The elements from `start`, from 1 or from the end when negative, at most `length`.",
            &[
                ("slice(ARRAY[1, 2, 3, 4], 2, 2)", "[2, 3]"),
                ("slice(ARRAY[1, 2, 3], -2, 5)", "[2, 3]"),
            ],
        ),
        |array: ArrayView<Any<0>>,
         start: i64,
         length: i64,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> {
            out.extend(slice(array.len(), start, length)?.map(|it| array.get(it)));
            Ok(())
        },
    );
    registry.simple(
        "presto.trim_array",
        doc(
            "trim_array(array, n) -> array",
            "The array without its last n elements.",
            &[("trim_array(ARRAY[1, 2, 3, 4], 1)", "[1, 2, 3]")],
        ),
        |array: ArrayView<Any<0>>, n: i64, out: &mut ArrayWriter<Any<0>>| -> Result<()> {
            if n < 0 {
                return Err(Error::invalid_value(format!("size must not be negative: {n}")));
            }
            let kept = usize::try_from(n).ok().and_then(|it| array.len().checked_sub(it));
            let kept = kept.ok_or_else(|| {
                let limit = "size must not exceed array cardinality";
                Error::invalid_value(format!("{limit} {}: {n}", array.len()))
            })?;
            out.extend(array.iter().take(kept));
            Ok(())
        },
    );
    registry.simple(
        "presto.array_subset",
        doc(
            "array_subset(array, indices) -> array",
            "The elements at these indices, from 1, in their order; indices of no element are left \
             out.",
            &[("array_subset(ARRAY['a', 'b', 'c'], ARRAY[3, 1, 9, 3])", "[c, a, c]")],
        ),
        |array: ArrayView<Any<0>>, indices: ArrayView<i64>, out: &mut ArrayWriter<Any<0>>| {
            let places =
                indices.iter().flatten().filter_map(|it| usize::try_from(it.checked_sub(1)?).ok());
            out.extend(places.filter(|it| *it < array.len()).map(|it| array.get(it)));
        },
    );
    registry.simple(
        "presto.remove_nulls",
        doc(
            "remove_nulls(array) -> array",
            "The elements that are not null.",
            &[("remove_nulls(ARRAY[1, NULL, 3])", "[1, 3]")],
        ),
        |array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
            out.extend(array.iter().flatten());
        },
    );
}

/// The places, from 0, of a part of an array of `len` elements.
fn slice(len: usize, start: i64, length: i64) -> Result<Range<usize>> {
    if length < 0 {
        let message = format!("length must be greater than or equal to 0: {length}");
        return Err(Error::invalid_value(message));
    }
    let Some(first) = super::access::place(start, len)? else { return Ok(0..0) };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    Ok(first..len.min(first.saturating_add(length)))
}

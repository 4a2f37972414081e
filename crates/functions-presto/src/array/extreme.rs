//! The greatest and the least element, by itself or by what a lambda makes of it.

use super::doc;
use volley_function::{
    Registry,
    simple::{Any, AnyWriter, ArrayView, LambdaView, Orderable},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.array_max",
        doc(
            "array_max(array) -> element",
            "The greatest element, NaN above all; null when an element is null or there is none.",
            &[("array_max(ARRAY[1, 3, 2])", "3"), ("array_max(ARRAY[1, NULL])", "NULL")],
        ),
        |array: ArrayView<Orderable<0>>, out: &mut AnyWriter<0>| -> Option<()> {
            if array.has_nulls() {
                return None;
            }
            out.set(array.iter().flatten().max()?);
            Some(())
        },
    );
    registry.simple(
        "presto.array_min",
        doc(
            "array_min(array) -> element",
            "The least element, NaN above all; null when an element is null or there is none.",
            &[("array_min(ARRAY[3, 1, 2])", "1"), ("array_min(ARRAY[1, NULL])", "NULL")],
        ),
        |array: ArrayView<Orderable<0>>, out: &mut AnyWriter<0>| -> Option<()> {
            if array.has_nulls() {
                return None;
            }
            out.set(array.iter().flatten().min()?);
            Some(())
        },
    );
    registry.simple(
        "presto.array_max_by",
        doc(
            "array_max_by(array, x -> key) -> element",
            "The element for which the lambda is greatest, the last of several; null when the \
             lambda is null for one or there is none.",
            &[("array_max_by(ARRAY['a', 'bbb', 'cc'], x -> length(x))", "bbb")],
        ),
        |array: ArrayView<Any<0>>, keys: LambdaView<Orderable<1>>, out: &mut AnyWriter<0>| {
            let keyed = keys.iter().flatten().enumerate();
            choose(out, array, keys, keyed.max_by(|a, b| a.1.cmp(&b.1)).map(|it| it.0));
        },
    );
    registry.simple(
        "presto.array_min_by",
        doc(
            "array_min_by(array, x -> key) -> element",
            "The element for which the lambda is least, the first of several; null when the lambda \
             is null for one or there is none.",
            &[("array_min_by(ARRAY['a', 'bbb', 'cc'], x -> length(x))", "a")],
        ),
        |array: ArrayView<Any<0>>, keys: LambdaView<Orderable<1>>, out: &mut AnyWriter<0>| {
            let keyed = keys.iter().flatten().enumerate();
            choose(out, array, keys, keyed.min_by(|a, b| a.1.cmp(&b.1)).map(|it| it.0));
        },
    );
}

/// The element at `place`, unless one of the keys is null.
fn choose(
    out: &mut AnyWriter<0>,
    array: ArrayView<'_, Any<0>>,
    keys: LambdaView<'_, Orderable<1>>,
    place: Option<usize>,
) {
    if keys.has_nulls() {
        return;
    }
    if let Some(element) = place.and_then(|it| array.get(it)) {
        out.set(element);
    }
}

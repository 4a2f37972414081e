//! Arrays as sets, and how often elements occur.
//!
//! Results keep the order of first occurrences. A null is an element like any other, equal to
//! itself, unless a function ignores nulls.

use super::doc;
use std::{collections::HashMap, hash::Hash};
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{
        Any, Array, ArrayView, ArrayWriter, CancelCheck, Equatable, EquatableValue, MapWriter,
        Orderable, Scratch, Seen, scalar,
    },
};
use volley_functions::nested::overlap;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_sets(registry);
    register_intersections(registry);
    register_frequencies(registry);
    register_least_frequent(registry);
}

fn register_sets(registry: &mut Registry) {
    registry.simple(
        "presto.array_distinct",
        doc(
            "array_distinct(array) -> array",
            "Each element once, at its first position.",
            &[("array_distinct(ARRAY[1, 2, NULL, NULL, 2])", "[1, 2, NULL]")],
        ),
        |array: ArrayView<Equatable<0>>, out: &mut ArrayWriter<Any<0>>| {
            let mut seen = Seen::default();
            out.extend(array.iter().filter(|it| seen.insert(*it)));
        },
    );
    registry.simple(
        "presto.array_union",
        doc(
            "array_union(x, y) -> array",
            "The elements of both arrays, each once.",
            &[("array_union(ARRAY[1, 2, 2], ARRAY[3, 1])", "[1, 2, 3]")],
        ),
        |left: ArrayView<Equatable<0>>,
         right: ArrayView<Equatable<0>>,
         out: &mut ArrayWriter<Any<0>>| {
            let mut seen = Seen::default();
            out.extend(left.iter().filter(|it| seen.insert(*it)));
            out.extend(right.iter().filter(|it| seen.insert(*it)));
        },
    );
    registry.simple(
        "presto.array_except",
        doc(
            "array_except(x, y) -> array",
            "The elements of x that y does not have, each once.",
            &[("array_except(ARRAY[1, 2, 2], ARRAY[1, 3])", "[2]")],
        ),
        |left: ArrayView<Equatable<0>>,
         right: ArrayView<Equatable<0>>,
         out: &mut ArrayWriter<Any<0>>| {
            let mut seen: Seen<_> = right.iter().collect();
            out.extend(left.iter().filter(|it| seen.insert(*it)));
        },
    );
    registry.simple(
        "presto.array_remove",
        doc(
            "array_remove(array, x) -> array",
            "The array without the elements equal to x.",
            &[("array_remove(ARRAY[1, NULL, 2, 1], 1)", "[NULL, 2]")],
        ),
        |array: ArrayView<Equatable<0>>, x: EquatableValue<0>, out: &mut ArrayWriter<Any<0>>| {
            out.extend(array.iter().filter(|it| *it != Some(x)));
        },
    );
}

fn register_intersections(registry: &mut Registry) {
    registry.simple(
        "presto.array_intersect",
        doc(
            "array_intersect(x, y) -> array",
            "The elements that both arrays have, each once.",
            &[("array_intersect(ARRAY[1, 2, 2, NULL], ARRAY[NULL, 2])", "[2, NULL]")],
        ),
        |left: ArrayView<Equatable<0>>,
         right: ArrayView<Equatable<0>>,
         out: &mut ArrayWriter<Any<0>>| {
            let mut wanted: Seen<_> = right.iter().collect();
            out.extend(left.iter().filter(|it| wanted.remove(it)));
        },
    );
    registry.simple(
        "presto.array_intersect",
        doc(
            "array_intersect(array of arrays) -> array",
            "The elements that all of the arrays have, each once; null when one of them is null.",
            &[("array_intersect(ARRAY[ARRAY[1, 2], ARRAY[2, 3], ARRAY[2]])", "[2]")],
        ),
        |arrays: ArrayView<Array<Equatable<0>>>, out: &mut ArrayWriter<Any<0>>| -> Option<()> {
            if arrays.has_nulls() {
                return None;
            }
            let mut arrays = arrays.iter().flatten();
            let Some(first) = arrays.next() else { return Some(()) };
            let bytes = first.len().saturating_mul(size_of::<Option<EquatableValue<'_, 0>>>());
            // Nothing is kept of what there is no memory for; the call fails then.
            let _scratch = Scratch::of(bytes)?;
            let mut seen = Seen::default();
            let mut kept: Vec<_> = first.iter().filter(|it| seen.insert(*it)).collect();
            for array in arrays {
                let mut wanted: Seen<_> = array.iter().collect();
                kept.retain(|it| wanted.contains(it));
            }
            out.extend(kept);
            Some(())
        },
    );
    registry.simple(
        "presto.arrays_overlap",
        doc(
            "arrays_overlap(x, y) -> boolean",
            "Whether both arrays have an element that is not null; null when they have none, and \
             one of them has a null.",
            &[
                ("arrays_overlap(ARRAY[1, 2], ARRAY[2, NULL])", "true"),
                ("arrays_overlap(ARRAY[1], ARRAY[2, NULL])", "NULL"),
            ],
        ),
        |left: ArrayView<Equatable<0>>, right: ArrayView<Equatable<0>>| -> Option<bool> {
            let found = overlap(left, right);
            (found || !(left.has_nulls() || right.has_nulls())).then_some(found)
        },
    );
}

fn register_frequencies(registry: &mut Registry) {
    registry.simple(
        "presto.array_has_duplicates",
        doc(
            "array_has_duplicates(array) -> boolean",
            "Whether an element occurs more than once.",
            &[("array_has_duplicates(ARRAY[1, 2, 1])", "true")],
        ),
        |array: ArrayView<Equatable<0>>| {
            let mut seen = Seen::default();
            !array.iter().all(|it| seen.insert(it))
        },
    );
    registry.simple(
        "presto.array_duplicates",
        doc(
            "array_duplicates(array) -> array",
            "The elements that occur more than once, null first and the others in ascending order.",
            &[("array_duplicates(ARRAY[5, 2, 5, 1, 1, 5, NULL, NULL])", "[NULL, 1, 5]")],
        ),
        |array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<Any<0>>| {
            let found = frequencies(array.iter()).into_iter().filter(|it| it.1 > 1);
            let mut repeated: Vec<_> = found.map(|it| it.0).collect();
            repeated.sort();
            out.extend(repeated);
        },
    );
    registry.simple(
        "presto.array_frequency",
        doc(
            "array_frequency(array) -> map",
            "How often each element occurs, without nulls, as INTEGER.",
            &[("array_frequency(ARRAY['a', 'b', 'a', NULL])", "{a=2, b=1}")],
        ),
        |array: ArrayView<Equatable<0>>, out: &mut MapWriter<Any<0>, i32>| {
            for (element, count) in frequencies(array.iter().flatten()) {
                out.push(element, count);
            }
        },
    );
}

fn register_least_frequent(registry: &mut Registry) {
    registry.simple(
        "presto.array_least_frequent",
        doc(
            "array_least_frequent(array) -> array",
            "The element that occurs least, as an array of one; the smallest of several. Null when \
             no element is not null.",
            &[("array_least_frequent(ARRAY[1, 0, 5])", "[0]")],
        ),
        scalar(|array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<Any<0>>| {
            least_frequent(array, 1, out)
        }),
    );
    registry.simple(
        "presto.array_least_frequent",
        doc(
            "array_least_frequent(array, n) -> array",
            "The n elements that occur least, those that occur less first, and the smaller of two \
             that occur alike. Null when no element is not null.",
            &[("array_least_frequent(ARRAY[3, 2, 2, 6, 6, 1, 1], 3)", "[3, 1, 2]")],
        ),
        scalar(
            |array: ArrayView<Orderable<0>>,
             n: i64,
             out: &mut ArrayWriter<Any<0>>|
             -> Result<Option<()>> {
                let n = usize::try_from(n).map_err(|_| {
                    Error::invalid_value(format!("n must be greater than or equal to 0: {n}"))
                })?;
                Ok(least_frequent(array, n, out))
            },
        ),
    );
}

fn least_frequent(
    array: ArrayView<'_, Orderable<0>>,
    n: usize,
    out: &mut ArrayWriter<Any<0>>,
) -> Option<()> {
    let mut all = frequencies(array.iter().flatten());
    if all.is_empty() {
        return None;
    }
    all.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    out.extend(all.into_iter().take(n).map(|it| it.0));
    Some(())
}

/// Each value once, with how often it occurs.
fn frequencies<T: Copy + Eq + Hash>(values: impl Iterator<Item = T>) -> Vec<(T, i32)> {
    let mut places: HashMap<T, usize> = HashMap::new();
    let mut counts: Vec<(T, i32)> = Vec::new();
    let (mut scratch, mut cancel) = (Scratch::default(), CancelCheck::default());
    // While both are made twice as large, the old ones are there, too.
    let bytes = 3 * (size_of::<(T, usize)>() + 1 + size_of::<(T, i32)>());
    for value in values {
        let is_full = counts.len() == counts.capacity().min(places.capacity());
        if !cancel.go_on(1) || is_full && !scratch.raise(counts.len().saturating_mul(bytes)) {
            return Vec::new();
        }
        let place = *places.entry(value).or_insert_with(|| {
            counts.push((value, 0));
            counts.len() - 1
        });
        // Arrays have fewer than 2^31 elements.
        counts[place].1 += 1;
    }
    counts
}

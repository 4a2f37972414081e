//! Arrays as sets: what two of them share, and how many elements differ. Nulls are no elements of
//! these sets.

use super::{LIST_OR_ARRAY, nested_doc};
use volley_function::{
    Registry,
    simple::{Any, ArrayView, ArrayWriter, Equatable, Seen},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    for prefix in LIST_OR_ARRAY {
        let name = format!("{prefix}_has_any");
        let doc = nested_doc(
            &format!("{name}(array, array) -> boolean"),
            "Whether both arrays have an element that is not null; also written `x && y`.",
            &[(&format!("{name}([1, 2], [2, 3])"), "true")],
        );
        registry.simple(
            &name,
            doc,
            |left: ArrayView<Equatable<0>>, right: ArrayView<Equatable<0>>| overlap(left, right),
        );
        let name = format!("{prefix}_has_all");
        let doc = nested_doc(
            &format!("{name}(array, array) -> boolean"),
            "Whether the first array has all elements of the second one, but for nulls; also \
             written `x @> y` or `y <@ x`.",
            &[(&format!("{name}([1, 2, 3], [3, 1])"), "true")],
        );
        registry.simple(
            &name,
            doc,
            |left: ArrayView<Equatable<0>>, right: ArrayView<Equatable<0>>| {
                let mut known: Seen<_> = left.iter().flatten().collect();
                right.iter().flatten().all(|it| known.contains(&it))
            },
        );
        let name = format!("{prefix}_intersect");
        let doc = nested_doc(
            &format!("{name}(array, array) -> array"),
            "The elements that both arrays have, each once, without nulls.",
            &[(&format!("{name}([1, 2, 2, NULL], [NULL, 2])"), "[2]")],
        );
        registry.simple(
            &name,
            doc,
            |left: ArrayView<Equatable<0>>,
             right: Option<ArrayView<Equatable<0>>>,
             out: &mut ArrayWriter<Any<0>>| {
                let mut wanted: Seen<_> = match right {
                    Some(right) => right.iter().flatten().collect(),
                    None => Seen::default(),
                };
                out.extend(left.iter().flatten().filter(|it| wanted.remove(it)));
            },
        );
        let name = format!("{prefix}_unique");
        let doc = nested_doc(
            &format!("{name}(array) -> bigint"),
            "How many different elements there are that are not null.",
            &[(&format!("{name}([1, 1, NULL, 2])"), "2")],
        );
        registry.simple(&name, doc, |array: ArrayView<Equatable<0>>| {
            array.iter().flatten().collect::<Seen<_>>().len() as i64
        });
    }
}

/// Whether both have an element that is not null.
pub fn overlap(left: ArrayView<'_, Equatable<0>>, right: ArrayView<'_, Equatable<0>>) -> bool {
    if left.len() < right.len() { has_one_of(right, left) } else { has_one_of(left, right) }
}

fn has_one_of(many: ArrayView<'_, Equatable<0>>, few: ArrayView<'_, Equatable<0>>) -> bool {
    let mut wanted: Seen<_> = few.iter().flatten().collect();
    many.iter().flatten().any(|it| wanted.contains(&it))
}

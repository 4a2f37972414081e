//! Arrays and elements put together: `concat`, `||`, `flatten`.

use super::doc;
use volley_function::{
    FunctionDoc, Registry,
    simple::{Any, AnyValue, Array, ArrayView, ArrayWriter, VariadicView},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let concat = doc(
        "concat(array, ...) -> array",
        "The elements of all arrays, or of an array with an element before or after it; null \
         when an argument is null.",
        &[
            ("concat(ARRAY[1], ARRAY[2], ARRAY[3])", "[1, 2, 3]"),
            ("ARRAY[1] || 2", "[1, 2]"),
            ("2 || ARRAY[1]", "[2, 1]"),
        ],
    );
    for (name, doc) in [("presto.concat", concat), ("presto.concat_op", FunctionDoc::default())] {
        let arrays = |all: VariadicView<Array<Any<0>>>, out: &mut ArrayWriter<Any<0>>| {
            all.iter().for_each(|it| out.extend(it.iter()));
        };
        registry.simple(name, doc, arrays);
        registry.simple(
            name,
            FunctionDoc::default(),
            |array: ArrayView<Any<0>>, last: AnyValue<0>, out: &mut ArrayWriter<Any<0>>| {
                out.extend(array.iter());
                out.push(last);
            },
        );
        registry.simple(
            name,
            FunctionDoc::default(),
            |first: AnyValue<0>, array: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
                out.push(first);
                out.extend(array.iter());
            },
        );
    }
    registry.simple(
        "presto.flatten",
        doc(
            "flatten(array of arrays) -> array",
            "The elements of the arrays, one after the other; arrays that are null have none.",
            &[("flatten(ARRAY[ARRAY[1], NULL, ARRAY[2, 3]])", "[1, 2, 3]")],
        ),
        |arrays: ArrayView<Array<Any<0>>>, out: &mut ArrayWriter<Any<0>>| {
            arrays.iter().flatten().for_each(|it| out.extend(it.iter()));
        },
    );
}

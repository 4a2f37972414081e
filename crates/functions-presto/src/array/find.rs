//! The first element for which a lambda is true: `find_first`, `find_first_index`.

use super::{access::place, doc};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Any, AnyWriter, ArrayView, LambdaView, scalar},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let find = doc(
        "find_first(array[, start], x -> condition) -> element",
        "The first element for which the lambda is true, which must not be null; null if there \
         is none. The search begins at `start`, or goes backwards from the end when negative.",
        &[
            ("find_first(ARRAY[3, 4, 5, 6], x -> x > 3)", "4"),
            ("find_first(ARRAY[3, 4, 5, 6], -2, x -> x > 0)", "5"),
        ],
    );
    let first = scalar(
        |array: ArrayView<Any<0>>,
         wanted: LambdaView<bool>,
         out: &mut AnyWriter<0>|
         -> Result<Option<()>> { set(out, array, self::find(1, wanted)?) },
    );
    registry.simple("presto.find_first", find.clone(), first.errors_only_where_null());
    let from_start = scalar(
        |array: ArrayView<Any<0>>,
         start: i64,
         wanted: LambdaView<bool>,
         out: &mut AnyWriter<0>|
         -> Result<Option<()>> { set(out, array, self::find(start, wanted)?) },
    );
    registry.simple("presto.find_first", find, from_start.errors_only_where_null());
    let index = doc(
        "find_first_index(array[, start], x -> condition) -> bigint",
        "The position of the first element, from 1, for which the lambda is true; null if there \
         is none. The search begins at `start`, or goes backwards from the end when negative.",
        &[
            ("find_first_index(ARRAY[3, 4, 5, 6], x -> x > 3)", "2"),
            ("find_first_index(ARRAY[3, 4, 5, 6], -2, x -> x > 0)", "3"),
        ],
    );
    let first = scalar(|_: ArrayView<Any<0>>, wanted: LambdaView<bool>| -> Result<Option<i64>> {
        Ok(self::find(1, wanted)?.map(|it| it as i64 + 1))
    });
    registry.simple("presto.find_first_index", index, first.errors_only_where_null());
    let from_start = scalar(
        |_: ArrayView<Any<0>>, start: i64, wanted: LambdaView<bool>| -> Result<Option<i64>> {
            Ok(self::find(start, wanted)?.map(|it| it as i64 + 1))
        },
    );
    let none = FunctionDoc::default();
    registry.simple("presto.find_first_index", none, from_start.errors_only_where_null());
}

/// The place, from 0, of the first element from `start` on that is wanted.
fn find(start: i64, wanted: LambdaView<'_, bool>) -> Result<Option<usize>> {
    let Some(first) = place(start, wanted.len())? else { return Ok(None) };
    let is_match = |it: &usize| wanted.get(*it) == Some(true);
    Ok(match start > 0 {
        true => (first..wanted.len()).find(is_match),
        false => (0..=first).rev().find(is_match),
    })
}

fn set(
    out: &mut AnyWriter<0>,
    array: ArrayView<'_, Any<0>>,
    place: Option<usize>,
) -> Result<Option<()>> {
    let Some(place) = place else { return Ok(None) };
    let found = array.get(place);
    let found =
        found.ok_or_else(|| Error::invalid_value("find_first found NULL as the first match"))?;
    out.set(found);
    Ok(Some(()))
}

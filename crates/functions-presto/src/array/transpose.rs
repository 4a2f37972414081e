//! `array_transpose`.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Any, Array, ArrayView, ArrayWriter},
};

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.array_transpose",
        doc(
            "array_transpose(array of arrays) -> array of arrays",
            "The columns of a matrix, given as its rows, which must have the same length.",
            &[("array_transpose(ARRAY[ARRAY[1, 2], ARRAY[3, 4]])", "[[1, 3], [2, 4]]")],
        ),
        |rows: ArrayView<Array<Any<0>>>, out: &mut ArrayWriter<Array<Any<0>>>| -> Result<()> {
            let width = rows.iter().flatten().next().map_or(0, |it| it.len());
            if rows.iter().any(|it| it.is_none_or(|it| it.len() != width)) {
                let message = "array_transpose takes arrays of the same length, not null";
                return Err(Error::invalid_value(message));
            }
            for column in 0..width {
                out.push_with(|values| {
                    values.extend(rows.iter().flatten().map(|it| it.get(column)));
                });
            }
            Ok(())
        },
    );
}

//! `array_join`.

use super::doc;
use std::sync::Arc;
use volley_function::{
    BindScalar, BoundScalar, FunctionDoc, Registry,
    simple::{ArrayView, Simple, StringWriter, Varchar, scalar},
};
use volley_types::Type;

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let join = doc(
        "array_join(array, delimiter[, for null]) -> varchar",
        "The elements as text with the delimiter between them. Nulls are left out, or replaced by \
         the third argument.",
        &[
            ("array_join(ARRAY[1, NULL, 3], ',')", "1,3"),
            ("array_join(ARRAY[1, NULL, 3], ',', '-')", "1,-,3"),
        ],
    );
    let leaving_out = scalar(|array: ArrayView<Varchar>, by: &str, out: &mut StringWriter| {
        write(array.iter().flatten(), by, out);
    });
    let replacing =
        scalar(|array: ArrayView<Varchar>, by: &str, null: &str, out: &mut StringWriter| {
            write(array.iter().map(|it| it.unwrap_or(null)), by, out);
        });
    registry.add_scalar("presto.array_join", join, of_any_element(leaving_out));
    registry.add_scalar("presto.array_join", FunctionDoc::default(), of_any_element(replacing));
}

fn write<'a>(parts: impl Iterator<Item = &'a str>, by: &str, out: &mut StringWriter) {
    for (index, part) in parts.enumerate() {
        if index > 0 {
            out.push_str(by);
        }
        out.push_str(part);
    }
}

/// Elements of other types are cast to text, as no function asks for without being told.
fn of_any_element(simple: Simple) -> BindScalar {
    let bind = simple.into_bind();
    Arc::new(move |given: &[Type]| -> Option<BoundScalar> {
        let mut given = given.to_vec();
        let first = given.first_mut()?;
        if let Type::Array(element) = first
            && !element.is_nested()
        {
            *first = Type::array(Type::Varchar);
        }
        bind(&given)
    })
}

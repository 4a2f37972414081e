//! `array_join`.

use super::doc;
use crate::cast;
use std::sync::Arc;
use volley_function::{
    BindCast, BindScalar, BoundScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{ArrayView, Simple, StringWriter, Varchar, scalar, vectorized},
};
use volley_types::Type;

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let join = doc(
        "array_join(array, delimiter[, for null]) -> varchar",
        "The elements, as CAST makes text of them, with the delimiter between them. Nulls are left \
         out, or replaced by the third argument.",
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
    let core = registry.casts_so_far();
    let leaving_out = of_any_element(leaving_out, Arc::clone(&core));
    registry.add_scalar("presto.array_join", join, leaving_out);
    let replacing = of_any_element(replacing, core);
    registry.add_scalar("presto.array_join", FunctionDoc::default(), replacing);
}

fn write<'a>(parts: impl Iterator<Item = &'a str>, by: &str, out: &mut StringWriter) {
    for (index, part) in parts.enumerate() {
        if index > 0 {
            out.push_str(by);
        }
        out.push_str(part);
    }
}

/// The same function of elements of any type that is not nested: they are cast to text first, as
/// Presto casts.
fn of_any_element(simple: Simple, core: BindCast) -> BindScalar {
    let bind = simple.into_bind();
    Arc::new(move |given: &[Type]| -> Option<BoundScalar> {
        let (first, rest) = given.split_first()?;
        let (array, of_texts) = (first.without_size(), Type::array(Type::Varchar));
        let is_cast = matches!(&array, Type::Array(element) if !element.is_nested());
        let Some(cast) = is_cast.then(|| cast::bind(&array, &of_texts, &core)).flatten() else {
            return bind(given);
        };
        let texts: Vec<Type> =
            std::iter::once(of_texts.clone()).chain(rest.iter().cloned()).collect();
        let bound = bind(&texts)?;
        let mut args = bound.args.clone();
        *args.first_mut()? = array;
        let infallible = bound.traits.infallible && cast.traits.infallible;
        let traits = ScalarTraits { infallible, ..bound.traits };
        let join = Arc::clone(&bound.function);
        let function = vectorized(move |rows, args, to, ctx| {
            let mut args = args.to_vec();
            if let Some(first) = args.first_mut() {
                let array = [first.clone()];
                *first = cast.function.evaluate(rows, &array, &of_texts, ctx)?;
            }
            join.evaluate(rows, &args, to, ctx)
        });
        Some(BoundScalar { args, traits, function, ..bound })
    })
}

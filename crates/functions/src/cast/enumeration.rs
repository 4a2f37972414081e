//! ENUM to other types: its values are texts, and convert as those do.

use super::{infallible, settle};
use crate::enumeration::LabelTexts;
use volley_function::{BoundScalar, simple};
use volley_types::Type;

/// The conversion of an ENUM.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    let texts = LabelTexts::of(from)?;
    if *to == Type::Varchar {
        let function = simple::vectorized(move |rows, args, _, _| texts.look_up(rows, &args[0]));
        return infallible(from, to, function);
    }
    let cast = super::bind(&Type::Varchar, to)?;
    let traits = cast.traits;
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let text = texts.look_up(rows, &args[0])?;
        cast.function.evaluate(rows, &[text], to, ctx)
    });
    settle(from, to, traits, function)
}

//! `concat`.

use super::doc;
use std::sync::Arc;
use volley_function::{BindScalar, BoundScalar, simple::Simple};
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, Varbinary, Varchar, VariadicView, scalar},
};
use volley_types::Type;

/// Registers the function for texts and for bytes; that for arrays is the chapter's on arrays.
pub(super) fn register(registry: &mut Registry) {
    let concat = doc(
        "concat(x, y, ...) -> varchar or varbinary",
        "All texts, or bytes, one after the other; null when one is null.",
        &[("concat('a', 'b', 'c')", "abc"), ("concat('a', NULL)", "NULL")],
    );
    let texts = scalar(|all: VariadicView<Varchar>, out: &mut StringWriter| {
        all.iter().for_each(|it| out.push_str(it));
    });
    registry.add_scalar("presto.concat", concat, of_several(texts.preserving_ascii()));
    let bytes = scalar(|all: VariadicView<Varbinary>, out: &mut StringWriter| {
        all.iter().for_each(|it| out.push_bytes(it));
    });
    let bytes = bytes.returning(|_| Some(Type::Varbinary));
    registry.add_scalar("presto.concat", FunctionDoc::default(), of_several(bytes));
}

/// The function of two arguments at least.
fn of_several(function: Simple) -> BindScalar {
    let bind = function.into_bind();
    Arc::new(move |args: &[Type]| -> Option<BoundScalar> {
        if args.len() < 2 { None } else { bind(args) }
    })
}

//! `error`: a function that always fails.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Error;
use volley_function::{BoundScalar, Registry, ScalarTraits, simple::vectorized};
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Registers `error`.
pub(crate) fn register(registry: &mut Registry) {
    let error = doc(
        "error(message varchar) -> unknown",
        "Fails with this message. Its type fits everywhere.",
        "error",
        &[("try(error('no'))", "NULL")],
    );
    let bind = |args: &[Type]| {
        matches!(args, [Type::Varchar | Type::Unknown]).then(|| BoundScalar {
            name: String::new(),
            args: vec![Type::Varchar],
            result: Type::Unknown,
            // Whether it fails depends on the rows it is called for: rewrites must not move it.
            traits: ScalarTraits { deterministic: false, ..ScalarTraits::DEFAULT },
            function: vectorized(|rows, args, to, ctx| {
                let messages = Decoded::new(&args[0])?;
                rows.for_each(|row| {
                    ctx.fail(row, || Error::invalid_value(messages.text(row)));
                });
                Ok(Vector::nulls(to.clone(), rows.len()))
            }),
        })
    };
    registry.add_scalar("error", error, Arc::new(bind));
}

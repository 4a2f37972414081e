//! Failing on purpose.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, Registry, ScalarTraits,
    simple::{self, Boolean, Varchar},
};

/// Registers `error`.
pub(crate) fn register(registry: &mut Registry) {
    let error = doc(
        "error(message varchar) -> boolean",
        "Fails with this message.",
        "error",
        &[("try(error('no'))", "NULL")],
    );
    let fail = |message: &str| -> Result<bool> { Err(Error::invalid_value(message)) };
    let bind = simple::unary::<Varchar, Boolean, _>(fail);
    // Whether it fails depends on the rows that it is called for: rewrites must not move it.
    let stays = |bound: BoundScalar| BoundScalar {
        traits: ScalarTraits { deterministic: false, ..bound.traits },
        ..bound
    };
    registry.add_scalar("error", error, Arc::new(move |args| bind(args).map(stays)));
}

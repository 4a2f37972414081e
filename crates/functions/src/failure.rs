//! Failing on purpose.

use crate::documentation::doc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
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
    registry.add_scalar("error", error, simple::unary::<Varchar, Boolean, _>(fail));
}

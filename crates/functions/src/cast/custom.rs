//! Casts of custom types: from and to text by their own functions, and unchanged from and to their
//! storage type.
//!
//! Functions registered for a custom type may add conversions; they take precedence.

use super::{fallible, infallible, invalid_text, to_text};
use volley_error::Error;
use volley_function::{BoundScalar, simple};
use volley_types::{Type, Value};
use volley_vector::{Decoded, Vector};

/// A conversion one side of which is a custom type.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    match (from, to) {
        (Type::Varchar, Type::Custom(_)) => parse(to),
        (Type::Custom(custom), Type::Varchar) if !custom.is_storage() => to_text::bind(from),
        (Type::Custom(custom), _) if custom.storage() == to => retype(from, to),
        (Type::Custom(_), Type::Varchar) => to_text::bind(from),
        _ => None,
    }
}

fn parse(to: &Type) -> Option<BoundScalar> {
    let Type::Custom(custom) = to.clone() else { return None };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let custom = custom.in_zone(&ctx.query.time_zone).unwrap_or_else(|| custom.clone());
        let decoded = Decoded::new(&args[0])?;
        let mut values = vec![Value::Null; rows.len()];
        rows.try_for_each(|row| {
            if decoded.is_null(row) {
                return Ok(());
            }
            // The value may be a copy of the text, and is copied into the result.
            ctx.charge(2 * decoded.text(row).len())?;
            match custom.parse(decoded.text(row)) {
                Some(value) => values[row] = value,
                None => ctx.fail(row, || invalid_text(decoded.text(row), to)),
            }
            Ok::<_, Error>(())
        })?;
        Ok(Vector::from_values(to.clone(), &values))
    });
    fallible(&Type::Varchar, to, function)
}

fn retype(from: &Type, to: &Type) -> Option<BoundScalar> {
    infallible(from, to, simple::vectorized(|_, args, to, _| Ok(args[0].with_type(to.clone()))))
}

//! NOT. AND and OR decide which rows to look at, and so are part of the evaluator.

use crate::documentation::doc;
use volley_error::Error;
use volley_function::{Registry, ScalarTraits, simple};
use volley_types::Type;
use volley_vector::{Decoded, Indices, Values, Vector};

/// Registers `not`.
pub(crate) fn register(registry: &mut Registry) {
    let not = doc(
        "NOT a -> boolean",
        "True for false, false for true.",
        "boolean",
        &[("NOT true", "false")],
    );
    let function = simple::vectorized(|rows, args, _, _| {
        let [input] = args else {
            return Err(Error::internal("NOT of other than one value"));
        };
        let decoded = Decoded::new(input)?;
        let bits = match (decoded.values(), decoded.indices()) {
            (Values::Boolean(bits), Indices::Identity) => !bits,
            _ => {
                volley_vector::BooleanBuffer::collect_bool(rows.len(), |row| !decoded.boolean(row))
            }
        };
        Ok(Vector::boolean(bits, decoded.nulls()))
    });
    let boolean = simple::Pattern::Exact(Type::Boolean);
    let bind = simple::bind(vec![boolean.clone()], boolean, ScalarTraits::INFALLIBLE, function);
    registry.add_scalar("not", not, bind);
}

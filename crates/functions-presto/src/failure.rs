//! `fail`: a function that always fails.

use std::sync::Arc;
use volley_error::Error;
use volley_function::{BoundScalar, FunctionDoc, Registry, ScalarTraits, simple};
use volley_types::{Type, implicit_cast_cost};
use volley_vector::{Decoded, Vector};

/// Whether it fails depends on the rows that it is called for: rewrites must not move it.
const TRAITS: ScalarTraits = ScalarTraits { deterministic: false, ..ScalarTraits::DEFAULT };

/// Registers `fail`.
pub(crate) fn register(registry: &mut Registry) {
    let fail = FunctionDoc::new(
        "fail([code integer,] message varchar) -> unknown",
        "Fails with this message; the code is ignored. It may be used as a value of any type.",
        "failure",
        &[("try(fail('no'))", "NULL"), ("IF(true, 1, fail('no'))", "1")],
    );
    for args in [vec![Type::Varchar], vec![Type::Integer, Type::Varchar]] {
        registry.add_scalar(
            "presto.fail",
            fail.clone(),
            Arc::new(move |given: &[Type]| bind(given, &args)),
        );
    }
}

fn bind(given: &[Type], args: &[Type]) -> Option<BoundScalar> {
    let mut pairs = given.iter().zip(args);
    let fits =
        given.len() == args.len() && pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some());
    let function = simple::vectorized(|rows, args, to, ctx| {
        let messages = args.last().map(Decoded::new).transpose()?;
        rows.for_each(|row| {
            let message = messages.as_ref().map_or("", |it| it.text(row));
            ctx.fail(row, || Error::invalid_value(message.to_owned()));
        });
        Ok(Vector::nulls(to.clone(), rows.len()))
    });
    fits.then(|| BoundScalar::new(args.to_vec(), Type::Unknown, TRAITS, function))
}

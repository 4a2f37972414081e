//! Numbers of sequences: `nextval`, `currval`.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundScalar, EvalContext, Registry, ScalarTraits, Sequences, simple};
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Registers the functions.
pub(crate) fn register(registry: &mut Registry) {
    let next_doc = doc(
        "nextval(name) -> bigint",
        "The next number of a sequence, another one in every row; nobody else gets it, even if the \
         transaction is rolled back. Threads take numbers in any order.",
        "sequence",
        &[],
    );
    registry.add_scalar("nextval", next_doc, Arc::new(|args| bind(args, |it, name| it.next(name))));
    let current_doc = doc(
        "currval(name) -> bigint",
        "The number that `nextval` gave this session last.",
        "sequence",
        &[],
    );
    let current = |args: &[Type]| bind(args, |it, name| it.current(name));
    registry.add_scalar("currval", current_doc, Arc::new(current));
}

fn bind(args: &[Type], number: fn(&dyn Sequences, &str) -> Result<i64>) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown] = args else { return None };
    let function = simple::vectorized(move |rows, args, to, ctx: &mut EvalContext| {
        let names = args.first().map(Decoded::new).transpose()?;
        let mut numbers = vec![0_i64; rows.len()];
        let mut failed = Ok(());
        rows.for_each(|row| {
            if let (Some(names), Ok(())) = (&names, &failed) {
                match number(&*ctx.query.sequences, names.text(row)) {
                    Ok(it) => numbers[row] = it,
                    Err(error) => failed = Err(error),
                }
            }
        });
        failed.map(|()| Vector::native::<i64>(to.clone(), numbers, None))
    });
    let traits = ScalarTraits { deterministic: false, ..ScalarTraits::DEFAULT };
    Some(BoundScalar {
        name: String::new(),
        args: vec![Type::Varchar],
        result: Type::BigInt,
        traits,
        function,
    })
}

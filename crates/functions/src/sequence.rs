//! Numbers of sequences: `nextval`, `currval`.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, EvalContext, Registry, ScalarTraits, Sequences, simple};
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Registers the functions.
pub(crate) fn register(registry: &mut Registry) {
    let next_doc = doc(
        "nextval(name) -> bigint",
        "The next number of a sequence, a different one in every row. Each number is returned \
         once, even if the transaction is rolled back. Threads take numbers in any order.",
        "sequence",
        &[],
    );
    let next: Numbers = |it, name, numbers| it.next(name, numbers);
    registry.add_scalar("nextval", next_doc, Arc::new(move |args: &[Type]| bind(args, next)));
    let current_doc = doc(
        "currval(name) -> bigint",
        "The number that `nextval` gave this session last.",
        "sequence",
        &[],
    );
    let current: Numbers = |it, name, numbers| it.current(name).map(|last| numbers.fill(last));
    registry.add_scalar("currval", current_doc, Arc::new(move |args: &[Type]| bind(args, current)));
}

/// Writes a number of the sequence with the name for each row.
type Numbers = fn(&dyn Sequences, &str, &mut [i64]) -> Result<()>;

fn bind(args: &[Type], numbers: Numbers) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown] = args else { return None };
    let function = simple::vectorized(move |rows, args, to, ctx: &mut EvalContext| {
        let [names] = args else { return Err(Error::internal("a sequence has one name")) };
        let names = Decoded::new(names)?;
        let name = |row: u32| names.text(row as usize);
        let mut found = vec![0_i64; rows.len()];
        let mut taken = Vec::new();
        for same in rows.to_indices().chunk_by(|a, b| name(*a) == name(*b)) {
            taken.resize(same.len(), 0);
            numbers(&*ctx.query.sequences, name(same[0]), &mut taken)?;
            same.iter().zip(&taken).for_each(|(row, number)| found[*row as usize] = *number);
        }
        Ok(Vector::native::<i64>(to.clone(), found, None))
    });
    let traits = ScalarTraits { deterministic: false, ..ScalarTraits::DEFAULT };
    Some(BoundScalar::new(vec![Type::Varchar], Type::BigInt, traits, function))
}

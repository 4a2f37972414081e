//! Expressions over a dictionary of few values against the same values flat.

use crate::{
    measure::Comparison,
    setup::{BATCH, Program, call, registry, strings, text, texts},
};
use std::sync::Arc;
use volley_error::Result;
use volley_expression::Expr;
use volley_types::Type;
use volley_vector::{Batch, Vector};

const ROWS: usize = 1 << 20;
const DISTINCT: usize = 1000;

/// The time on a dictionary may be this much of the time on flat text.
const LIMIT: f64 = 0.05;

pub fn run() -> Result<bool> {
    let registry = registry();
    let mut random = fastrand::Rng::with_seed(3);
    let values = texts(DISTINCT, 10..40);
    let codes: Vec<u32> = (0..ROWS).map(|_| random.u32(0..DISTINCT as u32)).collect();
    let base = Arc::new(strings(values.iter().map(String::as_str)));
    let batches: Vec<Batch> = codes
        .chunks(BATCH)
        .map(|codes| {
            let column = Vector::dictionary(codes.to_vec().into(), Arc::clone(&base), None);
            Batch::new(vec![column], codes.len())
        })
        .collect();
    let flat = |batch: &Batch| -> Result<Batch> {
        Ok(Batch::new(vec![batch.column(0).flatten()?], batch.rows()))
    };
    let flat = batches.iter().map(flat).collect::<Result<Vec<Batch>>>()?;
    let column = || Expr::column(0, Type::Varchar);
    let replace = vec![column(), text("[aeiou]+"), text("*")];
    let mut all_kept = true;
    for (name, args) in [("upper", vec![column()]), ("regexp_replace", replace)] {
        let expr = call(&registry, name, args)?;
        let mut on_flat = Program::new(expr.clone(), &registry)?;
        let mut on_codes = Program::new(expr, &registry)?;
        let comparison = Comparison::new(name, ROWS, "flat", || run_all(&mut on_flat, &flat)).with(
            "dictionary of 1,000 values",
            Some(LIMIT),
            || run_all(&mut on_codes, &batches),
        );
        all_kept &= comparison.print();
    }
    Ok(all_kept)
}

fn run_all(program: &mut Program, batches: &[Batch]) -> Result<usize> {
    batches.iter().map(|batch| program.evaluate(batch).map(|it| it.len())).sum()
}

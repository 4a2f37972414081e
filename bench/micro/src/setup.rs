//! Shared by the chapters: data, and expressions compiled and run.

use std::sync::Arc;
use volley_error::Result;
use volley_expression::{Expr, ExprSet};
use volley_function::{QueryConstants, Registry};
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, StringValues, Vector};

/// All functions.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry
}

/// A call of a function of the registry, whose result type follows from its arguments.
pub fn call(registry: &Registry, name: &str, args: Vec<Expr>) -> Result<Expr> {
    let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
    let bound = registry.resolve_scalar(name, &types)?;
    let cast = |(arg, wanted): (Expr, &Type)| {
        if arg.data_type == *wanted { arg } else { arg.cast(wanted.clone()) }
    };
    let args = args.into_iter().zip(&bound.args).map(cast).collect();
    Ok(Expr::call(name, args, bound.result))
}

/// A BIGINT constant.
pub fn int(value: i64) -> Expr {
    Expr::constant(Value::BigInt(value), Type::BigInt)
}

/// A VARCHAR constant.
pub fn text(value: &str) -> Expr {
    Expr::constant(Value::text(value), Type::Varchar)
}

/// A compiled expression that is evaluated again and again.
pub struct Program(ExprSet);

impl Program {
    /// Compiles `expr`.
    pub fn new(expr: Expr, registry: &Registry) -> Result<Program> {
        Ok(Program(ExprSet::compile(&[expr], registry, Arc::new(QueryConstants::default()))?))
    }

    /// The values for all rows of a batch.
    pub fn evaluate(&mut self, batch: &Batch) -> Result<Vector> {
        self.0.begin(batch).evaluate(0, &Rows::all(batch.rows()))
    }

    /// The rows of a batch for which it is true.
    pub fn select(&mut self, batch: &Batch) -> Result<Rows> {
        self.0.begin(batch).select(0, &Rows::all(batch.rows()))
    }
}

/// Rows per batch, the engine's default.
pub const BATCH: usize = 8192;

/// Columns of the same length, cut into batches.
pub fn batches_of(columns: &[Vector]) -> Vec<Batch> {
    let rows = columns.first().map_or(0, Vector::len);
    let batch = |start| {
        let rows = BATCH.min(rows - start);
        Batch::new(columns.iter().map(|it| it.slice(start, rows)).collect(), rows)
    };
    (0..rows).step_by(BATCH).map(batch).collect()
}

/// Random integers from `range`.
pub fn integers(rows: usize, range: std::ops::Range<i64>) -> Vec<i64> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..rows).map(|_| random.i64(range.clone())).collect()
}

/// Random doubles from 0 to 1.
pub fn doubles(rows: usize, seed: u64) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..rows).map(|_| random.f64()).collect()
}

/// Random lower-case words with blanks between them, of a length from `bytes`.
pub fn texts(rows: usize, bytes: std::ops::Range<usize>) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(2);
    let letter = |random: &mut fastrand::Rng| match random.u8(0..7) {
        0 => ' ',
        _ => random.lowercase(),
    };
    let mut one = || (0..random.usize(bytes.clone())).map(|_| letter(&mut random)).collect();
    (0..rows).map(|_| one()).collect()
}

/// A VARCHAR vector.
pub fn strings<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vector {
    Vector::strings(Type::Varchar, texts.into_iter().collect::<StringValues>(), None)
}

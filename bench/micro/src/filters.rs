//! Filters on flat columns, in values per nanosecond, beside the time to read them from memory.

use crate::{
    measure::Comparison,
    setup::{Program, call, doubles, int, integers, registry, strings, text, texts},
};
use volley_error::Result;
use volley_expression::{Expr, SpecialForm};
use volley_function::Registry;
use volley_types::{Type, Value};
use volley_vector::{Batch, Values, Vector};

/// 64 MB of integers: more than the caches hold.
const ROWS: usize = 1 << 23;
const BATCH: usize = 8192;

pub fn run() -> Result<bool> {
    let registry = registry();
    let mut all_kept = integers_filters(&registry)?;
    all_kept &= doubles_filters(&registry)?;
    all_kept &= strings_filters(&registry)?;
    Ok(all_kept)
}

fn integers_filters(registry: &Registry) -> Result<bool> {
    let values = integers(ROWS, 0..1 << 40);
    let column = Vector::native::<i64>(Type::BigInt, values.clone(), None);
    let batches = batches_of(&column);
    let mut less = Program::new(compare(registry, "lt", Type::BigInt, int(1 << 38))?, registry)?;
    let mut range = Program::new(
        Expr::and(vec![
            compare(registry, "gt", Type::BigInt, int(1 << 37))?,
            compare(registry, "lt", Type::BigInt, int(1 << 39))?,
        ]),
        registry,
    )?;
    let members = |count: usize| values.iter().step_by(ROWS / count).take(count).copied().collect();
    let mut tens = in_list(registry, members(10))?;
    let mut thousands = in_list(registry, members(1000))?;
    let mut millions = in_list(registry, members(1_000_000))?;
    let mut narrow = in_list(registry, (0..1000).map(|it| it * 50).collect())?;
    let comparison = Comparison::new("BIGINT", ROWS, "reading (sum)", || {
        values.iter().fold(0i64, |sum, it| sum.wrapping_add(*it))
    })
    .with("x < c", None, || select(&mut less, &batches))
    .with("x > c and x < d", None, || select(&mut range, &batches))
    .with("x in 10 values", None, || select(&mut tens, &batches))
    .with("x in 1,000 values of a narrow range", None, || select(&mut narrow, &batches))
    .with("x in 1,000 values", None, || select(&mut thousands, &batches))
    .with("x in 1,000,000 values", None, || select(&mut millions, &batches));
    Ok(comparison.print())
}

fn doubles_filters(registry: &Registry) -> Result<bool> {
    let values = doubles(ROWS, 5);
    let column = Vector::native::<f64>(Type::Double, values.clone(), None);
    let batches = batches_of(&column);
    let half = Expr::constant(Value::Double(0.5), Type::Double);
    let mut less = Program::new(compare(registry, "lt", Type::Double, half)?, registry)?;
    let list = values.iter().step_by(ROWS / 1000).take(1000);
    let list: Vec<Expr> = list.map(|it| Expr::constant(Value::Double(*it), Type::Double)).collect();
    let mut thousands = Program::new(in_exprs(Type::Double, list), registry)?;
    let comparison = Comparison::new("DOUBLE", ROWS, "reading (sum of bits)", || {
        values.iter().fold(0u64, |sum, it| sum.wrapping_add(it.to_bits()))
    })
    .with("x < c", None, || select(&mut less, &batches))
    .with("x in 1,000 values", None, || select(&mut thousands, &batches));
    Ok(comparison.print())
}

fn strings_filters(registry: &Registry) -> Result<bool> {
    let texts = texts(ROWS / 4, 2..12);
    let column = strings(texts.iter().map(String::as_str));
    let batches = batches_of(&column);
    let wanted = texts[7].as_str();
    let mut equal = Program::new(compare(registry, "eq", Type::Varchar, text(wanted))?, registry)?;
    let mut less = Program::new(compare(registry, "lt", Type::Varchar, text("k"))?, registry)?;
    let members = |count: usize| -> Result<Program> {
        let list = texts.iter().step_by(texts.len() / count).take(count).map(|it| text(it));
        Program::new(in_exprs(Type::Varchar, list.collect()), registry)
    };
    let (mut tens, mut thousands) = (members(10)?, members(1000)?);
    let comparison = Comparison::new("VARCHAR of 2 to 11 bytes", texts.len(), "reading", || {
        let Some(Values::View(strings)) = column.flat_values() else { return 0 };
        strings.views.iter().fold(0u64, |sum, it| sum.wrapping_add((*it >> 32) as u64))
    })
    .with("x = c", None, || select(&mut equal, &batches))
    .with("x < c", None, || select(&mut less, &batches))
    .with("x in 10 values", None, || select(&mut tens, &batches))
    .with("x in 1,000 values", None, || select(&mut thousands, &batches));
    Ok(comparison.print())
}

fn batches_of(column: &Vector) -> Vec<Batch> {
    let starts = (0..column.len()).step_by(BATCH);
    starts.map(|start| Batch::new(vec![column.slice(start, BATCH)], BATCH)).collect()
}

fn compare(registry: &Registry, name: &str, data_type: Type, constant: Expr) -> Result<Expr> {
    call(registry, name, vec![Expr::column(0, data_type), constant])
}

fn in_list(registry: &Registry, values: Vec<i64>) -> Result<Program> {
    Program::new(in_exprs(Type::BigInt, values.into_iter().map(int).collect()), registry)
}

fn in_exprs(data_type: Type, list: Vec<Expr>) -> Expr {
    let args = std::iter::once(Expr::column(0, data_type)).chain(list).collect();
    Expr::special(SpecialForm::In, args, Type::Boolean)
}

fn select(program: &mut Program, batches: &[Batch]) -> Result<usize> {
    batches.iter().map(|batch| program.select(batch).map(|it| it.count())).sum()
}

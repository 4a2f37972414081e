//! Filters on flat columns, in values per nanosecond, and the time to read them from memory.

use crate::{
    measure::Comparison,
    setup::{Program, batches_of, call, doubles, int, integers, registry, strings, text, texts},
};
use volley_error::Result;
use volley_expression::{Expr, SpecialForm};
use volley_function::Registry;
use volley_types::{Type, Value};
use volley_vector::{Batch, Values, Vector};

/// 64 MB of integers: more than the caches hold.
const ROWS: usize = 1 << 23;

pub fn run() -> Result<bool> {
    let registry = registry();
    let mut all_kept = integers_filters(&registry)?;
    all_kept &= doubles_filters(&registry)?;
    all_kept &= strings_filters(&registry)?;
    all_kept &= several_columns(&registry)?;
    Ok(all_kept)
}

fn integers_filters(registry: &Registry) -> Result<bool> {
    let values = integers(ROWS, 0..1 << 40);
    let column = Vector::native::<i64>(Type::BigInt, values.clone(), None);
    let batches = batches_of(std::slice::from_ref(&column));
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
    let batches = batches_of(std::slice::from_ref(&column));
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
    let batches = batches_of(std::slice::from_ref(&column));
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

/// A date range, a decimal range and a bound, each on a column of its own.
fn several_columns(registry: &Registry) -> Result<bool> {
    let rows = ROWS / 4;
    let days: Vec<i32> = integers(rows, 0..2500).iter().map(|it| *it as i32).collect();
    let (discount, quantity) = (integers(rows, 0..11), integers(rows, 1..51));
    let decimal = Type::decimal(15, 2);
    let columns = [
        Vector::native::<i32>(Type::Date, days.clone(), None),
        Vector::native::<i64>(decimal.clone(), discount.clone(), None),
        Vector::native::<i64>(decimal.clone(), quantity.clone(), None),
    ];
    let batches = batches_of(&columns);
    let term = |name: &str, column: usize, value: Value| {
        let data_type = columns[column].data_type();
        let constant = Expr::constant(value, data_type.clone());
        call(registry, name, vec![Expr::column(column, data_type.clone()), constant])
    };
    let terms = vec![
        term("gte", 0, Value::Date(700))?,
        term("lt", 0, Value::Date(1065))?,
        term("gte", 1, Value::Decimal(5))?,
        term("lte", 1, Value::Decimal(7))?,
        term("lt", 2, Value::Decimal(24))?,
    ];
    let mut engine = Program::new(Expr::and(terms), registry)?;
    let comparison = Comparison::new("Five conditions on three columns", rows, "one loop", || {
        let keep = |row: &usize| {
            (days[*row] >= 700)
                & (days[*row] < 1065)
                & (discount[*row] >= 5)
                & (discount[*row] <= 7)
                & (quantity[*row] < 24)
        };
        (0..rows).filter(keep).map(|it| it as u32).collect::<Vec<u32>>()
    })
    .with("Volley", None, || select(&mut engine, &batches));
    Ok(comparison.print())
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

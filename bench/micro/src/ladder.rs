//! From boxed values to a hand-written loop: the same arithmetic at every level of interpretation
//! (the ladder of "How we built a vectorized execution engine", CockroachDB).

use crate::{
    measure::Comparison,
    setup::{Program, batches_of, call, doubles, int, integers, registry},
};
use std::any::Any;
use volley_error::Result;
use volley_expression::Expr;
use volley_function::Registry;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

const ROWS: usize = 65_536;

const FACTOR: i64 = 10;

/// The engine's time may be this much of the hand-written loop's.
const LIMIT: f64 = 1.3;

pub fn run() -> Result<bool> {
    let multiply = multiply()?;
    let doubles = discount_doubles()?;
    Ok(discount_decimals()? & doubles & multiply)
}

/// One operator of a row-at-a-time engine: the next row, boxed.
trait BoxedOperator {
    fn next(&mut self) -> Option<Vec<Box<dyn Any>>>;
}

struct BoxedScan<'a>(std::slice::Iter<'a, i64>);

impl BoxedOperator for BoxedScan<'_> {
    fn next(&mut self) -> Option<Vec<Box<dyn Any>>> {
        self.0.next().map(|it| vec![Box::new(*it) as Box<dyn Any>])
    }
}

struct BoxedMultiply<'a> {
    input: Box<dyn BoxedOperator + 'a>,
    factor: Box<dyn Any>,
    multiply: fn(&dyn Any, &dyn Any) -> Box<dyn Any>,
}

impl BoxedOperator for BoxedMultiply<'_> {
    fn next(&mut self) -> Option<Vec<Box<dyn Any>>> {
        let mut row = self.input.next()?;
        for value in &mut row {
            *value = (self.multiply)(value.as_ref(), self.factor.as_ref());
        }
        Some(row)
    }
}

fn multiply_boxed(left: &dyn Any, right: &dyn Any) -> Box<dyn Any> {
    match (left.downcast_ref::<i64>(), right.downcast_ref::<i64>()) {
        (Some(left), Some(right)) => Box::new(left.wrapping_mul(*right)),
        _ => Box::new(()),
    }
}

/// The same without boxes: values of an enum, functions chosen once.
trait RowOperator {
    fn next(&mut self, row: &mut Vec<Value>) -> bool;
}

struct RowScan<'a>(std::slice::Iter<'a, i64>);

impl RowOperator for RowScan<'_> {
    fn next(&mut self, row: &mut Vec<Value>) -> bool {
        row.clear();
        row.extend(self.0.next().map(|it| Value::BigInt(*it)));
        !row.is_empty()
    }
}

struct RowMultiply<'a> {
    input: Box<dyn RowOperator + 'a>,
    factor: i64,
}

impl RowOperator for RowMultiply<'_> {
    fn next(&mut self, row: &mut Vec<Value>) -> bool {
        if !self.input.next(row) {
            return false;
        }
        for value in row {
            if let Value::BigInt(value) = value {
                *value = value.wrapping_mul(self.factor);
            }
        }
        true
    }
}

/// Batches of rows: one call per batch, but values of an enum in rows.
fn multiply_batches_of_rows(values: &[i64]) -> i64 {
    const BATCH: usize = 1024;
    let mut sum = 0i64;
    let mut batch: Vec<[Value; 1]> = Vec::with_capacity(BATCH);
    for chunk in values.chunks(BATCH) {
        batch.clear();
        batch.extend(chunk.iter().map(|it| [Value::BigInt(*it)]));
        for [value] in &mut batch {
            if let Value::BigInt(value) = value {
                *value = value.wrapping_mul(FACTOR);
            }
        }
        for [value] in &batch {
            if let Value::BigInt(value) = value {
                sum = sum.wrapping_add(*value);
            }
        }
    }
    sum
}

fn multiply() -> Result<bool> {
    let registry = registry();
    let values = integers(ROWS, -1_000_000..1_000_000);
    let column = Vector::native::<i64>(Type::BigInt, values.clone(), None);
    let batches = batches_of(&[column]);
    let args = vec![Expr::column(0, Type::BigInt), int(FACTOR)];
    let mut engine = Program::new(call(&registry, "multiply", args)?, &registry)?;
    let comparison = Comparison::new("x * 10, BIGINT", ROWS, "hand-written loop", || {
        values.iter().map(|it| it.wrapping_mul(FACTOR)).collect::<Vec<i64>>()
    })
    .with("Volley, overflow checked", Some(LIMIT), || run_all(&mut engine, &batches))
    .with("hand-written loop, overflow checked", None, || {
        let checked = values.iter().map(|it| it.checked_mul(FACTOR));
        checked.collect::<Option<Vec<i64>>>()
    })
    .with("batches of rows", None, || multiply_batches_of_rows(&values))
    .with("row at a time", None, || {
        let input = Box::new(RowScan(values.iter()));
        let mut operator: Box<dyn RowOperator> = Box::new(RowMultiply { input, factor: FACTOR });
        let (mut row, mut count) = (Vec::new(), 0);
        while operator.next(&mut row) {
            count += row.len();
        }
        count
    })
    .with("row at a time, boxed values", None, || {
        let input = Box::new(BoxedScan(values.iter()));
        let (factor, multiply): (Box<dyn Any>, _) = (Box::new(FACTOR), multiply_boxed as _);
        let mut operator: Box<dyn BoxedOperator> =
            Box::new(BoxedMultiply { input, factor, multiply });
        let mut count = 0;
        while let Some(row) = operator.next() {
            count += row.len();
        }
        count
    });
    Ok(comparison.print())
}

/// The projection x * (1 - y) * (1 + z) of three columns.
fn projection(registry: &Registry, data_type: &Type, one: &Expr) -> Result<Program> {
    let column = |index| Expr::column(index, data_type.clone());
    let less = call(registry, "minus", vec![one.clone(), column(1)])?;
    let more = call(registry, "plus", vec![one.clone(), column(2)])?;
    let product = call(registry, "multiply", vec![column(0), less])?;
    Program::new(call(registry, "multiply", vec![product, more])?, registry)
}

fn discount_decimals() -> Result<bool> {
    let registry = registry();
    let columns = [integers(ROWS, 0..10_000_000), integers(ROWS, 0..11), integers(ROWS, 0..9)];
    let data_type = Type::decimal(15, 2);
    let vectors = columns.each_ref().map(|it| Vector::native(data_type.clone(), it.clone(), None));
    let batches = batches_of(&vectors);
    let one = Expr::constant(Value::Integer(1), Type::Integer);
    let mut engine = projection(&registry, &data_type, &one)?;
    let [x, y, z] = &columns;
    let rows = || x.iter().zip(y).zip(z);
    let name = "x * (1 - y) * (1 + z), DECIMAL(15, 2)";
    let comparison = Comparison::new(name, ROWS, "fused loop", || {
        let product = |((x, y), z): ((&i64, &i64), &i64)| {
            i128::from(*x) * i128::from(100 - y) * i128::from(100 + z)
        };
        rows().map(product).collect::<Vec<i128>>()
    })
    .with("Volley", None, || run_all(&mut engine, &batches));
    Ok(comparison.print())
}

fn discount_doubles() -> Result<bool> {
    let registry = registry();
    let columns = [doubles(ROWS, 1), doubles(ROWS, 2), doubles(ROWS, 3)];
    let vectors =
        columns.each_ref().map(|it| Vector::native::<f64>(Type::Double, it.clone(), None));
    let batches = batches_of(&vectors);
    let one = Expr::constant(Value::Double(1.0), Type::Double);
    let mut engine = projection(&registry, &Type::Double, &one)?;
    let [x, y, z] = &columns;
    let rows = || x.iter().zip(y).zip(z);
    let comparison = Comparison::new("x * (1 - y) * (1 + z), DOUBLE", ROWS, "fused loop", || {
        rows().map(|((x, y), z)| x * (1.0 - y) * (1.0 + z)).collect::<Vec<f64>>()
    })
    .with("Volley", Some(LIMIT), || run_all(&mut engine, &batches))
    .with("one hand-written loop per operation", None, || {
        let less: Vec<f64> = y.iter().map(|it| 1.0 - it).collect();
        let more: Vec<f64> = z.iter().map(|it| 1.0 + it).collect();
        let product: Vec<f64> = x.iter().zip(&less).map(|(a, b)| a * b).collect();
        product.iter().zip(&more).map(|(a, b)| a * b).collect::<Vec<f64>>()
    })
    .with("row at a time", None, || {
        let row = |((x, y), z): ((&f64, &f64), &f64)| [x, y, z].map(|it| Value::Double(*it));
        let product = |row: [Value; 3]| match row {
            [Value::Double(x), Value::Double(y), Value::Double(z)] => {
                Value::Double(x * (1.0 - y) * (1.0 + z))
            }
            _ => Value::Null,
        };
        rows().map(row).map(product).collect::<Vec<Value>>()
    });
    Ok(comparison.print())
}

/// Evaluates all batches, one after the other, keeping one result at a time as operators do.
fn run_all(program: &mut Program, batches: &[Batch]) -> Result<usize> {
    batches.iter().map(|batch| program.evaluate(batch).map(|it| it.len())).sum()
}

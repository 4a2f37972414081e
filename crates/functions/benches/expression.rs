//! Compiled expressions against hand-written loops over the same data.
//!
//! Prints one line per case: nanoseconds per row of the engine and of the loop. The loops do the
//! same work (overflow checks, nulls are absent) and allocate their results, too.

use std::{hint::black_box, sync::Arc, time::Instant};
use volley_error::Result;
use volley_expression::{Expr, ExprSet, SpecialForm};
use volley_function::{QueryConstants, Registry};
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector};

const ROWS: usize = 4096;
const RUNS: usize = 3000;

fn main() -> Result<()> {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let bench = Bench { registry };
    bench.revenue_of_doubles()?;
    bench.revenue_of_decimals()?;
    bench.selections()?;
    bench.filter_of_query_6()
}

struct Bench {
    registry: Registry,
}

impl Bench {
    fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let types: Vec<Type> = args.iter().map(|it| it.data_type.clone()).collect();
        let bound = self.registry.resolve_scalar(name, &types)?;
        let args = args.into_iter().zip(&bound.args).map(|(arg, to)| arg.cast(to.clone()));
        Ok(Expr::call(name, args.collect(), bound.result))
    }

    fn compile(&self, expr: Expr) -> Result<ExprSet> {
        ExprSet::compile(&[expr], &self.registry, Arc::new(QueryConstants::default()))
    }

    /// `x * (1 - y) * (1 + z)`.
    fn revenue(&self, x: Expr, y: Expr, z: Expr, one: Expr) -> Result<Expr> {
        let discounted =
            self.call("multiply", vec![x, self.call("minus", vec![one.clone(), y])?])?;
        self.call("multiply", vec![discounted, self.call("plus", vec![one, z])?])
    }

    fn revenue_of_doubles(&self) -> Result<()> {
        let column = |seed: usize| -> Vec<f64> {
            (0..ROWS).map(|it| (it * 7919 % (seed + 10)) as f64 / 100.0).collect()
        };
        let (x, y, z) = (column(1000), column(10), column(8));
        let vector = |it: &Vec<f64>| Vector::native::<f64>(Type::Double, it.clone(), None);
        let batch = Batch::new(vec![vector(&x), vector(&y), vector(&z)], ROWS);
        let at = |index| Expr::column(index, Type::Double);
        let one = Expr::constant(Value::Double(1.0), Type::Double);
        let mut set = self.compile(self.revenue(at(0), at(1), at(2), one)?)?;
        let rows = Rows::all(ROWS);
        let engine = time(|| set.begin(&batch).evaluate(0, &rows))?;
        let hand = time(|| {
            let columns = x.iter().zip(&y).zip(&z);
            Ok(columns.map(|((x, y), z)| x * (1.0 - y) * (1.0 + z)).collect::<Vec<f64>>())
        })?;
        report("x*(1-y)*(1+z), doubles", engine, hand);
        Ok(())
    }

    fn revenue_of_decimals(&self) -> Result<()> {
        let column =
            |seed: usize| -> Vec<i64> { (0..ROWS).map(|it| (it * 7919 % seed) as i64).collect() };
        let (x, y, z) = (column(1_000_000), column(10), column(8));
        let data_type = Type::decimal(15, 2);
        let vector = |it: &Vec<i64>| Vector::native::<i64>(data_type.clone(), it.clone(), None);
        let batch = Batch::new(vec![vector(&x), vector(&y), vector(&z)], ROWS);
        let at = |index| Expr::column(index, data_type.clone());
        let one = Expr::constant(Value::Integer(1), Type::Integer);
        let mut set = self.compile(self.revenue(at(0), at(1), at(2), one)?)?;
        let rows = Rows::all(ROWS);
        let engine = time(|| set.begin(&batch).evaluate(0, &rows))?;
        let hand = time(|| {
            let columns = x.iter().zip(&y).zip(&z);
            let product = |((x, y), z): ((&i64, &i64), &i64)| {
                i128::from(*x) * i128::from(100 - y) * i128::from(100 + z)
            };
            Ok(columns.map(product).collect::<Vec<i128>>())
        })?;
        report("x*(1-y)*(1+z), decimals", engine, hand);
        Ok(())
    }

    fn selections(&self) -> Result<()> {
        let days: Vec<i32> = (0..ROWS).map(|it| (it * 7919 % 2500) as i32).collect();
        let wide: Vec<i64> = days.iter().map(|it| i64::from(*it)).collect();
        let vectors = [
            (Vector::native::<i32>(Type::Date, days.clone(), None), Value::Date(1000)),
            (Vector::native::<i64>(Type::BigInt, wide, None), Value::BigInt(1000)),
        ];
        for (vector, value) in vectors {
            let data_type = vector.data_type().clone();
            let constant = Expr::constant(value, data_type.clone());
            let less = self.call("lt", vec![Expr::column(0, data_type.clone()), constant])?;
            let mut set = self.compile(less)?;
            let batch = Batch::new(vec![vector], ROWS);
            let rows = Rows::all(ROWS);
            let engine = time(|| set.begin(&batch).select(0, &rows))?;
            let hand = time(|| {
                let word = |days: &[i32]| {
                    let bits = days.iter().map(|it| *it < 1000).enumerate();
                    bits.fold(0u64, |word, (row, bit)| word | u64::from(bit) << row)
                };
                Ok(days.chunks(64).map(word).collect::<Vec<u64>>())
            })?;
            report(&format!("column < constant, {data_type}"), engine, hand);
        }
        Ok(())
    }

    /// A date range, a decimal range and a bound.
    fn filter_of_query_6(&self) -> Result<()> {
        let days: Vec<i32> = (0..ROWS).map(|it| (it * 7919 % 2500) as i32).collect();
        let discount: Vec<i64> = (0..ROWS).map(|it| (it * 31 % 11) as i64).collect();
        let quantity: Vec<i64> = (0..ROWS).map(|it| (it * 17 % 50 * 100) as i64).collect();
        let decimal = Type::decimal(15, 2);
        let batch = Batch::new(
            vec![
                Vector::native::<i32>(Type::Date, days.clone(), None),
                Vector::native::<i64>(decimal.clone(), discount.clone(), None),
                Vector::native::<i64>(decimal.clone(), quantity.clone(), None),
            ],
            ROWS,
        );
        let term = |name: &str, column: usize, data_type: &Type, value: Value| {
            let constant = Expr::constant(value, data_type.clone());
            self.call(name, vec![Expr::column(column, data_type.clone()), constant])
        };
        let terms = vec![
            term("gte", 0, &Type::Date, Value::Date(700))?,
            term("lt", 0, &Type::Date, Value::Date(1065))?,
            term("gte", 1, &decimal, Value::Decimal(5))?,
            term("lte", 1, &decimal, Value::Decimal(7))?,
            term("lt", 2, &decimal, Value::Decimal(2400))?,
        ];
        let mut set = self.compile(Expr::special(SpecialForm::And, terms, Type::Boolean))?;
        let rows = Rows::all(ROWS);
        let engine = time(|| set.begin(&batch).select(0, &rows))?;
        let hand = time(|| {
            let keep = |row: &usize| {
                (days[*row] >= 700)
                    & (days[*row] < 1065)
                    & (discount[*row] >= 5)
                    & (discount[*row] <= 7)
                    & (quantity[*row] < 2400)
            };
            Ok((0..ROWS).filter(keep).map(|it| it as u32).collect::<Vec<u32>>())
        })?;
        report("filter of TPC-H query 6", engine, hand);
        Ok(())
    }
}

/// The least nanoseconds per row.
fn time<T>(mut work: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let started = Instant::now();
        black_box(work()?);
        least = least.min(started.elapsed().as_nanos() as f64);
    }
    Ok(least / ROWS as f64)
}

fn report(name: &str, engine: f64, hand: f64) {
    println!("{name:<30} engine {engine:6.3}  loop {hand:6.3}  ratio {:5.2}", engine / hand);
}

//! Hash partitioning compared with row-by-row partitioning, in CPU time of one thread, and whole
//! exchanges, in CPU time of all threads.
//!
//! Up to 8 partitions nothing is copied: output batches are dictionaries over input batches. That
//! makes reading them slower, so that flattened output is measured, too.

use crate::{
    Args,
    measure::Table,
    row_partitioner::RowPartitioner,
    setup::{BATCH, Columns, memory_table, session},
};
use std::{fs, ops::Range, sync::Arc};
use volley::{Batch, Error, PlanBuilder, PlanNode, Result, Session, Type, Vector};
use volley_memory::Pool;
use volley_state::partition::{HashSalt, Partitioner};
use volley_vector::{BooleanBuffer, NullBuffer, StringValues};

/// Partitions, and whether batches are flattened that were left as dictionaries.
const WAYS: [(usize, bool); 6] =
    [(2, false), (2, true), (8, false), (8, true), (16, false), (64, false)];

/// Partitions of whole exchanges; there is a driver, and a thread, for each.
const EXCHANGES: [usize; 3] = [2, 8, 16];

/// Adds the lines.
pub fn run(args: &Args, table: &mut Table) -> Result<()> {
    if cpu_seconds().is_err() {
        eprintln!("repartition: CPU times are read from /proc, which is not there");
        return Ok(());
    }
    table.begin("row by row, ms of CPU");
    // Every batch has columns of its own: what an exchange holds of one does not hold the others.
    let parts = args.rows / 4 / BATCH + 1;
    let numbers = (0..parts as u64).map(numbers).collect::<Vec<_>>();
    compare_all(table, &format!("{} rows of 3 BIGINTs", parts * BATCH), &numbers)?;
    let mixed = (0..parts as u64).map(mixed).collect::<Vec<_>>();
    compare_all(table, &format!("{} rows of 9 columns", parts * BATCH), &mixed)
}

fn compare_all(table: &mut Table, name: &str, parts: &[Columns]) -> Result<()> {
    let batches: Vec<Batch> = parts.iter().map(batch_of).collect();
    for (partitions, flattens) in WAYS {
        let what = if flattens { ", flattened" } else { "" };
        let volley = || split(&batches, partitions, flattens);
        let name = format!("{name} to {partitions} partitions{what}");
        table.compare_with(&name, cpu_seconds, volley, || split_by_row(&batches, partitions))?;
    }
    for partitions in EXCHANGES {
        let session = session(partitions)?;
        let source: Arc<dyn volley::Table> = Arc::new(memory_table(&session, "t", parts)?);
        let names: Vec<&str> = parts.iter().take(1).flatten().map(|it| it.0).collect();
        let scan = PlanBuilder::new(session.registry());
        let scan = scan.scan(source.handle(), source.schema(), &names);
        let exchange = scan.partition(&["k"]).build()?;
        let volley = || drain(&session, &exchange, &source);
        let name = format!("{name}, exchange of {partitions} drivers");
        table.compare_with(&name, cpu_seconds, volley, || split_by_row(&batches, partitions))?;
    }
    Ok(())
}

fn batch_of(columns: &Columns) -> Batch {
    Batch::new(columns.iter().map(|it| it.1.clone()).collect(), BATCH)
}

/// Splits batches by their first column; the rows that came out.
fn split(batches: &[Batch], partitions: usize, flattens: bool) -> Result<usize> {
    let pool = Pool::root("repartition", None);
    let mut partitioner = Partitioner::new(vec![0], partitions, HashSalt::Exchange, BATCH, &pool);
    let mut rows = 0;
    let mut take = |pieces: Vec<(usize, Batch)>| -> Result<()> {
        for (_, piece) in pieces {
            rows += if flattens { flatten(&piece)? } else { piece }.rows();
        }
        Ok(())
    };
    for batch in batches {
        take(partitioner.split(batch)?)?;
    }
    take(partitioner.finish()?)?;
    Ok(rows)
}

fn split_by_row(batches: &[Batch], partitions: usize) -> Result<usize> {
    let mut partitioner = RowPartitioner::new(partitions, BATCH / 2);
    let mut rows = 0;
    for batch in batches {
        rows += partitioner.split(batch)?.iter().map(Batch::rows).sum::<usize>();
    }
    Ok(rows + partitioner.finish().iter().map(Batch::rows).sum::<usize>())
}

/// Runs a plan; the rows that come out.
fn drain(session: &Session, plan: &Arc<PlanNode>, table: &Arc<dyn volley::Table>) -> Result<usize> {
    let result = session.run_plan(Arc::clone(plan), [Arc::clone(table)])?;
    result.batches().map(|batch| Ok(batch?.rows())).sum()
}

fn flatten(batch: &Batch) -> Result<Batch> {
    let columns = batch.columns().iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(columns, batch.rows()))
}

/// A batch of integers.
fn numbers(seed: u64) -> Columns {
    let mut random = fastrand::Rng::with_seed(seed);
    ["k", "a", "b"].map(|name| (name, bigints(&mut random))).to_vec()
}

/// A batch of columns of 7 types, four of them with nulls in one of ten rows.
fn mixed(seed: u64) -> Columns {
    let mut random = fastrand::Rng::with_seed(seed);
    let small: Vec<i32> = (0..BATCH).map(|_| random.i32(..)).collect();
    let days: Vec<i32> = (0..BATCH).map(|_| random.i32(0..20_000)).collect();
    let doubles: Vec<f64> = (0..BATCH).map(|_| random.f64()).collect();
    let prices: Vec<i64> = (0..BATCH).map(|_| random.i64(0..10_000_000)).collect();
    let flags: BooleanBuffer = (0..BATCH).map(|_| random.bool()).collect();
    let modes: StringValues = ["AIR", "RAIL", "SHIP", "TRUCK"].into_iter().collect();
    let modes = Arc::new(Vector::strings(Type::Varchar, modes, None));
    let codes: Vec<u32> = (0..BATCH).map(|_| random.u32(0..4)).collect();
    let [short, long] = [2..12, 20..60].map(|bytes| texts(bytes, &mut random));
    let key = bigints(&mut random);
    let mut nulls = || {
        let valid: BooleanBuffer = (0..BATCH).map(|_| random.u8(0..10) > 0).collect();
        Some(NullBuffer::from(valid))
    };
    vec![
        ("k", key),
        ("integer", Vector::native(Type::Integer, small, nulls())),
        ("day", Vector::native(Type::Date, days, None)),
        ("double", Vector::native(Type::Double, doubles, nulls())),
        ("price", Vector::native(Type::decimal(12, 2), prices, None)),
        ("flag", Vector::boolean(flags, nulls())),
        ("short", Vector::strings(Type::Varchar, short, None)),
        ("long", Vector::strings(Type::Varchar, long, nulls())),
        ("mode", Vector::dictionary(codes.into(), modes, None)),
    ]
}

fn texts(bytes: Range<usize>, random: &mut fastrand::Rng) -> StringValues {
    let mut text = || (0..random.usize(bytes.clone())).map(|_| random.lowercase()).collect();
    let texts: Vec<String> = (0..BATCH).map(|_| text()).collect();
    texts.iter().map(String::as_str).collect()
}

fn bigints(random: &mut fastrand::Rng) -> Vector {
    let values: Vec<i64> = (0..BATCH).map(|_| random.i64(0..1 << 40)).collect();
    Vector::native(Type::BigInt, values, None)
}

/// Seconds of CPU that the threads of this process used.
fn cpu_seconds() -> Result<f64> {
    let folder = "/proc/self/task";
    let of_system = |e| Error::io(folder, e);
    let mut nanos = 0;
    for thread in fs::read_dir(folder).map_err(of_system)? {
        let path = thread.map_err(of_system)?.path().join("schedstat");
        // The first number is nanoseconds on a CPU. A thread may have ended.
        let text = fs::read_to_string(path).unwrap_or_default();
        let first = text.split(' ').next().and_then(|it| it.parse::<u64>().ok());
        nanos += first.unwrap_or(0);
    }
    Ok(nanos as f64 / 1e9)
}

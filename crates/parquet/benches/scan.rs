//! Scans each column of a Parquet file, and all of them, on one thread.
//!
//! `VOLLEY_BENCH_FILE=lineitem.parquet cargo bench -p volley-parquet --bench scan`

use std::{sync::Arc, task::Waker, time::Instant};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::Result;
use volley_function::{QueryConstants, Registry};
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_parquet::{ParquetFile, RowGroupReader};

/// The best of this many runs counts.
const RUNS: usize = 5;

fn scan(file: &ParquetFile, columns: &[usize], load: bool) -> Result<usize> {
    let mut reader = RowGroupReader::new(&ScanRequest {
        columns: columns.to_vec(),
        filters: Vec::new(),
        dynamic_filters: Vec::new(),
        batch_rows: 8192,
        registry: Arc::new(Registry::default()),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("bench", None),
    })?;
    let mut rows = 0;
    for group in 0..file.row_groups() {
        reader.start(file.clone(), group, &|column| column)?;
        loop {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) if load => rows += batch.loaded()?.rows(),
                SourceStep::Batch(batch) => rows += batch.rows(),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked | SourceStep::Progress => {}
            }
        }
    }
    Ok(rows)
}

fn measure(name: &str, file: &ParquetFile, columns: &[usize], load: bool) -> Result<()> {
    let mut best = f64::INFINITY;
    let mut rows = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        rows = scan(file, columns, load)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let sizes = columns
        .iter()
        .flat_map(|column| (0..file.row_groups()).map(|group| file.column_bytes(group, *column).1));
    let bytes: u64 = sizes.sum();
    let rate = bytes as f64 / best / 1e6;
    println!("{name:20} {:8.2} ms  {rows} rows  {rate:8.0} MB/s decompressed", best * 1e3);
    Ok(())
}

fn main() -> Result<()> {
    let Ok(path) = std::env::var("VOLLEY_BENCH_FILE") else {
        println!("set VOLLEY_BENCH_FILE to a Parquet file");
        return Ok(());
    };
    let file = ParquetFile::open(FileSystems::default().open(&path)?)?;
    let only = std::env::var("VOLLEY_BENCH_COLUMN").ok();
    for (column, field) in file.schema().fields.iter().enumerate() {
        if only.as_ref().is_none_or(|it| *it == field.name) {
            measure(&field.name, &file, &[column], true)?;
        }
    }
    if only.is_none() {
        let all: Vec<usize> = (0..file.schema().len()).collect();
        measure("all", &file, &all, true)?;
        measure("all, nothing loaded", &file, &all, false)?;
    }
    Ok(())
}

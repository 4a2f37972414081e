//! Generates the tables.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::{
        properties::WriterProperties,
        reader::{FileReader, SerializedFileReader},
    },
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    thread,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};
use volley_error::{Error, ErrorKind, Result};

/// The tables: name, and rows at scale 1 (nation and region do not grow).
pub const TABLES: [(&str, u64); 8] = [
    ("lineitem", 6_001_215),
    ("orders", 1_500_000),
    ("partsupp", 800_000),
    ("part", 200_000),
    ("customer", 150_000),
    ("supplier", 10_000),
    ("nation", 25),
    ("region", 5),
];

/// Rows per row group: lineitem's columns then take about 7 MB compressed.
const ROW_GROUP_ROWS: usize = 7 << 14;

/// Rows per generated batch.
const BATCH_ROWS: usize = 8192;

/// Part 1 of 1: the whole table.
const WHOLE: (i32, i32) = (1, 1);

/// The largest scale: lineitem's keys then still fit, and no disk holds more.
const SCALE_MAX: f64 = 100_000.0;

/// Told while tables are written: rows written since the last call. An error stops the writing.
pub type Progress<'a> = &'a (dyn Fn(u64) -> Result<()> + Sync);

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// How many rows [`generate`] will report, about.
pub fn estimated_rows(scale: f64) -> u64 {
    TABLES
        .iter()
        .map(|(_, rows)| if *rows > 25 { (*rows as f64 * scale) as u64 } else { *rows })
        .sum()
}

/// Whether `dir` has a file for every table.
pub fn is_complete(dir: &Path) -> bool {
    TABLES.iter().all(|(table, _)| path_of(dir, table).is_file())
}

/// Whether data can be made for `scale`.
///
/// # Errors
///
/// Invalid value: not positive, or too large.
pub fn check_scale(scale: f64) -> Result<()> {
    if scale > 0.0 && scale <= SCALE_MAX {
        return Ok(());
    }
    Err(Error::invalid_value(format!("scale must be above 0 and at most {SCALE_MAX}: {scale}")))
}

/// Writes `dir/<table>.parquet` for every table that is not there yet (Snappy, dictionaries). A
/// file appears whole or not at all; after an interruption, the next call writes what is missing.
///
/// # Errors
///
/// Invalid value, for a scale that [`check_scale`] refuses, and when `dir` has tables of another
/// scale; I/O; what `progress` answers.
pub fn generate(scale: f64, dir: &Path, progress: Progress<'_>) -> Result<()> {
    check_scale(scale)?;
    fs::create_dir_all(dir).map_err(|e| Error::io(dir.display(), e))?;
    for (table, rows) in TABLES {
        check_same_scale(scale, rows, &path_of(dir, table))?;
    }
    // lineitem is as much work as all the others together.
    thread::scope(|scope| {
        let largest = scope.spawn(|| write_table(TABLES[0].0, scale, dir, progress));
        let others = TABLES[1..].iter().try_for_each(|it| write_table(it.0, scale, dir, progress));
        let largest = largest.join().map_err(|_| Error::internal("generator panicked"))?;
        largest.and(others)
    })
}

fn path_of(dir: &Path, table: &str) -> PathBuf {
    dir.join(format!("{table}.parquet"))
}

/// An error when `path` is there with other rows than `scale` makes. lineitem's rows are random,
/// but near four per order.
fn check_same_scale(scale: f64, rows_at_one: u64, path: &Path) -> Result<()> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let at_file = |e: Error| e.at("file", path.display());
    let reader = SerializedFileReader::new(file).map_err(|e| at_file(parquet_error(&e)))?;
    let rows = reader.metadata().file_metadata().num_rows() as f64;
    let expected = if rows_at_one > 25 { rows_at_one as f64 * scale } else { rows_at_one as f64 };
    // Rows are whole, and a small lineitem strays by a few percent.
    if (rows - expected).abs() <= expected * 0.1 + 50.0 {
        return Ok(());
    }
    let message = format!("there is TPC-H data of another scale than {scale}");
    Err(at_file(Error::invalid_value(message).hint("choose another folder, or remove these files")))
}

fn parquet_error(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read or write Parquet: {error}"))
}

fn write_table(table: &str, scale: f64, dir: &Path, progress: Progress<'_>) -> Result<()> {
    let path = path_of(dir, table);
    if path.is_file() {
        return Ok(());
    }
    let unfinished = dir.join(format!(".{table}.parquet.{}", std::process::id()));
    let written = write_file(batches_of(table, scale, WHOLE, BATCH_ROWS)?, &unfinished, progress)
        .and_then(|()| fs::rename(&unfinished, &path).map_err(|e| Error::io(path.display(), e)));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn write_file(batches: Batches, path: &Path, progress: Progress<'_>) -> Result<()> {
    let failed = |e: &dyn std::error::Error| parquet_error(e).at("file", path.display());
    let file = File::create(path).map_err(|e| Error::io(path.display(), e))?;
    let mut batches = batches.peekable();
    let Some(Ok(first)) = batches.peek() else {
        return Err(Error::internal("table without rows"));
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let mut writer =
        ArrowWriter::try_new(file, first.schema(), Some(properties)).map_err(|e| failed(&e))?;
    for batch in batches {
        let batch = batch.map_err(|e| failed(&e))?;
        writer.write(&batch).map_err(|e| failed(&e))?;
        progress(batch.num_rows() as u64)?;
    }
    writer.close().map_err(|e| failed(&e))?;
    Ok(())
}

/// A part of a table.
#[derive(Clone, Copy, Debug)]
pub struct RowRange {
    /// The number of the part, from 1.
    pub part: u32,
    /// How many parts there are.
    pub parts: u32,
}

/// A generated column.
pub type Column = arrow_array::ArrayRef;

/// The batches of a part of a table: its columns in the order of the specification, amounts as
/// DECIMAL(15, 2).
pub struct TableBatches(Batches);

impl Iterator for TableBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let generated = |it: ArrowError| Error::internal("generated rows").caused_by(it);
        self.0.next().map(|it| it.map_err(generated))
    }
}

/// Generates the rows of a part of a table, at most `batch_rows` in a batch. The tables whose size
/// does not depend on the scale have their rows in part 1.
///
/// # Errors
///
/// Invalid value: no such table, a part beyond the last, a scale that [`check_scale`] refuses.
pub fn table_batches(
    table: &str,
    scale: f64,
    range: RowRange,
    batch_rows: usize,
) -> Result<TableBatches> {
    check_scale(scale)?;
    let RowRange { part, parts } = range;
    let (Ok(number), Ok(of)) = (i32::try_from(part), i32::try_from(parts)) else {
        return Err(Error::invalid_value(format!("part {part} of {parts}")));
    };
    if part == 0 || part > parts {
        return Err(Error::invalid_value(format!("part {part} of {parts}")));
    }
    let batches: Batches = match table {
        "nation" | "region" if part > 1 => Box::new(std::iter::empty()),
        "nation" | "region" => batches_of(table, scale, (1, 1), batch_rows)?,
        _ => batches_of(table, scale, (number, of), batch_rows)?,
    };
    Ok(TableBatches(batches))
}

fn batches_of(
    table: &str,
    scale: f64,
    (part, parts): (i32, i32),
    batch_rows: usize,
) -> Result<Batches> {
    Ok(match table {
        "lineitem" => Box::new(
            LineItemArrow::new(LineItemGenerator::new(scale, part, parts))
                .with_batch_size(batch_rows),
        ),
        "orders" => Box::new(
            OrderArrow::new(OrderGenerator::new(scale, part, parts)).with_batch_size(batch_rows),
        ),
        "partsupp" => Box::new(
            PartSuppArrow::new(PartSuppGenerator::new(scale, part, parts))
                .with_batch_size(batch_rows),
        ),
        "part" => Box::new(
            PartArrow::new(PartGenerator::new(scale, part, parts)).with_batch_size(batch_rows),
        ),
        "customer" => Box::new(
            CustomerArrow::new(CustomerGenerator::new(scale, part, parts))
                .with_batch_size(batch_rows),
        ),
        "supplier" => Box::new(
            SupplierArrow::new(SupplierGenerator::new(scale, part, parts))
                .with_batch_size(batch_rows),
        ),
        "nation" => Box::new(NationArrow::new(NationGenerator::new(scale, part, parts))),
        "region" => Box::new(RegionArrow::new(RegionGenerator::new(scale, part, parts))),
        other => return Err(Error::invalid_value(format!("no such TPC-H table: {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn tables_are_written_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let rows = AtomicU64::new(0);
        let count = |more: u64| {
            rows.fetch_add(more, Ordering::Relaxed);
            Ok(())
        };
        generate(0.001, dir.path(), &count).unwrap();
        assert!(is_complete(dir.path()));
        assert!(rows.load(Ordering::Relaxed) > 8000);
        let files = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(files, TABLES.len(), "nothing unfinished is left");
        rows.store(0, Ordering::Relaxed);
        generate(0.001, dir.path(), &count).unwrap();
        assert_eq!(rows.load(Ordering::Relaxed), 0, "files that are there stay");
    }

    #[test]
    fn a_scale_that_is_not_positive_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert!(generate(scale, dir.path(), &|_| Ok(())).is_err());
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_interrupted_set_is_not_complete_and_is_continued() {
        let dir = tempfile::tempdir().unwrap();
        let rows = AtomicU64::new(0);
        let stop = |more: u64| match rows.fetch_add(more, Ordering::Relaxed) {
            0..1000 => Ok(()),
            _ => Err(Error::cancelled()),
        };
        generate(0.001, dir.path(), &stop).unwrap_err();
        assert!(!is_complete(dir.path()));
        let names = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name());
        let names: Vec<_> = names.collect();
        assert!(names.iter().all(|it| it.to_string_lossy().ends_with(".parquet")), "{names:?}");
        generate(0.001, dir.path(), &|_| Ok(())).unwrap();
        assert!(is_complete(dir.path()));
    }

    #[test]
    fn scales_are_not_mixed_in_one_folder() {
        let dir = tempfile::tempdir().unwrap();
        generate(0.001, dir.path(), &|_| Ok(())).unwrap();
        let error = generate(0.002, dir.path(), &|_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("another scale than 0.002"), "{error}");
    }
}

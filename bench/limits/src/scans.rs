//! Scans of Parquet columns against decompressing the pages of these columns and nothing else.
//!
//! The pages are read beforehand: the limit does not include reading the file, unpacking codes,
//! checking them and copying values. A scan can only be faster by skipping pages, and a scan of
//! whole columns skips none.

use crate::{
    Args,
    measure::Table,
    setup::{session, tpch_file},
};
use parquet::{
    basic::Compression,
    column::page::Page,
    errors::ParquetError,
    file::reader::{FileReader, SerializedFileReader},
};
use std::{fs::File, path::Path};
use volley::{Error, Result};

/// Columns of lineitem: sorted and unsorted numbers, dictionaries small and large, short and long
/// texts.
const COLUMNS: [&str; 8] = [
    "l_orderkey",
    "l_partkey",
    "l_quantity",
    "l_extendedprice",
    "l_shipdate",
    "l_returnflag",
    "l_shipmode",
    "l_comment",
];

/// A compressed page and the bytes that it becomes.
struct StoredPage {
    compressed: Vec<u8>,
    bytes: usize,
}

/// Adds the lines.
pub fn run(args: &Args, table: &mut Table) -> Result<()> {
    let path = tpch_file(args, "lineitem")?;
    let session = session(1)?;
    session.register_files("lineitem", &path.to_string_lossy())?;
    for column in COLUMNS {
        let (pages, rows) = read_pages(&path, column)?;
        let sql = format!("SELECT {column} FROM lineitem");
        let mut page = vec![0; pages.iter().map(|it| it.bytes).max().unwrap_or(0)];
        let scan = || {
            let mut rows = 0;
            for batch in session.sql(&sql)?.batches() {
                rows += batch?.rows();
            }
            Ok(rows)
        };
        let decompress = || {
            let whole = pages.iter().all(|it| {
                volley_kernels::snappy::decompress(&it.compressed, &mut page[..it.bytes]).is_some()
            });
            if whole { rows } else { 0 }
        };
        table.compare(&format!("scan of {column}"), scan, decompress)?;
    }
    Ok(())
}

/// The pages of a column as they are in the file, and the rows of the file.
///
/// The parquet crate hands out pages decompressed only; the crate that it writes them with
/// compresses them again.
fn read_pages(path: &Path, column: &str) -> Result<(Vec<StoredPage>, usize)> {
    let of_parquet = |error: ParquetError| Error::internal(error.to_string());
    let file = File::open(path).map_err(|e| Error::io(path.display(), e))?;
    let reader = SerializedFileReader::new(file).map_err(of_parquet)?;
    let (mut pages, mut stored_bytes, mut rows) = (Vec::new(), 0, 0);
    let mut encoder = snap::raw::Encoder::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(of_parquet)?;
        rows += usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let columns = group.metadata().columns();
        let found = columns.iter().position(|it| it.column_descr().name() == column);
        let index = found.ok_or_else(|| Error::internal("no such column"))?;
        if columns[index].compression() != Compression::SNAPPY {
            return Err(Error::internal("pages are not compressed with Snappy"));
        }
        stored_bytes += usize::try_from(columns[index].compressed_size()).unwrap_or(0);
        let reader = group.get_column_page_reader(index).map_err(of_parquet)?;
        for page in reader {
            let page = page.map_err(of_parquet)?;
            let buffer = match &page {
                Page::DataPageV2 { .. } => {
                    return Err(Error::internal("levels of version 2 are not compressed"));
                }
                _ => page.buffer(),
            };
            let compressed = encoder.compress_vec(buffer);
            let compressed = compressed.map_err(|e| Error::internal(e.to_string()))?;
            pages.push(StoredPage { compressed, bytes: buffer.len() });
        }
    }
    // The sizes in the file count the headers of pages, too.
    let compressed_bytes: usize = pages.iter().map(|it| it.compressed.len()).sum();
    if !(stored_bytes * 9 / 10..=stored_bytes).contains(&compressed_bytes) {
        return Err(Error::internal("compressing pages again gave other sizes"));
    }
    Ok((pages, rows))
}

//! Text files.

use crate::{POOL_BYTES, ROWS_MAX, look_at};
use std::{io::Write, path::Path, sync::Arc};
use tempfile::NamedTempFile;
use volley_error::Result;
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_text::{
    Compression, CsvFile, CsvForm, CsvReadOptions, JsonFile, JsonReadOptions, TextReader, TextStep,
};
use volley_vector::{Batch, Vector};

/// Where there is one, a file system in memory.
const FAST_FOLDER: &str = "/dev/shm";

/// A longer line is none where not all lines need to fit.
const LINE_BYTES_MAX: u64 = 200;

/// Reads a CSV file strictly, then ignoring invalid lines.
pub fn csv(bytes: &[u8]) {
    let compression = compression(bytes);
    let lenient = CsvReadOptions {
        form: CsvForm {
            escape: Some(b'\\'),
            comment: Some(b'#'),
            is_strict: false,
            line_bytes_max: LINE_BYTES_MAX,
            ..CsvForm::default()
        },
        ignore_errors: true,
        null_padding: true,
        compression,
        ..CsvReadOptions::default()
    };
    with_file(bytes, |path| {
        read_csv(path, &CsvReadOptions { compression, ..CsvReadOptions::default() });
        read_csv(path, &lenient);
    });
}

/// Reads a CSV file alone and by its chunks, which gives the same.
fn read_csv(path: &str, options: &CsvReadOptions) {
    let pool = Pool::root("fuzz", Some(POOL_BYTES));
    let Ok(file) = FileSystems::default().open(path) else { return };
    let opened = CsvFile::open(file, options, &pool);
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
    let Ok(file) = opened else { return };
    let columns: Vec<usize> = (0..file.schema().len()).collect();
    let alone = check(|pool| file.read(&columns, 1000, pool));
    let by_chunks = check(|pool| match file.chunks(pool) {
        Some(chunks) => file.read_chunks(&Arc::new(chunks), &columns, 1000, pool),
        None => file.read(&columns, 1000, pool),
    });
    assert_eq!(alone, by_chunks, "chunks have other rows");
}

/// How a file is compressed, by its first bytes.
fn compression(bytes: &[u8]) -> Option<Compression> {
    match bytes {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
        _ => None,
    }
}

/// Reads a file of JSON lines.
pub fn json(bytes: &[u8]) {
    let pool = Pool::root("fuzz", Some(POOL_BYTES));
    let options = JsonReadOptions { compression: compression(bytes), ..JsonReadOptions::default() };
    with_file(bytes, |path| {
        let Ok(file) = FileSystems::default().open(path) else { return };
        let files = JsonFile::open_all(vec![file], &options, &pool);
        for file in files.unwrap_or_default() {
            let columns: Vec<usize> = (0..file.schema().len()).collect();
            // Errors are answers.
            let _ = check(|pool| file.read(&columns, 1000, pool));
        }
    });
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
}

fn with_file(bytes: &[u8], f: impl FnOnce(&str)) {
    let folder = Path::new(FAST_FOLDER);
    let made = if folder.is_dir() { NamedTempFile::new_in(folder) } else { NamedTempFile::new() };
    let Ok(mut file) = made else { return };
    if file.write_all(bytes).is_ok()
        && let Some(path) = file.path().to_str()
    {
        f(path);
    }
}

/// The rows as text, or what is wrong: errors are answers.
fn check(open: impl FnOnce(&Pool) -> Result<TextReader>) -> Result<Vec<String>, String> {
    let pool = Pool::root("fuzz", Some(POOL_BYTES));
    let rows = open(&pool).and_then(read_all);
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
    rows.map_err(|it| it.to_string())
}

fn read_all(mut reader: TextReader) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    while rows.len() < ROWS_MAX {
        match reader.step()? {
            TextStep::Batch(batch) => {
                look_at(&batch);
                rows.extend((0..batch.rows()).map(|row| shown(&batch, row)));
            }
            TextStep::Progress => {}
            TextStep::End => break,
        }
    }
    Ok(rows)
}

/// A row as text.
fn shown(batch: &Batch, row: usize) -> String {
    let value = |it: &Vector| match it.value(row) {
        Ok(value) => value.display(it.data_type()).to_string(),
        Err(error) => error.to_string(),
    };
    batch.columns().iter().map(value).collect::<Vec<_>>().join("|")
}

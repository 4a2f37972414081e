//! Text files.

use crate::{POOL_BYTES, ROWS_MAX, look_at};
use std::{io::Write, path::Path};
use tempfile::NamedTempFile;
use volley_error::Result;
use volley_memory::Pool;
use volley_text::{CsvFile, CsvReadOptions, JsonFile, JsonReadOptions, TextReader, TextStep};

/// Where there is one, a file system in memory.
const FAST_FOLDER: &str = "/dev/shm";

/// Reads a CSV file.
pub fn csv(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(file) = CsvFile::open(path, &CsvReadOptions::default()) else { return };
        let columns: Vec<usize> = (0..file.schema().len()).collect();
        check(|pool| file.read(&columns, 1000, pool));
    });
}

/// Reads a file of JSON lines.
pub fn json(bytes: &[u8]) {
    with_file(bytes, |path| {
        for file in
            JsonFile::open_all(&[path.to_owned()], &JsonReadOptions::default()).unwrap_or_default()
        {
            let columns: Vec<usize> = (0..file.schema().len()).collect();
            check(|pool| file.read(&columns, 1000, pool));
        }
    });
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

fn check(open: impl FnOnce(&Pool) -> Result<TextReader>) {
    let pool = Pool::root("fuzz", Some(POOL_BYTES));
    // Errors are answers.
    let _ = open(&pool).and_then(read_all);
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
}

fn read_all(mut reader: TextReader) -> Result<()> {
    let mut rows = 0;
    while rows < ROWS_MAX {
        match reader.step()? {
            TextStep::Batch(batch) => {
                look_at(&batch);
                rows += batch.rows();
            }
            TextStep::Progress => {}
            TextStep::End => break,
        }
    }
    Ok(())
}

//! Damaged files are errors, never panics.

use super::{MemoryFile, columns_of, data, files_below, random_damage, read_batches, request};
use crate::ParquetFile;
use std::{ops::Range, path::Path, slice, sync::Arc};
use volley_connector::ScanRequest;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Pool;
use volley_types::Value;

/// What a scan of a small file may charge.
const POOL_BYTES: usize = 64 << 20;

/// Reads everything; the answer or an error that names the file.
fn read(bytes: Vec<u8>) -> Result<usize> {
    read_values(bytes).map(|it| it.first().map_or(0, Vec::len))
}

/// All values, column by column.
fn read_values(bytes: Vec<u8>) -> Result<Vec<Vec<Value>>> {
    let file = ParquetFile::open(Arc::new(MemoryFile(bytes.into())))?;
    let columns: Vec<usize> = (0..file.schema().len()).collect();
    for group in 0..file.row_groups() {
        columns
            .iter()
            .for_each(|it| drop((file.bounds(group, *it), file.distinct_estimate(group, *it))));
    }
    let count = columns.len();
    let pool = Pool::root("test", Some(POOL_BYTES));
    let request = ScanRequest { pool: pool.clone(), ..request(columns, 100) };
    let values = read_batches(&file, &request).and_then(|it| columns_of(&it, count));
    drop(request);
    assert_eq!(pool.stats().bytes, 0);
    values
}

pub(super) fn check_error(error: &Error) {
    let allowed = [ErrorKind::Corruption, ErrorKind::Unsupported, ErrorKind::OutOfMemory];
    assert!(allowed.contains(&error.kind()), "{error}");
    assert!(error.to_string().contains("damaged.parquet"), "{error}");
}

#[test]
fn files_cut_anywhere_are_errors() {
    let bytes = std::fs::read(data("one.parquet")).unwrap();
    for len in 0..bytes.len() {
        check_error(&read(bytes[..len].to_vec()).unwrap_err());
    }
    assert!(read(bytes).is_ok());
}

/// A multiplicative generator: seeds are test cases.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn flip(name: &str, rounds: usize) {
    let bytes = std::fs::read(data(name)).unwrap();
    let rows = read(bytes.clone()).unwrap();
    let mut random = Random(rounds as u64);
    for _ in 0..rounds {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let place = random.below(damaged.len());
            damaged[place] ^= 1 << random.below(8);
        }
        match read(damaged) {
            // A flipped bit of a value, a name, a statistic or a number of rows.
            Ok(found) => assert!(found <= rows.max(1) << 32),
            Err(error) => check_error(&error),
        }
    }
}

#[test]
fn flipped_bits_are_errors_or_other_values() {
    let names = [
        "one.parquet",
        "nested.parquet",
        "types.parquet",
        "unsigned.parquet",
        "timestamp_int96.parquet",
        "encoding/delta.parquet",
        "encoding/dictionary_v2.parquet",
        "encoding/snappy.parquet",
        "encoding/split.parquet",
        "encoding/zstd_v2.parquet",
        "encoding/lz4.parquet",
        "encoding/gzip.parquet",
        "encoding/brotli.parquet",
    ];
    for name in names {
        let size = std::fs::metadata(data(name)).unwrap().len();
        let rounds = if size > 50_000 { 20 } else { 200 };
        flip(name, rounds);
    }
}

/// Pages with checksums, and without.
const FOLDERS: [&str; 2] = ["checksum", "../../fuzz/corpus/parquet"];

/// Small files with all types, page versions, encodings, codecs and indexes; `fuzz/seeds.py` makes
/// them.
fn small_files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let files = files_below(Path::new(&data(folder)));
    assert!(files.len() > 30);
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn small_files_cut_at_each_byte_of_the_footer_and_at_others_are_errors() {
    for (path, bytes) in small_files(FOLDERS[0]) {
        let footer = random_damage::footer_bytes(&bytes);
        let mut random = Random(bytes.len() as u64);
        let places = bytes.len() - 8 - footer..bytes.len();
        for len in places.chain((0..30).map(|_| random.below(bytes.len()))) {
            let error = read(bytes[..len].to_vec()).err();
            check_error(&error.unwrap_or_else(|| panic!("{path} cut at {len}")));
        }
    }
}

/// Flips a bit of `bytes` in one of `places` and reads.
fn read_flipped(
    random: &mut Random,
    bytes: &[u8],
    places: &[Range<usize>],
) -> Result<Vec<Vec<Value>>> {
    let place = &places[random.below(places.len())];
    let place = place.start + random.below(place.len());
    let mut damaged = bytes.to_vec();
    damaged[place] ^= 1 << random.below(8);
    read_values(damaged)
}

#[test]
fn ten_thousand_flipped_bits_of_small_files_are_errors_or_other_values() {
    let files = small_files(FOLDERS[1]);
    for (_, bytes) in &files {
        let (mut random, all) = (Random(bytes.len() as u64), 0..bytes.len());
        for _ in 0..10_000 / files.len() {
            match read_flipped(&mut random, bytes, slice::from_ref(&all)) {
                Ok(_) => {}
                Err(error) => check_error(&error),
            }
        }
    }
}

#[test]
fn flipped_bits_of_pages_with_checksums_are_errors() {
    let (mut found, mut files) = (0, 0);
    for (path, bytes) in small_files(FOLDERS[0]) {
        let file = ParquetFile::open(Arc::new(MemoryFile(bytes.clone().into()))).unwrap();
        let headers = random_damage::headers(&file, &bytes);
        assert!(headers.iter().all(|(_, it)| it.checksum.is_some()), "{path}");
        files += 1;
        let pages = headers.iter().map(|(at, header)| {
            let start = at + header.header_bytes;
            start..start + header.compressed_bytes
        });
        let pages: Vec<_> = pages.filter(|it| !it.is_empty()).collect();
        let expected = read_values(bytes.clone()).unwrap();
        let mut random = Random(bytes.len() as u64);
        for _ in 0..200 {
            match read_flipped(&mut random, &bytes, &pages) {
                // In a dictionary that no page uses.
                Ok(values) => assert_eq!(values, expected, "{path}"),
                Err(error) => {
                    check_error(&error);
                    found += usize::from(error.to_string().contains("checksum"));
                }
            }
        }
    }
    assert!(files > 10 && found > 190 * files, "{found} errors in {files} files");
}

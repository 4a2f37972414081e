//! Random files, damaged at random, are errors that say where, or other values: never a panic, a
//! hang, or memory that was not charged.

use super::{
    any_file,
    damage::check_error,
    maker::{MadeFile, random_file},
    random_files::{Expected, REGISTRY, random_filter, seeded, seeds},
    request,
};
use crate::{
    ParquetFile, RowGroupReader,
    file::chunk_range,
    header::{PageHeader, read_page_header},
};
use std::{
    ops::Range,
    sync::Arc,
    task::Waker,
    time::{Duration, Instant},
};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::{ErrorKind, Result};
use volley_memory::Pool;
use volley_vector::random::Generator;

/// Damaged versions of each file.
const VERSIONS: usize = 12;

/// What a scan may charge.
const POOL_BYTES: usize = 64 << 20;

/// A scan of a small file takes longer only if it hangs.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Rows that a damaged header may make up before a scan is given up.
const ROWS_MAX: u64 = 100_000;

/// Numbers as Thrift stores them: the greatest of 32 and of 64 bits, the least, and a million.
const NUMBERS: [&[u8]; 4] = [
    &[0xfe, 0xff, 0xff, 0xff, 0x0f],
    &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x80, 0x89, 0x7a],
];

/// Bytes of the footer, without the length and magic after it.
pub(super) fn footer_bytes(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(8);
    let len = bytes.get(tail..tail + 4).and_then(|it| it.try_into().ok());
    (len.map_or(0, u32::from_le_bytes) as usize).min(tail)
}

/// Where the headers of pages are.
fn header_places(file: &ParquetFile, bytes: &[u8]) -> Vec<Range<usize>> {
    headers(file, bytes).into_iter().map(|(at, it)| at..at + it.header_bytes).collect()
}

/// The headers of pages and where they begin.
pub(super) fn headers(file: &ParquetFile, bytes: &[u8]) -> Vec<(usize, PageHeader)> {
    let mut headers = Vec::new();
    for group in 0..file.row_groups() {
        for column in 0..file.schema().len() {
            for leaf in file.node(column).unwrap().leaves() {
                let range = chunk_range(file.chunk(group, leaf).unwrap());
                let mut at = range.start as usize;
                while at < range.end as usize {
                    let header = read_page_header(&bytes[at..]).unwrap();
                    headers.push((at, header));
                    at += header.header_bytes + header.compressed_bytes;
                }
            }
        }
    }
    headers
}

/// Where the indexes of pages and Bloom filters are.
fn index_places(file: &ParquetFile) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for group in 0..file.row_groups() {
        for leaf in (0..file.schema().len()).flat_map(|it| file.node(it).unwrap().leaves()) {
            let chunk = file.chunk(group, leaf).unwrap();
            places.extend(chunk.column_index_range());
            places.extend(chunk.offset_index_range());
            let bloom = chunk.bloom_filter_offset().zip(chunk.bloom_filter_length());
            places.extend(bloom.map(|(start, len)| start as u64..start as u64 + len as u64));
        }
    }
    places.into_iter().map(|it| it.start as usize..it.end as usize).collect()
}

/// Damages `bytes` in one of many ways. Most of the damage goes to the footer and to `places`:
/// page headers and indexes, where lengths and counts are.
fn damage(random: &mut Generator, bytes: &mut Vec<u8>, places: &[Vec<Range<usize>>; 2]) {
    let (tail, footer) = (bytes.len().saturating_sub(8), footer_bytes(bytes));
    let [headers, indexes] = places;
    let area = match random.below(5) {
        0 if footer > 0 => tail - footer..tail,
        1 if !headers.is_empty() => random.choose(headers).clone(),
        2 if !indexes.is_empty() => random.choose(indexes).clone(),
        _ => 0..bytes.len(),
    };
    let place = (area.start + random.below(area.len())).min(bytes.len() - 1);
    match random.below(8) {
        0 | 1 => bytes[place] ^= 1 << random.below(8),
        2 => bytes[place] = *random.choose(&[0, 1, 0x7f, 0x80, 0xfe, 0xff]),
        3 => {
            let end = (place + random.below(200)).min(bytes.len());
            bytes[place..end].fill(0);
        }
        4 => bytes.truncate(place),
        5 => {
            let len = random.below(40).min(bytes.len() - place);
            let other = random.below(bytes.len() - len + 1);
            let copy = bytes[place..place + len].to_vec();
            bytes.copy_within(other..other + len, place);
            bytes[other..other + len].copy_from_slice(&copy);
        }
        _ => {
            let number = *random.choose(&NUMBERS);
            let old = random.below(3).min(bytes.len() - place);
            bytes.splice(place..place + old, number.iter().copied());
            if footer > 0 && place >= tail - footer && place + old <= tail {
                // The footer is as long as it says, so that it is read.
                let (len, end) = (footer + number.len() - old, bytes.len());
                bytes[end - 8..end - 4].copy_from_slice(&(len as u32).to_le_bytes());
            }
        }
    }
}

/// Opens the file and inspects all that the footer says; the file, and columns to read.
fn open(random: &mut Generator, bytes: Vec<u8>) -> Result<ParquetFile> {
    let file = ParquetFile::open(any_file(random, bytes))?;
    for group in 0..file.row_groups() {
        for column in 0..file.schema().len() {
            file.bounds(group, column);
            file.distinct_estimate(group, column);
            file.column_bytes(group, column);
        }
    }
    Ok(file)
}

fn scan(file: &ParquetFile, request: &ScanRequest) -> Result<()> {
    let mut reader = RowGroupReader::new(request)?;
    for group in 0..file.row_groups() {
        reader.start(file.clone(), group, &|column| column)?;
        while reader.metrics().rows_read < ROWS_MAX {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => {
                    for column in batch.columns() {
                        let column = column.loaded()?;
                        column.validate().unwrap();
                        column.to_values()?;
                    }
                }
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    Ok(())
}

fn check(random: &mut Generator) {
    let MadeFile { bytes, rows } = random_file(random, 100);
    let expected = Expected::new(rows);
    let file = open(random, bytes.clone()).unwrap();
    let places = [header_places(&file, &bytes), index_places(&file)];
    for _ in 0..VERSIONS {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random.below(3) {
            if !damaged.is_empty() {
                damage(random, &mut damaged, &places);
            }
        }
        let begin = Instant::now();
        check_version(random, damaged, &expected);
        assert!(begin.elapsed() < TIME_MAX, "a scan of {:?}", begin.elapsed());
    }
}

fn check_version(random: &mut Generator, bytes: Vec<u8>, expected: &Expected) {
    let file = match open(random, bytes) {
        Ok(file) => file,
        Err(error) => return check_error(&error),
    };
    let columns = (0..file.schema().len()).filter(|_| random.below(3) > 0).collect();
    let pool = Pool::root("test", Some(POOL_BYTES));
    let has_types = file.schema().types().eq(expected.types());
    let filters = if has_types { random.below(3) } else { 0 };
    let filters = (0..filters).map(|_| random_filter(random, expected)).collect();
    let request = ScanRequest {
        filters,
        pool,
        registry: Arc::clone(&REGISTRY),
        ..request(columns, *random.choose(&[1, 100, 1024]))
    };
    if let Err(error) = scan(&file, &request) {
        check_error(&error);
        let text = error.to_string();
        assert!(error.kind() == ErrorKind::OutOfMemory || text.contains("(column: "), "{text}");
    }
}

#[test]
fn damaged_random_files_are_errors_or_other_values() {
    for seed in seeds(0..500) {
        seeded(seed, check);
    }
}

//! Damaged files give an error or rows, and memory stays within the limit.
//!
//! `VOLLEY_FUZZ_SEEDS=1000..2000` runs other seeds than the few of every day.

use super::{any_file, data_bytes, read_batches, request};
use crate::OrcFile;
use volley_connector::ScanRequest;
use volley_memory::Pool;
use volley_vector::random::Generator;

const FILES: [&str; 9] = [
    "scalars.orc",
    "scalars_v1.orc",
    "scalars_lz4.orc",
    "scalars_zstd.orc",
    "nested.orc",
    "nested_v1.orc",
    "java.orc",
    "java_groups.orc",
    "java_union.orc",
];

/// Reads everything there is, as far as it goes.
fn read(random: &mut Generator, bytes: Vec<u8>) {
    let pool = Pool::root("test", Some(64 << 20));
    let mut charge = pool.reservation();
    let file = any_file(random, bytes.into());
    let Ok(file) = OrcFile::open_with(file, &mut charge) else { return };
    let columns = file.schema().len();
    for column in 0..columns {
        file.file_bounds(column);
        file.bounds(0, column);
    }
    let all = (0..columns.min(40)).collect();
    let request = ScanRequest { pool: pool.clone(), ..request(all, 1 + random.below(300)) };
    // Errors are answers.
    let _ = read_batches(&file, &request);
}

#[test]
fn random_damage_gives_an_error_or_rows() {
    let seeds = std::env::var("VOLLEY_FUZZ_SEEDS").ok();
    let range = seeds.as_deref().and_then(|it| it.split_once(".."));
    let (start, end) = match range {
        Some((start, end)) => (start.parse().unwrap(), end.parse().unwrap()),
        None => (0, 600),
    };
    for seed in start..end {
        let mut random = Generator::new(seed);
        let name = *random.choose(&FILES);
        let mut bytes = data_bytes(name).to_vec();
        for _ in 0..1 + random.below(4) {
            // Half of the changes are in the tail, where the footers are.
            let len = bytes.len();
            let start = if random.below(2) == 0 { len.saturating_sub(2000) } else { 0 };
            let place = start + random.below(len - start);
            match random.below(4) {
                0 => bytes[place] ^= 1 << random.below(8),
                1 => bytes[place] = *random.choose(&[0, 1, 0x7f, 0x80, 0xff]),
                2 => {
                    let end = (place + 1 + random.below(20)).min(len);
                    bytes.drain(place..end);
                }
                _ => bytes.insert(place, random.below(256) as u8),
            }
        }
        read(&mut random, bytes);
    }
}

#[test]
fn files_cut_anywhere_are_errors() {
    for name in FILES {
        let bytes = data_bytes(name);
        for cut in [0, 1, 3, 10, bytes.len() / 2, bytes.len() - 1] {
            let mut random = Generator::new(cut as u64);
            let file = OrcFile::open(any_file(&mut random, bytes.slice(..cut)));
            assert!(file.is_err(), "{name} {cut}");
        }
    }
}

#[test]
fn what_is_no_orc_file_says_so() {
    let mut random = Generator::new(1);
    let error = OrcFile::open(any_file(&mut random, b"PAR1 something else PAR1".as_slice().into()));
    assert!(error.unwrap_err().to_string().contains("memory.orc"));
}

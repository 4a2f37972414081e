//! Files that are written are read.

use crate::ArrowFormat;
use bytes::Bytes;
use volley_connector_testkit::{
    damaged_files_are_errors, files_are_read_as_written, open_file, read_file, write_file,
};
use volley_error::ErrorKind;
use volley_memory::Pool;
use volley_types::{Field, Schema, Type};
use volley_vector::{Batch, Vector};

#[test]
fn files_of_all_types_are_read_as_they_were_written() {
    files_are_read_as_written(&ArrowFormat, &["none", "lz4", "zstd"], Type::clone).unwrap();
}

#[test]
fn an_empty_file_has_columns() {
    let schema = Schema::new(vec![Field::new("a", Type::Integer)]);
    let bytes = write_file(&ArrowFormat, &schema, &[], "none").unwrap();
    let pool = Pool::root("test", None);
    assert_eq!(open_file(&ArrowFormat, &bytes, &pool).unwrap().splits(), 0);
    assert!(read_file(&ArrowFormat, &bytes, &[0], 10, &pool).unwrap().is_empty());
}

#[test]
fn many_record_batches_are_few_splits() {
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let column = Vector::native::<i64>(Type::BigInt, (0..60_000_i64).collect::<Vec<_>>(), None);
    let batches = vec![Batch::new(vec![column], 60_000); 40];
    let bytes = write_file(&ArrowFormat, &schema, &batches, "none").unwrap();
    let pool = Pool::root("test", Some(16 << 20));
    let splits = open_file(&ArrowFormat, &bytes, &pool).unwrap().splits();
    assert!((4..=8).contains(&splits), "{splits}");
    let found = read_file(&ArrowFormat, &bytes, &[0], 8192, &pool).unwrap();
    assert_eq!(found.iter().map(Batch::rows).sum::<usize>(), 40 * 60_000);
    assert_eq!(pool.stats().bytes, 0, "what was reserved is released");
}

#[test]
fn other_bytes_and_options_are_refused() {
    let pool = Pool::root("test", None);
    for bytes in ["", "PAR1", "FEA1 and more and more FEA1", "ARROW1"] {
        let error =
            open_file(&ArrowFormat, &Bytes::from_static(bytes.as_bytes()), &pool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{bytes}");
    }
    let schema = Schema::new(vec![Field::new("a", Type::Integer)]);
    assert_eq!(
        write_file(&ArrowFormat, &schema, &[], "snappy").unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn damaged_files_are_errors_of_some_kinds() {
    // Most of what matters is at the end.
    let place = |random: &mut fastrand::Rng, len: usize| {
        let from = if random.bool() { len - len / 4 } else { 0 };
        random.usize(from..len)
    };
    let refused = damaged_files_are_errors(&ArrowFormat, &["none", "lz4", "zstd"], place).unwrap();
    assert!(refused > 1000, "{refused}");
}

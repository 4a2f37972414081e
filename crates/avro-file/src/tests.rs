//! Files that are written are read.

use crate::AvroFormat;
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
    // Avro has integers of 32 and 64 bits alone.
    let read_as = |it: &Type| if *it == Type::TinyInt { Type::Integer } else { it.clone() };
    files_are_read_as_written(&AvroFormat, &["none", "zstd"], read_as).unwrap();
}

#[test]
fn an_empty_file_has_columns() {
    let schema = Schema::new(vec![Field::new("a", Type::Integer)]);
    let bytes = write_file(&AvroFormat, &schema, &[], "none").unwrap();
    let pool = Pool::root("test", None);
    assert_eq!(open_file(&AvroFormat, &bytes, &pool).unwrap().splits(), 0);
    assert!(read_file(&AvroFormat, &bytes, &[0], 10, &pool).unwrap().is_empty());
}

#[test]
fn blocks_are_read_by_splits() {
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let column = Vector::native::<i64>(Type::BigInt, (0..60_000_i64).collect::<Vec<_>>(), None);
    let batches = vec![Batch::new(vec![column], 60_000); 40];
    let bytes = write_file(&AvroFormat, &schema, &batches, "none").unwrap();
    let pool = Pool::root("test", Some(16 << 20));
    let splits = open_file(&AvroFormat, &bytes, &pool).unwrap().splits();
    assert!((2..=4).contains(&splits), "{splits}");
    let found = read_file(&AvroFormat, &bytes, &[0], 8192, &pool).unwrap();
    assert_eq!(found.iter().map(Batch::rows).sum::<usize>(), 40 * 60_000);
    assert_eq!(pool.stats().bytes, 0, "what was reserved is released");
}

#[test]
fn other_bytes_and_options_are_refused() {
    let pool = Pool::root("test", None);
    for bytes in ["", "PAR1", "Obj", "Obj\u{1}\u{2}"] {
        let error =
            open_file(&AvroFormat, &Bytes::from_static(bytes.as_bytes()), &pool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{bytes}");
    }
    let schema = Schema::new(vec![Field::new("a", Type::Integer)]);
    assert_eq!(
        write_file(&AvroFormat, &schema, &[], "snappy").unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn damaged_files_are_errors_of_some_kinds() {
    let place = |random: &mut fastrand::Rng, len: usize| random.usize(..len);
    let refused = damaged_files_are_errors(&AvroFormat, &["none", "zstd"], place).unwrap();
    assert!(refused > 100, "{refused}");
}

//! All files against the Arrow reader.

use super::{arrow_values, data, files_below, read_values};
use std::path::Path;
use volley_types::Value;

/// Equal, with NaN equal to itself. Arrow's reader gives the 16 bytes of a UUID; we keep them as an
/// integer that sorts as they do.
fn same(found: &Value, expected: &Value) -> bool {
    if let (Value::HugeInt(uuid), Value::Varbinary(bytes)) = (found, expected)
        && let Ok(bytes) = <[u8; 16]>::try_from(&**bytes)
    {
        return i128::from_be_bytes(bytes) ^ i128::MIN == *uuid;
    }
    let all_same = |found: &[Value], expected: &[Value]| {
        let mut pairs = found.iter().zip(expected);
        found.len() == expected.len() && pairs.all(|(found, it)| same(found, it))
    };
    match (found, expected) {
        (Value::Array(found), Value::Array(expected))
        | (Value::Row(found), Value::Row(expected)) => {
            return all_same(found, expected);
        }
        (Value::Map(found), Value::Map(expected)) => {
            let parts = |entries: &[(Value, Value)]| -> Vec<Value> {
                entries.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect()
            };
            return all_same(&parts(found), &parts(expected));
        }
        // INT96, which Arrow reads in nanoseconds.
        (Value::Timestamp(micros), Value::BigInt(nanos)) => {
            return micros.checked_mul(1000) == Some(*nanos);
        }
        _ => {}
    }
    format!("{found:?}") == format!("{expected:?}")
}

fn check(path: &str, batch_rows: usize) {
    let expected = arrow_values(path);
    let found = read_values(path, batch_rows).unwrap_or_else(|it| panic!("{path}: {it}"));
    assert_eq!(found.len(), expected.len(), "{path}: columns");
    for (column, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{path}: rows of column {column}");
        for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!(
                same(found, expected),
                "{path} column {column} row {row} in batches of {batch_rows}: {found:?}, not \
                 {expected:?}"
            );
        }
    }
}

#[test]
fn every_file_is_read_as_arrow_reads_it() {
    for path in files_below(Path::new(&data(""))) {
        if path.contains("/bad/") {
            continue;
        }
        for batch_rows in [1, 3, 1024] {
            check(&path, batch_rows);
        }
    }
}

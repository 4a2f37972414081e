//! All files against the Arrow reader.

use super::{arrow_values, data, files_below, read_values};
use std::path::Path;
use volley_types::Value;

/// Equal, with NaN equal to itself.
fn same(left: &Value, right: &Value) -> bool {
    format!("{left:?}") == format!("{right:?}")
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

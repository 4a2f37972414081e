//! The fuzz targets: each function takes any bytes, and panics if the engine misbehaves.
//!
//! ```text
//! parquet   a file: all of its columns are read, with filters and without
//! orc       likewise
//! arrow_file, avro_file  likewise
//! csv, json a file
//! spill     the bytes of a batch
//! presto_page  pages of Presto
//! presto_fragment  the JSON of a plan fragment of Presto: translated, not run
//! native_page  a page between tasks
//! codec     the bytes of a column of a segment
//! delta     frozen changes of a segment
//! log       records of the log of a database
//! manifest  a manifest of a database
//! zones     a block of bounds
//! sql       a text: parsed, bound, optimized, lowered; not run
//! cast      a text, cast to every type and back
//! plan      the bytes of a plan: checked, and run for a moment with little memory
//! ```
//!
//! `fuzz/run` runs them under libFuzzer; the test of this crate runs them over the files of
//! `fuzz/corpus` and `fuzz/crashes`.

mod arrow_file;
mod batch;
mod cast;
mod codec;
mod delta;
mod orc;
mod parquet;
mod plan;
mod presto;
mod query;
mod text;

pub use arrow_file::{arrow_file, avro_file};
pub use batch::{native_page, page_types, presto_page, spill, spill_types};
pub use cast::cast;
pub use codec::{codec, codec_types};
pub use delta::{DELTA_BASE_ROWS, delta, delta_content};
pub use orc::orc;
pub use parquet::parquet;
pub use plan::{plan, plan_content, read_plan};
pub use presto::presto_fragment;
pub use query::{lowered, sql};
pub use text::{csv, json};
pub use volley_storage::fuzzing::{log, manifest, zones};

use std::sync::{Arc, LazyLock};
use volley_error::{Error, ErrorKind};
use volley_function::Registry;
use volley_vector::Batch;

/// What is read is never to blame for an internal error.
fn assert_not_internal(error: &Error) {
    assert!(error.kind() != ErrorKind::Internal, "{error}");
}

/// A target.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 18] = [
    ("arrow_file", arrow_file),
    ("avro_file", avro_file),
    ("parquet", parquet),
    ("spill", spill),
    ("native_page", native_page),
    ("sql", sql),
    ("csv", csv),
    ("json", json),
    ("cast", cast),
    ("plan", plan),
    ("codec", codec),
    ("orc", orc),
    ("presto_page", presto_page),
    ("delta", delta),
    ("log", log),
    ("manifest", manifest),
    ("zones", zones),
    ("presto_fragment", presto_fragment),
];

/// What a reader may charge, in bytes.
const POOL_BYTES: usize = 64 << 20;

/// Rows after which a reader stops: few bytes may encode very many.
const ROWS_MAX: usize = 100_000;

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    Arc::new(registry)
});

/// Loads and reads every value; errors of lazy columns are allowed.
fn look_at(batch: &Batch) {
    for column in batch.columns() {
        let Ok(column) = column.loaded() else { continue };
        let valid = column.validate();
        assert!(valid.is_ok(), "invalid vector: {valid:?}");
        if let Ok(values) = column.slice(0, column.len().min(ROWS_MAX)).to_values() {
            for value in values.iter().take(100) {
                value.display(column.data_type()).to_string();
            }
        }
    }
}

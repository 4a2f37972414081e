//! What tests of several files use.

use std::{path::Path, sync::Arc};
use volley_io::{FileSystems, RandomAccessFile};

/// A local file, opened.
pub(crate) fn open_file(path: &Path) -> Arc<dyn RandomAccessFile> {
    FileSystems::default().open(path.to_str().unwrap()).unwrap()
}

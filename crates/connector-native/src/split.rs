//! Splits as bytes.
//!
//! ```text
//! number  table
//! number  last commit that changed the table
//! number  process, if a transaction has changes of its own: no other process has them; else 0
//! number  segment
//! number  0 inserted rows, or 1 + block
//! ```

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};
use volley_connector::{Split, SplitReader, SplitWriter};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_storage::TableView;

/// The number of this connector in the bytes of splits.
const CONNECTOR: u8 = 18;

/// Drawn once by each process; not 0.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process") | 1);

/// Which rows a split has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitRows {
    /// The number of the segment.
    pub(crate) segment: u32,
    /// The block of rows; `None` for the rows that were inserted.
    pub(crate) block: Option<u32>,
}

impl SplitRows {
    /// The bytes of the split in a view.
    pub(crate) fn to_bytes(self, view: &TableView) -> Vec<u8> {
        let writer =
            version(view).into_iter().fold(SplitWriter::new(CONNECTOR), |to, it| to.number(it));
        let block = self.block.map_or(0, |it| u64::from(it) + 1);
        writer.number(self.segment.into()).number(block).finish()
    }

    /// What a split means in a view.
    ///
    /// # Errors
    ///
    /// Corruption; invalid query: a split of another table or version.
    pub(crate) fn read(split: &Split, view: &TableView, registry: &Registry) -> Result<SplitRows> {
        let mut reader = SplitReader::new(split, CONNECTOR, registry)?;
        for expected in version(view) {
            if reader.number()? != expected {
                let message = "the split is of another table, or another version of the table";
                return Err(Error::invalid_query(message));
            }
        }
        let (segment, block) = (reader.number()?, reader.number()?);
        reader.finish()?;
        let narrow = |it: u64| u32::try_from(it).map_err(|_| no_rows());
        let block = block.checked_sub(1).map(narrow).transpose()?;
        Ok(SplitRows { segment: narrow(segment)?, block })
    }
}

/// Tells versions of tables apart.
fn version(view: &TableView) -> [u64; 3] {
    [view.id.0, view.changed.0, if view.is_private() { *PROCESS } else { 0 }]
}

#[cold]
pub(crate) fn no_rows() -> Error {
    Error::corruption("a split of rows that do not exist")
}

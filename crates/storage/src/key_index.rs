//! Finding rows by the values of a key's columns.
//!
//! ```text
//! base rows of a segment     SegmentIndex   made once, kept in the cache of points
//! rows of committed changes  DeltaIndex     of each version of the segment, extended by commits
//! rows of a transaction      DeltaIndex     of its own layer, extended by statements
//! ```
//!
//! An index gives candidates: rows that had a key with the right hash when they were written. Each
//! is compared with the values that it has in the version that is read, so that no index needs a
//! rollback, and deleted rows stay in it until their segment is written again. Without memory for
//! an index, callers scan.

mod bounds;
mod delta;
mod find;
mod runs;
mod segment;

pub use bounds::{ChangeBounds, ColumnChanges};
pub(crate) use delta::IndexCache;
pub use find::FoundRow;
pub use runs::SortedRuns;
pub(crate) use segment::SegmentIndex;

//! Native tables on disk.
//!
//! ```text
//! Storage    an open database: snapshots, transactions, commits, jobs
//! Version    what is committed at one moment: catalog, tables, segments with changes
//! Changes    what a transaction changed
//! Segment    rows in blocks of chunk files, with bounds to skip by
//! Store      the port to files: append, read, put, list, remove
//! ```
//!
//! Read [`Storage`] first. Storage reaches files by [`Store`] alone: it is append-only and
//! blocking, so that a simulated disk can stand in for a real one and everything above it is
//! deterministic.
//! `docs/formats/storage.md` draws the files. Invariants: nothing that is live is overwritten; what
//! is visible is durable; replay and commit change versions by the same functions. This crate does
//! not know SQL or operators.

pub mod store;
pub mod conformance;
pub mod canary;
mod locks;
mod local_store;
mod ids;
mod block;
mod block_cache;
mod description;
mod chunk_file;
mod bounds;
mod points;
mod segment;
mod numbers;
mod version;
mod changes;
mod table_view;
mod fetch;
mod key_index;
mod apply;
mod record;
mod log;
mod manifest;
mod recent_keys;
mod commit;
mod recovery;
mod follower;
mod salvage;
mod without_manifest;
mod jobs;
mod check;
mod size;
#[doc(hidden)]
pub mod fuzzing;
mod storage;

pub use bounds::{bounds_of, union as union_bounds};
pub use changes::{Changes, ConflictScope, ReferenceHashes, TableChange};
pub use check::CheckReport;
pub use chunk_file::{ChunkFile, ChunkFiles, ChunkWriter, StoredBlock};
pub use description::TableDescription;
pub use ids::Ids;
pub use jobs::Due;
pub use key_index::{ChangeBounds, ColumnChanges, FoundRow, SortedRuns};
pub use local_store::LocalStore;
pub use numbers::Numbers;
pub use salvage::{SALVAGE_ROWS, SalvagedRows};
pub use segment::{BLOCK_ROWS, SEGMENT_ROWS_MAX, Segment, SegmentWriter, ZONE_ROWS, Zones};
pub use storage::{BULK_ROWS, OpenTransaction, Storage, StorageOptions};
pub use store::{Abilities, AppendFile, Expected, Listed, Name, Put, Store, WriteKind};
pub use table_view::{SegmentView, TableView};
pub use version::{SegmentVersion, TableVersion, Version};

/// What to do about damage.
const RESTORE: &str =
    "restore the folder from a copy, or save what can be read: volley salvage DIR --out DIR2";

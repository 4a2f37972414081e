//! Positional delta trees: the changes of a segment, found and merged by position.
//!
//! ```text
//! statement ── names, values ──> Pdt (own)          a transaction's changes
//!                                 │ Layers::conflict, Layers::apply
//! Layers   ── write: Pdt         committed changes in memory, one version per commit
//!          └─ run: Run           frozen changes, as bytes on disk
//!                │ MergePlan::new: once per version
//! scan     ── RangeChanges       live rows, patched columns, inserts
//! rewrite  ── Translator         names of the old segment in the new one
//! ```
//!
//! Read [`RowName`], [`Pdt`], [`Layers`] and [`MergePlan`] first. A segment is a base of rows that
//! never changes; its SIDs are positions there, its RIDs are current positions. Invariants: a row's
//! name is stable while its segment exists; all layers name rows the same way, so that no layer's
//! positions depend on another's; a version is immutable and shares nodes and chunks with others;
//! no entry of a layer lies among the rows that another of its entries covers. This crate does not
//! know files, transactions' order, keys of tables or SQL.
//!
//! The design is that of positional delta trees in Vectorwise and VectorH (Héman et al., SIGMOD
//! 2010; Costea et al., SIGMOD 2016). It differs in that layers are not stacked by position: see
//! [`Layers`].

pub mod bytes;
mod name;
mod budget;
mod entry;
mod tree;
mod values;
mod pdt;
mod layers;
mod point;
mod transaction;
mod commit;
mod changes;
mod plan;
mod merge;
mod run;
mod freeze;
mod translate;

pub use budget::{Budget, Charge};
pub use commit::{Conflict, ConflictKind};
pub use entry::{Change, Entry, Position};
pub use freeze::Frozen;
pub use layers::{Entries, Layer, Layers, View};
pub use merge::{ModifiedValues, RangeChanges, patch_lazy};
pub use name::{Column, Key, PROVISIONAL, Rid, RowId, RowName, SEGMENT_ROWS_MAX, Sid, Stamp};
pub use pdt::Pdt;
pub use plan::{InsertedRows, MergeCounts, MergePlan};
pub use point::ValueAt;
pub use run::Run;
pub use translate::Translator;
pub use tree::{Cursor, Prefix, Tree};
pub use values::{
    Chunk, ChunkList, ColumnValues, InsertChunk, InsertedAt, Inserts, LayerValues, ValueChunk,
};

//! What the engine asks of a data source.
//!
//! ```text
//! Table (schema, statistics) ── scan(request) ──> Scan ── splits ──> queue shared by drivers
//!                                                   └─ source() per driver: split in, batches out
//! RowSink    batches in, a file out
//! Database ── begin ──> Transaction ── define, change ── commit
//!    └─ snapshot ──> Snapshot: CatalogSnapshot (data), tables
//! ```
//!
//! Read [`Table`], [`Scan`] and [`Source`] first. Traits only: this crate does not know formats or
//! operators.

mod bounds;
mod conditions;
mod definition;
mod lazy_batch;
mod lookup;
mod catalog_snapshot;
mod row_changes;
mod database;
mod plan_table;
mod prune;
mod sink;
mod source;
mod split;
mod statistics;
mod table;
mod table_function;
mod table_option;

pub use bounds::{Bounds, compare_values, is_ordered};
pub use catalog_snapshot::{
    CatalogDifference, CatalogSnapshot, DefinedObject, MacroEntry, MacroParameterEntry, ObjectKind,
    RelationEntry, SchemaSnapshot, SequenceEntry, SequenceId, TableEntry, TableId, TypeEntry,
    ViewEntry,
};
pub use conditions::{Bounding, Conditions};
pub use database::{Access, Database, Definition, Mark, Snapshot, TableChange, Transaction};
pub use definition::{
    CheckDefinition, ColumnDefinition, KeyDefinition, OnCommit, StoredTable, TableDefinition,
};
pub use lazy_batch::{MakeLazy, select_lazily};
pub use lookup::{Lookup, LookupKey};
pub use plan_table::PlanTable;
pub use prune::{bounded_columns, may_join, may_match};
pub use row_changes::{Changed, RowChanges, RowUpdates};
pub use sink::{RowSink, SinkFactory};
pub use source::{Scan, ScanMetrics, Source, SourceStep};
pub use split::{ListedSplits, Split, SplitReader, SplitSource, SplitStep, SplitWriter};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use table::{ScanRequest, Table, TableProvider};
pub use table_function::{TableArgument, TableArguments, TableCall, TableFunction};
pub use table_option::TableOption;

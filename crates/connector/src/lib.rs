//! What the engine asks of a data source.
//!
//! ```text
//! Table (schema, statistics) ── scan(request) ──> Scan ── splits ──> queue shared by drivers
//!                                                   └─ source() per driver: split in, batches out
//! RowSink    batches in, a file out
//! FormatExtension ── open(file) ──> FormatFile ── read(split) ──> FormatReader: batches
//! Database ── begin ──> Transaction ── define, change ── commit
//!    └─ snapshot ──> Snapshot: CatalogSnapshot (data), tables
//! ```
//!
//! Read [`Table`], [`Scan`] and [`Source`] first. Traits only: this crate does not know formats or
//! operators.

mod bounds;
mod cancel_check;
mod change_collector;
mod conditions;
mod definition;
mod file_format;
mod foreign_key;
mod key;
mod key_index;
mod key_lookup;
mod lazy_batch;
mod lookup;
mod maintenance;
mod catalog_snapshot;
mod row_changes;
mod database;
mod open_database;
mod plan_table;
mod prune;
mod sink;
mod row_collector;
mod source;
mod split;
mod statistics;
mod table;
mod table_function;
mod table_option;
mod write_lock;

pub use bounds::{Bounds, are_apart, compare_values, is_ordered};
pub use cancel_check::check_at_row;
pub use catalog_snapshot::{
    CatalogDifference, CatalogSnapshot, DefinedObject, MacroEntry, MacroParameterEntry, ObjectKind,
    Reference, ReferencedName, RelationEntry, RemovedObjects, SchemaSnapshot, SequenceEntry,
    SequenceId, TableEntry, TableId, TypeEntry, ViewEntry, keys_of_either, set_or_remove,
};
pub use change_collector::ChangeCollector;
pub use conditions::{Bounding, Conditions};
pub use database::{Access, Database, Definition, Mark, Snapshot, TableChange, Transaction};
pub use definition::{
    CheckDefinition, ColumnDefinition, ForeignKeyDefinition, IndexDefinition, IndexPart,
    KeyDefinition, OnCommit, StoredTable, TableDefinition,
};
pub use file_format::{
    FormatExtension, FormatFile, FormatReader, FormatRegistry, FormatRequest, FormatWriter,
    distinct_columns,
};
pub use foreign_key::{ForeignKeyCheck, ForeignKeyTables, KeyHashes, ReferencedKeys};
pub use key::{Keys, NewKeys, duplicate_key, key_hashes, without_rows};
pub use key_index::{KeyIndex, KeyIndexes};
pub use key_lookup::KeyLookup;
pub use lazy_batch::{MakeLazy, select_lazily, select_lazily_among};
pub use lookup::{Lookup, LookupKey};
pub use maintenance::{DatabaseSize, Maintenance, StoredBlock};
pub use open_database::{DatabaseOpener, DatabaseSource, WriteAccess};
pub use plan_table::PlanTable;
pub use prune::{bounded_columns, may_join, may_match};
pub use row_changes::{Changed, MergeAction, RowChanges, RowUpdates, WriteKind};
pub use row_collector::{BatchMerger, OrderedParts, RowCollector};
pub use sink::{BatchIndex, RowEncoder, RowSink, SinkFactory, SinkRegistry, TableWriter};
pub use source::{Scan, ScanMetrics, Source, SourceStep};
pub use split::{ListedSplits, Split, SplitReader, SplitSource, SplitStep, SplitWriter};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use table::{ColumnField, ScanRequest, Table, TableProvider};
pub use table_function::{TableArgument, TableArguments, TableCall, TableFunction};
pub use table_option::TableOption;
pub use write_lock::{WriteGuard, WriteLock};

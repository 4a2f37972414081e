//! What the engine asks of a data source.
//!
//! ```text
//! Table (schema, statistics) ── scan(request) ──> Scan ── splits ──> queue shared by drivers
//!                                                   └─ source() per driver: split in, batches out
//! RowSink    batches in, a file out
//! ```
//!
//! Read [`Table`], [`Scan`] and [`Source`] first. Traits only: this crate does not know formats or
//! operators.

mod bounds;
mod conditions;
mod definition;
mod lazy_batch;
mod lookup;
mod plan_table;
mod prune;
mod sink;
mod source;
mod statistics;
mod table;
mod table_function;
mod table_option;

pub use bounds::{Bounds, compare_values, is_ordered};
pub use conditions::{Bounding, Conditions};
pub use definition::{
    CheckDefinition, ColumnDefinition, KeyDefinition, OnCommit, StoredTable, TableDefinition,
};
pub use lazy_batch::{MakeLazy, select_lazily};
pub use lookup::{Lookup, LookupKey};
pub use plan_table::PlanTable;
pub use prune::{bounded_columns, may_join, may_match};
pub use sink::{RowSink, SinkFactory};
pub use source::{Scan, ScanMetrics, Source, SourceStep, Split};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use table::{ScanRequest, Table, TableProvider};
pub use table_function::{TableArgument, TableArguments, TableCall, TableFunction};
pub use table_option::TableOption;

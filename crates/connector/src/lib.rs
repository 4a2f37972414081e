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

mod conjuncts;
mod sink;
mod source;
mod statistics;
mod table;

pub use conjuncts::Conjuncts;
pub use sink::{RowSink, SinkFactory};
pub use source::{Scan, ScanMetrics, Source, SourceStep, Split};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use table::{ScanRequest, Table, TableProvider};

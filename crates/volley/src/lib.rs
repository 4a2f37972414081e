//! Volley: SQL and plans, run fast over columnar batches.
//!
//! ```text
//! Session ── sql("SELECT ...") ──> ResultStream ── next() ──> Batch
//!    │  tables, views, settings        └─ collect_arrow() ──> Vec<RecordBatch>
//!    └─ run_plan(PlanBuilder ... build())
//! ```
//!
//! # SQL
//!
//! ```
//! use volley::Session;
//!
//! # fn main() -> volley::Result<()> {
//! let session = Session::new()?;
//! session.sql("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'one'), (2, 'two')) v(n, word)")?;
//! let batches = session.sql("SELECT sum(n) AS total FROM t")?.collect_arrow()?;
//! assert_eq!(batches[0].schema().field(0).name(), "total");
//! # Ok(())
//! # }
//! ```
//!
//! # Plans without SQL
//!
//! See [`PlanBuilder`] and [`Session::run_plan`].
//!
//! This crate wires the others together: it names the connectors, and nothing below it does.

mod session;
mod settings;
mod catalog;
mod planning;
mod statement;
mod copy;
mod explain;
mod result;
mod memory;

pub use result::{Canceller, ResultStream};
pub use session::Session;
pub use settings::Settings;
pub use statement::Outcome;

pub use volley_connector::{Scan, ScanRequest, Source, Table, TableStatistics};
pub use volley_connector_hive::FileTable;
pub use volley_connector_memory::MemoryTable;
pub use volley_error::{Blame, Error, ErrorKind, Result, Span};
pub use volley_exec::{NodeStatistics, OperatorCounts, OperatorStatistics, TaskStatistics};
pub use volley_function::Registry;
pub use volley_memory::{format_bytes, parse_bytes};
pub use volley_plan::{PlanBuilder, PlanNode};
pub use volley_sql::{ParsedStatement, parse};
pub use volley_types::{Field, Schema, Type, Value, row_field_name};
pub use volley_vector::{Batch, Vector, arrow};

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
//! # Statements with parameters
//!
//! See [`Session::prepare`].
//!
//! # Plans without SQL
//!
//! See [`PlanBuilder`] and [`Session::run_plan`]; for plans of another process,
//! [`PlanNode::from_bytes`].
//!
//! This crate wires the others together: it names the connectors, and nothing below it does.

/// The guide of the documentation, whose code blocks are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;

/// The guide to the parts of the engine.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct PartsGuide;

mod named_type;
mod session;
mod session_state;
mod start;
mod access;
mod cache_settings;
mod builder;
mod settings;
mod catalog;
mod attach;
mod planning;
mod distribution;
mod fragment_profile;
mod statement;
mod show_session;
mod unvalidated;
mod changes_in_with;
mod write;
mod new_values;
mod held_rows;
mod point;
mod prepared;
mod inputs;
mod listing;
mod catalog_tables;
mod maintenance;
mod export;
mod repair;
mod readers;
mod reject_scans;
mod file_contents;
mod sniff_csv;
mod csv_options;
mod copy;
mod text_table;
mod copy_from;
mod explain;
mod explain_io;
mod profiles;
mod result;
mod memory;
mod variables;

pub use builder::SessionBuilder;
pub use inputs::{Replacement, Replacements, StatementInputs};
pub use prepared::{Parameter, Prepared};
pub use result::ResultStream;
pub use session::Session;
pub use settings::{ExchangePages, Settings};
pub use statement::Outcome;

pub use repair::{check_database, salvage_database};
/// What tables, databases and sinks are written against.
pub use volley_connector as connector;
pub use volley_connector::{
    PlanTable, Scan, ScanRequest, Source, Table, TableArgument, TableCall, TableFunction,
    TableOption, TableStatistics,
};
pub use volley_connector_hive::FileTable;
pub use volley_connector_memory::{MemoryDatabase, MemoryTable};
pub use volley_connector_native::{
    CheckReport, NativeDatabase, NativeOptions, SalvageReport, SalvagedTable,
};
pub use volley_error::{Blame, Error, ErrorKind, Result, Span};
/// What operators are written against.
pub use volley_exec as exec;
pub use volley_exec::{
    NodeStatistics, OperatorCounts, OperatorProgress, OperatorStatistics, PipelineProgress,
    Priority, Stage, TaskHandle, TaskProgress, TaskStatistics,
};
/// What functions and aggregates are written against.
pub use volley_function as function;
pub use volley_function::Registry;
/// What file systems are written against.
pub use volley_io as io;
pub use volley_io::AccessGate;
pub use volley_memory::{
    ArbitrationPolicy, CancellationToken, Candidate, LargestFirst, Pool, Reservation, format_bytes,
    note_failed_allocation, parse_bytes,
};
pub use volley_plan::{CustomNode, CustomPlanNode, PlanBuilder, PlanNode};
/// What a query did, and how it is shown.
pub use volley_profile::{ProfileNode, QueryProfile, RunProfile};
/// What platforms are written against.
pub use volley_schedule as schedule;
pub use volley_sql::{ParsedStatement, parse, split};
/// What operators keep rows in.
pub use volley_state as state;
pub use volley_types::{Field, Schema, Type, Value, Zone, custom, row_field_name, text::TypeNames};
pub use volley_vector::{Batch, Buffer, Decoded, PlainJson, Rows, Vector, arrow};
/// What formats of pages between tasks are written against.
pub use volley_wire as wire;

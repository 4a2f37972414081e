//! A native worker for Presto.
//!
//! ```text
//! coordinator ── HTTP, JSON ──> server ──> TaskManager ──> WorkerTask ── exec::Task ── drivers
//!                                              │ translate: plan fragment -> PlanNode
//!                                              │ splits ── add_splits
//!      <── pages ── results ── OutputBuffers <─┴─ PageWriter
//! other workers ── pages ──> RemoteSource ──> exec::TaskInput, or SortedInput that merges
//! announce ── PUT /v1/announcement every 5 s ──> coordinator
//! ```
//!
//! Read [`Worker`], `task.rs` and `translate.rs` first. The protocol is that of Presto 0.287 and
//! 0.296. Invariants: HTTP handlers never run the engine; a task that fails reports an error of
//! Presto's; unknown plan nodes, functions and types fail the task and name what is missing. This
//! crate plans nothing, and knows neither operators nor SQL text.

mod units;
mod config;
mod failure;
mod protocol;
mod json;
mod plan_json;
mod type_signature;
mod session_time;
mod translate;
mod catalog;
mod buffer;
mod partition_hash;
mod partition;
mod table_write;
mod sink;
mod connection;
mod sorted_input;
mod exchange_client;
mod task;
mod task_manager;
mod announce;
mod server;
mod worker;

pub use config::{Properties, WorkerConfig};
pub use translate::FragmentTranslator;
pub use worker::{Worker, WorkerParts};

//! The operators: for each plan node, how it is lowered and what runs.
//!
//! ```text
//! PlanNode ── registration: kind of node ──> <node>::lower ──> operators in pipelines
//!                                                                 │ step, accept, finish_input
//!                                                                 v
//!                                              state: rows, hash tables, sorted runs, spilled rows
//! ```
//!
//! Read [`registry`], then `limit` (the smallest operator) and `hash_join` (the largest). One
//! module per plan node; its `lower` is the only function that knows both the node and its
//! operators. Drivers share one `Arc` of state; each has an operator instance of its own.
//! Invariants: no operator blocks a thread; an operator that keeps a batch loads its lazy columns
//! and charges its bytes first. This crate does not know SQL or file formats.

mod registration;
mod cost;
mod dynamic_filters;

mod table_scan;
mod values;
mod filter_project;
mod aggregation;
mod group_id;
mod hash_join;
mod join_output;
mod nested_loop_join;
mod merge_join;
mod order_by;
mod window;
mod top_n;
mod limit;
mod group_limit;
mod repeat;
mod row_order;
mod unnest;
mod sample;
mod unique_id;
mod enforce_single_row;
mod exchange;
mod spool;
mod recursion;
mod table_write;
mod task_input;
mod sub;
mod page_source;
mod page_sink;

#[cfg(test)]
mod pipeline_tests;
#[cfg(test)]
mod test_kit;

pub use page_sink::{PageEncoding, PageOutput, PageOutputConfig, PageOutputEdge};
pub use page_source::{PageInput, PageInputConfig};
pub use registration::{register, registry};

//! Tasks, pipelines, drivers and operators.
//!
//! ```text
//! PlanNode ── lowering ──> pipelines (source, operators, sink)      a driver has one of each
//! Executor ── threads ──> driver ──> Chain: step, accept, step ...  when blocked, off its thread
//! Task ── result queue ──> batches for the owner
//! ```
//!
//! Read [`Operator`] and [`Step`] first, then [`Lowering`] and [`Task`]. Invariants: no operator
//! blocks a thread; batches between operators have at least one row; lazy columns are loaded before
//! a batch is kept or crosses to another driver; what is kept is charged to the operator's pool.
//! This crate does not know file formats.

mod operator;
mod metrics;
mod chain;
mod driver;
mod executor;
mod pipeline;
mod result_queue;
mod task;
mod statistics;
mod lowering;

#[cfg(test)]
mod testing;

mod table_scan;
mod values;
mod kept_exprs;
mod filter_project;
mod aggregation;
mod group_id;
mod hash_join;
mod join_filter;
mod join_output;
mod nested_loop_join;
mod merge_join;
mod order_by;
mod window;
mod top_n;
mod limit;
mod group_limit;
mod repeat;
mod unnest;
mod sample;
mod unique_id;
mod enforce_single_row;
mod local_exchange;
mod local_merge;
mod shared;
mod recursion;
mod table_write;

#[cfg(test)]
mod test_kit;

pub use executor::Executor;
pub use lowering::{LowerNode, Lowering, LoweringRegistry};
pub use metrics::{OperatorCounts, OperatorMetrics};
pub use operator::{BlockedOn, Operator, Spill, Step, StepContext};
pub use pipeline::{OperatorContext, OperatorFactory, PipelineBuilder, TaskContext};
pub use statistics::{NodeStatistics, OperatorStatistics, TaskStatistics};
pub use task::{Priority, Task, TaskConfig, TaskHandle};

//! Tasks, pipelines and drivers: what runs operators, and knows none.
//!
//! ```text
//! PlanNode ── Lowering ──> pipelines (source, operators, sink)      a driver has one of each
//!             └ LoweringRegistry: the kind of node -> the function that adds its operators
//! Executor ── threads ──> driver ──> Chain: step, accept, step ...  when blocked, off its thread
//! Task ── result queue ──> batches for the owner, or a TaskOutput; splits and TaskInputs feed it
//! ```
//!
//! Read [`Operator`] and [`Step`] first, then [`Lowering`] and [`Task`]. This crate owns what
//! connects pipelines: exchanges, merges, the result. Invariants: no operator blocks a thread;
//! batches between operators have at least one row; lazy columns are loaded before a batch is kept
//! or crosses to another driver; an operator charges what it keeps to its pool. This crate does not
//! know any operator of a plan node.

#[cfg(test)]
extern crate self as volley_exec;

mod operator;
mod metrics;
mod timeline;
mod statistics;
mod progress;
mod expr_cache;
mod pipeline;
mod chain;
mod make_chains;
mod sink;
mod transform;
mod queue_ends;
mod local_exchange;
mod local_merge;
mod source_order;
mod ordered_exchange;
mod result_queue;
mod lowering;
mod nested;
mod executor;
mod driver;
mod task;
mod task_input;
#[cfg(test)]
mod testing;

pub use executor::{Executor, Priority};
pub use expr_cache::ExprCache;
pub use local_exchange::Partitioning;
pub use local_merge::merge_queues;
pub use lowering::{BeforePlan, Fusion, Inputs, LowerNode, Lowering, LoweringRegistry, SkipInput};
pub use metrics::{OperatorCounts, OperatorMetrics};
pub use nested::{NestedRun, Turn};
pub use operator::{BlockedOn, Operator, Spill, Step, StepContext};
pub use pipeline::{
    FusedOperator, OperatorContext, OperatorFactory, PipelineBuilder, RowOrder, TaskContext,
};
pub use progress::{
    Emits, OperatorCost, OperatorProgress, PipelineProgress, Stage, TaskMonitor, TaskProgress,
};
pub use queue_ends::{QueueSink, QueueSource};
pub use sink::{BatchSink, SinkOperator};
pub use source_order::SourceOrder;
pub use statistics::{
    NodeStatistics, OperatorStatistics, SPLITS_DONE, SPLITS_TOTAL, StepRecords, TaskStatistics,
};
pub use task::{
    SplitReceiver, Task, TaskConfig, TaskFilterId, TaskFilterListener, TaskFilters, TaskHandle,
    TaskOutput, TaskPorts, TaskSource,
};
pub use task_input::{InputState, TaskInput};
pub use timeline::{DriverState, DriverTimeline, MemorySample, TaskTimeline, TimeSegment};
pub use transform::{Transform, TransformOperator};
/// What filters did, as [`OperatorCounts`] has it.
pub use volley_expression::filter::FilterCounts;

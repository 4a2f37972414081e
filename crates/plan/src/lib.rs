//! Plan nodes: what to run, as plain data.
//!
//! ```text
//! PlanNode ── one variant per node (module `nodes`), inputs behind `Arc`
//!   schema()   the columns that it puts out
//!   Display    an indented tree, as EXPLAIN shows it
//!   check()    whether a plan that comes from elsewhere can run
//!   to_bytes() to run it in another process; from_bytes()
//! PlanBuilder  makes plans by hand
//! ```
//!
//! Read [`PlanNode`] first. Columns are positions in the input. A node that two others share is one
//! `Arc`, wrapped in [`nodes::SharedNode`]. This crate does not know how nodes run.

pub mod nodes;
mod node;
mod walk;
mod properties;
mod print;
mod check;
mod save;
mod builder;

pub use builder::{Columns, PlanBuilder};
pub use node::PlanNode;
pub use nodes::{
    Aggregate, AggregateStep, AggregationNode, AsofJoinNode, Comparison, CustomNode,
    CustomPlanNode, EnforceSingleRowNode, ExchangeKind, FileCompression, FileFormat, FilterNode,
    Frame, FrameBound, FrameOffset, FrameUnits, Generator, GeneratorKind, GroupIdNode,
    GroupLimitNode, GroupingSet, HashJoinNode, JoinKind, KeptRows, LimitNode, LocalExchangeNode,
    MergeJoinNode, MergeKey, NestedLoopJoinNode, OrderByNode, ProjectNode, RangeCondition,
    RecursiveUnionNode, RepeatNode, SampleMethod, SampleNode, SharedNode, SortKey, TableHandle,
    TableScanNode, TableWriteNode, TopNNode, UnionNode, UniqueIdNode, UnnestNode, ValuesNode,
    WindowCall, WindowLimit, WindowNode, WorkingTableNode, WriteOptions,
};
pub use walk::Visit;

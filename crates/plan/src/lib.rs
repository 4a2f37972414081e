//! Plan nodes: what to run, as plain data.
//!
//! ```text
//! PlanNode ── one variant per node (module `nodes`), inputs behind `Arc`
//!   schema()   the output columns
//!   Display    an indented tree, as EXPLAIN prints it
//!   check()    validates a plan from another process
//!   to_bytes(), from_bytes()   serialization
//! sub      sub-operators; expand: nodes as compositions of them
//! DistributedPlan ── fragments of a plan that is cut at its exchanges
//! PlanBuilder  builds plans without SQL
//! ```
//!
//! Read [`PlanNode`] first. Columns are positions in the input. A node with several readers is one
//! `Arc`, wrapped in [`nodes::SpoolNode`]. This crate does not know how nodes run.

pub mod nodes;
pub mod sub;
pub mod expand;
mod node;
mod node_id;
mod distributed;
mod walk;
mod plan_walk;
mod dynamic_filter;
mod properties;
mod print;
mod check;
mod save;
mod builder;

pub use builder::{Columns, PlanBuilder};
pub use distributed::{DistributedPlan, Fragment, FragmentId, FragmentOutput, TaskCount};
pub use dynamic_filter::{AppliedFilter, DynamicFilterId, FilteredScan, MadeFilter, TaskFilter};
pub use node::PlanNode;
pub use node_id::PlanNodeId;
pub use nodes::{
    Aggregate, AggregateStep, AggregationNode, AsofJoinNode, Comparison, CustomNode, CustomNodes,
    CustomPlanNode, EnforceSingleRowNode, ExchangeKind, ExchangeNode, FilterNode, Frame,
    FrameBound, FrameOffset, FrameUnits, Generator, GeneratorKind, GroupIdNode, GroupLimitNode,
    GroupingSet, HashJoinNode, JoinKind, LimitNode, LocalExchangeNode, LoopInvariant,
    MergeJoinNode, MergeKey, NestedLoopJoinNode, OrderByNode, PageSourceNode, ProjectNode,
    RECURRING, RangeCondition, RangeRouting, ReadCustomNode, RecursiveUnionNode, RepeatNode,
    Routing, SampleMethod, SampleNode, SortKey, SpoolNode, TableHandle, TableScanNode,
    TableWriteNode, TaskInputNode, TopNNode, UnionNode, UniqueIdNode, UnnestNode, ValuesNode,
    WindowCall, WindowLimit, WindowNode, WorkingTableNode, WriteTarget,
};
pub use plan_walk::PlanWalk;
pub use walk::Visit;

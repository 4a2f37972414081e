//! One file per node: the struct and what its fields mean.

mod table_scan;
mod values;
mod filter;
mod project;
mod aggregation;
mod hash_join;
mod nested_loop_join;
mod order_by;
mod top_n;
mod limit;
mod group_limit;
mod repeat;
mod union;
mod unique_id;
mod enforce_single_row;
mod local_exchange;
mod shared;
mod table_write;

pub use aggregation::{Aggregate, AggregateStep, AggregationNode};
pub use enforce_single_row::EnforceSingleRowNode;
pub use filter::FilterNode;
pub use group_limit::GroupLimitNode;
pub use hash_join::{HashJoinNode, JoinKind};
pub use limit::LimitNode;
pub use local_exchange::{ExchangeKind, LocalExchangeNode};
pub use nested_loop_join::NestedLoopJoinNode;
pub use order_by::{OrderByNode, SortKey};
pub use project::ProjectNode;
pub use repeat::RepeatNode;
pub use shared::SharedNode;
pub use table_scan::{TableHandle, TableScanNode};
pub use table_write::{FileCompression, FileFormat, TableWriteNode, WriteOptions};
pub use top_n::TopNNode;
pub use union::UnionNode;
pub use unique_id::UniqueIdNode;
pub use values::ValuesNode;

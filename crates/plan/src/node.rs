//! The plan node.

use crate::{PlanNodeId, nodes::*, sub::SubNode};
use std::sync::{Arc, LazyLock};
use volley_types::Schema;

/// A node of a plan.
#[derive(Clone, Debug)]
pub enum PlanNode {
    /// Reads a table.
    TableScan(TableScanNode),
    /// Literal rows.
    Values(ValuesNode),
    /// Keeps rows.
    Filter(FilterNode),
    /// Computes columns.
    Project(ProjectNode),
    /// Groups and aggregates; without aggregates: DISTINCT.
    Aggregation(AggregationNode),
    /// Repeats rows for grouping sets.
    GroupId(GroupIdNode),
    /// Computes window functions.
    Window(WindowNode),
    /// Joins on equal keys.
    HashJoin(HashJoinNode),
    /// Joins on any condition.
    NestedLoopJoin(NestedLoopJoinNode),
    /// Joins each row with the nearest one.
    AsofJoin(AsofJoinNode),
    /// Joins sorted inputs on equal keys.
    MergeJoin(MergeJoinNode),
    /// Sorts.
    OrderBy(OrderByNode),
    /// Sorts and keeps the first rows.
    TopN(TopNNode),
    /// Keeps a range of rows.
    Limit(LimitNode),
    /// Keeps a range of rows of each group.
    GroupLimit(GroupLimitNode),
    /// Repeats rows.
    Repeat(RepeatNode),
    /// Expands rows: elements of lists, series.
    Unnest(UnnestNode),
    /// Keeps rows by chance.
    Sample(SampleNode),
    /// The rows of all inputs.
    Union(UnionNode),
    /// Appends a column of distinct integers.
    UniqueId(UniqueIdNode),
    /// Fails on a second row; a row of nulls when there is none.
    EnforceSingleRow(EnforceSingleRowNode),
    /// Redistributes rows among the drivers of one task.
    LocalExchange(LocalExchangeNode),
    /// A subplan that runs once and is read by several nodes.
    Spool(SpoolNode),
    /// The rows of an input, and of a step that runs again and again.
    RecursiveUnion(RecursiveUnionNode),
    /// Reads rows that a recursion keeps.
    WorkingTable(WorkingTableNode),
    /// Writes files; returns one row: the number of rows written.
    TableWrite(TableWriteNode),
    /// Rows that are pushed into the running task.
    TaskInput(TaskInputNode),
    /// Moves rows between tasks.
    Exchange(ExchangeNode),
    /// Reads rows that other tasks send.
    PageSource(PageSourceNode),
    /// A sub-operator: algorithms are composed from them.
    Sub(SubNode),
    /// What another crate defines.
    Custom(CustomPlanNode),
}

impl PlanNode {
    /// The node's identity.
    pub fn id(&self) -> PlanNodeId {
        match self {
            PlanNode::TableScan(node) => node.node_id,
            PlanNode::Values(node) => node.node_id,
            PlanNode::Filter(node) => node.node_id,
            PlanNode::Project(node) => node.node_id,
            PlanNode::Aggregation(node) => node.node_id,
            PlanNode::GroupId(node) => node.node_id,
            PlanNode::Window(node) => node.node_id,
            PlanNode::HashJoin(node) => node.node_id,
            PlanNode::NestedLoopJoin(node) => node.node_id,
            PlanNode::AsofJoin(node) => node.node_id,
            PlanNode::MergeJoin(node) => node.node_id,
            PlanNode::OrderBy(node) => node.node_id,
            PlanNode::TopN(node) => node.node_id,
            PlanNode::Limit(node) => node.node_id,
            PlanNode::GroupLimit(node) => node.node_id,
            PlanNode::Repeat(node) => node.node_id,
            PlanNode::Unnest(node) => node.node_id,
            PlanNode::Sample(node) => node.node_id,
            PlanNode::Union(node) => node.node_id,
            PlanNode::UniqueId(node) => node.node_id,
            PlanNode::EnforceSingleRow(node) => node.node_id,
            PlanNode::LocalExchange(node) => node.node_id,
            PlanNode::Spool(node) => node.node_id,
            PlanNode::RecursiveUnion(node) => node.node_id,
            PlanNode::WorkingTable(node) => node.node_id,
            PlanNode::TableWrite(node) => node.node_id,
            PlanNode::TaskInput(node) => node.node_id,
            PlanNode::Exchange(node) => node.node_id,
            PlanNode::PageSource(node) => node.node_id,
            PlanNode::Sub(node) => node.node_id,
            PlanNode::Custom(node) => node.node_id,
        }
    }

    pub(crate) fn id_mut(&mut self) -> &mut PlanNodeId {
        match self {
            PlanNode::TableScan(node) => &mut node.node_id,
            PlanNode::Values(node) => &mut node.node_id,
            PlanNode::Filter(node) => &mut node.node_id,
            PlanNode::Project(node) => &mut node.node_id,
            PlanNode::Aggregation(node) => &mut node.node_id,
            PlanNode::GroupId(node) => &mut node.node_id,
            PlanNode::Window(node) => &mut node.node_id,
            PlanNode::HashJoin(node) => &mut node.node_id,
            PlanNode::NestedLoopJoin(node) => &mut node.node_id,
            PlanNode::AsofJoin(node) => &mut node.node_id,
            PlanNode::MergeJoin(node) => &mut node.node_id,
            PlanNode::OrderBy(node) => &mut node.node_id,
            PlanNode::TopN(node) => &mut node.node_id,
            PlanNode::Limit(node) => &mut node.node_id,
            PlanNode::GroupLimit(node) => &mut node.node_id,
            PlanNode::Repeat(node) => &mut node.node_id,
            PlanNode::Unnest(node) => &mut node.node_id,
            PlanNode::Sample(node) => &mut node.node_id,
            PlanNode::Union(node) => &mut node.node_id,
            PlanNode::UniqueId(node) => &mut node.node_id,
            PlanNode::EnforceSingleRow(node) => &mut node.node_id,
            PlanNode::LocalExchange(node) => &mut node.node_id,
            PlanNode::Spool(node) => &mut node.node_id,
            PlanNode::RecursiveUnion(node) => &mut node.node_id,
            PlanNode::WorkingTable(node) => &mut node.node_id,
            PlanNode::TableWrite(node) => &mut node.node_id,
            PlanNode::TaskInput(node) => &mut node.node_id,
            PlanNode::Exchange(node) => &mut node.node_id,
            PlanNode::PageSource(node) => &mut node.node_id,
            PlanNode::Sub(node) => &mut node.node_id,
            PlanNode::Custom(node) => &mut node.node_id,
        }
    }

    /// What kind of node it is, such as `HashJoin`; the name of a node of another crate. Lowering
    /// finds by it how the node runs.
    pub fn kind(&self) -> &str {
        match self {
            PlanNode::TableScan(_) => "TableScan",
            PlanNode::Values(_) => "Values",
            PlanNode::Filter(_) => "Filter",
            PlanNode::Project(_) => "Project",
            PlanNode::Aggregation(_) => "Aggregation",
            PlanNode::GroupId(_) => "GroupId",
            PlanNode::Window(_) => "Window",
            PlanNode::HashJoin(_) => "HashJoin",
            PlanNode::NestedLoopJoin(_) => "NestedLoopJoin",
            PlanNode::AsofJoin(_) => "AsofJoin",
            PlanNode::MergeJoin(_) => "MergeJoin",
            PlanNode::OrderBy(_) => "OrderBy",
            PlanNode::TopN(_) => "TopN",
            PlanNode::Limit(_) => "Limit",
            PlanNode::GroupLimit(_) => "GroupLimit",
            PlanNode::Repeat(_) => "Repeat",
            PlanNode::Unnest(_) => "Unnest",
            PlanNode::Sample(_) => "Sample",
            PlanNode::Union(_) => "Union",
            PlanNode::UniqueId(_) => "UniqueId",
            PlanNode::EnforceSingleRow(_) => "EnforceSingleRow",
            PlanNode::LocalExchange(_) => "LocalExchange",
            PlanNode::Spool(_) => "Shared",
            PlanNode::RecursiveUnion(_) => "RecursiveUnion",
            PlanNode::WorkingTable(_) => "WorkingTable",
            PlanNode::TableWrite(_) => "TableWrite",
            PlanNode::TaskInput(_) => "TaskInput",
            PlanNode::Exchange(_) => "Exchange",
            PlanNode::PageSource(_) => "PageSource",
            PlanNode::Sub(node) => node.op.name(),
            PlanNode::Custom(node) => node.node.name(),
        }
    }

    /// The output columns of the node.
    pub fn schema(&self) -> &Schema {
        match self {
            PlanNode::TableScan(node) => &node.schema,
            PlanNode::Values(node) => &node.schema,
            PlanNode::Filter(node) => node.input.schema(),
            PlanNode::Project(node) => &node.schema,
            PlanNode::Aggregation(node) => &node.schema,
            PlanNode::GroupId(node) => &node.schema,
            PlanNode::Window(node) => &node.schema,
            PlanNode::HashJoin(node) => &node.schema,
            PlanNode::NestedLoopJoin(node) => &node.schema,
            PlanNode::AsofJoin(node) => &node.schema,
            PlanNode::MergeJoin(node) => &node.schema,
            PlanNode::OrderBy(node) => node.input.schema(),
            PlanNode::TopN(node) => node.input.schema(),
            PlanNode::Limit(node) => node.input.schema(),
            PlanNode::GroupLimit(node) => node.input.schema(),
            PlanNode::Repeat(node) => &node.schema,
            PlanNode::Unnest(node) => &node.schema,
            PlanNode::Sample(node) => &node.schema,
            PlanNode::Union(node) => &node.schema,
            PlanNode::UniqueId(node) => &node.schema,
            PlanNode::EnforceSingleRow(node) => node.input.schema(),
            PlanNode::LocalExchange(node) => node.input.schema(),
            PlanNode::Spool(node) => node.input.schema(),
            PlanNode::RecursiveUnion(node) => &node.schema,
            PlanNode::WorkingTable(node) => &node.schema,
            PlanNode::TableWrite(node) => &node.schema,
            PlanNode::TaskInput(node) => &node.schema,
            PlanNode::Exchange(node) => node.input.schema(),
            PlanNode::PageSource(node) => &node.schema,
            PlanNode::Sub(node) => &node.schema,
            PlanNode::Custom(node) => &node.schema,
        }
    }

    /// The node's inputs, in order (join: probe side, then build side; recursion: anchor,
    /// loop-invariant inputs, step).
    pub fn inputs(&self) -> Vec<&Arc<PlanNode>> {
        match self {
            PlanNode::TableScan(_)
            | PlanNode::Values(_)
            | PlanNode::WorkingTable(_)
            | PlanNode::TaskInput(_)
            | PlanNode::PageSource(_) => Vec::new(),
            PlanNode::Filter(node) => vec![&node.input],
            PlanNode::Project(node) => vec![&node.input],
            PlanNode::Aggregation(node) => vec![&node.input],
            PlanNode::GroupId(node) => vec![&node.input],
            PlanNode::Window(node) => vec![&node.input],
            PlanNode::HashJoin(node) => vec![&node.probe, &node.build],
            PlanNode::NestedLoopJoin(node) => vec![&node.probe, &node.build],
            PlanNode::AsofJoin(node) => vec![&node.probe, &node.build],
            PlanNode::MergeJoin(node) => vec![&node.probe, &node.build],
            PlanNode::OrderBy(node) => vec![&node.input],
            PlanNode::TopN(node) => vec![&node.input],
            PlanNode::Limit(node) => vec![&node.input],
            PlanNode::GroupLimit(node) => vec![&node.input],
            PlanNode::Repeat(node) => vec![&node.input],
            PlanNode::Unnest(node) => vec![&node.input],
            PlanNode::Sample(node) => vec![&node.input],
            PlanNode::Union(node) => node.inputs.iter().collect(),
            PlanNode::UniqueId(node) => vec![&node.input],
            PlanNode::EnforceSingleRow(node) => vec![&node.input],
            PlanNode::LocalExchange(node) => vec![&node.input],
            PlanNode::Exchange(node) => vec![&node.input],
            PlanNode::Spool(node) => vec![&node.input],
            PlanNode::RecursiveUnion(node) => {
                let kept = node.kept.iter().map(|it| &it.input);
                [&node.anchor].into_iter().chain(kept).chain([&node.step]).collect()
            }
            PlanNode::TableWrite(node) => vec![&node.input],
            PlanNode::Sub(node) => node.inputs.iter().collect(),
            PlanNode::Custom(node) => node.inputs.iter().collect(),
        }
    }

    /// The node above other inputs with the same columns, in order.
    pub fn with_inputs(&self, inputs: Vec<Arc<PlanNode>>) -> PlanNode {
        let (mut node, mut inputs) = (self.clone(), inputs.into_iter());
        node.for_each_input_mut(&mut |it| {
            if let Some(input) = inputs.next() {
                *it = input;
            }
        });
        node
    }

    /// Calls `f` for every input.
    pub(crate) fn for_each_input_mut(&mut self, f: &mut impl FnMut(&mut Arc<PlanNode>)) {
        match self {
            PlanNode::TableScan(_)
            | PlanNode::Values(_)
            | PlanNode::WorkingTable(_)
            | PlanNode::TaskInput(_)
            | PlanNode::PageSource(_) => {}
            PlanNode::Filter(node) => f(&mut node.input),
            PlanNode::Project(node) => f(&mut node.input),
            PlanNode::Aggregation(node) => f(&mut node.input),
            PlanNode::GroupId(node) => f(&mut node.input),
            PlanNode::Window(node) => f(&mut node.input),
            PlanNode::HashJoin(node) => {
                f(&mut node.probe);
                f(&mut node.build);
            }
            PlanNode::NestedLoopJoin(node) => {
                f(&mut node.probe);
                f(&mut node.build);
            }
            PlanNode::AsofJoin(node) => {
                f(&mut node.probe);
                f(&mut node.build);
            }
            PlanNode::MergeJoin(node) => {
                f(&mut node.probe);
                f(&mut node.build);
            }
            PlanNode::OrderBy(node) => f(&mut node.input),
            PlanNode::TopN(node) => f(&mut node.input),
            PlanNode::Limit(node) => f(&mut node.input),
            PlanNode::GroupLimit(node) => f(&mut node.input),
            PlanNode::Repeat(node) => f(&mut node.input),
            PlanNode::Unnest(node) => f(&mut node.input),
            PlanNode::Sample(node) => f(&mut node.input),
            PlanNode::Union(node) => node.inputs.iter_mut().for_each(f),
            PlanNode::UniqueId(node) => f(&mut node.input),
            PlanNode::EnforceSingleRow(node) => f(&mut node.input),
            PlanNode::LocalExchange(node) => f(&mut node.input),
            PlanNode::Exchange(node) => f(&mut node.input),
            PlanNode::Spool(node) => f(&mut node.input),
            PlanNode::RecursiveUnion(node) => {
                f(&mut node.anchor);
                node.kept.iter_mut().for_each(|it| f(&mut it.input));
                f(&mut node.step);
            }
            PlanNode::TableWrite(node) => f(&mut node.input),
            PlanNode::Sub(node) => node.inputs.iter_mut().for_each(f),
            PlanNode::Custom(node) => node.inputs.iter_mut().for_each(f),
        }
    }
}

/// A node without inputs, in the place of one that is taken out.
pub(crate) fn leaf() -> Arc<PlanNode> {
    Arc::clone(&LEAF)
}

/// What takes the place of an input that is being dropped.
static LEAF: LazyLock<Arc<PlanNode>> = LazyLock::new(|| {
    Arc::new(PlanNode::Values(ValuesNode {
        node_id: PlanNodeId::UNASSIGNED,
        rows: Vec::new(),
        schema: Schema::default(),
    }))
});

impl Drop for PlanNode {
    /// Drops the nodes below with a list instead of recursion, which a deep plan would overflow the
    /// stack with.
    fn drop(&mut self) {
        let mut rest = Vec::new();
        let take = |node: &mut PlanNode, rest: &mut Vec<Arc<PlanNode>>| {
            node.for_each_input_mut(&mut |input| {
                rest.push(std::mem::replace(input, Arc::clone(&LEAF)));
            });
        };
        take(self, &mut rest);
        while let Some(node) = rest.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                take(&mut node, &mut rest);
            }
        }
    }
}

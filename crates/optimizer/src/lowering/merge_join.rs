//! Merge joins: joins on equal keys whose inputs are sorted by the keys.

use super::Lowering;
use std::sync::Arc;
use volley_plan::{
    HashJoinNode, MergeJoinNode, MergeKey, OrderByNode, PlanNode, PlanNodeId, SortKey,
};

/// The rule by which sorted inputs are merged.
const MERGE_JOINS: &str = "merge_joins";

impl Lowering<'_> {
    /// The join, as a merge join where both inputs are sorted by its keys: a hash join is faster
    /// than a sort, but not than rows that are in order.
    pub(super) fn merged(&self, mut node: HashJoinNode) -> PlanNode {
        if node.null_aware {
            return PlanNode::HashJoin(node);
        }
        let sorted = sorted_keys(&node).filter(|_| self.ctx.is_enabled(MERGE_JOINS));
        match sorted {
            Some(keys) => {
                PlanNode::keep_order(&mut node.probe);
                PlanNode::keep_order(&mut node.build);
                merge_join(node, keys)
            }
            None if self.ctx.always_merges_joins => sorted_and_merged(node),
            None => PlanNode::HashJoin(node),
        }
    }
}

/// The keys in an order that both inputs have.
fn sorted_keys(node: &HashJoinNode) -> Option<Vec<MergeKey>> {
    let (probe, build) = (node.probe.order(), node.build.order());
    let mut rest = pairs(node);
    let mut keys = Vec::with_capacity(rest.len());
    for (left, right) in probe.iter().zip(&build) {
        if rest.is_empty() {
            break;
        }
        let is_pair = |it: &(usize, usize, bool)| (it.0, it.1) == (left.column, right.column);
        let (probe, build, nulls_equal) = rest.remove(rest.iter().position(is_pair)?);
        let (descending, nulls_first) = (left.descending, left.nulls_first);
        let is_alike = (right.descending, right.nulls_first) == (descending, nulls_first);
        is_alike.then_some(())?;
        keys.push(MergeKey { probe, build, nulls_equal, descending, nulls_first });
    }
    rest.is_empty().then_some(keys)
}

/// Per key: the columns of both sides, and whether nulls are equal.
fn pairs(node: &HashJoinNode) -> Vec<(usize, usize, bool)> {
    let columns = node.probe_keys.iter().zip(&node.build_keys).zip(&node.nulls_equal);
    columns.map(|((probe, build), nulls_equal)| (*probe, *build, *nulls_equal)).collect()
}

fn merge_join(node: HashJoinNode, keys: Vec<MergeKey>) -> PlanNode {
    let HashJoinNode { probe, build, kind, filter, output, schema, .. } = node;
    PlanNode::MergeJoin(MergeJoinNode {
        node_id: PlanNodeId::UNASSIGNED,
        probe,
        build,
        kind,
        keys,
        filter,
        output,
        schema,
    })
}

fn sorted_and_merged(node: HashJoinNode) -> PlanNode {
    let key = |(probe, build, nulls_equal)| MergeKey {
        probe,
        build,
        nulls_equal,
        descending: false,
        nulls_first: false,
    };
    let keys: Vec<MergeKey> = pairs(&node).into_iter().map(key).collect();
    let sorted = |input: &Arc<PlanNode>, column: fn(&MergeKey) -> usize| {
        let keys: Vec<SortKey> = keys.iter().map(|it| it.sort_key(column(it))).collect();
        Arc::new(PlanNode::OrderBy(OrderByNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: Arc::clone(input),
            keys,
        }))
    };
    let (probe, build) = (sorted(&node.probe, |it| it.probe), sorted(&node.build, |it| it.build));
    merge_join(HashJoinNode { probe, build, ..node }, keys)
}

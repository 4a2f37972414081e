//! Sorts and limits.

use super::expr::Computed;
use super::{Lowered, Lowering, not_this_node};
use crate::expr::{ColumnSet, collect_used};
use volley_error::Result;
use volley_logical::{Plan, SortKey};
use volley_plan::{GroupLimitNode, LimitNode, OrderByNode, PlanNode, PlanNodeId, TopNNode};

/// The rule by which what is sorted is not sorted again.
pub(super) const KEEP_ORDERS: &str = "keep_orders";

impl Lowering<'_> {
    /// The input with its sort keys computed, and their positions.
    fn sort_input(
        &mut self,
        input: &Plan,
        keys: &[SortKey],
        required: &ColumnSet,
    ) -> Result<(Lowered, Vec<volley_plan::SortKey>)> {
        let mut used = required.clone();
        keys.iter().for_each(|it| collect_used(&it.expr, &mut used));
        let input = self.plan(input, &used)?.packed(&used)?;
        let mut computed = Computed::new(input);
        let keys = lower_sort_keys(keys, &mut computed)?;
        Ok((computed.finish(), keys))
    }

    pub(super) fn sort(
        &mut self,
        input: &Plan,
        keys: &[SortKey],
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let (mut input, keys) = self.sort_input(input, keys, required)?;
        if self.is_sorted(&input, &keys) {
            PlanNode::keep_order(&mut input.node);
            return Ok(input.narrowed(required));
        }
        let node = PlanNode::OrderBy(OrderByNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            keys,
        });
        Ok(Lowered::same_columns(node, input.columns).narrowed(required))
    }

    /// Whether rows come in one stream that is sorted by `keys`.
    fn is_sorted(&self, input: &Lowered, keys: &[volley_plan::SortKey]) -> bool {
        let node = &input.node;
        self.ctx.is_enabled(KEEP_ORDERS) && node.is_one_stream() && node.order().starts_with(keys)
    }

    pub(super) fn limit(
        &mut self,
        input: &Plan,
        offset: u64,
        limit: Option<u64>,
        required: &ColumnSet,
    ) -> Result<Lowered> {
        if let (Plan::Sort { input, keys }, Some(limit)) = (input, limit) {
            let (mut input, keys) = self.sort_input(input, keys, required)?;
            let node = match self.is_sorted(&input, &keys) {
                true => {
                    PlanNode::keep_order(&mut input.node);
                    PlanNode::Limit(LimitNode {
                        node_id: PlanNodeId::UNASSIGNED,
                        input: input.node,
                        offset,
                        limit: Some(limit),
                    })
                }
                false => PlanNode::TopN(TopNNode {
                    node_id: PlanNodeId::UNASSIGNED,
                    dynamic_filter: None,
                    input: input.node,
                    keys,
                    offset,
                    limit,
                }),
            };
            return Ok(Lowered::same_columns(node, input.columns).narrowed(required));
        }
        let input = self.plan(input, required)?;
        let node = PlanNode::Limit(LimitNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            offset,
            limit,
        });
        Ok(Lowered::same_columns(node, input.columns))
    }

    pub(super) fn group_limit(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::GroupLimit { input, keys, order, offset, limit } = plan else {
            return Err(not_this_node());
        };
        let mut used = required.clone();
        used.extend(keys);
        let (input, order) = self.sort_input(input, order, &used)?;
        let keys: Vec<usize> = keys.iter().map(|it| input.position(*it)).collect::<Result<_>>()?;
        let by_group = keys.iter().map(|column| {
            let in_order = order.iter().find(|it| it.column == *column);
            in_order.copied().unwrap_or(volley_plan::SortKey {
                column: *column,
                descending: false,
                nulls_first: false,
            })
        });
        let in_group = order.iter().filter(|it| !keys.contains(&it.column)).copied();
        let sorted = OrderByNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            keys: by_group.chain(in_group).collect(),
        };
        let node = PlanNode::GroupLimit(GroupLimitNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: PlanNode::OrderBy(sorted).into(),
            keys,
            offset: *offset,
            limit: *limit,
        });
        Ok(Lowered::same_columns(node, input.columns).narrowed(required))
    }
}

/// Positions of the keys, which are computed where they are not columns.
pub(super) fn lower_sort_keys(
    keys: &[SortKey],
    computed: &mut Computed,
) -> Result<Vec<volley_plan::SortKey>> {
    let key = |key: &SortKey| {
        Ok(volley_plan::SortKey {
            column: computed.position(&key.expr)?,
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    };
    keys.iter().map(key).collect()
}

//! The dynamic filters that nodes of a task make and scans of it apply, by their ids.

mod join_filter;

pub(crate) use join_filter::{JoinFilter, JoinFilterSetter};

use std::{collections::HashMap, sync::Arc};
use volley_exec::Lowering;
use volley_expression::filter::{BoundOrder, DynamicFilter};
use volley_plan::{DynamicFilterId, HashJoinNode, PlanNode, PlanWalk, TableScanNode, TopNNode};

/// Filters that are made in the plan that is lowered. A scan whose filter is made elsewhere does
/// without it.
#[derive(Debug, Default)]
pub(crate) struct DynamicFilters {
    joins: HashMap<DynamicFilterId, Arc<JoinFilter>>,
    bounds: HashMap<DynamicFilterId, Arc<DynamicFilter>>,
}

/// Leaves the filters of a plan where the lowering functions of scans, joins and TopN nodes find
/// them.
pub(crate) fn find(plan: &PlanWalk<'_>, cx: &mut Lowering) {
    if cx.task().dynamic_filters {
        *cx.state() = DynamicFilters::of_plan(plan);
    }
}

impl DynamicFilters {
    fn of_plan(plan: &PlanWalk<'_>) -> DynamicFilters {
        let mut filters = DynamicFilters::default();
        for visit in &plan.visits {
            match visit.node {
                PlanNode::HashJoin(node) => {
                    let made = node.dynamic_filters.iter().map(|it| (it.id, Arc::default()));
                    filters.joins.extend(made);
                }
                PlanNode::TopN(node) => {
                    let made = node.dynamic_filter.zip(node.keys.first()).map(|(id, key)| {
                        let (descending, nulls_first) = (key.descending, key.nulls_first);
                        let order = BoundOrder { descending, nulls_first };
                        (id, Arc::new(DynamicFilter::bounded(order)))
                    });
                    filters.bounds.extend(made);
                }
                _ => {}
            }
        }
        filters
    }

    /// The filters of joins that a scan waits for, each with a column of the table.
    pub(crate) fn of_joins(&self, scan: &TableScanNode) -> Vec<(usize, Arc<JoinFilter>)> {
        let found = scan.dynamic_filters.iter();
        found.filter_map(|it| Some((it.column, Arc::clone(self.joins.get(&it.id)?)))).collect()
    }

    /// The bounds of a scan, each with a column of the table.
    pub(crate) fn bounds(&self, scan: &TableScanNode) -> Vec<(usize, Arc<DynamicFilter>)> {
        let found = scan.dynamic_filters.iter();
        found.filter_map(|it| Some((it.column, Arc::clone(self.bounds.get(&it.id)?)))).collect()
    }

    /// What a join has to set.
    pub(crate) fn to_set(&self, join: &HashJoinNode) -> Vec<JoinFilterSetter> {
        let setter = |it: &volley_plan::MadeFilter| {
            Some(JoinFilterSetter::new(it.key, Arc::clone(self.joins.get(&it.id)?)))
        };
        join.dynamic_filters.iter().filter_map(setter).collect()
    }

    /// What a TopN has to tighten.
    pub(crate) fn to_tighten(&self, top_n: &TopNNode) -> Option<Arc<DynamicFilter>> {
        self.bounds.get(&top_n.dynamic_filter?).cloned()
    }
}

//! The dynamic filters that nodes of a task make and scans of it apply, by their ids.

mod join_filter;

pub(crate) use join_filter::{JoinFilter, JoinFilterSetter};

use std::{collections::HashMap, sync::Arc};
use volley_exec::{Lowering, TaskFilters};
use volley_expression::filter::{BoundOrder, DynamicFilter};
use volley_plan::{DynamicFilterId, HashJoinNode, PlanNode, PlanWalk, TableScanNode, TopNNode};

/// Filters that are made in the plan that is lowered, and those between its task and others.
#[derive(Default)]
pub(crate) struct DynamicFilters {
    joins: HashMap<DynamicFilterId, Arc<JoinFilter>>,
    bounds: HashMap<DynamicFilterId, Arc<DynamicFilter>>,
    of_tasks: Option<Arc<dyn TaskFilters>>,
}

/// Leaves the filters of a plan where the lowering functions of scans, joins and TopN nodes find
/// them.
pub(crate) fn find(plan: &PlanWalk<'_>, cx: &mut Lowering) {
    if cx.task().dynamic_filters {
        let of_tasks = cx.task().ports.filters.clone();
        *cx.state() = DynamicFilters { of_tasks, ..DynamicFilters::of_plan(plan) };
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
        let own = found.filter_map(|it| Some((it.column, Arc::clone(self.joins.get(&it.id)?))));
        own.chain(self.of_other_tasks(scan)).collect()
    }

    fn of_other_tasks(&self, scan: &TableScanNode) -> Vec<(usize, Arc<JoinFilter>)> {
        let Some(of_tasks) = &self.of_tasks else { return Vec::new() };
        let applied = of_tasks.applied_by(scan.node_id).into_iter();
        let filters = applied.map(|(column, id)| {
            let filter: Arc<JoinFilter> = Arc::default();
            let known = Arc::clone(&filter);
            of_tasks.when_known(id, Box::new(move |keys| known.set(keys)));
            (column, filter)
        });
        filters.collect()
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
        let own = join.dynamic_filters.iter().filter_map(setter);
        own.chain(self.for_other_tasks(join)).collect()
    }

    fn for_other_tasks(&self, join: &HashJoinNode) -> Vec<JoinFilterSetter> {
        let Some(of_tasks) = &self.of_tasks else { return Vec::new() };
        let made = of_tasks.made_by(join.node_id).into_iter();
        let setters = made.map(|(key, id)| {
            let of_tasks = Arc::clone(of_tasks);
            let publish = move |keys| of_tasks.publish(id, keys);
            JoinFilterSetter::publishing(key, Box::new(publish))
        });
        setters.collect()
    }

    /// What a TopN has to tighten.
    pub(crate) fn to_tighten(&self, top_n: &TopNNode) -> Option<Arc<DynamicFilter>> {
        self.bounds.get(&top_n.dynamic_filter?).cloned()
    }
}

//! Finds the scans that can skip rows that a TopN will drop.
//!
//! Once a TopN has as many rows as it returns, rows whose first key is after that of the last one
//! are useless: scans drop them, and whole pages and row groups of them. Every node on the way to a
//! scan must pass its rows on while it reads, each by itself and with the key as it is:
//!
//! ```text
//! filter, exchange, union    as it is
//! project                    where the column is passed on
//! join                       a column of the probe side, if it is returned with its own values
//! ```
//!
//! Below operators that count or combine rows, such as a limit, an aggregation or a window, a
//! dropped row would be missed. Operators that hold all rows before they emit one, such as a build
//! side, have read them before there is a bound. Shared subplans have other readers.

use super::column_origin::{keeps_probe_columns, scans_of};
use crate::top_n::is_heap;
use std::{collections::HashMap, sync::Arc};
use volley_exec::PlanWalk;
use volley_expression::filter::{Bound, BoundOrder, DynamicFilter};
use volley_plan::{PlanNode, TopNNode};

/// The filters of all TopN nodes of a plan, by the position of nodes in [`PlanNode::walk`].
#[derive(Debug, Default)]
pub(crate) struct TopNFilters {
    scans: HashMap<usize, Vec<(usize, Arc<DynamicFilter>)>>,
    tops: HashMap<usize, Arc<DynamicFilter>>,
}

impl TopNFilters {
    /// Those of a plan.
    pub(crate) fn of_plan(plan: &PlanWalk<'_>) -> TopNFilters {
        let mut filters = TopNFilters::default();
        for (position, visit) in plan.visits.iter().enumerate() {
            if let PlanNode::TopN(node) = visit.node
                && !visit.repeated
                && is_heap(node)
            {
                filters.add(plan, position, node);
            }
        }
        filters
    }

    /// The filters of a scan, each with a column of the table.
    pub(crate) fn take_scan(&mut self, position: usize) -> Vec<(usize, Arc<DynamicFilter>)> {
        self.scans.remove(&position).unwrap_or_default()
    }

    /// What a TopN has to tighten.
    pub(crate) fn take_top(&mut self, position: usize) -> Option<Arc<DynamicFilter>> {
        self.tops.remove(&position)
    }

    fn add(&mut self, plan: &PlanWalk<'_>, position: usize, node: &TopNNode) {
        let Some(key) = node.keys.first() else { return };
        let data_type = node.input.schema().types().nth(key.column);
        if !data_type.is_some_and(Bound::is_possible_for) {
            return;
        }
        let scans = scans_of(plan, (plan.input(position, 0), key.column), &probe_column);
        if scans.is_empty() {
            return;
        }
        let filter = Arc::new(DynamicFilter::bounded(BoundOrder {
            descending: key.descending,
            nulls_first: key.nulls_first,
        }));
        for (scan, column) in scans {
            self.scans.entry(scan).or_default().push((column, Arc::clone(&filter)));
        }
        self.tops.insert(position, filter);
    }
}

/// Where a column of a join comes from, if from its probe side with its own values.
fn probe_column(plan: &PlanWalk<'_>, position: usize, column: usize) -> Vec<(usize, usize)> {
    let PlanNode::HashJoin(join) = plan.visits[position].node else { return Vec::new() };
    let columns = join.probe.schema().len();
    let column = join.output.get(column).filter(|it| **it < columns);
    let column = column.filter(|_| keeps_probe_columns(join.kind));
    column.map(|it| (plan.input(position, 0), *it)).into_iter().collect()
}

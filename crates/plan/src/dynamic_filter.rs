//! Dynamic filters: which nodes make them while they run, and which scans apply them.
//!
//! ```text
//! HashJoin   for a probe key: the keys of the build side. Scans wait for them.
//! TopN       for its first sort key: the value of the last row that counts so far
//! TableScan  the columns that a filter applies to
//! ```
//!
//! A filter is an id on the node that makes it and on the scans that apply it. They may run in
//! different tasks: a scan whose task has no maker of a filter does not wait for it. The filters
//! of joins for scans in other fragments of a distributed plan are [`TaskFilter`]s.

mod column_origin;
mod join;
mod task_filter;
mod top_n;
#[cfg(test)]
mod tests;

pub use task_filter::{FilteredScan, TaskFilter};

use crate::{PlanNode, PlanWalk};
use std::{
    collections::{HashMap, HashSet},
    fmt,
};
use volley_error::{Error, Result};

/// Identity of a dynamic filter within a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DynamicFilterId(u32);

/// A filter that a node makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MadeFilter {
    /// Which filter.
    pub id: DynamicFilterId,
    /// Its key: a position among the keys of the join; 0 for a TopN.
    pub key: usize,
}

/// A filter that a scan applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AppliedFilter {
    /// Which filter.
    pub id: DynamicFilterId,
    /// To which column, by position in the table.
    pub column: usize,
}

impl DynamicFilterId {
    /// The identity with a number.
    pub const fn new(number: u32) -> DynamicFilterId {
        DynamicFilterId(number)
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for DynamicFilterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A column of a node, both by position: of the node in the walk.
type ColumnOf = (usize, usize);

/// The dynamic filters that a plan can have, by the positions of nodes in its walk.
#[derive(Debug, Default)]
pub(crate) struct DynamicFilters {
    made: HashMap<usize, Vec<MadeFilter>>,
    applied: HashMap<usize, Vec<AppliedFilter>>,
    count: u32,
}

impl DynamicFilters {
    /// Those of a plan.
    pub(crate) fn of_plan(plan: &PlanNode) -> DynamicFilters {
        let (mut filters, walk) = (DynamicFilters::default(), PlanWalk::new(plan));
        for (position, visit) in walk.visits.iter().enumerate() {
            match visit.node {
                PlanNode::HashJoin(node) => join::find(&walk, position, node, &mut filters),
                PlanNode::TopN(node) => top_n::find(&walk, position, node, &mut filters),
                _ => {}
            }
        }
        filters
    }

    /// Adds a filter, unless there is no scan for it.
    fn add(&mut self, maker: usize, key: usize, scans: Vec<ColumnOf>) {
        if scans.is_empty() {
            return;
        }
        let id = DynamicFilterId(self.count);
        self.count += 1;
        self.made.entry(maker).or_default().push(MadeFilter { id, key });
        for (scan, column) in scans {
            self.applied.entry(scan).or_default().push(AppliedFilter { id, column });
        }
    }

    /// Notes the filters of the node at a position on the node.
    pub(crate) fn assign(&mut self, position: usize, node: &mut PlanNode) {
        let made = self.made.remove(&position).unwrap_or_default();
        match node {
            PlanNode::HashJoin(join) => join.dynamic_filters = made,
            PlanNode::TopN(top_n) => top_n.dynamic_filter = made.first().map(|it| it.id),
            PlanNode::TableScan(scan) => {
                scan.dynamic_filters = self.applied.remove(&position).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// The same as pairs of a key of a maker and a column of a scan.
    fn pairs(&self) -> HashSet<(ColumnOf, ColumnOf)> {
        let mut makers = HashMap::new();
        for (maker, made) in &self.made {
            makers.extend(made.iter().map(|it| (it.id, (*maker, it.key))));
        }
        let mut pairs = HashSet::new();
        for (scan, applied) in &self.applied {
            let pair = |it: &AppliedFilter| Some((*makers.get(&it.id)?, (*scan, it.column)));
            pairs.extend(applied.iter().filter_map(pair));
        }
        pairs
    }

    /// Those that the nodes of a plan have noted.
    fn noted(plan: &PlanNode) -> Result<DynamicFilters> {
        let (mut filters, mut ids) = (DynamicFilters::default(), HashSet::new());
        for (position, visit) in plan.walk().iter().enumerate() {
            if visit.repeated {
                continue;
            }
            let made = match visit.node {
                PlanNode::HashJoin(node) => node.dynamic_filters.clone(),
                PlanNode::TopN(node) => {
                    node.dynamic_filter.iter().map(|it| MadeFilter { id: *it, key: 0 }).collect()
                }
                PlanNode::TableScan(node) => {
                    filters.applied.insert(position, node.dynamic_filters.clone());
                    continue;
                }
                _ => continue,
            };
            if let Some(twice) = made.iter().find(|it| !ids.insert(it.id)) {
                let message = format!("several nodes make the dynamic filter {}", twice.id);
                return Err(Error::invalid_query(message).at("plan node", visit.node.label()));
            }
            filters.made.insert(position, made);
        }
        Ok(filters)
    }
}

impl PlanNode {
    /// Checks that each dynamic filter of the plan leaves out only rows that its maker would drop.
    pub(crate) fn check_dynamic_filters(&self) -> Result<()> {
        let noted = DynamicFilters::noted(self)?;
        let possible = DynamicFilters::of_plan(self).pairs();
        let mut makers = self.walk().into_iter().map(|it| match it.node {
            PlanNode::HashJoin(node) => {
                node.dynamic_filters.iter().all(|it| join::makes(node, it.key))
            }
            PlanNode::TopN(node) => node.dynamic_filter.is_none() || top_n::makes(node),
            _ => true,
        });
        if makers.all(|it| it) && noted.pairs().is_subset(&possible) {
            return Ok(());
        }
        Err(Error::invalid_query("a dynamic filter drops rows that are needed"))
    }
}

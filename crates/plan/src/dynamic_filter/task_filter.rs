//! Filters of joins for scans in other fragments.
//!
//! ```text
//! fragment 2    HashJoin(PageSource of 0, PageSource of 1)     makes the keys of its build side
//! fragment 0    TableScan                                      leaves out what is not among them
//! ```
//!
//! A probe key is followed to the page sources of the join's fragment, and on in the fragments that
//! send their rows, as within a plan. A fragment with several readers is not entered: the others
//! need all rows. Each task of the join has a part of the keys; the filter is their union.
//!
//! Waiting for filters cannot become a circle: the fragments of a build side do not depend on those
//! of the probe side, since only shared subplans are below both.

use super::join;
use crate::{DistributedPlan, FragmentId, PlanNode, PlanNodeId, PlanWalk};

/// A filter of a key of a join, for scans in other fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFilter {
    /// The fragment of the join.
    pub fragment: FragmentId,
    /// The join.
    pub join: PlanNodeId,
    /// The position of the key among those of the join.
    pub key: usize,
    /// What applies the filter; not empty.
    pub scans: Vec<FilteredScan>,
}

/// A scan that applies a filter of another fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilteredScan {
    /// The fragment of the scan.
    pub fragment: FragmentId,
    /// The scan.
    pub scan: PlanNodeId,
    /// The column, by position in the table.
    pub column: usize,
}

impl DistributedPlan {
    /// The filters of joins for scans in other fragments, in the order of fragments and nodes.
    pub fn task_filters(&self) -> Vec<TaskFilter> {
        let walks: Vec<_> = self.fragments.iter().map(|it| PlanWalk::new(&it.plan)).collect();
        let mut filters = Vec::new();
        for (walk, number) in walks.iter().zip(0..) {
            for (position, visit) in walk.visits.iter().enumerate() {
                let PlanNode::HashJoin(node) = visit.node else { continue };
                for (key, column) in node.probe_keys.iter().enumerate() {
                    if !join::makes(node, key) {
                        continue;
                    }
                    let scans = self.scans(&walks, number, (walk.input(position, 0), *column));
                    if !scans.is_empty() {
                        let (fragment, join) = (FragmentId(number), node.node_id);
                        filters.push(TaskFilter { fragment, join, key, scans });
                    }
                }
            }
        }
        filters
    }

    /// The scans of other fragments that a column of the node at a position comes from.
    fn scans(
        &self,
        walks: &[PlanWalk<'_>],
        fragment: u32,
        from: (usize, usize),
    ) -> Vec<FilteredScan> {
        let mut scans = Vec::new();
        let mut rest = vec![(fragment, from)];
        while let Some((number, from)) = rest.pop() {
            let Some(walk) = walks.get(number as usize) else { continue };
            let found = join::sources(walk, from);
            for (position, column) in found.pages {
                let Some(PlanNode::PageSource(node)) = walk.visits.get(position).map(|it| it.node)
                else {
                    continue;
                };
                let sender = self.fragments.get(node.fragment.0 as usize);
                // Senders come before their readers: this ends.
                if sender.is_some_and(|it| it.outputs.len() == 1) && node.fragment.0 < number {
                    rest.push((node.fragment.0, (0, column)));
                }
            }
            if number == fragment {
                // The join's own task filters these.
                continue;
            }
            for (position, column) in found.scans {
                let scan = walk.visits[position].node.id();
                scans.push(FilteredScan { fragment: FragmentId(number), scan, column });
            }
        }
        scans
    }
}

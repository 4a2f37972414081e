//! What the tasks of a distributed plan did.

use crate::FilterStatistics;
use std::{sync::Arc, time::Duration};
use volley_exchange::LaneSize;
use volley_exec::TaskStatistics;
use volley_operators::PageOutput;

/// What all tasks of a distributed plan did so far.
#[derive(Clone, Debug)]
pub struct QueryStatistics {
    /// By fragment, over its tasks.
    pub fragments: Vec<TaskStatistics>,
    /// By fragment, then by output.
    pub edges: Vec<Vec<EdgeStatistics>>,
    /// Dynamic filters of joins for scans of other fragments.
    pub filters: Vec<FilterStatistics>,
}

/// What crossed an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EdgeStatistics {
    /// The sums over all lanes of all senders.
    pub total: LaneSize,
    /// The rows of the reading task that gets the most.
    pub rows_max: u64,
    /// The number of lanes of each sender.
    pub lanes: usize,
}

impl EdgeStatistics {
    /// How many times the mean the reading task with the most rows gets; 1 without rows.
    pub fn skew(&self) -> f64 {
        if self.total.rows == 0 {
            return 1.0;
        }
        self.rows_max as f64 * self.lanes as f64 / self.total.rows as f64
    }
}

/// What crossed an exchange, by the number of the reading task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeLanes {
    pub(crate) total: LaneSize,
    pub(crate) rows: Vec<u64>,
}

impl EdgeLanes {
    pub(crate) fn add(&mut self, other: &EdgeLanes) {
        add_sizes(&mut self.total, &other.total);
        self.rows.resize(self.rows.len().max(other.rows.len()), 0);
        self.rows.iter_mut().zip(&other.rows).for_each(|(own, rows)| *own += rows);
    }
}

impl EdgeStatistics {
    pub(crate) fn of(lanes: &EdgeLanes) -> EdgeStatistics {
        EdgeStatistics {
            total: lanes.total,
            rows_max: lanes.rows.iter().copied().max().unwrap_or(0),
            lanes: lanes.rows.len(),
        }
    }
}

/// The outputs of a fragment, over its tasks.
pub(crate) fn edges(tasks: &[Arc<PageOutput>]) -> Vec<EdgeLanes> {
    let mut edges: Vec<EdgeLanes> = Vec::new();
    for task in tasks {
        let outputs = task.statistics().into_iter().map(|lanes| {
            let mut total = LaneSize::default();
            lanes.iter().for_each(|it| add_sizes(&mut total, it));
            EdgeLanes { total, rows: lanes.iter().map(|it| it.rows).collect() }
        });
        for (output, lanes) in outputs.enumerate() {
            match edges.get_mut(output) {
                Some(edge) => edge.add(&lanes),
                None => edges.push(lanes),
            }
        }
    }
    edges
}

fn add_sizes(total: &mut LaneSize, size: &LaneSize) {
    total.pages += size.pages;
    total.rows += size.rows;
    total.bytes += size.bytes;
    total.sent_bytes += size.sent_bytes;
    total.overflow_bytes += size.overflow_bytes;
}

impl QueryStatistics {
    /// The sum of a named counter over all operators of all tasks.
    pub fn total(&self, name: &str) -> u64 {
        self.fragments.iter().map(|it| it.total(name)).sum()
    }

    /// Time on threads of all operators.
    pub fn busy(&self) -> Duration {
        self.fragments.iter().map(TaskStatistics::busy).sum()
    }

    /// The operators of all tasks in one list.
    pub fn into_operators(self) -> TaskStatistics {
        TaskStatistics { nodes: self.fragments.into_iter().flat_map(|it| it.nodes).collect() }
    }
}

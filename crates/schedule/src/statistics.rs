//! What the tasks of a distributed plan did.

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

/// The outputs of a fragment, over its tasks.
pub(crate) fn edges(tasks: &[Arc<PageOutput>]) -> Vec<EdgeStatistics> {
    let mut edges: Vec<(LaneSize, Vec<u64>)> = Vec::new();
    for task in tasks {
        for (output, lanes) in task.statistics().into_iter().enumerate() {
            if edges.len() <= output {
                edges.push((LaneSize::default(), vec![0; lanes.len()]));
            }
            let (total, rows) = &mut edges[output];
            for (lane, size) in lanes.iter().enumerate() {
                total.pages += size.pages;
                total.rows += size.rows;
                total.bytes += size.bytes;
                total.sent_bytes += size.sent_bytes;
                total.overflow_bytes += size.overflow_bytes;
                if let Some(rows) = rows.get_mut(lane) {
                    *rows += size.rows;
                }
            }
        }
    }
    let edge = |(total, rows): (LaneSize, Vec<u64>)| EdgeStatistics {
        total,
        rows_max: rows.iter().copied().max().unwrap_or(0),
        lanes: rows.len(),
    };
    edges.into_iter().map(edge).collect()
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

//! What the tasks of one process did, and as bytes, for the process that answers the query.
//!
//! ```text
//! u32 fragments, then for each:
//!     u32 nodes, then for each: u32 id, u32 operators, then for each: name, u32 pipeline,
//!         u32 position, u64 peak bytes, u32 drivers, then the counts of each
//!     u32 outputs, then for each: five u64 of all lanes, u32 lanes, u64 rows of each
//! counts   five u64: rows and batches in and out, nanoseconds on a thread; u32 reasons, then for
//!          each: u8 reason, u64 nanoseconds; u32 counters, then for each: name, u64; the same
//!          for encodings; u32 filters, then for each: text as a name, u64 rows in, u64 rows out
//! name     u32 bytes, UTF-8
//! ```

use crate::statistics::{EdgeLanes, EdgeStatistics, QueryStatistics};
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use volley_exchange::LaneSize;
use volley_exec::{
    BlockedOn, FilterCounts, NodeStatistics, OperatorCounts, OperatorStatistics, TaskStatistics,
};
use volley_plan::PlanNodeId;

/// Names of operators and counters that other processes can have; further ones are left out.
const NAMES_MAX: usize = 4096;

/// Bytes of such a name.
const NAME_BYTES_MAX: usize = 64;

/// What the tasks of a process did.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessStatistics {
    /// By fragment.
    pub(crate) fragments: Vec<TaskStatistics>,
    /// By fragment, then by output.
    pub(crate) edges: Vec<Vec<EdgeLanes>>,
}

impl ProcessStatistics {
    /// Adds what the tasks of another process did.
    pub(crate) fn add(&mut self, other: ProcessStatistics) {
        for (id, fragment) in other.fragments.into_iter().enumerate() {
            let Some(own) = self.fragments.get_mut(id) else { continue };
            let both = [std::mem::take(&mut own.nodes), fragment.nodes];
            *own = TaskStatistics::of_tasks(both.map(|nodes| TaskStatistics { nodes }));
        }
        for (id, edges) in other.edges.into_iter().enumerate() {
            let Some(own) = self.edges.get_mut(id) else { continue };
            own.resize(own.len().max(edges.len()), EdgeLanes::default());
            own.iter_mut().zip(&edges).for_each(|(own, edge)| own.add(edge));
        }
    }

    /// The statistics of the query.
    pub(crate) fn into_query(self) -> QueryStatistics {
        let edges = |it: Vec<EdgeLanes>| it.iter().map(EdgeStatistics::of).collect();
        QueryStatistics {
            fragments: self.fragments,
            edges: self.edges.into_iter().map(edges).collect(),
            filters: Vec::new(),
        }
    }

    /// The bytes; see the module's drawing.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Output(Vec::new());
        out.count(self.fragments.len());
        for (id, fragment) in self.fragments.iter().enumerate() {
            out.count(fragment.nodes.len());
            for node in &fragment.nodes {
                out.count(node.id.number() as usize);
                out.count(node.operators.len());
                node.operators.iter().for_each(|it| out.operator(it));
            }
            let edges = self.edges.get(id).map_or(&[][..], Vec::as_slice);
            out.count(edges.len());
            edges.iter().for_each(|it| out.edge(it));
        }
        out.0
    }

    /// The statistics of [`ProcessStatistics::to_bytes`]; `None` for other bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<ProcessStatistics> {
        let mut from = Input(bytes);
        let mut found = ProcessStatistics::default();
        for _ in 0..from.u32()? {
            let mut nodes = Vec::new();
            for _ in 0..from.u32()? {
                let id = PlanNodeId::new(from.u32()?);
                let count = from.u32()?;
                let operators = (0..count).map(|_| from.operator()).collect::<Option<Vec<_>>>()?;
                nodes.push(NodeStatistics { id, operators });
            }
            found.fragments.push(TaskStatistics { nodes });
            let count = from.u32()?;
            found.edges.push((0..count).map(|_| from.edge()).collect::<Option<Vec<_>>>()?);
        }
        from.0.is_empty().then_some(found)
    }
}

struct Output(Vec<u8>);

impl Output {
    fn count(&mut self, count: usize) {
        self.0.extend_from_slice(&(count as u32).to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn name(&mut self, name: &str) {
        self.count(name.len());
        self.0.extend_from_slice(name.as_bytes());
    }

    fn operator(&mut self, operator: &OperatorStatistics) {
        self.name(operator.name);
        self.count(operator.pipeline);
        self.count(operator.position);
        self.number(operator.peak_bytes as u64);
        self.count(operator.drivers.len());
        for counts in &operator.drivers {
            let OperatorCounts { rows_in, batches_in, rows_out, batches_out, .. } = counts;
            for number in [rows_in, batches_in, rows_out, batches_out] {
                self.number(*number);
            }
            self.number(nanos(counts.busy));
            self.count(counts.blocked.len());
            for (reason, time) in &counts.blocked {
                let number = BlockedOn::ALL.iter().position(|it| it == reason);
                self.0.push(number.unwrap_or_default() as u8);
                self.number(nanos(*time));
            }
            self.count(counts.named.len());
            for (name, value) in &counts.named {
                self.name(name);
                self.number(*value);
            }
            self.count(counts.encodings.len());
            for (name, value) in &counts.encodings {
                self.name(name);
                self.number(*value);
            }
            self.count(counts.filters.len());
            for filter in &counts.filters {
                self.name(&filter.text);
                self.number(filter.rows_in);
                self.number(filter.rows_out);
            }
        }
    }

    fn edge(&mut self, edge: &EdgeLanes) {
        let LaneSize { pages, rows, bytes, sent_bytes, overflow_bytes } = edge.total;
        [pages, rows, bytes, sent_bytes, overflow_bytes].into_iter().for_each(|it| self.number(it));
        self.count(edge.rows.len());
        edge.rows.iter().for_each(|it| self.number(*it));
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What is left of the bytes.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|it| u32::from_le_bytes(*it))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|it| u64::from_le_bytes(*it))
    }

    /// The outer `None`: damaged; the inner one: a name too many.
    fn name(&mut self) -> Option<Option<&'static str>> {
        let len = self.u32()? as usize;
        let name = std::str::from_utf8(self.take(len)?).ok()?;
        Some(interned(name))
    }

    fn operator(&mut self) -> Option<OperatorStatistics> {
        let name = self.name()?.unwrap_or("operator");
        let (pipeline, position) = (self.u32()? as usize, self.u32()? as usize);
        let peak_bytes = usize::try_from(self.u64()?).ok()?;
        let count = self.u32()?;
        let drivers = (0..count).map(|_| self.counts()).collect::<Option<Vec<_>>>()?;
        Some(OperatorStatistics { name, pipeline, position, peak_bytes, drivers })
    }

    fn counts(&mut self) -> Option<OperatorCounts> {
        let (rows_in, batches_in) = (self.u64()?, self.u64()?);
        let (rows_out, batches_out) = (self.u64()?, self.u64()?);
        let busy = Duration::from_nanos(self.u64()?);
        let mut blocked = Vec::new();
        for _ in 0..self.u32()? {
            let reason = usize::from(*self.take(1)?.first()?);
            blocked.push((*BlockedOn::ALL.get(reason)?, Duration::from_nanos(self.u64()?)));
        }
        let (named, encodings) = (self.named()?, self.named()?);
        let filters = (0..self.u32()?).map(|_| self.filter()).collect::<Option<Vec<_>>>()?;
        Some(OperatorCounts {
            rows_in,
            batches_in,
            rows_out,
            batches_out,
            busy,
            blocked,
            named,
            encodings,
            filters,
        })
    }

    fn named(&mut self) -> Option<Vec<(&'static str, u64)>> {
        let mut named = Vec::new();
        for _ in 0..self.u32()? {
            let (name, value) = (self.name()?, self.u64()?);
            named.extend(name.map(|it| (it, value)));
        }
        Some(named)
    }

    fn filter(&mut self) -> Option<FilterCounts> {
        let len = self.u32()? as usize;
        let text = std::str::from_utf8(self.take(len)?).ok()?.to_owned();
        Some(FilterCounts { text, rows_in: self.u64()?, rows_out: self.u64()? })
    }

    fn edge(&mut self) -> Option<EdgeLanes> {
        let (pages, rows, bytes) = (self.u64()?, self.u64()?, self.u64()?);
        let (sent_bytes, overflow_bytes) = (self.u64()?, self.u64()?);
        let total = LaneSize { pages, rows, bytes, sent_bytes, overflow_bytes };
        let count = self.u32()?;
        let rows = (0..count).map(|_| self.u64()).collect::<Option<Vec<_>>>()?;
        Some(EdgeLanes { total, rows })
    }
}

/// The name, for the rest of the process; `None` for names that are too long or too many.
fn interned(name: &str) -> Option<&'static str> {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if name.len() > NAME_BYTES_MAX || names.len() >= NAMES_MAX {
        return None;
    }
    let name: &'static str = String::leak(name.to_owned());
    names.insert(name);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(scale: u64) -> ProcessStatistics {
        let counts = OperatorCounts {
            rows_in: 3 * scale,
            batches_in: 1,
            rows_out: 4,
            batches_out: 2,
            busy: Duration::from_nanos(77),
            blocked: vec![(BlockedOn::Reader, Duration::from_micros(5))],
            named: vec![("groups", 9 * scale)],
            encodings: vec![("flat", 3 * scale)],
            filters: vec![FilterCounts {
                text: "#0 > größer".to_owned(),
                rows_in: 5 * scale,
                rows_out: scale,
            }],
        };
        let operator = OperatorStatistics {
            name: "aggregation",
            pipeline: 1,
            position: 2,
            peak_bytes: 1000,
            drivers: vec![counts, OperatorCounts::default()],
        };
        let node = NodeStatistics { id: PlanNodeId::new(4), operators: vec![operator] };
        let total =
            LaneSize { pages: 1, rows: 6 * scale, bytes: 3, sent_bytes: 4, overflow_bytes: 5 };
        let edge = EdgeLanes { total, rows: vec![scale, 5 * scale] };
        ProcessStatistics {
            fragments: vec![TaskStatistics { nodes: vec![node] }, TaskStatistics { nodes: vec![] }],
            edges: vec![vec![edge], Vec::new()],
        }
    }

    #[test]
    fn statistics_come_back() {
        let bytes = statistics(1).to_bytes();
        let found = ProcessStatistics::from_bytes(&bytes).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", statistics(1)));
        for end in 0..bytes.len() {
            assert!(ProcessStatistics::from_bytes(&bytes[..end]).is_none());
        }
        assert!(interned(&"x".repeat(NAME_BYTES_MAX + 1)).is_none());
    }

    #[test]
    fn processes_are_added_up() {
        let mut all = statistics(1);
        all.add(ProcessStatistics::from_bytes(&statistics(10).to_bytes()).unwrap());
        let query = all.into_query();
        assert_eq!(query.total("groups"), 99);
        let operator = &query.fragments[0].nodes[0].operators[0];
        assert_eq!((operator.peak_bytes, operator.drivers.len()), (2000, 4));
        let edge = &query.edges[0][0];
        assert_eq!((edge.total.rows, edge.rows_max, edge.lanes), (66, 55, 2));
    }
}

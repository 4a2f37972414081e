//! The fragments of a distributed plan, and what their tasks did, as one profile.
//!
//! ```text
//! fragment 1: Limit ── PageSource            Limit ── PageSource
//!                                        =>                 └── Aggregation ── TableScan
//! fragment 0: Aggregation ── TableScan       nodes and pipelines numbered anew, drivers of all
//!                                            tasks beside each other
//! ```

use crate::{QueryProfile, RunProfile, query_profile::TreeLine};
use std::{collections::HashMap, sync::Arc};
use volley_exec::{TaskStatistics, TaskTimeline};
use volley_plan::{PlanNode, PlanNodeId};

/// A fragment of a distributed plan.
#[derive(Clone, Debug)]
pub struct FragmentRun {
    /// How many tasks run it, and where its rows go, in one line.
    pub title: String,
    /// What each task runs.
    pub plan: Arc<PlanNode>,
    /// What each task did; empty when the plan did not run.
    pub tasks: Vec<(TaskStatistics, TaskTimeline)>,
}

/// A fragment as a profile of its own, and how its numbers change.
struct Renumbered {
    profile: QueryProfile,
    /// By position of a node in `profile`: the fragment whose rows it reads.
    reads: HashMap<usize, usize>,
    tasks: usize,
    first_node: u32,
    /// The position of its root among all nodes.
    position: usize,
}

impl QueryProfile {
    /// The profile of a plan in fragments, in the order of the plan: readers come after those that
    /// send them rows. Time lines are those of all tasks; tasks that began later are shown as if
    /// they had begun with the others.
    pub fn of_fragments(fragments: Vec<FragmentRun>) -> QueryProfile {
        let mut whole = QueryProfile::default();
        let has_run = fragments.iter().any(|it| !it.tasks.is_empty());
        let mut run = RunProfile::default();
        let (mut first_node, mut first_pipeline) = (0, 0);
        let mut parts = Vec::with_capacity(fragments.len());
        for fragment in fragments {
            let tasks = fragment.tasks.len();
            whole.fragments.push(fragment.title);
            let mut profile = QueryProfile::of_plan(&fragment.plan, &[]);
            let (statistics, timelines): (Vec<_>, Vec<_>) = fragment.tasks.into_iter().unzip();
            let statistics = TaskStatistics::of_tasks(statistics);
            profile = profile.with_run(statistics, TaskTimeline::default(), None);
            let pipelines = renumber(&mut profile, timelines, first_pipeline, &mut run);
            let reads = reads(&fragment.plan, &profile);
            let next = first_node + profile.nodes.len() as u32;
            parts.push(Renumbered { profile, reads, tasks, first_node, position: 0 });
            (first_node, first_pipeline) = (next, first_pipeline + pipelines);
        }
        whole.take_nodes(&mut parts);
        whole.lines = lines(&parts);
        if has_run {
            run.peak_bytes = run.memory.iter().map(|it| it.bytes).max().unwrap_or(0);
            whole.run = Some(run);
        }
        whole
    }

    /// Takes the nodes of all fragments: readers first, under numbers that no other has.
    fn take_nodes(&mut self, parts: &mut [Renumbered]) {
        let roots: Vec<u32> = parts.iter().map(|it| it.first_node).collect();
        for (fragment, part) in parts.iter_mut().enumerate().rev() {
            part.position = self.nodes.len();
            let moved = |id: PlanNodeId| PlanNodeId::new(part.first_node + id.number());
            for (position, mut node) in part.profile.nodes.drain(..).enumerate() {
                node.id = moved(node.id);
                node.inputs.iter_mut().for_each(|it| *it = moved(*it));
                let read = part.reads.get(&position).and_then(|it| roots.get(*it));
                node.inputs.extend(read.map(|it| PlanNodeId::new(*it)));
                node.fragment = Some(fragment);
                node.tasks = part.tasks.max(1);
                self.nodes.push(node);
            }
        }
    }
}

/// Gives pipelines numbers from `first` on, and adds the time lines of the tasks to those of all;
/// returns how many pipelines there are.
fn renumber(
    profile: &mut QueryProfile,
    timelines: Vec<TaskTimeline>,
    first: usize,
    run: &mut RunProfile,
) -> usize {
    let mut pipelines = 0;
    for operator in profile.nodes.iter_mut().flat_map(|it| &mut it.operators) {
        pipelines = pipelines.max(operator.pipeline + 1);
        operator.pipeline += first;
    }
    // Drivers of a pipeline that earlier tasks have.
    let mut drivers: HashMap<usize, usize> = HashMap::new();
    for timeline in timelines {
        run.elapsed = run.elapsed.max(timeline.elapsed);
        // All tasks hold the memory of one query.
        if timeline.memory.len() > run.memory.len() {
            run.memory = timeline.memory;
        }
        let before = drivers.clone();
        for mut line in timeline.drivers {
            pipelines = pipelines.max(line.pipeline + 1);
            *drivers.entry(line.pipeline).or_default() += 1;
            line.driver += before.get(&line.pipeline).copied().unwrap_or(0);
            line.pipeline += first;
            run.drivers.push(line);
        }
    }
    pipelines
}

/// The fragment that each node of a profile reads rows from.
fn reads(plan: &PlanNode, profile: &QueryProfile) -> HashMap<usize, usize> {
    let positions = profile.positions();
    let source = |node: &PlanNode| match node {
        PlanNode::PageSource(source) => {
            Some((*positions.get(&source.node_id)?, source.fragment.0 as usize))
        }
        _ => None,
    };
    plan.walk().into_iter().filter_map(|it| source(it.node)).collect()
}

/// The lines of the whole plan: those of a fragment stand below the first node that reads it.
fn lines(parts: &[Renumbered]) -> Vec<TreeLine> {
    let mut lines = Vec::new();
    let mut is_shown = vec![false; parts.len()];
    // Fragments and where they go on, and their depth.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    open.extend(parts.len().checked_sub(1).map(|last| (last, 0, 0)));
    while let Some((fragment, next, depth)) = open.pop() {
        let Some(part) = parts.get(fragment) else { continue };
        let Some(line) = part.profile.lines.get(next) else { continue };
        open.push((fragment, next + 1, depth));
        let (node, depth) = (part.position + line.node, depth + line.depth);
        lines.push(TreeLine { node, depth, repeated: line.repeated });
        let Some(read) = part.reads.get(&line.node).filter(|_| !line.repeated) else { continue };
        match is_shown.get_mut(*read) {
            Some(shown) if !*shown => {
                *shown = true;
                open.push((*read, 0, depth + 1));
            }
            _ => {
                let root = parts.get(*read).map_or(0, |it| it.position);
                lines.push(TreeLine { node: root, depth: depth + 1, repeated: true });
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, profile, runs};
    use serde_json::Value;

    #[test]
    fn tasks_are_beside_each_other_and_sums_are_those_of_all() {
        let one = profile();
        let fragment = FragmentRun { title: "tasks=all".to_owned(), plan: plan(), tasks: runs(3) };
        let three = QueryProfile::of_fragments(vec![fragment]);
        assert_eq!(three.busy(), one.busy() * 3);
        assert_eq!(three.total("spilled bytes"), one.total("spilled bytes") * 3);
        let probe = &three.nodes[1].operators[1];
        assert_eq!((probe.drivers.len(), three.nodes[1].tasks), (6, 3));
        let run = three.run.as_ref().unwrap();
        let mut lines: Vec<_> = run.drivers.iter().map(|it| (it.pipeline, it.driver)).collect();
        lines.sort_unstable();
        let expected = [0, 1, 2].map(|it| (0, it)).into_iter();
        assert_eq!(lines, expected.chain((0..6).map(|it| (1, it))).collect::<Vec<_>>());
        let json: Value = serde_json::from_str(&three.json()).unwrap();
        assert_eq!(json["fragments"], serde_json::json!(["tasks=all"]));
        assert_eq!(
            (&json["nodes"][1]["fragment"], &json["nodes"][1]["tasks"]),
            (&0.into(), &3.into())
        );
        assert!(three.html().contains("<td>task 2, driver 1</td>"));
    }

    #[test]
    fn fragments_have_numbers_and_clusters_of_their_own() {
        let fragment = |title: &str, tasks| FragmentRun {
            title: title.to_owned(),
            plan: plan(),
            tasks: runs(tasks),
        };
        let both = QueryProfile::of_fragments(vec![fragment("first", 2), fragment("last", 1)]);
        let ids: Vec<u32> = both.nodes.iter().map(|it| it.id.number()).collect();
        // The last fragment stands first.
        assert_eq!(ids, [4, 5, 6, 7, 0, 1, 2, 3]);
        let mut pipelines: Vec<usize> =
            both.nodes.iter().flat_map(|it| &it.operators).map(|it| it.pipeline).collect();
        pipelines.sort_unstable();
        pipelines.dedup();
        assert_eq!(pipelines, [0, 1, 2, 3]);
        let dot = both.dot();
        assert!(
            dot.contains("subgraph cluster_0 {") && dot.contains("label = \"fragment 1 last\"")
        );
        assert_eq!(both.svg().matches("class=\"fragment\"").count(), 8);
    }

    #[test]
    fn no_fragments_are_an_empty_profile() {
        let profile = QueryProfile::of_fragments(Vec::new());
        assert!(profile.nodes.is_empty() && profile.text().is_empty() && profile.run.is_none());
    }
}

//! Starts the tasks of a distributed plan.

use crate::{
    DistributedQuery, PartialQuery, Processes, TaskNumbers,
    filters::FilterBoard,
    outcome::{Outcome, ReportedOutput},
    processes::Threads,
    query::RunningFragment,
    splits::SplitFeed,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use volley_connector::{ScanRequest, SplitSource};
use volley_error::{Error, Result};
use volley_exchange::{EdgeId, Lane, ProducerId, StreamId, TaskId, Transport};
use volley_exec::{Executor, Task, TaskConfig, TaskPorts, TaskSource};
use volley_function::QueryConstants;
use volley_operators::{
    PageEncoding, PageInput, PageInputConfig, PageOutput, PageOutputConfig, PageOutputEdge,
};
use volley_plan::{
    DistributedPlan, Fragment, FragmentId, PageSourceNode, PlanNode, PlanNodeId, Routing,
    TableScanNode, TaskCount,
};
use volley_state::charge::queue_bytes;
use volley_wire::{NativeFormat, PageFormat};

/// Decoded bytes that the output and the inputs of a task hold each, at most; less under a memory
/// limit.
const BUFFER_BYTES_MAX: usize = 32 << 20;

/// But not less than this.
const BUFFER_BYTES_MIN: usize = 64 << 10;

/// The memory limit that each task of one process needs that scans a table at the same time as
/// others: a scan holds some pages of every column, and what its page sink splits.
const SCAN_LIMIT_BYTES: usize = 32 << 20;

/// What a distributed plan runs with.
#[derive(Clone)]
pub struct DistributedConfig {
    /// The fragments.
    pub plan: Arc<DistributedPlan>,
    /// What is the same for all tasks; its plan and ports are not used.
    pub task: TaskConfig,
    /// How many tasks run a fragment that several tasks run; at least one.
    pub tasks: usize,
    /// How rows cross from task to task.
    pub encoding: PageEncoding,
    /// Decoded bytes of a full page.
    pub page_bytes: usize,
}

/// What the tasks of all fragments are started with.
pub(crate) struct Starter<'a> {
    config: &'a DistributedConfig,
    executor: &'a Executor,
    processes: Arc<dyn Processes>,
    outcome: Arc<Outcome>,
    numbers: TaskNumbers,
    budget_bytes: usize,
    /// `None`: dynamic filters are off.
    filters: Option<Arc<FilterBoard>>,
}

impl DistributedConfig {
    /// How many tasks run a fragment.
    fn tasks_of(&self, fragment: &Fragment) -> usize {
        match fragment.tasks {
            TaskCount::One => 1,
            TaskCount::All => self.tasks.max(1),
        }
    }
}

impl DistributedQuery {
    /// Starts all tasks on the threads of this process.
    ///
    /// # Errors
    ///
    /// As [`Task::start`]; internal: fragments that do not match.
    pub fn start(config: &DistributedConfig, executor: &Executor) -> Result<DistributedQuery> {
        DistributedQuery::start_on(config, Arc::new(Threads::default()), executor)
    }

    /// Starts the tasks of process 0, which answers the query. The others have begun it.
    ///
    /// # Errors
    ///
    /// As [`DistributedQuery::start`]; the query has then ended in all processes.
    pub fn start_on(
        config: &DistributedConfig,
        processes: Arc<dyn Processes>,
        executor: &Executor,
    ) -> Result<DistributedQuery> {
        let starter = Starter::new(config, processes, executor);
        let outcome = Arc::clone(&starter.outcome);
        let running = starter.all(Starter::fragment)?;
        let plan = Arc::clone(&config.plan);
        DistributedQuery::new(running, outcome, plan, starter.filters)
    }
}

impl PartialQuery {
    /// Starts the tasks of a process that does not answer the query.
    ///
    /// # Errors
    ///
    /// As [`DistributedQuery::start`].
    pub fn start(
        config: &DistributedConfig,
        processes: Arc<dyn Processes>,
        executor: &Executor,
    ) -> Result<PartialQuery> {
        let starter = Starter::new(config, processes, executor);
        let outcome = Arc::clone(&starter.outcome);
        let mut scans = BTreeMap::new();
        let fragments = starter.all(|starter, id| {
            let fragment = starter.config.plan.fragments.get(id).ok_or_else(mismatch)?;
            let mut running = RunningFragment::default();
            if fragment.tasks == TaskCount::All {
                let added: BTreeSet<_> = scans_of(&fragment.plan).into_keys().collect();
                starter.start_tasks(id, &added, &mut running)?;
                for (task, scan) in
                    running.tasks.iter().flat_map(|it| added.iter().map(move |scan| (it, scan)))
                {
                    scans.insert((EdgeId(id as u32), *scan), task.split_receiver(*scan)?);
                }
            }
            Ok(running)
        })?;
        Ok(PartialQuery::new(fragments, scans, outcome, starter.filters))
    }
}

/// The table scans of a plan whose splits are distributed over tasks: all but those below an
/// exchange that replicates, which every task lists itself.
fn scans_of(plan: &PlanNode) -> BTreeMap<PlanNodeId, &TableScanNode> {
    let mut replicated = None;
    let mut scans = BTreeMap::new();
    for visit in plan.walk() {
        // The walk has the nodes below one after it, deeper.
        if replicated.is_some_and(|depth| visit.depth > depth) {
            continue;
        }
        replicated = None;
        match visit.node {
            PlanNode::Exchange(it) if it.routing == Routing::Replicate => {
                replicated = Some(visit.depth);
            }
            PlanNode::TableScan(scan) => drop(scans.insert(scan.node_id, scan)),
            _ => {}
        }
    }
    scans
}

impl<'a> Starter<'a> {
    fn new(
        config: &'a DistributedConfig,
        processes: Arc<dyn Processes>,
        executor: &'a Executor,
    ) -> Starter<'a> {
        let token = config.task.query.cancellation.child();
        let numbers = TaskNumbers::new(&config.plan, config.tasks);
        let filters = config
            .task
            .dynamic_filters
            .then(|| FilterBoard::new(&config.plan, &numbers, &processes, &config.task.pool));
        let outcome = Outcome::new(token, Arc::clone(&processes));
        let budget_bytes = queue_bytes(&config.task.pool, BUFFER_BYTES_MAX) / config.tasks.max(1);
        let budget_bytes = budget_bytes.max(BUFFER_BYTES_MIN);
        Starter { config, executor, processes, outcome, numbers, budget_bytes, filters }
    }

    /// Starts all fragments, or none.
    fn all(
        &self,
        mut start: impl FnMut(&Starter<'a>, usize) -> Result<RunningFragment>,
    ) -> Result<Vec<RunningFragment>> {
        let mut running = Vec::new();
        for id in 0..self.config.plan.fragments.len() {
            match start(self, id) {
                Ok(fragment) => running.push(fragment),
                Err(error) => {
                    self.outcome.fail(error.clone());
                    self.outcome.token().cancel();
                    drop(running);
                    self.outcome.end_others();
                    return Err(self.outcome.cause(error));
                }
            }
        }
        Ok(running)
    }

    fn fragment(&self, id: usize) -> Result<RunningFragment> {
        let fragment = self.config.plan.fragments.get(id).ok_or_else(mismatch)?;
        let count = self.config.tasks_of(fragment);
        let scans = match count {
            1 => BTreeMap::new(),
            _ => self.list_splits(&fragment.plan)?,
        };
        let mut running = RunningFragment::default();
        self.start_tasks(id, &scans.keys().copied().collect(), &mut running)?;
        for (scan, source) in scans {
            let mut own = running.tasks.iter();
            let receivers = (0..count).map(|number| match self.processes.has_task(number) {
                true => own.next().ok_or_else(mismatch)?.split_receiver(scan),
                false => self.processes.scan_of(self.numbers.task(id, number)?, scan),
            });
            let mut receivers = receivers.collect::<Result<Vec<_>>>()?;
            // The other tasks have nothing to scan.
            let idle = receivers.split_off(self.scanning_tasks(count));
            idle.iter().for_each(|it| it.finish());
            running.feeds.push(SplitFeed::start(source, receivers, &self.outcome));
        }
        Ok(running)
    }

    /// How many of `count` tasks get splits: all, unless they are in one process whose memory limit
    /// is too low for as many scans at once.
    fn scanning_tasks(&self, count: usize) -> usize {
        match (0..count).all(|it| self.processes.has_task(it)) {
            true => count.min((self.config.task.pool.limit_bytes() / SCAN_LIMIT_BYTES).max(1)),
            false => count,
        }
    }

    /// Starts the tasks of a fragment that run in this process; the splits of `scans` are added.
    fn start_tasks(
        &self,
        id: usize,
        scans: &BTreeSet<PlanNodeId>,
        running: &mut RunningFragment,
    ) -> Result<()> {
        let fragment = self.config.plan.fragments.get(id).ok_or_else(mismatch)?;
        let numbers = 0..self.config.tasks_of(fragment);
        for number in numbers.filter(|it| self.processes.has_task(*it)) {
            let (ports, output) = self.ports(id, fragment, number, scans.clone())?;
            let config = TaskConfig {
                plan: Arc::clone(&fragment.plan),
                query: Arc::new(QueryConstants {
                    cancellation: self.outcome.token().clone(),
                    ..QueryConstants::clone(&self.config.task.query)
                }),
                ports,
                ..self.config.task.clone()
            };
            running.tasks.push(Task::start(config, self.executor)?);
            running.outputs.extend(output);
        }
        Ok(())
    }

    /// The splits of the scans of a fragment that several tasks run.
    fn list_splits(&self, plan: &PlanNode) -> Result<BTreeMap<PlanNodeId, Box<dyn SplitSource>>> {
        let scans = scans_of(plan).into_iter();
        scans.map(|(id, scan)| Ok((id, self.splits(scan)?))).collect()
    }

    fn splits(&self, node: &TableScanNode) -> Result<Box<dyn SplitSource>> {
        let task = &self.config.task;
        let scan = task.tables.table(&node.table)?.scan(ScanRequest {
            columns: node.columns.clone(),
            filters: node.filters.clone(),
            dynamic_filters: Vec::new(),
            batch_rows: task.batch_rows,
            registry: Arc::clone(&task.registry),
            query: Arc::clone(&task.query),
            pool: task.pool.child("splits"),
        })?;
        scan.splits()
    }

    /// What connects a task with the others, and its output, if it has one.
    fn ports(
        &self,
        id: usize,
        fragment: &Fragment,
        number: usize,
        added_splits: BTreeSet<PlanNodeId>,
    ) -> Result<(TaskPorts, Option<Arc<PageOutput>>)> {
        let task = self.numbers.task(id, number)?;
        let transport = self.processes.transport(task);
        let mut sources: BTreeMap<PlanNodeId, Arc<dyn TaskSource>> = BTreeMap::new();
        for visit in fragment.plan.walk() {
            if let PlanNode::PageSource(node) = visit.node {
                let config = PageInputConfig {
                    transport: Arc::clone(&transport),
                    streams: self.streams(node, number)?,
                    format: self.format(),
                    budget_bytes: self.budget_bytes,
                };
                sources.insert(node.node_id, Arc::new(PageInput::new(config)));
            }
        }
        let pages = self.output(id, fragment, task, transport)?;
        let output = pages.clone().map(|pages| {
            let outcome = Arc::clone(&self.outcome);
            Arc::new(ReportedOutput { pages, outcome }) as _
        });
        let filters = self.filters.as_ref().and_then(|it| it.of_task(id, number));
        let number = number as u32;
        Ok((TaskPorts { added_splits, sources, number, output, filters }, pages))
    }

    fn output(
        &self,
        id: usize,
        fragment: &Fragment,
        task: TaskId,
        transport: Arc<dyn Transport>,
    ) -> Result<Option<Arc<PageOutput>>> {
        if fragment.outputs.is_empty() {
            return Ok(None);
        }
        let config = PageOutputConfig {
            transport,
            producer: ProducerId { task, edge: EdgeId(id as u32) },
            edges: self.edges(fragment)?,
            encoding: self.encoding(fragment),
            page_bytes: self.config.page_bytes,
            budget_bytes: self.budget_bytes,
            spill: self.config.task.spill.clone(),
        };
        Ok(Some(Arc::new(PageOutput::new(config))))
    }

    /// The format of pages that are bytes.
    fn format(&self) -> Arc<dyn PageFormat> {
        match &self.config.encoding {
            PageEncoding::Bytes(format) => Arc::clone(format),
            PageEncoding::Batches => Arc::new(NativeFormat::Plain),
        }
    }

    /// How the rows of a fragment cross: as batches if the format does not have their types.
    fn encoding(&self, fragment: &Fragment) -> PageEncoding {
        let types: Vec<_> = fragment.plan.schema().types().cloned().collect();
        match &self.config.encoding {
            PageEncoding::Bytes(format) if format.writer(&types).is_ok() => {
                PageEncoding::Bytes(Arc::clone(format))
            }
            _ => PageEncoding::Batches,
        }
    }

    fn edges(&self, fragment: &Fragment) -> Result<Vec<PageOutputEdge>> {
        let edge = |output: &volley_plan::FragmentOutput| {
            let reader = self.config.plan.fragments.get(output.to.0 as usize);
            let readers = self.config.tasks_of(reader.ok_or_else(mismatch)?);
            Ok(PageOutputEdge { routing: output.routing.clone(), readers })
        };
        fragment.outputs.iter().map(edge).collect()
    }

    /// The lanes that task `number` reads for a page source.
    fn streams(&self, node: &PageSourceNode, number: usize) -> Result<Vec<StreamId>> {
        let FragmentId(sender) = node.fragment;
        let fragment = self.config.plan.fragments.get(sender as usize).ok_or_else(mismatch)?;
        let first_task = self.numbers.task(sender as usize, 0)?;
        let edges = self.edges(fragment)?;
        let output = node.output as usize;
        let edge = edges.get(output).ok_or_else(mismatch)?;
        let first_lane: usize = edges.iter().take(output).map(PageOutputEdge::lanes).sum();
        let lane = Lane((first_lane + number.min(edge.lanes() - 1)) as u32);
        let stream = |sending: usize| StreamId {
            producer: ProducerId {
                task: TaskId(first_task.0 + sending as u32),
                edge: EdgeId(sender),
            },
            lane,
        };
        Ok(match edge.routing {
            Routing::Forward => vec![stream(number)],
            _ => (0..self.config.tasks_of(fragment)).map(stream).collect(),
        })
    }
}

fn mismatch() -> Error {
    Error::internal("fragments of a distributed plan do not match")
}

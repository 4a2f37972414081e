//! Starts the tasks of a distributed plan.

use crate::{
    DistributedQuery,
    outcome::{Outcome, ReportedOutput},
    query::RunningFragment,
    splits::SplitFeed,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use volley_connector::{ScanRequest, SplitSource};
use volley_error::{Error, Result};
use volley_exchange::{EdgeId, InProcessHub, Lane, ProducerId, StreamId, TaskId, Transport};
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
    hub: InProcessHub,
    outcome: Arc<Outcome>,
    /// The number of the first task of each fragment.
    first_tasks: Vec<usize>,
    budget_bytes: usize,
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
    /// Starts all tasks.
    ///
    /// # Errors
    ///
    /// As [`Task::start`]; internal: fragments that do not match.
    pub fn start(config: &DistributedConfig, executor: &Executor) -> Result<DistributedQuery> {
        let outcome = Outcome::new(config.task.query.cancellation.child());
        let mut first_tasks = Vec::new();
        let mut tasks = 0;
        for fragment in &config.plan.fragments {
            first_tasks.push(tasks);
            tasks += config.tasks_of(fragment);
        }
        let budget_bytes = queue_bytes(&config.task.pool, BUFFER_BYTES_MAX) / config.tasks.max(1);
        let budget_bytes = budget_bytes.max(BUFFER_BYTES_MIN);
        let (hub, outcome_of_query) = (InProcessHub::default(), Arc::clone(&outcome));
        let starter = Starter { config, executor, hub, outcome, first_tasks, budget_bytes };
        let mut running = Vec::new();
        for id in 0..config.plan.fragments.len() {
            match starter.fragment(id) {
                Ok(fragment) => running.push(fragment),
                Err(error) => {
                    outcome_of_query.token().cancel();
                    let cause = outcome_of_query.cause(error);
                    drop(running);
                    return Err(cause);
                }
            }
        }
        DistributedQuery::new(running, outcome_of_query, Arc::clone(&config.plan))
    }
}

impl Starter<'_> {
    fn fragment(&self, id: usize) -> Result<RunningFragment> {
        let fragment = self.config.plan.fragments.get(id).ok_or_else(mismatch)?;
        let count = self.config.tasks_of(fragment);
        let scans = match count {
            1 => BTreeMap::new(),
            _ => self.list_splits(&fragment.plan)?,
        };
        let mut running = RunningFragment::default();
        for number in 0..count {
            let ports = self.ports(id, fragment, number, scans.keys().copied().collect())?;
            let (ports, output) = ports;
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
        for (scan, source) in scans {
            let receivers = running.tasks.iter().map(|it| it.split_receiver(scan));
            let receivers = receivers.collect::<Result<Vec<_>>>()?;
            running.feeds.push(SplitFeed::start(source, receivers, &self.outcome));
        }
        Ok(running)
    }

    /// The splits of the scans of a fragment that several tasks run.
    fn list_splits(&self, plan: &PlanNode) -> Result<BTreeMap<PlanNodeId, Box<dyn SplitSource>>> {
        let mut sources = BTreeMap::new();
        for visit in plan.walk() {
            if let PlanNode::TableScan(scan) = visit.node {
                sources.insert(scan.node_id, self.splits(scan)?);
            }
        }
        Ok(sources)
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
        let task = TaskId((self.first_tasks[id] + number) as u32);
        let transport: Arc<dyn Transport> = Arc::new(self.hub.transport(task));
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
        Ok((TaskPorts { added_splits, sources, number: number as u32, output }, pages))
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
        let first_task = *self.first_tasks.get(sender as usize).ok_or_else(mismatch)?;
        let edges = self.edges(fragment)?;
        let output = node.output as usize;
        let edge = edges.get(output).ok_or_else(mismatch)?;
        let first_lane: usize = edges.iter().take(output).map(PageOutputEdge::lanes).sum();
        let lane = Lane((first_lane + number.min(edge.lanes() - 1)) as u32);
        let stream = |sending: usize| StreamId {
            producer: ProducerId {
                task: TaskId((first_task + sending) as u32),
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

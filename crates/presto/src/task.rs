//! One task: its state, its running plan, its output.
//!
//! ```text
//! PLANNED ── fragment ──> RUNNING ── plan ended, buffers drained ──> FINISHED
//!    │                       ├── an error ──> FAILED
//!    └───────────────────────┴── DELETE ──> ABORTED or CANCELED
//! ```
//!
//! A request about a task may arrive before the fragment: the task waits as PLANNED.

mod report;

use crate::{
    buffer::OutputBuffers,
    catalog::TaskTables,
    exchange_client::{Location, RemoteRows, RemoteSource},
    failure::failure_of,
    partition::OutputPartitioning,
    protocol::{BufferKind, ExecutionFailure, OutputIds, TaskSource, TaskState, TaskUpdateRequest},
    session_time::SessionTime,
    sink::{PageOutput, WrittenRows},
    sorted_input::SortedInput,
    table_write::TableWrite,
    translate::{
        FragmentContext, OutputReader, RemoteOrder, TranslatedFragment, TranslatedRemoteSource,
        TranslatedScan, translate,
    },
    worker::{Engine, uuid_of},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::watch;
use volley_error::{Error, Result};
use volley_exec::{Priority, Task, TaskConfig, TaskPorts};
use volley_function::QueryConstants;
use volley_memory::Pool;
use volley_plan::PlanNodeId;
use volley_state::StateSizes;
use volley_types::{Type, Zone};
use volley_wire::presto_page::zone_of_key;

/// A task of a coordinator.
pub(crate) struct WorkerTask {
    id: String,
    /// The identity of this run of the task.
    instance: (i64, i64),
    location: String,
    created: (Timestamp, Instant),
    engine: Arc<Engine>,
    pub buffers: Arc<OutputBuffers>,
    pool: Pool,
    /// Held while an update is applied: splits come after the fragment.
    updates: Mutex<()>,
    inner: Mutex<Inner>,
    /// Counts changes of the state.
    changes: watch::Sender<u64>,
}

struct Inner {
    state: TaskState,
    version: u64,
    failure: Option<ExecutionFailure>,
    kind: BufferKind,
    running: Option<Running>,
    /// Whether the plan has ended without an error.
    plan_done: bool,
    needs_plan: bool,
    no_more_splits: BTreeSet<String>,
    last_request: Instant,
    ended: Option<Timestamp>,
    /// Time on threads of a plan that has ended.
    busy: Duration,
}

/// A plan that runs.
struct Running {
    task: Arc<Task>,
    scans: BTreeMap<String, TranslatedScan>,
    /// What reads pages of other tasks, by Presto's plan node.
    remote_sources: BTreeMap<String, Arc<RemoteSource>>,
    /// The numbers of the splits that were added.
    splits: BTreeSet<i64>,
}

/// How a task is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its rows are not needed any more.
    Cancel,
    /// The query failed or was cancelled.
    Abort,
}

impl WorkerTask {
    pub(crate) fn new(id: &str, location: String, engine: &Arc<Engine>) -> Result<WorkerTask> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|it| Error::internal(format!("no random numbers: {it}")))?;
        let bits = u128::from_le_bytes(random);
        let pool = engine.pool.child(format!("task {id}"));
        let inner = Inner {
            state: TaskState::Planned,
            version: 1,
            failure: None,
            kind: BufferKind::Partitioned,
            running: None,
            plan_done: false,
            needs_plan: true,
            no_more_splits: BTreeSet::new(),
            last_request: Instant::now(),
            ended: None,
            busy: Duration::ZERO,
        };
        Ok(WorkerTask {
            id: id.to_owned(),
            instance: ((bits >> 64) as i64, bits as i64),
            location,
            created: (Timestamp::now(), Instant::now()),
            engine: Arc::clone(engine),
            buffers: Arc::new(OutputBuffers::new(engine.output_buffer_bytes, &pool)),
            pool,
            updates: Mutex::new(()),
            inner: Mutex::new(inner),
            changes: watch::Sender::new(1),
        })
    }

    /// The identity of this run as a UUID.
    pub(crate) fn instance_uuid(&self) -> String {
        let bits = (u128::from(self.instance.0 as u64) << 64) | u128::from(self.instance.1 as u64);
        uuid_of(bits)
    }

    /// Applies an update: the fragment, splits, output buffers. An error that the query causes
    /// fails the task. Blocks: not for the threads that serve requests.
    pub(crate) fn update(self: &Arc<Self>, request: &TaskUpdateRequest) {
        let _one_at_a_time = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.try_update(request) {
            self.fail(&error);
        }
        // The last buffers may be known only now, after all others were read.
        self.finish_if_drained();
    }

    fn try_update(self: &Arc<Self>, request: &TaskUpdateRequest) -> Result<()> {
        if self.lock().state.is_done() {
            return Ok(());
        }
        self.set_buffers(&request.output_ids)?;
        if let Some(fragment) = request.fragment.as_deref()
            && std::mem::replace(&mut self.lock().needs_plan, false)
        {
            self.start(fragment, request)?;
        }
        request.sources.iter().try_for_each(|it| self.add_splits(it))
    }

    fn set_buffers(&self, ids: &OutputIds) -> Result<()> {
        self.buffers.add(ids)?;
        self.lock().kind = ids.kind;
        Ok(())
    }

    /// Translates the fragment and starts its plan.
    fn start(self: &Arc<Self>, fragment: &str, request: &TaskUpdateRequest) -> Result<()> {
        let no_base64 = |it| Error::invalid_value(format!("a fragment that is no base64: {it}"));
        let json = STANDARD.decode(fragment).map_err(no_base64)?;
        let json = String::from_utf8(json)
            .map_err(|_| Error::invalid_value("a fragment that is not UTF-8"))?;
        let engine = &self.engine;
        let context = FragmentContext {
            catalogs: &engine.catalogs,
            registry: &engine.registry,
            pool: &self.pool,
            first_unique_id: first_unique_id(&self.id),
            time: &session_time(request)?,
        };
        let mut translated = translate(&json, &context)?;
        let remote_sources = std::mem::take(&mut translated.remote_sources);
        let scans = translated.scans.clone();
        let sorted = sorted_inputs(&remote_sources);
        let mut config = self.config(translated, request)?;
        for (node, input) in &sorted {
            config.ports.sources.insert(*node, Arc::clone(input) as _);
        }
        let task = Arc::new(Task::start(config, &engine.executor)?);
        let mut sources = BTreeMap::new();
        for (id, source) in remote_sources {
            let Some(node) = source.node else { continue };
            let rows = match sorted.get(&node) {
                Some(input) => RemoteRows::Sorted(Arc::clone(input)),
                None => RemoteRows::AnyOrder(task.input(node)?),
            };
            let source = RemoteSource::new(&engine.exchange, rows, source.types, &self.pool);
            sources.insert(id, source);
        }
        let mut inner = self.lock();
        if inner.state.is_done() {
            drop(inner);
            self.engine.release(task);
            return Ok(());
        }
        let (remote_sources, splits) = (sources, BTreeSet::new());
        inner.running = Some(Running { task, scans, remote_sources, splits });
        inner.state = TaskState::Running;
        self.changed(inner);
        Ok(())
    }

    fn config(
        self: &Arc<Self>,
        translated: TranslatedFragment,
        request: &TaskUpdateRequest,
    ) -> Result<TaskConfig> {
        let engine = &self.engine;
        let TranslatedFragment { plan, scans, partitioning, writes, reader, .. } = translated;
        let write = match writes {
            Some(columns) => {
                let info = request.table_write_info.as_ref();
                let properties = &request.session.catalog_properties;
                let write = TableWrite::new(info, &self.id, properties)?;
                Some((write, columns))
            }
            None => None,
        };
        let sinks = write.as_ref().map_or(&engine.sinks, |it| &it.0.sinks);
        let sinks = Arc::clone(sinks);
        let written = write.map(|(it, columns)| WrittenRows { table: it.written, columns });
        let tables = scans.values().map(|it| (it.name.clone(), Arc::clone(&it.table))).collect();
        let types = plan.schema().types().cloned().collect();
        let mut output = self.output(types, partitioning, &request.output_ids, written);
        if reader == OutputReader::Coordinator {
            output.time = session_time(request)?;
        }
        let ports = TaskPorts {
            added_splits: scans.values().filter_map(|it| it.node).collect(),
            output: Some(Arc::new(output)),
            ..TaskPorts::default()
        };
        Ok(TaskConfig {
            plan,
            tables: Arc::new(TaskTables(tables)),
            sinks,
            registry: Arc::clone(&engine.registry),
            lowerings: Arc::clone(&engine.lowerings),
            query: Arc::new(query_constants(request)?),
            pool: self.pool.clone(),
            spill: engine.spill.clone(),
            drivers: engine.drivers,
            batch_rows: engine.batch_rows,
            dynamic_filters: true,
            row_order: volley_exec::RowOrder::Any,
            spill_always: false,
            sizes: StateSizes::NORMAL,
            ports,
            priority: Priority::Normal,
        })
    }

    /// Where rows with columns of `types` go.
    fn output(
        self: &Arc<Self>,
        types: Vec<Type>,
        partitioning: OutputPartitioning,
        ids: &OutputIds,
        written: Option<WrittenRows>,
    ) -> PageOutput {
        let partitions = ids.buffers.values().filter_map(|it| usize::try_from(*it).ok()).max();
        let (partitioning, partitions) = match ids.kind {
            BufferKind::Partitioned => (partitioning, partitions.map_or(1, |it| it + 1)),
            // Other buffers get all pages, or any.
            _ => (OutputPartitioning::single(), 1),
        };
        PageOutput {
            buffers: Arc::clone(&self.buffers),
            format: self.engine.page_format,
            types,
            partitioning,
            partitions,
            written,
            time: SessionTime::default(),
            on_end: on_end(Arc::downgrade(self)),
        }
    }

    /// Adds splits that were not added before.
    fn add_splits(&self, source: &TaskSource) -> Result<()> {
        let mut inner = self.lock();
        if source.no_more_splits {
            inner.no_more_splits.insert(source.plan_node_id.clone());
        }
        let Some(running) = &mut inner.running else { return Ok(()) };
        if let Some(remote) = running.remote_sources.get(&source.plan_node_id) {
            let remote = Arc::clone(remote);
            drop(inner);
            return add_locations(&remote, source);
        }
        let scan = running.scans.get(&source.plan_node_id).ok_or_else(|| {
            Error::invalid_query(format!("splits for the plan node {}", source.plan_node_id))
        })?;
        let mut splits = Vec::new();
        for scheduled in &source.splits {
            let split = &scheduled.split;
            if split.is_empty() {
                continue;
            }
            let split = scan.table.split(&split.connector_id, &split.connector_split)?;
            if running.splits.insert(scheduled.sequence_id) {
                splits.push(split);
            }
        }
        let (task, node) = (Arc::clone(&running.task), scan.node);
        drop(inner);
        // An equal scan has the same splits.
        let Some(node) = node else { return Ok(()) };
        if !splits.is_empty() {
            task.add_splits(node, splits)?;
        }
        if source.no_more_splits {
            task.no_more_splits(node)?;
        }
        Ok(())
    }

    /// Reads no more pages of the task `id`.
    pub(crate) fn remove_remote_source(&self, id: &str) {
        if let Some(running) = &self.lock().running {
            running.remote_sources.values().for_each(|it| it.remove_task(id));
        }
    }

    /// Called when the plan has ended.
    fn ended(&self, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                self.buffers.finish();
                self.lock().plan_done = true;
                self.finish_if_drained();
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Ends the task if its readers have everything, or need no more.
    pub(crate) fn finish_if_drained(&self) {
        let is_read = match self.lock().plan_done {
            true => self.buffers.are_drained(),
            false => self.buffers.are_destroyed(),
        };
        if is_read {
            self.end(TaskState::Finished, None);
        }
    }

    /// Stops the task. No effect on one that has ended.
    pub(crate) fn stop(&self, how: Stop) {
        let state = match how {
            Stop::Cancel => TaskState::Canceled,
            Stop::Abort => TaskState::Aborted,
        };
        self.end(state, None);
    }

    fn fail(&self, error: &Error) {
        self.end(TaskState::Failed, Some(failure_of(error)));
    }

    fn end(&self, state: TaskState, failure: Option<ExecutionFailure>) {
        let mut inner = self.lock();
        if inner.state.is_done() {
            return;
        }
        inner.state = state;
        inner.failure = failure;
        inner.ended = Some(Timestamp::now());
        let running = inner.running.take();
        inner.busy = running.as_ref().map_or(Duration::ZERO, |it| it.task.statistics().busy());
        self.changed(inner);
        if state != TaskState::Finished {
            self.buffers.close();
        }
        if let Some(running) = running {
            running.remote_sources.values().for_each(|it| it.close());
            running.task.cancel();
            self.engine.release(running.task);
        }
    }

    /// Notes that the coordinator asked for the task.
    pub(crate) fn touch(&self) {
        self.lock().last_request = Instant::now();
    }

    /// When it was last asked for, and whether it has ended.
    pub(crate) fn last_request(&self) -> (Instant, bool) {
        let inner = self.lock();
        (inner.last_request, inner.state.is_done())
    }

    pub(crate) fn state(&self) -> TaskState {
        self.lock().state
    }

    /// Counts changes of the state; requests wait for the next one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, mut inner: MutexGuard<'_, Inner>) {
        inner.version += 1;
        let version = inner.version;
        drop(inner);
        self.changes.send_replace(version);
    }
}

/// The inputs of remote sources whose rows are merged, by the node of the plan.
fn sorted_inputs(
    sources: &BTreeMap<String, TranslatedRemoteSource>,
) -> BTreeMap<PlanNodeId, Arc<SortedInput>> {
    let sorted = sources.values().filter(|it| it.order == RemoteOrder::Sorted);
    sorted.filter_map(|it| Some((it.node?, Arc::new(SortedInput::new())))).collect()
}

/// Tells a task that its plan has ended, if the task still exists.
fn on_end(task: Weak<WorkerTask>) -> crate::sink::OnEnd {
    Box::new(move |outcome| {
        if let Some(task) = task.upgrade() {
            task.ended(outcome);
        }
    })
}

/// Adds the locations of splits. A location that is known already is not read twice.
fn add_locations(remote: &Arc<RemoteSource>, source: &TaskSource) -> Result<()> {
    for scheduled in &source.splits {
        remote.add(Location::of_split(&scheduled.split.connector_split)?);
    }
    if source.no_more_splits {
        remote.no_more_locations();
    }
    Ok(())
}

/// The bits of a unique number that count rows, and those that tell the task within its stage.
const ROW_BITS: u32 = 40;
const TASK_BITS: u32 = 14;

/// The first number that AssignUniqueId nodes of a task assign: from the numbers of its stage and
/// of the task, as in Presto.
fn first_unique_id(task: &str) -> i64 {
    let number = |index: usize| {
        let part = task.split('.').nth(index).unwrap_or_default();
        part.parse::<i64>().unwrap_or(0)
    };
    let task_of_stage = number(3) & ((1 << TASK_BITS) - 1);
    (number(1) & 0xff) << (ROW_BITS + TASK_BITS) | task_of_stage << ROW_BITS
}

/// Microseconds in a millisecond.
const MICROS: i64 = 1000;

fn query_constants(request: &TaskUpdateRequest) -> Result<QueryConstants> {
    Ok(QueryConstants {
        now_micros: request.session.start_time.saturating_mul(MICROS),
        time_zone: session_zone(request.session.time_zone_key)?,
        ..QueryConstants::default()
    })
}

/// How TIMESTAMP and TIME of the session are converted.
fn session_time(request: &TaskUpdateRequest) -> Result<SessionTime> {
    let session = &request.session;
    let legacy = session.system_properties.get("legacy_timestamp");
    Ok(match legacy.is_none_or(|it| it != "false") {
        true => SessionTime::in_zone(&session_zone(session.time_zone_key)?),
        false => SessionTime::default(),
    })
}

/// The zone of one of Presto's keys.
fn session_zone(key: i32) -> Result<Zone> {
    let unknown = || Error::unsupported(format!("the session's time zone, key {key} of Presto"));
    Ok(zone_of_key(key.into()).ok_or_else(unknown)?.zone())
}

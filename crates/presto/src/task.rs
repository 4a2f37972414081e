//! One task: its state, its running plan, its output.
//!
//! ```text
//! PLANNED ── fragment ──> RUNNING ── plan ended, buffers drained ──> FINISHED
//!    │                       ├── an error ──> FAILED
//!    └───────────────────────┴── DELETE ──> ABORTED or CANCELED
//! ```
//!
//! A request about a task may arrive before the fragment: the task waits as PLANNED.

use crate::{
    buffer::{LastBuffers, OutputBuffers},
    catalog::TaskTables,
    failure::failure_of,
    protocol::{
        BufferKind, ExecutionFailure, MetadataUpdates, OutputBufferInfo, OutputIds, TaskInfo,
        TaskSource, TaskState, TaskStats, TaskStatus, TaskUpdateRequest,
    },
    sink::PageOutput,
    translate::{TranslatedScan, translate},
    worker::{Engine, uuid_of},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};
use tokio::sync::watch;
use volley_error::{Error, Result};
use volley_exec::{Priority, Task, TaskConfig, TaskPorts};
use volley_function::QueryConstants;
use volley_memory::Pool;
use volley_state::StateSizes;
use volley_types::Zone;

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
}

/// A plan that runs.
struct Running {
    task: Arc<Task>,
    scans: BTreeMap<String, TranslatedScan>,
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
        };
        Ok(WorkerTask {
            id: id.to_owned(),
            instance: ((bits >> 64) as i64, bits as i64),
            location,
            created: (Timestamp::now(), Instant::now()),
            engine: Arc::clone(engine),
            buffers: Arc::new(OutputBuffers::new(engine.output_buffer_bytes)),
            pool: engine.pool.child(format!("task {id}")),
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
        let is_one = ids.kind == BufferKind::Partitioned && ids.buffers.len() <= 1;
        if !is_one {
            let message = format!("{} output buffers {:?}", ids.buffers.len(), ids.kind);
            let error = Error::unsupported(message);
            return Err(error.hint("set single-node-execution-enabled=true on the coordinator"));
        }
        let last = if ids.no_more_buffer_ids { LastBuffers::Known } else { LastBuffers::Unknown };
        self.lock().kind = ids.kind;
        self.buffers.add_buffers(ids.buffers.keys(), last);
        Ok(())
    }

    /// Translates the fragment and starts its plan.
    fn start(self: &Arc<Self>, fragment: &str, request: &TaskUpdateRequest) -> Result<()> {
        let no_base64 = |it| Error::invalid_value(format!("a fragment that is no base64: {it}"));
        let json = STANDARD.decode(fragment).map_err(no_base64)?;
        let json = String::from_utf8(json)
            .map_err(|_| Error::invalid_value("a fragment that is not UTF-8"))?;
        let engine = &self.engine;
        let translated = translate(&json, &engine.catalogs, &engine.registry)?;
        let scans = translated.scans;
        let tables = scans.values().map(|it| (it.name.clone(), Arc::clone(&it.table))).collect();
        let output = PageOutput {
            buffers: Arc::clone(&self.buffers),
            format: engine.page_format,
            on_end: on_end(Arc::downgrade(self)),
        };
        let ports = TaskPorts {
            added_splits: scans.values().filter_map(|it| it.node).collect(),
            output: Some(Arc::new(output)),
            ..TaskPorts::default()
        };
        let config = TaskConfig {
            plan: translated.plan,
            tables: Arc::new(TaskTables(tables)),
            sinks: Arc::clone(&engine.sinks),
            registry: Arc::clone(&engine.registry),
            lowerings: Arc::clone(&engine.lowerings),
            query: Arc::new(query_constants(request)?),
            pool: self.pool.clone(),
            spill: engine.spill.clone(),
            drivers: engine.drivers,
            batch_rows: engine.batch_rows,
            dynamic_filters: true,
            spill_always: false,
            sizes: StateSizes::NORMAL,
            ports,
            priority: Priority::Normal,
        };
        let task = Arc::new(Task::start(config, &engine.executor)?);
        let mut inner = self.lock();
        if inner.state.is_done() {
            drop(inner);
            self.engine.release(task);
            return Ok(());
        }
        inner.running = Some(Running { task, scans, splits: BTreeSet::new() });
        inner.state = TaskState::Running;
        self.changed(inner);
        Ok(())
    }

    /// Adds splits that were not added before.
    fn add_splits(&self, source: &TaskSource) -> Result<()> {
        let mut inner = self.lock();
        if source.no_more_splits {
            inner.no_more_splits.insert(source.plan_node_id.clone());
        }
        let Some(running) = &mut inner.running else { return Ok(()) };
        let scan = running.scans.get(&source.plan_node_id).ok_or_else(|| {
            Error::invalid_query(format!("splits for the plan node {}", source.plan_node_id))
        })?;
        let mut splits = Vec::new();
        for scheduled in &source.splits {
            let split = &scheduled.split;
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
        self.changed(inner);
        if state != TaskState::Finished {
            self.buffers.close();
        }
        if let Some(running) = running {
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

    pub(crate) fn status(&self) -> TaskStatus {
        let inner = self.lock();
        let memory = self.pool.stats();
        TaskStatus {
            task_instance_id_most_significant_bits: self.instance.0,
            task_instance_id_least_significant_bits: self.instance.1,
            version: inner.version,
            state: inner.state,
            location: self.location.clone(),
            completed_driver_groups: [],
            failures: inner.failure.iter().cloned().collect(),
            queued_partitioned_drivers: 0,
            running_partitioned_drivers: 0,
            output_buffer_utilization: self.buffers.utilization(),
            output_buffer_overutilized: self.buffers.utilization() > 0.5,
            physical_written_data_size_in_bytes: 0,
            memory_reservation_in_bytes: memory.bytes as u64,
            system_memory_reservation_in_bytes: 0,
            peak_node_total_memory_reservation_in_bytes: memory.peak_bytes as u64,
            full_gc_count: 0,
            full_gc_time_in_millis: 0,
            total_cpu_time_in_nanos: 0,
            task_age_in_millis: self.created.1.elapsed().as_millis() as u64,
            queued_partitioned_splits_weight: 0,
            running_partitioned_splits_weight: 0,
        }
    }

    pub(crate) fn info(&self) -> TaskInfo {
        let task_status = self.status();
        let totals = self.buffers.totals();
        let inner = self.lock();
        let elapsed = self.created.1.elapsed().as_nanos() as u64;
        TaskInfo {
            task_id: self.id.clone(),
            last_heartbeat: Timestamp::now().to_string(),
            output_buffers: OutputBufferInfo {
                kind: match inner.kind {
                    BufferKind::Partitioned => "PARTITIONED",
                    BufferKind::Broadcast => "BROADCAST",
                    BufferKind::Arbitrary => "ARBITRARY",
                    BufferKind::Discarding => "DISCARDING",
                    BufferKind::Spooling => "SPOOLING",
                },
                state: match (inner.state.is_done(), inner.plan_done) {
                    (true, _) => "FINISHED",
                    (false, true) => "FLUSHING",
                    (false, false) => "OPEN",
                },
                can_add_buffers: false,
                can_add_pages: !inner.plan_done,
                total_buffered_bytes: totals.buffered_bytes,
                total_buffered_pages: totals.buffered_pages,
                total_rows_sent: totals.rows,
                total_pages_sent: totals.pages,
                buffers: [],
            },
            no_more_splits: inner.no_more_splits.iter().cloned().collect(),
            stats: TaskStats {
                create_time: self.created.0.to_string(),
                end_time: inner.ended.map(|it| it.to_string()),
                elapsed_time_in_nanos: elapsed,
                user_memory_reservation_in_bytes: task_status.memory_reservation_in_bytes,
                peak_user_memory_in_bytes: task_status.peak_node_total_memory_reservation_in_bytes,
                peak_total_memory_in_bytes: task_status.peak_node_total_memory_reservation_in_bytes,
                output_positions: totals.rows,
                output_data_size_in_bytes: totals.bytes,
                ..TaskStats::default()
            },
            needs_plan: inner.needs_plan,
            metadata_updates: MetadataUpdates::default(),
            node_id: self.engine.node_id.clone(),
            task_status,
        }
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

/// Tells a task that its plan has ended, if the task still exists.
fn on_end(task: Weak<WorkerTask>) -> crate::sink::OnEnd {
    Box::new(move |outcome| {
        if let Some(task) = task.upgrade() {
            task.ended(outcome);
        }
    })
}

/// Microseconds in a millisecond.
const MICROS: i64 = 1000;

/// Presto numbers the offsets from -14:00 to +14:00 in minutes: 1 to 1680, without 0.
const OFFSET_KEYS: std::ops::RangeInclusive<i32> = 1..=1680;
const OFFSET_MINUTES_MIN: i32 = -14 * 60;

fn query_constants(request: &TaskUpdateRequest) -> Result<QueryConstants> {
    Ok(QueryConstants {
        now_micros: request.session.start_time.saturating_mul(MICROS),
        time_zone: session_zone(request.session.time_zone_key)?,
        ..QueryConstants::default()
    })
}

/// The zone of a key of Presto's `zone-index.properties`: 0 is UTC, then come the offsets.
fn session_zone(key: i32) -> Result<Zone> {
    let name = match key {
        0 => "UTC".to_owned(),
        key if OFFSET_KEYS.contains(&key) => {
            let minutes = OFFSET_MINUTES_MIN + key - 1;
            let minutes = if minutes >= 0 { minutes + 1 } else { minutes };
            let sign = if minutes < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
        }
        key => {
            let error = Error::unsupported(format!("the session's time zone, key {key} of Presto"));
            return Err(error.hint("start the query with a time zone such as UTC or +02:00"));
        }
    };
    Zone::find(&name).ok_or_else(|| Error::unsupported(format!("the time zone {name}")))
}

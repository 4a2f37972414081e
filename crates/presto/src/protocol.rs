//! The JSON of Presto's worker protocol, as the coordinator sends it and expects it.
//!
//! Fields that this worker does not use are ignored when they are read. The shapes are those of
//! `TaskUpdateRequest`, `TaskStatus`, `TaskInfo` and `ExecutionFailureInfo` of 0.287 and 0.296.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The body of `POST /v1/task/{taskId}`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskUpdateRequest {
    pub session: Session,
    /// The plan fragment: JSON in base64. Only in the first request.
    pub fragment: Option<String>,
    #[serde(default)]
    pub sources: Vec<TaskSource>,
    pub output_ids: OutputIds,
    /// What the query writes to.
    pub table_write_info: Option<Value>,
}

/// The session of the query.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub time_zone_key: i32,
    /// Milliseconds since 1970-01-01 00:00:00 UTC.
    pub start_time: i64,
    /// Properties that the session sets.
    #[serde(default)]
    pub system_properties: BTreeMap<String, String>,
    /// Properties of catalogs that the session sets, by catalog.
    #[serde(default)]
    pub catalog_properties: BTreeMap<String, BTreeMap<String, String>>,
}

/// Splits for one plan node.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskSource {
    pub plan_node_id: String,
    #[serde(default)]
    pub splits: Vec<ScheduledSplit>,
    #[serde(default)]
    pub no_more_splits: bool,
}

/// A split, with its number within the task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduledSplit {
    pub sequence_id: i64,
    pub split: ConnectorSplit,
}

/// A split of a catalog.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorSplit {
    pub connector_id: String,
    pub connector_split: Value,
}

impl ConnectorSplit {
    /// Whether it stands for no rows: the split of a table without files.
    pub(crate) fn is_empty(&self) -> bool {
        self.connector_split.get("@type").and_then(Value::as_str) == Some("$empty")
    }
}

/// The output buffers of a task: identity, and the partition that it gets.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutputIds {
    #[serde(rename = "type")]
    pub kind: BufferKind,
    pub no_more_buffer_ids: bool,
    #[serde(default)]
    pub buffers: BTreeMap<String, i32>,
}

/// How rows are distributed over output buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum BufferKind {
    Partitioned,
    Broadcast,
    Arbitrary,
    Discarding,
    Spooling,
}

impl BufferKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            BufferKind::Partitioned => "PARTITIONED",
            BufferKind::Broadcast => "BROADCAST",
            BufferKind::Arbitrary => "ARBITRARY",
            BufferKind::Discarding => "DISCARDING",
            BufferKind::Spooling => "SPOOLING",
        }
    }
}

/// The states of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum TaskState {
    Planned,
    Running,
    Finished,
    Canceled,
    Aborted,
    Failed,
}

impl TaskState {
    pub(crate) fn is_done(self) -> bool {
        !matches!(self, TaskState::Planned | TaskState::Running)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TaskState::Planned => "PLANNED",
            TaskState::Running => "RUNNING",
            TaskState::Finished => "FINISHED",
            TaskState::Canceled => "CANCELED",
            TaskState::Aborted => "ABORTED",
            TaskState::Failed => "FAILED",
        }
    }
}

/// The short answer about a task.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskStatus {
    pub task_instance_id_least_significant_bits: i64,
    pub task_instance_id_most_significant_bits: i64,
    pub version: u64,
    pub state: TaskState,
    #[serde(rename = "self")]
    pub location: String,
    pub completed_driver_groups: [u8; 0],
    pub failures: Vec<ExecutionFailure>,
    pub queued_partitioned_drivers: u32,
    pub running_partitioned_drivers: u32,
    pub output_buffer_utilization: f64,
    pub output_buffer_overutilized: bool,
    pub physical_written_data_size_in_bytes: u64,
    pub memory_reservation_in_bytes: u64,
    pub system_memory_reservation_in_bytes: u64,
    pub peak_node_total_memory_reservation_in_bytes: u64,
    pub full_gc_count: u64,
    pub full_gc_time_in_millis: u64,
    pub total_cpu_time_in_nanos: u64,
    pub task_age_in_millis: u64,
    pub queued_partitioned_splits_weight: u64,
    pub running_partitioned_splits_weight: u64,
}

/// Why a task failed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecutionFailure {
    #[serde(rename = "type")]
    pub failure_type: String,
    pub message: String,
    pub suppressed: Vec<ExecutionFailure>,
    pub stack: Vec<String>,
    pub error_code: ErrorCode,
}

/// A code of Presto's `StandardErrorCode`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorCode {
    pub code: u32,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// The long answer about a task.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskInfo {
    pub task_id: String,
    pub task_status: TaskStatus,
    pub last_heartbeat: String,
    pub output_buffers: OutputBufferInfo,
    pub no_more_splits: Vec<String>,
    pub stats: TaskStats,
    pub needs_plan: bool,
    pub metadata_updates: MetadataUpdates,
    pub node_id: String,
}

/// The output buffers of a task.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutputBufferInfo {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub state: &'static str,
    pub can_add_buffers: bool,
    pub can_add_pages: bool,
    pub total_buffered_bytes: u64,
    pub total_buffered_pages: u64,
    pub total_rows_sent: u64,
    pub total_pages_sent: u64,
    pub buffers: [u8; 0],
}

/// What a task did.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskStats {
    pub create_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    pub elapsed_time_in_nanos: u64,
    pub queued_time_in_nanos: u64,
    pub total_drivers: u32,
    pub queued_drivers: u32,
    pub running_drivers: u32,
    pub blocked_drivers: u32,
    pub completed_drivers: u32,
    pub user_memory_reservation_in_bytes: u64,
    pub peak_user_memory_in_bytes: u64,
    pub peak_total_memory_in_bytes: u64,
    pub total_scheduled_time_in_nanos: u64,
    pub total_cpu_time_in_nanos: u64,
    pub raw_input_positions: u64,
    pub processed_input_positions: u64,
    pub output_positions: u64,
    pub output_data_size_in_bytes: u64,
    pub blocked_reasons: [u8; 0],
    pub pipelines: [u8; 0],
    pub runtime_stats: Empty,
}

/// An empty object.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Empty {}

/// Changes of metadata that a coordinator should make; there are none.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetadataUpdates {
    pub metadata_updates: [u8; 0],
}

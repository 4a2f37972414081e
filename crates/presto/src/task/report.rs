//! What a coordinator is told about a task.

use super::{Inner, WorkerTask};
use crate::protocol::{MetadataUpdates, OutputBufferInfo, TaskInfo, TaskStats, TaskStatus};
use jiff::Timestamp;
use std::time::Duration;

/// Presto's weight of a split of usual size.
const SPLIT_WEIGHT: u64 = 100;

/// What the drivers of a task do.
struct Progress {
    /// Time on threads.
    busy: Duration,
    /// Splits that no driver reads yet, and those that drivers read.
    queued_splits: u32,
    running_splits: u32,
}

impl WorkerTask {
    pub(crate) fn status(&self) -> TaskStatus {
        let inner = self.lock();
        let memory = self.pool.stats();
        let progress = self.progress(&inner);
        TaskStatus {
            task_instance_id_most_significant_bits: self.instance.0,
            task_instance_id_least_significant_bits: self.instance.1,
            version: inner.version,
            state: inner.state,
            location: self.location.clone(),
            completed_driver_groups: [],
            failures: inner.failure.iter().cloned().collect(),
            queued_partitioned_drivers: progress.queued_splits,
            running_partitioned_drivers: progress.running_splits,
            output_buffer_utilization: self.buffers.utilization(),
            output_buffer_overutilized: self.buffers.utilization() > 0.5,
            physical_written_data_size_in_bytes: 0,
            memory_reservation_in_bytes: memory.bytes as u64,
            system_memory_reservation_in_bytes: 0,
            peak_node_total_memory_reservation_in_bytes: memory.peak_bytes as u64,
            full_gc_count: 0,
            full_gc_time_in_millis: 0,
            total_cpu_time_in_nanos: nanos(progress.busy),
            task_age_in_millis: self.created.1.elapsed().as_millis() as u64,
            queued_partitioned_splits_weight: SPLIT_WEIGHT * u64::from(progress.queued_splits),
            running_partitioned_splits_weight: SPLIT_WEIGHT * u64::from(progress.running_splits),
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
                kind: inner.kind.name(),
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
                total_scheduled_time_in_nanos: task_status.total_cpu_time_in_nanos,
                total_cpu_time_in_nanos: task_status.total_cpu_time_in_nanos,
                queued_drivers: task_status.queued_partitioned_drivers,
                running_drivers: task_status.running_partitioned_drivers,
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

    /// The query, and the bytes that the task holds.
    pub(crate) fn reservation(&self) -> (&str, usize) {
        (self.id.split('.').next().unwrap_or(&self.id), self.pool.stats().bytes)
    }

    fn progress(&self, inner: &Inner) -> Progress {
        let Some(running) = &inner.running else {
            return Progress { busy: inner.busy, queued_splits: 0, running_splits: 0 };
        };
        let statistics = running.task.statistics();
        let left = (running.splits.len() as u64).saturating_sub(statistics.splits().0);
        let reading = left.min(self.engine.drivers as u64);
        let count = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
        Progress {
            busy: statistics.busy(),
            queued_splits: count(left - reading),
            running_splits: count(reading),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

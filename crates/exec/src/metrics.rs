//! The counters of one operator of one driver.

use crate::BlockedOn;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use volley_state::{
    queue::Spilled,
    spill::{SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS},
};

/// Counters of one operator instance. Written by its driver, read by anybody at any time.
#[derive(Debug, Default)]
pub struct OperatorMetrics {
    rows_in: AtomicU64,
    batches_in: AtomicU64,
    rows_out: AtomicU64,
    batches_out: AtomicU64,
    busy_nanos: AtomicU64,
    /// By [`BlockedOn`], in the order of its variants.
    blocked_nanos: [AtomicU64; BlockedOn::ALL.len()],
    named: Mutex<Vec<(&'static str, u64)>>,
}

/// The counters at one moment, or the sum over several operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorCounts {
    /// Rows taken.
    pub rows_in: u64,
    /// Batches taken.
    pub batches_in: u64,
    /// Output rows.
    pub rows_out: u64,
    /// Output batches.
    pub batches_out: u64,
    /// Time on a thread.
    pub busy: Duration,
    /// Time off the threads, by reason; reasons that never occurred are missing.
    pub blocked: Vec<(BlockedOn, Duration)>,
    /// What the operator counts itself, by name, in order of first use.
    pub named: Vec<(&'static str, u64)>,
}

impl OperatorMetrics {
    /// Adds to a counter that only this kind of operator has, such as `groups`. Not for every row.
    pub fn add(&self, name: &'static str, value: u64) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        add_named(&mut named, name, value);
    }

    /// Sets such a counter.
    pub fn set(&self, name: &'static str, value: u64) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        match named.iter_mut().find(|it| it.0 == name) {
            Some(found) => found.1 = value,
            None => named.push((name, value)),
        }
    }

    /// Counts what an operator spilled.
    pub fn add_spilled(&self, spilled: Spilled) {
        if spilled.runs > 0 {
            self.add(SPILLED_RUNS, spilled.runs as u64);
            self.add(SPILLED_ROWS, spilled.rows as u64);
            self.add(SPILLED_BYTES, spilled.bytes);
        }
    }

    /// Counts an input batch.
    pub(crate) fn record_input(&self, rows: usize) {
        self.rows_in.fetch_add(rows as u64, Ordering::Relaxed);
        self.batches_in.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an output batch.
    pub(crate) fn record_output(&self, rows: usize) {
        self.rows_out.fetch_add(rows as u64, Ordering::Relaxed);
        self.batches_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts time on a thread.
    pub(crate) fn record_busy(&self, time: Duration) {
        self.busy_nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Counts time off the threads.
    pub(crate) fn record_blocked(&self, why: BlockedOn, time: Duration) {
        self.blocked_nanos[why as usize].fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The counters now.
    pub fn counts(&self) -> OperatorCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let blocked = BlockedOn::ALL.iter().zip(&self.blocked_nanos);
        OperatorCounts {
            rows_in: load(&self.rows_in),
            batches_in: load(&self.batches_in),
            rows_out: load(&self.rows_out),
            batches_out: load(&self.batches_out),
            busy: Duration::from_nanos(load(&self.busy_nanos)),
            blocked: blocked
                .map(|(why, nanos)| (*why, Duration::from_nanos(load(nanos))))
                .filter(|it| !it.1.is_zero())
                .collect(),
            named: self.named.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

impl std::ops::AddAssign<&OperatorCounts> for OperatorCounts {
    fn add_assign(&mut self, other: &OperatorCounts) {
        self.rows_in += other.rows_in;
        self.batches_in += other.batches_in;
        self.rows_out += other.rows_out;
        self.batches_out += other.batches_out;
        self.busy += other.busy;
        for (why, time) in &other.blocked {
            match self.blocked.iter_mut().find(|it| it.0 == *why) {
                Some(found) => found.1 += *time,
                None => self.blocked.push((*why, *time)),
            }
        }
        for (name, value) in &other.named {
            add_named(&mut self.named, name, *value);
        }
    }
}

fn add_named(named: &mut Vec<(&'static str, u64)>, name: &'static str, value: u64) {
    match named.iter_mut().find(|it| it.0 == name) {
        Some(found) => found.1 += value,
        None => named.push((name, value)),
    }
}

//! The counters of one operator of one driver.

use crate::BlockedOn;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use volley_expression::filter::FilterCounts;
use volley_state::spill::{SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS, SpillRun, Spilled};
use volley_vector::{Batch, Encoding, Vector};

/// Counters of one operator instance. Written by its driver, read by anybody at any time.
#[derive(Debug, Default)]
pub struct OperatorMetrics {
    rows_in: AtomicU64,
    batches_in: AtomicU64,
    rows_out: AtomicU64,
    batches_out: AtomicU64,
    busy_nanos: AtomicU64,
    /// Of a scan: [`OperatorMetrics::set_scanned`], [`OperatorMetrics::set_scan_size`].
    scanned_bytes: AtomicU64,
    scan_bytes: AtomicU64,
    /// By [`BlockedOn`], in the order of its variants.
    blocked_nanos: [AtomicU64; BlockedOn::ALL.len()],
    named: Mutex<Vec<(&'static str, u64)>>,
    /// By encoding, in the order of [`ENCODINGS`].
    encodings: [AtomicU64; ENCODINGS.len()],
    filters: Mutex<Vec<FilterCounts>>,
}

/// The names of encodings.
const ENCODINGS: [&str; 6] = ["flat", "constant", "dictionary", "run length", "bias", "lazy"];

/// The encodings of the first of this many output batches are counted.
const ENCODINGS_OF: u64 = 16;

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
    /// Columns of output batches by encoding, of one batch in 16 from the first on; encodings that
    /// never occurred are missing.
    pub encodings: Vec<(&'static str, u64)>,
    /// What each filter dropped, of operators that count it.
    pub filters: Vec<FilterCounts>,
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

    /// Sets how much a scan has read, as bytes of its splits: half a split is half its bytes.
    pub fn set_scanned(&self, bytes: u64) {
        self.scanned_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Sets how many bytes all splits of a scan have that are known so far.
    pub fn set_scan_size(&self, bytes: u64) {
        self.scan_bytes.store(bytes, Ordering::Relaxed);
    }

    /// What [`OperatorMetrics::set_scanned`] and [`OperatorMetrics::set_scan_size`] told last.
    pub(crate) fn scanned(&self) -> (u64, u64) {
        (self.scanned_bytes.load(Ordering::Relaxed), self.scan_bytes.load(Ordering::Relaxed))
    }

    /// Counts what an operator spilled.
    pub fn add_spilled(&self, spilled: Spilled) {
        if spilled.runs > 0 {
            self.add(SPILLED_RUNS, spilled.runs as u64);
            self.add(SPILLED_ROWS, spilled.rows as u64);
            self.add(SPILLED_BYTES, spilled.bytes);
        }
    }

    /// Counts runs that an operator wrote.
    pub fn add_runs<'a>(&self, runs: impl IntoIterator<Item = &'a SpillRun>) {
        runs.into_iter().for_each(|it| self.add_spilled(it.spilled()));
    }

    /// Counts an input batch.
    pub(crate) fn record_input(&self, rows: usize) {
        self.rows_in.fetch_add(rows as u64, Ordering::Relaxed);
        self.batches_in.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an output batch.
    pub(crate) fn record_output(&self, batch: &Batch) {
        self.rows_out.fetch_add(batch.rows() as u64, Ordering::Relaxed);
        let before = self.batches_out.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(ENCODINGS_OF) {
            self.record_encodings(batch);
        }
    }

    #[cold]
    fn record_encodings(&self, batch: &Batch) {
        for column in batch.columns() {
            let position = encoding_position(column);
            if let Some(count) = self.encodings.get(position) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Shows what filters did so far, those of the same text together.
    pub fn set_filters(&self, filters: Vec<FilterCounts>) {
        let mut all = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
        filters.into_iter().for_each(|it| add_filter(&mut all, it));
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
            encodings: ENCODINGS
                .into_iter()
                .zip(self.encodings.iter().map(load))
                .filter(|it| it.1 > 0)
                .collect(),
            filters: self.filters.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

impl OperatorCounts {
    /// The value of a named counter; 0 when it does not exist.
    pub fn named(&self, name: &str) -> u64 {
        self.named.iter().find(|it| it.0 == name).map_or(0, |it| it.1)
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
        for (name, count) in &other.encodings {
            add_named(&mut self.encodings, name, *count);
        }
        other.filters.iter().for_each(|it| add_filter(&mut self.filters, it.clone()));
    }
}

fn add_named(named: &mut Vec<(&'static str, u64)>, name: &'static str, value: u64) {
    match named.iter_mut().find(|it| it.0 == name) {
        Some(found) => found.1 += value,
        None => named.push((name, value)),
    }
}

fn add_filter(filters: &mut Vec<FilterCounts>, other: FilterCounts) {
    match filters.iter_mut().find(|it| it.text == other.text) {
        Some(found) => {
            found.rows_in += other.rows_in;
            found.rows_out += other.rows_out;
        }
        None => filters.push(other),
    }
}

/// The place of a column's encoding in [`ENCODINGS`]; that of a lazy one which is loaded is that of
/// its values.
fn encoding_position(column: &Vector) -> usize {
    let loaded = match column.encoding() {
        Encoding::Lazy(lazy) => lazy.get(),
        _ => None,
    };
    match loaded.unwrap_or(column).encoding() {
        Encoding::Flat(_) => 0,
        Encoding::Constant(_) => 1,
        Encoding::Dictionary { .. } => 2,
        Encoding::RunLength { .. } => 3,
        Encoding::Bias { .. } => 4,
        Encoding::Lazy(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use volley_types::{Type, Value};

    #[test]
    fn encodings_of_one_batch_in_16_are_counted() {
        let flat = Vector::native::<i64>(Type::BigInt, vec![1, 2], None);
        let constant = Vector::constant(Type::BigInt, &Value::BigInt(3), 2);
        let dictionary = Vector::dictionary(vec![1, 0].into(), Arc::new(flat.clone()), None);
        let batch = Batch::new(vec![flat.clone(), constant, dictionary, flat], 2);
        let metrics = OperatorMetrics::default();
        (0..17).for_each(|_| metrics.record_output(&batch));
        let counts = metrics.counts();
        assert_eq!((counts.batches_out, counts.rows_out), (17, 34));
        assert_eq!(counts.encodings, [("flat", 4), ("constant", 2), ("dictionary", 2)]);
    }

    #[test]
    fn filters_with_the_same_text_are_added() {
        let filter = |text: &str, rows_in, rows_out| FilterCounts {
            text: text.to_owned(),
            rows_in,
            rows_out,
        };
        let metrics = OperatorMetrics::default();
        metrics.set_filters(vec![filter("a", 9, 1)]);
        metrics.set_filters(vec![filter("a", 10, 5), filter("b", 5, 5), filter("a", 2, 1)]);
        let mut sum = metrics.counts();
        assert_eq!(sum.filters, [filter("a", 12, 6), filter("b", 5, 5)]);
        sum += &metrics.counts();
        assert_eq!(sum.filters, [filter("a", 24, 12), filter("b", 10, 10)]);
    }
}

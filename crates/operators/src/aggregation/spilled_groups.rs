//! What an aggregation has on disk: groups and rows, by the hash of the groups' keys.
//!
//! ```text
//! write   streams ──split by the hash──> files: one per stream and part
//! close   parts wait to be read
//! open    a part after the other: its streams in their order, rows in the order of writing
//! ```
//!
//! The first level splits as `radix_partitions` does, so that its partitions go to the files as
//! they are. A part that does not fit in memory either is written again, split by other bits of the
//! hash: the next level.

use super::radix_partitions;
use volley_error::Result;
use volley_exec::OperatorContext;
use volley_memory::Reservation;
use volley_state::{
    partition::{HashSalt, PartitionedRuns, partitions_within},
    spill::{SPILLED_PARTITIONS, SpillReader, SpillRun, SpillWriter},
};
use volley_types::Type;
use volley_vector::Batch;

/// The most files that a driver writes at once.
const WRITERS_MAX: usize = 64;

/// The fraction of the memory limit that write buffers of files take, in all drivers.
const WRITERS_SHARE: usize = 16;

/// Streams of batches that begin with the groups' keys, on their way to disk and back.
pub(super) struct SpilledGroups {
    keys: usize,
    /// How many parts a stream is split into.
    parts: usize,
    cx: OperatorContext,
    /// How often the rows at hand were split.
    level: u32,
    /// What is written now; empty when nothing was.
    streams: Vec<PartitionedRuns>,
    stream_count: usize,
    waiting: Vec<Part>,
    reading: Option<Reading>,
    /// What writing will take at first, and the next growth of tables.
    ahead: Reservation,
}

/// What was written for some groups.
struct Part {
    /// How often it was partitioned.
    level: u32,
    /// By stream.
    runs: Vec<Option<SpillRun>>,
}

/// A part that is read.
struct Reading {
    stream: usize,
    reader: Option<SpillReader>,
    /// Streams not yet begun, in order.
    runs: std::vec::IntoIter<Option<SpillRun>>,
}

impl SpilledGroups {
    /// For `streams` streams whose first `keys` columns are the keys.
    pub(super) fn new(keys: usize, streams: usize, cx: &OperatorContext) -> SpilledGroups {
        SpilledGroups {
            keys,
            parts: parts(streams, cx),
            cx: cx.clone(),
            level: 0,
            streams: Vec::new(),
            stream_count: streams,
            waiting: Vec::new(),
            reading: None,
            ahead: cx.pool.reserve_ahead(),
        }
    }

    /// Whether what is in memory may be written: not when it was split too often.
    pub(super) fn can_write(&self) -> bool {
        self.level < self.cx.task.sizes.group_levels
    }

    /// Whether something was written since the last [`SpilledGroups::close`].
    pub(super) fn has_written(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Whether parts wait to be read.
    pub(super) fn has_parts(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Charges, if there is room, what writing will take at first, and `growth` more bytes.
    pub(super) fn charge_ahead(&mut self, growth: usize) {
        let writers = self.parts * self.stream_count * SpillWriter::BYTES;
        let bytes = growth + if self.has_written() { 0 } else { writers };
        // Without room, memory is scarce already, and will be asked for.
        let _ = self.ahead.resize(bytes);
    }

    /// Releases the reservation for the current step.
    pub(super) fn release_ahead(&mut self) {
        self.ahead.clear();
    }

    /// Writes a batch of a stream.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory, cancelled.
    pub(super) fn write(&mut self, stream: usize, batch: &Batch) -> Result<()> {
        self.begin();
        self.streams[stream].write(batch)
    }

    /// As [`SpilledGroups::write`] for the first stream, of a batch that is all in one of the
    /// partitions in memory.
    pub(super) fn write_partition(&mut self, part: usize, batch: Batch) -> Result<()> {
        if self.level > 0 {
            return self.write(0, &batch);
        }
        self.begin();
        let part = part * self.parts / radix_partitions::PARTS;
        self.streams[0].write_to(part, &batch)
    }

    /// Makes what is written to, unless it is there.
    fn begin(&mut self) {
        if !self.streams.is_empty() {
            return;
        }
        let salt = match self.level {
            0 => HashSalt::Local,
            level => HashSalt::Spill(level),
        };
        let (keys, cx) = (self.keys, &self.cx);
        self.streams.resize_with(self.stream_count, || {
            let place = (&cx.task.spill, &cx.pool);
            let keys = (0..keys).collect();
            PartitionedRuns::new(keys, self.parts, salt, cx.task.batch_rows, place)
        });
    }

    /// Writes what is held back, after the last batch of a spill.
    ///
    /// # Errors
    ///
    /// As [`SpilledGroups::write`].
    pub(super) fn flush(&mut self) -> Result<()> {
        self.streams.iter_mut().try_for_each(PartitionedRuns::flush)
    }

    /// Ends the files: their parts wait to be read.
    ///
    /// # Errors
    ///
    /// As [`SpilledGroups::write`].
    pub(super) fn close(&mut self) -> Result<()> {
        let mut parts: Vec<Part> =
            (0..self.parts).map(|_| Part { level: self.level + 1, runs: Vec::new() }).collect();
        for mut stream in std::mem::take(&mut self.streams) {
            let runs = stream.finish()?;
            self.cx.metrics.add_runs(runs.iter().flatten());
            parts.iter_mut().zip(runs).for_each(|(part, run)| part.runs.push(run));
        }
        parts.retain(|it| it.runs.iter().any(Option::is_some));
        self.cx.metrics.add(SPILLED_PARTITIONS, parts.len() as u64);
        self.waiting.extend(parts);
        Ok(())
    }

    /// Begins to read the next part; false when there is none.
    pub(super) fn open(&mut self) -> bool {
        let Some(part) = self.waiting.pop() else { return false };
        self.level = part.level;
        // The first stream begins with the first batch.
        let runs = part.runs.into_iter();
        self.reading = Some(Reading { stream: 0, reader: None, runs });
        true
    }

    /// The next batch of the part that is read, and its stream.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory, cancelled.
    pub(super) fn read(&mut self) -> Result<Option<(usize, Batch)>> {
        let Some(reading) = &mut self.reading else { return Ok(None) };
        loop {
            if let Some(reader) = &mut reading.reader {
                if let Some(batch) = reader.next()? {
                    return Ok(Some((reading.stream - 1, batch)));
                }
                reading.reader = None;
            }
            let Some(run) = reading.runs.next() else {
                self.reading = None;
                return Ok(None);
            };
            reading.stream += 1;
            let read = |it: SpillRun| it.read(&self.cx.pool, self.cx.task.batch_rows);
            reading.reader = run.map(read).transpose()?;
        }
    }

    /// A file of its own for finished results.
    ///
    /// # Errors
    ///
    /// Out of memory; types that cannot be written.
    pub(super) fn results(&self, types: &[Type]) -> Result<SpillWriter> {
        SpillWriter::new(&self.cx.task.spill, types, &self.cx.pool)
    }

    /// The spilled results, to be emitted.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory.
    pub(super) fn read_results(&self, writer: SpillWriter) -> Result<SpillReader> {
        let run = writer.finish()?;
        self.cx.metrics.add_spilled(run.spilled());
        run.read(&self.cx.pool, self.cx.task.batch_rows)
    }
}

/// The number of partitions of each of this number of streams: many, so that a partition fits in
/// memory, but each has a buffer in every driver.
fn parts(streams: usize, cx: &OperatorContext) -> usize {
    let share = WRITERS_SHARE * cx.drivers.max(1);
    let files = partitions_within(&cx.pool, share, WRITERS_MAX);
    let parts = (files / streams.max(1)).clamp(2, cx.task.sizes.group_partitions);
    1 << parts.ilog2()
}

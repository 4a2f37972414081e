//! The stripe that is being read.
//!
//! Row groups are ruled out by their statistics and Bloom filters, which hold for the same rows of
//! all columns.

use crate::{
    bloom::{BloomFilters, BloomKind},
    error::corrupt,
    file::{OrcFile, decompress_section},
    lazy_column::SharedColumn,
    metadata::{StripeFooter, stream},
    row_index::{BYTES_PER_INDEX_BYTE, StripeIndexes},
    schema::Node,
    streams::{StreamKey, Streams},
};
use bytes::Bytes;
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, atomic::AtomicUsize},
};
use volley_connector::{Bounds, Conditions, LookupKey, ScanMetrics, may_join, may_match};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};

/// No batch is current.
pub(crate) const NO_BATCH: usize = usize::MAX;

/// Larger indexes and Bloom filters of a column are not read.
const INDEX_BYTES_MAX: u64 = 8 << 20;

/// What compressed data grows to, about, when it is decompressed: for batches of wide rows.
const COMPRESSION_RATIO: u64 = 4;

/// A stripe, and how far it was read.
pub(crate) struct Stripe {
    pub file: OrcFile,
    pub stripe: usize,
    pub rows: usize,
    /// The first row that was not returned.
    pub row: usize,
    /// Columns to read, by position in the table, ascending, and what they are in the file.
    needed: Arc<[usize]>,
    nodes: Arc<[Node]>,
    streams: Option<Streams>,
    indexes: Arc<StripeIndexes>,
    /// By position in the table.
    blooms: BTreeMap<usize, BloomFilters>,
    /// The row groups that may match, ascending, with gaps between them; `None`: all rows may.
    groups: Option<Vec<Range<usize>>>,
    /// The version of the conditions that it was looked at with.
    version: u64,
    /// For each of the needed columns, once the bytes are there.
    pub columns: Arc<[SharedColumn]>,
    /// The first row of the current batch.
    pub current: Arc<AtomicUsize>,
    /// Indexes, and the bytes of streams that were read together.
    pub reservation: Reservation,
    /// Bytes of the streams that are needed, for an estimate of the size of rows.
    stream_bytes: u64,
}

/// Something to read of a stripe: which stream, the place in it, and the range of the file.
pub(crate) type StreamRead = (StreamKey, u64, Range<u64>);

impl Stripe {
    /// A stripe, before anything of it is read.
    pub fn new(
        file: OrcFile,
        stripe: usize,
        needed: Arc<[usize]>,
        nodes: Arc<[Node]>,
        pool: &Pool,
    ) -> Stripe {
        Stripe {
            rows: file.rows(stripe),
            stripe,
            row: 0,
            needed,
            nodes,
            streams: None,
            indexes: Arc::default(),
            blooms: BTreeMap::new(),
            groups: None,
            version: 0,
            columns: Arc::default(),
            current: Arc::new(AtomicUsize::new(NO_BATCH)),
            reservation: pool.reservation(),
            stream_bytes: 0,
            file,
        }
    }

    /// Where its footer is.
    pub fn footer_range(&self) -> Result<Range<u64>> {
        Ok(self.file.stripe(self.stripe)?.footer())
    }

    /// Takes the bytes of the footer.
    pub fn use_footer(&mut self, bytes: Bytes, pool: &Pool) -> Result<()> {
        let bytes = decompress_section(bytes, self.file.compression(), &mut self.reservation)?;
        let footer = StripeFooter::read(&bytes)?;
        let information = *self.file.stripe(self.stripe)?;
        let streams = Streams::new(self.file.clone(), &information, footer, pool.clone())?;
        self.streams = Some(streams);
        Ok(())
    }

    fn streams(&self) -> Result<&Streams> {
        self.streams.as_ref().ok_or_else(|| Error::internal("stripe without a footer"))
    }

    /// The row indexes and Bloom filters to read, charged; none where they tell nothing.
    pub fn index_reads(
        &mut self,
        conditions: &Conditions,
        is_filtered: bool,
    ) -> Result<Vec<StreamRead>> {
        let stride = self.file.row_index_stride();
        if !is_filtered || stride == 0 || self.rows == 0 {
            return Ok(Vec::new());
        }
        let streams = self.streams()?;
        let (mut reads, mut bytes) = (Vec::new(), 0);
        let mut add = |key: StreamKey| {
            let Some(range) = streams.range(key) else { return false };
            let len = range.end - range.start;
            let is_read = len > 0 && len <= INDEX_BYTES_MAX;
            if is_read {
                bytes += len as usize;
                reads.push((key, 0, range));
            }
            is_read
        };
        for (column, node) in self.needed.iter().zip(&*self.nodes) {
            // With one row group, there is nothing to go to.
            if self.rows > stride || conditions.is_about(*column) {
                for column in node.columns() {
                    add((column, stream::ROW_INDEX));
                }
            }
            if conditions.looks_up(*column) && !add((node.column, stream::BLOOM_FILTER_UTF8)) {
                add((node.column, stream::BLOOM_FILTER));
            }
        }
        let most = bytes.saturating_mul(BYTES_PER_INDEX_BYTE);
        // Without memory for them, they are left alone.
        if self.reservation.grow(most).is_err() {
            reads.clear();
        }
        Ok(reads)
    }

    /// Takes indexes and Bloom filters, whose bytes were read, and leaves out the row groups
    /// that they rule out.
    pub fn use_indexes(
        &mut self,
        reads: &[StreamRead],
        bytes: Vec<Bytes>,
        conditions: &Conditions,
    ) -> Result<ScanMetrics> {
        let mut indexes = StripeIndexes::new(self.file.row_index_stride(), self.rows);
        for (((column, kind), _, _), bytes) in reads.iter().zip(bytes) {
            check_cancelled()?;
            let compression = self.file.compression();
            let bytes = decompress_section(bytes, compression, &mut self.reservation)?;
            let bloom = match *kind {
                stream::ROW_INDEX => {
                    indexes.insert(*column, bytes)?;
                    continue;
                }
                stream::BLOOM_FILTER_UTF8 => BloomKind::Utf8,
                _ => BloomKind::Legacy,
            };
            let place = self.nodes.iter().position(|it| it.column == *column);
            if let Some(place) = place.and_then(|it| self.needed.get(it)) {
                let filters = BloomFilters::read(&bytes, bloom)?;
                indexes.note_entries(filters.len());
                self.blooms.insert(*place, filters);
            }
        }
        self.indexes = Arc::new(indexes);
        self.version = conditions.version();
        self.rule_out(conditions)
    }

    /// Leaves out the row groups that conditions rule out by now, from the current row on.
    fn rule_out(&mut self, conditions: &Conditions) -> Result<ScanMetrics> {
        let groups = self.indexes.groups();
        let mut left: Vec<Range<usize>> = Vec::new();
        let before = self.groups.clone().unwrap_or_else(|| std::iter::once(0..groups).collect());
        let (mut metrics, mut dropped) = (ScanMetrics::default(), 0);
        for group in before.into_iter().flatten() {
            let rows = self.indexes.rows_of(group);
            if rows.end > self.row && !self.may_match(group, conditions) {
                metrics.rows_pruned += (rows.end - rows.start.max(self.row)) as u64;
                dropped += 1;
                continue;
            }
            match left.last_mut().filter(|it| it.end == group) {
                Some(last) => last.end = group + 1,
                None => left.push(group..group + 1),
            }
        }
        if dropped > 0 {
            metrics.pages_pruned = dropped * self.needed.len() as u64;
            self.groups = Some(left);
        }
        Ok(metrics)
    }

    /// Whether rows of a row group may match.
    fn may_match(&self, group: usize, conditions: &Conditions) -> bool {
        let rows = self.indexes.rows_of(group).len() as u64;
        let bounds = |column: usize| self.group_bounds(group, column);
        let filters = || conditions.filters.iter().all(|(it, _)| may_match(it, rows, &bounds));
        let joins = || {
            conditions.dynamic.iter().all(|it| {
                let condition = it.bound_condition();
                it.filter.get().is_none_or(|keys| may_join(keys, rows, &bounds(it.column)))
                    && condition.is_none_or(|it| may_match(&it, rows, &bounds))
            })
        };
        let lookup =
            |column: usize, key: LookupKey| match (self.blooms.get(&column), self.node(column)) {
                (Some(filters), Some(node)) if filters.len() == self.indexes.groups() => {
                    filters.may_have(group, node, key)
                }
                _ => true,
            };
        filters() && joins() && (self.blooms.is_empty() || conditions.may_all_match(&lookup))
    }

    fn node(&self, column: usize) -> Option<&Node> {
        self.needed.binary_search(&column).ok().and_then(|it| self.nodes.get(it))
    }

    fn group_bounds(&self, group: usize, column: usize) -> Bounds {
        self.node(column).map_or_else(Bounds::default, |it| self.indexes.bounds(it, group))
    }

    /// Leaves out what bounds rule out of the rows that were not returned, if they have changed.
    pub fn look_again(&mut self, conditions: &Conditions) -> Result<ScanMetrics> {
        let version = conditions.version();
        if std::mem::replace(&mut self.version, version) == version {
            return Ok(ScanMetrics::default());
        }
        let bounds = |column: usize| {
            let place = self.needed.binary_search(&column).ok();
            let node = place.and_then(|it| self.nodes.get(it));
            node.map_or_else(Bounds::default, |it| self.file.node_bounds(self.stripe, it))
        };
        if conditions.rule_out(self.rows, &bounds) {
            let metrics = ScanMetrics { rows_pruned: self.rows_left(), ..ScanMetrics::default() };
            self.row = self.rows;
            return Ok(metrics);
        }
        if self.indexes.groups() == 0 {
            Ok(ScanMetrics::default())
        } else {
            self.rule_out(conditions)
        }
    }

    /// The rows that may match and were not returned.
    pub fn rows_left(&self) -> u64 {
        let left = |rows: Range<usize>| rows.end.saturating_sub(rows.start.max(self.row)) as u64;
        match &self.groups {
            None => left(0..self.rows),
            Some(groups) => groups.iter().map(|it| left(self.rows_of(it))).sum(),
        }
    }

    /// The rows of a range of row groups.
    fn rows_of(&self, groups: &Range<usize>) -> Range<usize> {
        self.indexes.rows_of(groups.start).start..self.indexes.rows_of(groups.end).start
    }

    /// What is needed of the streams of the columns.
    pub fn data_reads(&mut self) -> Result<Vec<StreamRead>> {
        let streams = self.streams()?;
        let groups = self.groups.as_deref();
        let reads: Vec<StreamRead> =
            self.nodes.iter().flat_map(|it| streams.needed(it, groups, &self.indexes)).collect();
        self.stream_bytes = reads.iter().map(|(_, _, range)| range.end - range.start).sum();
        Ok(reads)
    }

    /// Makes the column readers; of `reads`, `bytes` were read, or none.
    pub fn open(&mut self, reads: &[StreamRead], bytes: Vec<Bytes>) -> Result<()> {
        let streams = self.streams.as_mut();
        let streams = streams.ok_or_else(|| Error::internal("stripe without a footer"))?;
        for ((key, place, _), bytes) in reads.iter().zip(bytes) {
            streams.insert(*key, *place, bytes);
        }
        let mut columns = Vec::with_capacity(self.nodes.len());
        for node in &*self.nodes {
            check_cancelled()?;
            let reader = streams.reader(node)?;
            let name = self.file.column_name(node.column).unwrap_or_default();
            let place = (self.file.path().to_owned(), self.stripe, name);
            let (indexes, current) = (Arc::clone(&self.indexes), Arc::clone(&self.current));
            columns.push(SharedColumn::new(reader, indexes, current, place));
        }
        self.columns = columns.into();
        Ok(())
    }

    /// The next rows to return: at most `most` of them, and fewer where they take more than about
    /// `bytes`.
    pub fn next_rows(&self, most: usize, bytes: usize) -> Option<Range<usize>> {
        let ratio = if self.file.codec().is_some() { COMPRESSION_RATIO } else { 1 };
        let row_bytes = self.stream_bytes.saturating_mul(ratio) / self.rows.max(1) as u64;
        let fit = bytes / usize::try_from(row_bytes).unwrap_or(usize::MAX).max(1);
        let most = most.min(fit.max(1));
        let range = match &self.groups {
            None => self.row..self.rows,
            Some(groups) => {
                let next = groups.partition_point(|it| self.rows_of(it).end <= self.row);
                let range = self.rows_of(groups.get(next)?);
                range.start.max(self.row)..range.end
            }
        };
        let end = range.end.min(range.start.saturating_add(most));
        Some(range.start..end).filter(|it| !it.is_empty())
    }

    /// Whether all row groups are ruled out.
    pub fn is_ruled_out(&self) -> bool {
        self.groups.as_ref().is_some_and(Vec::is_empty)
    }

    /// An error about the stripe.
    pub fn in_place(&self, error: Error) -> Error {
        error.at("file", self.file.path()).at("stripe", self.stripe)
    }

    /// Bytes that streams have read from the file themselves.
    pub fn bytes_read(&self) -> u64 {
        self.columns.iter().map(SharedColumn::bytes_read).sum()
    }
}

/// What reads of streams cost, to be charged.
pub(crate) fn bytes_of(reads: &[StreamRead]) -> Result<usize> {
    let bytes: u64 = reads.iter().map(|(_, _, range)| range.end - range.start).sum();
    usize::try_from(bytes).map_err(|_| corrupt("streams larger than memory"))
}

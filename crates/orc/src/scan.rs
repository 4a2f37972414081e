//! Reads stripes: filters first, then the other columns for the rows that are left.
//!
//! ```text
//! start(stripe)  its footer tells where streams are
//! row indexes and Bloom filters, if they may rule out row groups, or if rows will be
//!                passed over
//! streams of the needed columns, or the parts with the row groups that are left, are
//!                read together, unless they are in the page cache: then each stream reads what it
//!                decodes next
//! step           row groups that a bound has ruled out in the meantime are left out
//!                filter columns of the next rows, lazily ── conjuncts ── selected rows
//!                output: filter columns as dictionaries over what is decoded,
//!                        other columns lazily, decoded for the selected rows alone
//! ```

use crate::{
    file::OrcFile,
    lazy_column::ColumnLoader,
    schema::Node,
    stripe::{NO_BATCH, StreamRead, Stripe, bytes_of},
};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
    task::Waker,
    time::{Duration, Instant},
};
use volley_connector::{Conditions, ScanMetrics, ScanRequest, SourceStep, select_lazily};
use volley_error::{Error, Result};
use volley_expression::filter::{Conjuncts, FilterCounts};
use volley_io::{BufferPool, RangeReads};
use volley_memory::Pool;
use volley_types::Type;
use volley_vector::Vector;

/// A step returns after this many rows without output.
const ROWS_PER_STEP: usize = 1 << 16;

/// A step without output returns soon after this time, however costly the filters are.
const STEP_TIME: Duration = Duration::from_millis(5);

/// Where a column of the table is in a file, and the type to read it as; `None`: the file's.
pub type ColumnPlace<'a> = &'a dyn Fn(usize) -> (usize, Option<&'a Type>);

/// Reads stripes of files with the same columns.
pub struct StripeReader {
    /// Columns to return, by position in the table.
    columns: Vec<usize>,
    conditions: Conditions,
    conjuncts: Option<Conjuncts>,
    batch_rows: usize,
    pool: Pool,
    /// Memory of streams, from one stripe to the next.
    buffers: BufferPool,
    /// Columns to read, by position in the table, ascending.
    needed: Arc<[usize]>,
    state: State,
    metrics: ScanMetrics,
}

enum State {
    Idle,
    /// Something is read before the rows.
    Reading(Box<Stripe>, Phase, RangeReads),
    Open(Box<Stripe>),
}

/// What is read.
enum Phase {
    Footer,
    Indexes(Vec<StreamRead>),
    Data(Vec<StreamRead>),
}

impl StripeReader {
    /// A reader for `request`.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(request: &ScanRequest) -> Result<StripeReader> {
        let conjuncts = request.conjuncts()?;
        let mut needed = request.columns.clone();
        needed.extend(conjuncts.iter().flat_map(|it| it.columns()));
        needed.sort_unstable();
        needed.dedup();
        Ok(StripeReader {
            columns: request.columns.clone(),
            conditions: Conditions::new(request),
            conjuncts,
            batch_rows: request.batch_rows.max(1),
            pool: request.pool.clone(),
            buffers: BufferPool::default(),
            needed: needed.into(),
            state: State::Idle,
            metrics: ScanMetrics::default(),
        })
    }

    /// Begins a stripe. `place` tells where a column of the table is in the file.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory.
    pub fn start(&mut self, file: OrcFile, stripe: usize, place: ColumnPlace) -> Result<()> {
        self.close();
        let nodes = self.nodes(&file, place)?;
        let needed = Arc::clone(&self.needed);
        let stripe = Box::new(Stripe::new(file, stripe, needed, nodes, &self.pool));
        let range = stripe.footer_range()?;
        self.read(stripe, Phase::Footer, vec![range])
    }

    fn nodes(&self, file: &OrcFile, place: ColumnPlace) -> Result<Arc<[Node]>> {
        let node = |column: &usize| {
            let (place, wanted) = place(*column);
            let node = file.node(place)?;
            match wanted {
                None => Ok(node.clone()),
                Some(wanted) => node.read_as(wanted).ok_or_else(|| {
                    Error::internal(format!("{} is read as {wanted}", node.data_type))
                }),
            }
        };
        self.needed.iter().map(node).collect()
    }

    /// Says which stripe will most likely be read next, so that a device may begin.
    ///
    /// # Errors
    ///
    /// Internal: no such stripe.
    pub fn prepare(&self, file: &OrcFile, stripe: usize) -> Result<()> {
        if matches!(self.state, State::Reading(..)) {
            file.file().will_read(&[file.stripe(stripe)?.footer()]);
        }
        Ok(())
    }

    /// Reads `ranges` for `phase`; at once, if that does not block.
    fn read(
        &mut self,
        mut stripe: Box<Stripe>,
        phase: Phase,
        ranges: Vec<Range<u64>>,
    ) -> Result<()> {
        let file = Arc::clone(stripe.file.file());
        let is_data = matches!(phase, Phase::Data(_));
        let at_hand = ranges.is_empty() || file.is_at_hand(&ranges);
        if at_hand && is_data {
            // Streams read themselves.
            return self.advance(stripe, phase, Vec::new());
        }
        self.metrics.bytes_read += ranges.iter().map(|it| it.end - it.start).sum::<u64>();
        if at_hand {
            let bytes = ranges.into_iter().map(|it| file.read(it)).collect::<Result<Vec<_>>>()?;
            return self.advance(stripe, phase, bytes);
        }
        if let Phase::Data(reads) = &phase {
            stripe.reservation.grow(bytes_of(reads)?)?;
        }
        let reads = RangeReads::start(file, ranges, &self.buffers)?;
        self.state = State::Reading(stripe, phase, reads);
        Ok(())
    }

    /// Goes on after a phase that has read `bytes`.
    fn advance(
        &mut self,
        mut stripe: Box<Stripe>,
        phase: Phase,
        mut bytes: Vec<Bytes>,
    ) -> Result<()> {
        match phase {
            Phase::Footer => {
                let footer = bytes.pop().unwrap_or_default();
                stripe.use_footer(footer, &self.pool).map_err(|it| stripe.in_place(it))?;
                let reads = stripe.index_reads(&self.conditions, self.conjuncts.is_some())?;
                if reads.is_empty() {
                    return self.read_data(stripe);
                }
                let ranges = reads.iter().map(|(_, _, range)| range.clone()).collect();
                self.read(stripe, Phase::Indexes(reads), ranges)
            }
            Phase::Indexes(reads) => {
                let metrics = stripe.use_indexes(&reads, bytes, &self.conditions);
                self.metrics += metrics.map_err(|it| stripe.in_place(it))?;
                if stripe.is_ruled_out() {
                    self.metrics.groups_skipped += 1;
                    return Ok(());
                }
                self.read_data(stripe)
            }
            Phase::Data(reads) => {
                stripe.open(&reads, bytes).map_err(|it| stripe.in_place(it))?;
                self.state = State::Open(stripe);
                Ok(())
            }
        }
    }

    fn read_data(&mut self, mut stripe: Box<Stripe>) -> Result<()> {
        self.metrics.groups_read += 1;
        let reads = stripe.data_reads()?;
        let ranges = reads.iter().map(|(_, _, range)| range.clone()).collect();
        self.read(stripe, Phase::Data(reads), ranges)
    }

    /// Advances by at most one batch.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory, an error of a filter.
    pub fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        if !self.poll(waker)? {
            return Ok(SourceStep::Blocked);
        }
        let (mut passed, begin) = (0, Instant::now());
        loop {
            let State::Open(stripe) = &mut self.state else { return Ok(SourceStep::NeedSplit) };
            self.metrics += stripe.look_again(&self.conditions)?;
            let Some(rows) = stripe.next_rows(self.batch_rows, self.pool.batch_bytes()) else {
                self.close();
                return Ok(SourceStep::NeedSplit);
            };
            self.metrics.rows_read += rows.len() as u64;
            stripe.current.store(rows.start, Ordering::Release);
            let lazy = |column: usize, selection: Option<Arc<[u32]>>| {
                lazy_column(stripe, &self.needed, column, rows.clone(), selection)
            };
            let batch = select_lazily(&self.columns, rows.len(), &mut self.conjuncts, &lazy)?;
            stripe.row = rows.end;
            if let Some(batch) = batch {
                return Ok(SourceStep::Batch(batch));
            }
            passed += rows.len();
            if passed >= ROWS_PER_STEP || begin.elapsed() >= STEP_TIME {
                return Ok(SourceStep::Progress);
            }
        }
    }

    /// Goes on when reads have ended; `false` while they are under way.
    fn poll(&mut self, waker: &Waker) -> Result<bool> {
        while let State::Reading(_, _, reads) = &mut self.state {
            let Some(bytes) = reads.poll(waker)? else { return Ok(false) };
            if let State::Reading(stripe, phase, _) =
                std::mem::replace(&mut self.state, State::Idle)
            {
                self.advance(stripe, phase, bytes)?;
            }
        }
        Ok(true)
    }

    /// How much of the stripe is returned, from 0 to 1.
    pub fn stripe_share(&self) -> f64 {
        match &self.state {
            State::Open(stripe) => stripe.row as f64 / stripe.rows.max(1) as f64,
            State::Idle | State::Reading(..) => 0.0,
        }
    }

    /// What was read and skipped so far.
    pub fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        if let State::Open(stripe) = &self.state {
            metrics.bytes_read += stripe.bytes_read();
        }
        metrics
    }

    /// What each filter did so far.
    pub fn filters(&self) -> Vec<FilterCounts> {
        self.conjuncts.as_ref().map(Conjuncts::filters).unwrap_or_default()
    }

    /// Leaves the stripe.
    fn close(&mut self) {
        if let State::Open(stripe) = &self.state {
            self.metrics.bytes_read += stripe.bytes_read();
            stripe.current.store(NO_BATCH, Ordering::Release);
        }
        self.state = State::Idle;
    }
}

/// A column of the table in some rows of the stripe, to be decoded on first use.
fn lazy_column(
    stripe: &Stripe,
    needed: &[usize],
    column: usize,
    rows: Range<usize>,
    selection: Option<Arc<[u32]>>,
) -> Result<Vector> {
    let place = needed.binary_search(&column);
    let place = place.map_err(|_| Error::internal("column that was not asked for"))?;
    ColumnLoader { columns: Arc::clone(&stripe.columns), place, rows, selection }.into_vector()
}

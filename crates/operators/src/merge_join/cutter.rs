//! Cuts both sides into chunks that can be joined by themselves.

use super::{
    MergeSpec,
    chunk::{Chunk, ChunkRows},
    side::{Bound, Side},
};
use std::{cmp::Ordering, sync::Arc, task::Waker};
use volley_error::Result;
use volley_exec::TaskContext;
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::JoinKind;
use volley_state::{
    BatchCharge, Cuts, Waiters,
    charge::queue_bytes,
    compact::own_batch,
    spill::{SpillWriter, can_spill},
};
use volley_vector::Batch;

/// Rows of one key that take more, or their share of the memory limit, are not waited for in
/// memory.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The number of batches at which everything is cut.
const TEST_BATCHES: usize = 2;

/// What drivers cut chunks with.
pub(super) struct Cutter {
    spec: Arc<MergeSpec>,
    left: Side,
    right: Side,
    state: State,
    /// Drivers that wait for a chunk.
    waiters: Waiters,
    space: SpillSpace,
    pool: Pool,
    cuts_everything: bool,
}

enum State {
    /// No bound is known.
    Start,
    /// All rows up to the bound, and of its key, are to come.
    Gather(Bound),
    /// As `Gather`; before it there is nothing, and the rows of the key, left and right, are many.
    Group(Bound, [Collector; 2]),
    /// As `Group`, of rows that match nothing.
    Unmatched(Bound),
    Ended,
}

/// What a driver gets.
pub(super) enum Cut {
    Chunk(Chunk),
    /// Rows have not come; the waker will be woken.
    Wait,
    /// Some work.
    Progress,
    End,
}

/// Rows of one key, on disk when they are many.
struct Collector {
    batches: Vec<Batch>,
    charge: BatchCharge,
    writer: Option<SpillWriter>,
    can_spill: bool,
}

impl Cutter {
    pub(super) fn new(
        spec: &Arc<MergeSpec>,
        (left, right): (Side, Side),
        task: &TaskContext,
        pool: &Pool,
    ) -> Cutter {
        Cutter {
            spec: Arc::clone(spec),
            left,
            right,
            state: State::Start,
            waiters: Waiters::default(),
            space: task.spill.clone(),
            pool: pool.clone(),
            cuts_everything: task.spill_always || task.sizes.cuts == Cuts::Small,
        }
    }

    /// The next chunk, when its rows have come.
    pub(super) fn cut(&mut self, waker: &Waker) -> Result<Cut> {
        let cut = match std::mem::replace(&mut self.state, State::Ended) {
            State::Start => self.start(waker)?,
            State::Gather(bound) => self.gather(bound, waker)?,
            State::Group(bound, collectors) => self.group(bound, collectors, waker)?,
            State::Unmatched(bound) => self.unmatched(bound, waker)?,
            State::Ended => Cut::End,
        };
        match cut {
            // Who waits for rows must also learn that none are needed any more.
            Cut::Wait => self.waiters.add(waker),
            Cut::End => self.waiters.take().wake(),
            Cut::Chunk(_) | Cut::Progress => {}
        }
        Ok(cut)
    }

    fn start(&mut self, waker: &Waker) -> Result<Cut> {
        for side in [&mut self.left, &mut self.right] {
            if side.is_empty() && !side.pull(waker)? {
                self.state = State::Start;
                return Ok(Cut::Wait);
            }
        }
        let (left, right) = match (self.left.last(), self.right.last()) {
            (Some(left), Some(right)) => (left, right),
            (left, right) => return Ok(self.one_side(left.is_some(), right.is_some())),
        };
        let is_left = left.compare(&right, self.left.keys())?.is_le();
        self.state = State::Gather(if is_left { left } else { right });
        Ok(Cut::Progress)
    }

    /// When a side has no rows any more.
    fn one_side(&mut self, has_left: bool, has_right: bool) -> Cut {
        let (left, right) = (has_left && self.keeps_left(), has_right && self.keeps_right());
        if !left && !right {
            self.left.close();
            self.right.close();
            return Cut::End;
        }
        self.state = State::Start;
        let left = if left { self.left.take_all() } else { Vec::new() };
        let right = if right { self.right.take_all() } else { Vec::new() };
        self.chunk(left, right)
    }

    fn gather(&mut self, bound: Bound, waker: &Waker) -> Result<Cut> {
        for is_left in [true, false] {
            let side = if is_left { &mut self.left } else { &mut self.right };
            if side.is_complete(&bound)? {
                continue;
            }
            let (batches, bytes) = side.size();
            let is_large = match self.cuts_everything {
                true => batches > TEST_BATCHES,
                false => bytes > queue_bytes(&self.pool, GROUP_BYTES_MAX),
            };
            if is_large {
                return self.begin_group(bound);
            }
            let has_come = side.pull(waker)?;
            self.state = State::Gather(bound);
            return Ok(if has_come { Cut::Progress } else { Cut::Wait });
        }
        self.state = State::Start;
        let left = self.left.take(&bound, Ordering::is_le)?;
        let right = self.right.take(&bound, Ordering::is_le)?;
        Ok(self.chunk(left, right))
    }

    /// Cuts off what is before the bound's key, whose rows are many.
    fn begin_group(&mut self, bound: Bound) -> Result<Cut> {
        let left = self.left.take(&bound, Ordering::is_lt)?;
        let right = self.right.take(&bound, Ordering::is_lt)?;
        let mut has_null = false;
        for (index, key) in self.spec.keys.iter().enumerate() {
            has_null |= !key.nulls_equal && bound.is_null(index)?;
        }
        // A side without waiting rows has not come to the key, or has ended.
        let may_match = |it: &Side| Ok(it.begins_with(&bound)? || !(it.is_complete(&bound)?));
        self.state = match !has_null && may_match(&self.left)? && may_match(&self.right)? {
            true => State::Group(bound, [&self.left, &self.right].map(|it| self.collector(it))),
            false => State::Unmatched(bound),
        };
        Ok(self.chunk(left, right))
    }

    fn collector(&self, side: &Side) -> Collector {
        Collector {
            batches: Vec::new(),
            charge: BatchCharge::new(&self.pool),
            writer: None,
            can_spill: can_spill(side.types()),
        }
    }

    fn group(
        &mut self,
        bound: Bound,
        mut collectors: [Collector; 2],
        waker: &Waker,
    ) -> Result<Cut> {
        let bytes_max = match self.cuts_everything {
            true => 0,
            false => queue_bytes(&self.pool, GROUP_BYTES_MAX),
        };
        for (side, collector) in [&mut self.left, &mut self.right].into_iter().zip(&mut collectors)
        {
            for batch in side.take(&bound, Ordering::is_eq)? {
                collector.push(batch, bytes_max, &self.space, side)?;
            }
            if !side.is_complete(&bound)? {
                let has_come = side.pull(waker)?;
                self.state = State::Group(bound, collectors);
                return Ok(if has_come { Cut::Progress } else { Cut::Wait });
            }
        }
        self.state = State::Start;
        let [left, right] = collectors.map(Collector::finish);
        Ok(Cut::Chunk(Chunk { left: left?, right: right?, is_group: true }))
    }

    fn unmatched(&mut self, bound: Bound, waker: &Waker) -> Result<Cut> {
        let left = self.left.take(&bound, Ordering::is_le)?;
        let right = self.right.take(&bound, Ordering::is_le)?;
        if !left.is_empty() || !right.is_empty() {
            self.state = State::Unmatched(bound);
            return Ok(self.chunk(left, right));
        }
        for side in [&mut self.left, &mut self.right] {
            if !side.is_complete(&bound)? {
                let has_come = side.pull(waker)?;
                self.state = State::Unmatched(bound);
                return Ok(if has_come { Cut::Progress } else { Cut::Wait });
            }
        }
        self.state = State::Start;
        Ok(Cut::Progress)
    }

    /// Rows as a chunk, if they have output.
    fn chunk(&self, left: Vec<Batch>, right: Vec<Batch>) -> Cut {
        let is_needed = match (left.is_empty(), right.is_empty()) {
            (true, true) => false,
            (true, false) => self.keeps_right(),
            (false, true) => self.keeps_left(),
            (false, false) => true,
        };
        let (left, right) = (ChunkRows::Memory(left), ChunkRows::Memory(right));
        match is_needed {
            true => Cut::Chunk(Chunk { left, right, is_group: false }),
            false => Cut::Progress,
        }
    }

    /// Whether left rows without a match are emitted.
    fn keeps_left(&self) -> bool {
        use JoinKind::{Full, Left, LeftAnti, LeftMark};
        matches!(self.spec.output.kind, Left | Full | LeftAnti | LeftMark)
    }

    /// Whether right rows without a match are emitted.
    fn keeps_right(&self) -> bool {
        matches!(self.spec.output.kind, JoinKind::Right | JoinKind::Full | JoinKind::RightAnti)
    }
}

impl Collector {
    fn push(
        &mut self,
        batch: Batch,
        bytes_max: usize,
        space: &SpillSpace,
        side: &Side,
    ) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return writer.write(&batch);
        }
        let batch = own_batch(batch)?;
        self.charge.add(&batch)?;
        self.batches.push(batch);
        if self.can_spill && self.charge.bytes() > bytes_max {
            let writer = SpillWriter::new(space, side.types(), self.charge.pool())?;
            let writer = self.writer.insert(writer);
            for batch in std::mem::take(&mut self.batches) {
                writer.write(&batch)?;
            }
            self.charge.clear();
        }
        Ok(())
    }

    fn finish(self) -> Result<ChunkRows> {
        Ok(match self.writer {
            Some(writer) => ChunkRows::Disk(writer.finish()?),
            None => ChunkRows::Memory(self.batches),
        })
    }
}

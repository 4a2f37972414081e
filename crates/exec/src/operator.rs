//! The operator interface: what a driver may ask of an operator.
//!
//! One instance belongs to one driver, so methods take `&mut self` and lock nothing. State shared
//! by the drivers of a pipeline lives behind an `Arc` that the operator was built with.

use std::{fmt, task::Waker};
use volley_error::Result;
use volley_vector::Batch;

/// One stage of a pipeline.
pub trait Operator: Send {
    /// The name shown in plans and statistics, such as `hash join probe`.
    fn name(&self) -> &'static str;

    /// Takes a batch of at least one row. Called only after `step` returned [`Step::NeedInput`].
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn accept(&mut self, input: Batch) -> Result<()>;

    /// Tells that no further batch will come.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn finish_input(&mut self) -> Result<()>;

    /// The rows of one part of the source have come, and those of the next part may follow. Called
    /// only after `step` returned [`Step::NeedInput`], in pipelines that keep the order of their
    /// source. Answers whether rows are held: the operator outputs them, and then answers
    /// [`Step::EndOfSplit`].
    fn end_split(&mut self) -> bool {
        false
    }

    /// Advances by about one batch of work (at most a few milliseconds), or says why it cannot.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step>;

    /// The operator as one that can give memory back, if it is one.
    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        None
    }

    /// Takes back what others can see of unfinished work, such as a temporary file. Called when the
    /// task was cancelled; the operator is not used again, but may be dropped later.
    fn abort(&mut self) {}
}

/// The ability to write rows that are held to disk, so that their memory can be used otherwise.
///
/// Both methods are called between steps, at any time: before the first input, while the operator
/// waits for something else, after its last output.
pub trait Spill {
    /// About how many bytes [`Spill::spill`] would free now. Called before every step.
    fn reclaimable_bytes(&self) -> usize;

    /// Whether its rows must go to disk in any case while memory is short, so that it loses nothing
    /// by spilling while other drivers of its query spill.
    fn spills_alongside(&self) -> bool {
        false
    }

    /// Frees what it can. Must use little memory itself, since memory is scarce.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory, cancelled; the task fails with it.
    fn spill(&mut self) -> Result<()>;
}

/// What a step can use.
pub struct StepContext<'a> {
    /// Wakes the driver. An operator that answers [`Step::Blocked`] has stored a clone where the
    /// event happens, and has checked again after storing it.
    pub waker: &'a Waker,
}

/// What an operator did, or is waiting for.
#[derive(Debug)]
pub enum Step {
    /// A batch of at least one row for the next operator.
    Output(Batch),
    /// Nothing more to say until `accept` or `finish_input`. Sources never answer this.
    NeedInput,
    /// All rows of a part of the source were output; see [`Operator::end_split`].
    EndOfSplit,
    /// Worked, and wants to go on; lets the driver look up (cancellation, fairness).
    Yield,
    /// Off the CPU until the waker fires; the reason feeds the statistics.
    Blocked(BlockedOn),
    /// Never called again. An operator may answer it before its input ended (LIMIT).
    Finished,
}

/// Why an operator cannot advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockedOn {
    /// The build side of a join, or another pipeline's result.
    Build,
    /// A file, an object store or a peer.
    Io,
    /// A full queue or an empty one.
    Exchange,
    /// The memory arbiter.
    Memory,
    /// Who reads the result.
    Reader,
    /// A connector that lists splits, or the task's owner, who adds them.
    Splits,
}

impl BlockedOn {
    /// All reasons, in the order of the variants.
    pub const ALL: [BlockedOn; 6] = [
        BlockedOn::Build,
        BlockedOn::Io,
        BlockedOn::Exchange,
        BlockedOn::Memory,
        BlockedOn::Reader,
        BlockedOn::Splits,
    ];

    /// Whether the reason lies outside of the query, whose other drivers can do nothing about it.
    pub(crate) fn is_outside(self) -> bool {
        matches!(self, BlockedOn::Io | BlockedOn::Reader | BlockedOn::Splits)
    }
}

impl fmt::Display for BlockedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlockedOn::Build => "build",
            BlockedOn::Io => "io",
            BlockedOn::Exchange => "exchange",
            BlockedOn::Memory => "memory",
            BlockedOn::Reader => "reader",
            BlockedOn::Splits => "splits",
        })
    }
}

//! Aggregate functions.
//!
//! Most aggregates fold rows into a state, a Rust value inside each group's row of the hash table.
//! Steps:
//!
//! ```text
//! single       add ... add                       extract
//! partial      add ... add    extract_intermediate
//! intermediate merge ... merge extract_intermediate
//! final        merge ... merge                   extract
//! ```
//!
//! Aggregates whose result needs all rows of a group collect the rows. The rows of all groups are
//! stored as columns next to the hash table and sorted by group at the end:
//!
//! ```text
//! single, partial       keep arguments            ── by group ──> results or intermediate
//! intermediate, final   keep what expand() makes  ── by group ──> results or intermediate
//! ```

pub mod typed;
mod groups;
pub mod simple;

pub use groups::Groups;

use crate::Ranges;
use std::{any::TypeId, sync::Arc};
use volley_error::Result;
use volley_memory::Slots;
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// The state of a group, as a hash table sees it. `slots`: one per group.
pub trait AggregateState: Send + Sync {
    /// The state's layout and type.
    fn state(&self) -> StateLayout;

    /// Writes the state of an empty group into every slot.
    fn init(&self, slots: &mut Slots<'_>);

    /// Drops the states in place, when [`StateLayout::needs_drop`]; slots are not used again.
    fn drop_states(&self, _slots: &mut Slots<'_>) {}

    /// Bytes that the states hold outside the rows; only asked when [`StateLayout::needs_drop`].
    fn external_state_bytes(&self, _slots: &mut Slots<'_>) -> usize {
        0
    }

    /// Bytes that the results of the states take, or making them; only asked when
    /// [`StateLayout::needs_drop`]. Intermediate ones are copies of what is outside the rows.
    fn result_bytes(&self, slots: &mut Slots<'_>) -> usize {
        self.external_state_bytes(slots)
    }
}

/// An aggregate function for given argument types that folds rows into states.
///
/// `slots`: one per row of the batch (rows of the same group repeat) for `add` and `merge`, one per
/// group otherwise. Dispatch on types happens once per call, not per row.
pub trait AggregateFunction: AggregateState {
    /// Adds the active `rows` of `args`; slot `i` belongs to row `i`.
    ///
    /// # Errors
    ///
    /// Overflow and such: fails the query.
    fn add(&self, slots: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()>;

    /// Adds the active `rows` of `args` to one group, the only slot.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn add_to_one(&self, slot: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()>;

    /// Adds the frames of `frames.ranges` one after the other to one group, the only slot, and
    /// copies it: slot `i` of `results`, which is not initialized, becomes what the group is with
    /// the rows of frame `i`. A frame that begins like the previous one, and does not end before
    /// it, continues from it. Only the active `rows` of `args` count.
    ///
    /// Returns false and does nothing for functions whose states cannot be copied: their frames are
    /// merged from intermediate results.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn add_frames(
        &self,
        _slot: &mut Slots<'_>,
        _args: &[Vector],
        _rows: &Rows,
        _frames: RunningFrames<'_>,
        _results: &mut Slots<'_>,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Merges intermediate results; slot `i` belongs to row `i`.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()>;

    /// The intermediate results of `rows` groups of one row each, made from the arguments without
    /// states; `None` by functions that do not know a way shorter than that through states.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn lift(&self, _args: &[Vector], _rows: usize) -> Result<Option<Vector>> {
        Ok(None)
    }

    /// The states as intermediate results, one row per slot. Asked once, as
    /// [`AggregateFunction::extract`].
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector>;

    /// The results, one row per slot. Asked once: a state may hand its memory over.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector>;
}

/// Frames that a group runs through, see [`AggregateFunction::add_frames`].
#[derive(Clone, Copy, Debug)]
pub struct RunningFrames<'a> {
    /// The position of row 0 of the arguments.
    pub first: u32,
    /// The frame that the group holds the rows of; those before are not among the arguments.
    pub held: (u32, u32),
    /// The frames, by position.
    pub ranges: &'a Ranges,
}

/// An aggregate function for given argument types that needs all rows of a group together.
///
/// `args`: one flat vector per argument, with the rows of the first group, then those of the second
/// one, and so on. `ends`: where the rows of each group end.
pub trait CollectingFunction: Send + Sync {
    /// The results, one row per group.
    ///
    /// # Errors
    ///
    /// Results beyond the layout's 32 bits.
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector>;

    /// The intermediate results, one row per group.
    ///
    /// # Errors
    ///
    /// As [`CollectingFunction::results`].
    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector>;

    /// The rows from which the intermediate results in `rows` were made.
    ///
    /// # Errors
    ///
    /// A vector of another layout.
    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded>;
}

/// Rows of intermediate results.
#[derive(Debug)]
pub struct Expanded {
    /// One vector per argument.
    pub args: Vec<Vector>,
    /// For each of these rows, which row of the intermediate results it comes from; ascending.
    pub sources: Vec<u32>,
}

/// How an aggregate function works.
#[derive(Clone)]
pub enum AggregateKind {
    /// Row by row, into a state per group.
    Folding(Arc<dyn AggregateFunction>),
    /// From all rows of a group.
    Collecting(Arc<dyn CollectingFunction>),
}

/// The Rust type that an aggregate keeps per group.
#[derive(Clone, Copy, Debug)]
pub struct StateLayout {
    /// The type, for [`Slots::typed`].
    pub type_id: TypeId,
    /// Its size in bytes.
    pub bytes: usize,
    /// Its alignment in bytes, at most 16.
    pub align: usize,
    /// Whether it holds memory outside the row.
    pub needs_drop: bool,
}

/// An aggregate with its types settled.
#[derive(Clone)]
pub struct BoundAggregate {
    /// The name it was found under.
    pub name: String,
    /// The types that arguments must be cast to.
    pub args: Vec<Type>,
    /// The type of intermediate results.
    pub intermediate: Type,
    /// The result type.
    pub result: Type,
    /// Whether the order of the input matters (array_agg, string_agg).
    pub order_sensitive: bool,
    /// Whether rows with a null first argument do not count (almost all; not array_agg, count(*)).
    pub ignores_nulls: bool,
    /// The implementation.
    pub function: AggregateKind,
    /// The same function over collected rows, for functions whose states hold all values of a
    /// group. Frames of windows then share the collected rows. Partial results of such functions
    /// are as large as their rows.
    pub over_rows: Option<Arc<dyn CollectingFunction>>,
}

impl StateLayout {
    /// The layout of `T`. States move between threads with the rows they live in.
    pub fn of<T: Send + 'static>() -> StateLayout {
        const { assert!(align_of::<T>() <= 16, "row memory is aligned to 16 bytes") };
        StateLayout {
            type_id: TypeId::of::<T>(),
            bytes: size_of::<T>(),
            align: align_of::<T>(),
            needs_drop: std::mem::needs_drop::<T>(),
        }
    }
}

impl BoundAggregate {
    /// As frames of windows, and other overlapping lists of rows, are aggregated.
    pub fn in_frames(mut self) -> BoundAggregate {
        if let Some(function) = self.over_rows.take() {
            self.function = AggregateKind::Collecting(function);
        }
        self
    }
}

impl std::fmt::Debug for BoundAggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.args, self.result)
    }
}

//! Aggregate functions.
//!
//! A state is a Rust value inside each group's row of the hash table. Steps:
//!
//! ```text
//! single       add ... add                       extract
//! partial      add ... add    extract_intermediate
//! intermediate merge ... merge extract_intermediate
//! final        merge ... merge                   extract
//! ```

use std::{any::TypeId, sync::Arc};
use volley_error::Result;
use volley_memory::Slots;
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// An aggregate function for given argument types.
///
/// `slots`: one per row of the batch (rows of the same group repeat) for `add` and `merge`, one per
/// group otherwise. Dispatch on types happens once per call, not per row.
pub trait AggregateFunction: Send + Sync {
    /// The state's layout and type.
    fn state(&self) -> StateLayout;

    /// Writes the state of an empty group into every slot.
    fn init(&self, slots: &mut Slots<'_>);

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

    /// Merges intermediate results; slot `i` belongs to row `i`.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()>;

    /// The states as intermediate results, one row per slot.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector>;

    /// The results, one row per slot. The states stay.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector>;

    /// Drops the states in place, when [`StateLayout::needs_drop`]; slots are not used again.
    fn drop_states(&self, slots: &mut Slots<'_>);

    /// Bytes that the states hold outside the rows; only asked when [`StateLayout::needs_drop`].
    fn outside_bytes(&self, _slots: &mut Slots<'_>) -> usize {
        0
    }
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
    pub function: Arc<dyn AggregateFunction>,
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

impl std::fmt::Debug for BoundAggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.args, self.result)
    }
}

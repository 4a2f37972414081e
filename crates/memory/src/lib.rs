//! Memory pools: reservations of bytes by consumer, and an enforced limit. Spill files: blocks on
//! disk for data that does not fit.
//!
//! ```text
//! process ── query ── task ── operator      each level counts what is below it
//!                                └─ Reservation   bytes that one structure holds now
//! ```
//!
//! Read [`Pool`] and [`Reservation`] first. A structure that grows with data owns a reservation and
//! resizes it *before* it allocates; a refused growth is an error of that query, which lists the
//! largest consumers. Before that, once reservations reach into the headroom of a limit, operators
//! that can spill release memory ([`Participant`], [`spill`]). Invariants: a pool's count is at
//! least the sum of its children's; it is zero when no reservation is left. This crate does not
//! know operators.

mod allocation;
mod arbiter;
mod cancellation;
mod field_rows;
mod pool;
mod reclaimable;
mod reservation;
mod row_ptr;
mod size;
mod slots;
pub mod spill;
mod zeroed;

pub use allocation::{note_failed_allocation, take_failed_allocation};
pub use arbiter::{
    Arbitration, ArbitrationPolicy, Candidate, LargestFirst, Offer, Participant,
    UNCHARGED_BYTES_MAX,
};
pub use cancellation::{
    CancelHook, CancellationToken, Deadline, check_cancelled, with_cancellation,
};
pub use field_rows::FieldRows;
pub use pool::{Pool, PoolStats};
pub use reclaimable::Reclaimable;
pub use reservation::Reservation;
pub use row_ptr::RowPtr;
pub use size::{format_bytes, parse_bytes};
pub use slots::{Slots, TypedSlots};
pub use zeroed::{zeroed_atomic_words, zeroed_words};

//! Hash tables over rows: groups of an aggregation, the build side of a join.
//!
//! ```text
//! encode  values of nested types -> bytes that are equal for equal values
//! Index   hash -> row: open addressing over 8-byte entries, 16 bits of tag and 48 of address
//! GroupTable   finds or makes the group of each row
//! JoinTable    all rows of a build side, in chains of equal keys
//! KeySet       keys without rows, as bits, where a join only asks whether they are there
//! ```
//!
//! A row carries a *word*: the hash of its keys, or, when keys fit into 64 bits together, the keys
//! themselves. An entry's tag filters rows before they are touched, the word before keys are
//! compared, and keys are compared one column at a time for a whole batch.

mod encode;
mod tagged_entry;
mod index;
mod key_range;
mod key_set;
mod key_words;
mod string_ids;
mod group_keys;
mod group_index;
mod groups;
mod join_table;
mod lookup;
mod pairs;
#[cfg(test)]
mod tests;

pub use encode::{encode_key, key_type};
pub use groups::{GroupCursor, GroupTable};
pub use join_table::{JoinRows, JoinTable, JoinTableSpec};
pub use key_range::KeyRange;
pub use lookup::LookupMemory;
pub use pairs::{PairCursor, Pairs};

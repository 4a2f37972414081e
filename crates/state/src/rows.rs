//! Row-wise storage of columns, for hash tables.
//!
//! ```text
//! RowLayout     where each column, state and link stands in a row
//! RowContainer  blocks of rows, charged to a reservation before they are allocated
//!   scatter     column -> rows      gather   rows -> column      match_column  rows = column?
//! RowList       rows of one container, the only way to name rows from outside
//! ```
//!
//! All loops run over one column at a time, with its type settled before. Rows never move. Strings
//! of more than 12 bytes live in a heap of buffers that gathered vectors share; values of nested
//! types live in side vectors, the row keeps their position.

mod layout;
mod list;
mod heap;
mod memo;
mod side;
mod container;
mod scatter;
mod gather;
mod compare;
#[cfg(test)]
mod tests;

pub use compare::{Key, Probe};
pub use container::RowContainer;
pub use layout::{RowLayout, RowLinks};
pub use list::RowList;

use std::borrow::Cow;
use volley_vector::{Decoded, Indices};

/// For each of `rows`, where its value stands in the base of `decoded`.
fn base_positions<'a>(decoded: &Decoded<'a>, rows: &'a [u32]) -> Cow<'a, [u32]> {
    match decoded.indices() {
        Indices::Identity => Cow::Borrowed(rows),
        Indices::Constant(index) => Cow::Owned(vec![*index; rows.len()]),
        Indices::Codes(codes) => Cow::Owned(rows.iter().map(|row| codes[*row as usize]).collect()),
    }
}

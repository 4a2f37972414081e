//! Encoded columns.
//!
//! ```text
//! Batch ── rows, columns: Vec<Vector>
//! Vector ── type, len, nulls, encoding
//!             Flat(Values)                 one element per row
//!             Constant(base of one row)    the same for every row
//!             Dictionary(codes, base)      row i is base[codes[i]]
//!             RunLength(ends, base)        run k ends before row ends[k]
//!             Bias(base, deltas)           row i is base + deltas[i], whole numbers
//!             Lazy(loader)                 decoded on first use
//! Decoded ── any encoding seen as a flat base plus indices
//! Rows ── the set of active rows
//! Cells ── a column as text or JSON, cell by cell
//! ```
//!
//! Read [`Vector`], [`Decoded`] and [`Rows`] first. Invariants: vectors are immutable once shared;
//! a code of a dictionary is a row of its base, also for null rows; flat storage uses Arrow's
//! buffers and layouts, so that the Arrow bridge copies nothing in the common cases. This crate
//! does not know expressions.

mod vector;
mod values;
mod fixed_array;
mod objects;
mod string_view;
mod buffer_list;
mod contiguous_strings;
mod rows;
mod decoded;
mod bias;
mod lazy;
mod batch;
mod recycler;
mod builder;
mod allocation;
mod copy;
mod appender;
mod parts;
mod change;
mod patch;
mod one_value;
mod scalar;
mod cells;
mod column_test;
mod keys;
pub mod compare;
mod hash;
mod validate;
mod print;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod ascii_tests;
pub mod arrow;
pub mod random;
pub mod save;

pub use appender::{Appender, Picked};
pub use batch::Batch;
pub use bias::Deltas;
pub use buffer_list::{BufferList, Renumbered};
pub use builder::{
    StringBuilder, VectorBuilder, collect_all, collect_checked, collect_native, collect_nullable,
};
pub use cells::{
    Cells, Full, JsonStyle, PIECE_BYTES, PlainJson, PushKey, pieces, push_json_string,
};
pub use change::CopyRange;
pub use column_test::ColumnTest;
pub use compare::{Comparable, Comparator, comparator, interval_nanos};
pub use contiguous_strings::ContiguousStrings;
pub use decoded::{Decoded, Indices};
pub use fixed_array::FixedArrays;
pub use hash::hash_columns;
pub use lazy::{Lazy, Loader, ValueCallback};
pub use objects::Objects;
pub use parts::{Parts, Pick};
pub use patch::Patch;
pub use recycler::Recycler;
pub use rows::Rows;
pub use string_view::{INLINE_BYTES, StringView};
pub use values::{Nested, StringValues, Values, native_slice, native_slice_mut};
pub use vector::{Encoding, Vector};

pub use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};

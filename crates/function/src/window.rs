//! Window functions.
//!
//! A window function returns one value per row from the rows around it. The caller has sorted the
//! rows by partition and order, and provides for each row the positions of its neighbors:
//!
//! ```text
//! position   0   1   2   3   4   5   6        positions of all sorted rows
//! partition  [   a       ]   [   b     ]      rows with equal PARTITION BY keys
//! peers      [ ] [     ] [ ] [ ] [     ]      and with equal ORDER BY keys
//! frame          [   ]                        what the OVER clause chose for a row
//! ```
//!
//! A call computes some of the rows, in order, and may read all of them. Aggregates need no window
//! interface: the engine runs their states over frames.
//!
//! # Examples
//!
//! A function that counts the rows of the partition before a row:
//!
//! ```
//! use std::sync::Arc;
//! use volley_error::Result;
//! use volley_function::{BoundWindow, FunctionDoc, Registry, WindowFunction, WindowRows};
//! use volley_types::Type;
//! use volley_vector::Vector;
//!
//! struct RowsBefore;
//!
//! impl WindowFunction for RowsBefore {
//!     fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
//!         let rows = window.rows.clone().zip(&window.partitions.starts);
//!         let before = rows.map(|(row, start)| row as i64 - i64::from(*start));
//!         Ok(Vector::native::<i64>(Type::BigInt, before.collect::<Vec<i64>>(), None))
//!     }
//! }
//!
//! let mut registry = Registry::new();
//! let doc = FunctionDoc { signature: "rows_before() -> bigint".into(), ..FunctionDoc::default() };
//! let bind = |args: &[Type]| {
//!     args.is_empty().then(|| BoundWindow::new(Vec::new(), Type::BigInt, RowsBefore))
//! };
//! registry.add_window("rows_before", doc, Arc::new(bind));
//! assert_eq!(registry.resolve_window("rows_before", &[])?.result, Type::BigInt);
//! # Ok::<(), volley_error::Error>(())
//! ```

mod rows;
#[cfg(test)]
mod tests;

pub use rows::{
    Exclusion, FrameParts, PartitionPiece, Ranges, ValidRows, WindowRows, gather_or_null,
};

use std::sync::Arc;
use volley_error::Result;
use volley_types::Type;
use volley_vector::Vector;

/// A window function for given argument types.
pub trait WindowFunction: Send + Sync {
    /// The results of `window.rows`, one each.
    ///
    /// # Errors
    ///
    /// Arguments that the function does not take: fails the query.
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector>;
}

/// A window function with its types settled.
#[derive(Clone)]
pub struct BoundWindow {
    /// The name it was found under.
    pub name: String,
    /// The types that arguments must be cast to.
    pub args: Vec<Type>,
    /// The result type.
    pub result: Type,
    /// Whether results depend on the frame, not on the partition and its order alone.
    pub uses_frame: bool,
    /// Whether it reads [`WindowRows::peers`] or [`WindowRows::groups_before`] itself.
    pub uses_peers: bool,
    /// Whether IGNORE NULLS and RESPECT NULLS may follow the call.
    pub takes_null_treatment: bool,
    /// The rows that it reads.
    pub reach: WindowReach,
    /// The implementation.
    pub function: Arc<dyn WindowFunction>,
}

/// The rows of a partition that a function reads. A partition that does not fit in memory is
/// processed in segments, with the surrounding rows that calls read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowReach {
    /// Any: the partition must fit.
    Partition,
    /// None; it uses [`WindowRows::row_place`], [`WindowRows::group_place`] and the starts of
    /// [`WindowRows::peer_places`].
    Starts,
    /// None; it also uses the ends of peers and of the partition.
    Ends,
    /// One that comes as many rows before the row as the second argument says, or one row.
    Before,
    /// As `Before`, after the row.
    After,
    /// The first of the frame.
    First,
    /// The last of the frame.
    Last,
    /// The one of the frame that the second argument says, counted from 1.
    Nth,
}

impl BoundWindow {
    /// A function that reads peers and any rows, but not frames, and does not accept IGNORE NULLS.
    pub fn new(
        args: Vec<Type>,
        result: Type,
        function: impl WindowFunction + 'static,
    ) -> BoundWindow {
        BoundWindow {
            name: String::new(),
            args,
            result,
            uses_frame: false,
            uses_peers: true,
            takes_null_treatment: false,
            reach: WindowReach::Partition,
            function: Arc::new(function),
        }
    }
}

impl std::fmt::Debug for BoundWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.args, self.result)
    }
}

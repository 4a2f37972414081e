//! The API that functions are written against.
//!
//! ```text
//! Registry ── resolve(name, argument types) ──> BoundScalar / BoundAggregate / BoundWindow ...
//!   ScalarFunction      vectors and active rows in, vector out
//!   HigherOrderFunction the same, with lambdas
//!   AggregateFunction   states in the rows of a hash table: add, merge, extract
//!   WindowFunction      sorted rows and frames in, a value per row out
//! ```
//!
//! Read [`Registry`], [`ScalarFunction`] and [`AggregateFunction`] first. This crate does not know
//! any function.

pub mod aggregate;
mod block;
mod context;
mod higher_order;
mod package;
mod registry;
mod row_errors;
mod scalar;
mod sequences;
pub mod simple;
mod sorting;
mod window;

pub use aggregate::{
    AggregateFunction, AggregateKind, AggregateState, BoundAggregate, CollectingFunction, Expanded,
    RunningFrames, StateLayout,
};
pub use block::{BLOCK_ROWS, BlockArg, BlockFunction, BlockInput, block_binary, block_unary};
pub use context::{BadParts, EvalContext, QueryConstants};
pub use higher_order::{
    Applied, ArgumentType, BindHigherOrder, BoundHigherOrder, CHUNK_ELEMENTS, HigherOrderFunction,
    Lambda, LambdaType,
};
pub use package::{FunctionNames, Package};
pub use registry::{
    BindAggregate, BindCast, BindScalar, BindWindow, Entry, FunctionDoc, FunctionKind, PackageDoc,
    Registry,
};
pub use row_errors::RowErrors;
pub use scalar::{Argument, BoundScalar, ScalarFunction, ScalarTraits};
pub use sequences::Sequences;
pub use sorting::{select_nth_by, sort_by, sort_unstable_by};
pub use window::{
    BoundWindow, Exclusion, FrameParts, PartitionPiece, Ranges, ValidRows, WindowFunction,
    WindowReach, WindowRows, gather_or_null,
};

//! Typed expressions: data, compilation, evaluation.
//!
//! Read [`Expr`] first, then [`ExprSet`]. This crate does not know operators.

mod source_span;
mod expr;
mod check;
mod expr_set;
mod node;
mod adaptive_order;
mod compile;
mod evaluate;
pub mod filter;
mod in_set;
mod merge;
pub mod marks;
pub mod plain;
pub mod save;

pub use expr::{Expr, ExprKind, Parameter, SpecialForm};
pub use expr_set::{Evaluation, ExprSet};
pub use source_span::SourceSpan;

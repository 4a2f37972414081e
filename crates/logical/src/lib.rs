//! The logical plan: what a query means, with columns by identity.
//!
//! ```text
//! SQL text ── sql::Binder ──> Plan ── optimizer ──> Plan ── lowering ──> plan::PlanNode
//! ```
//!
//! Read [`Plan`] and [`Expr`] first. Every column that a plan makes has its own [`ColumnId`],
//! unique within the statement. Rewrites need no renumbering, and a column that a subtree uses but
//! does not make is a correlation. Expressions keep their position in the SQL text. This crate does
//! not know SQL text or execution.

mod column;
mod expr;
mod plan;
mod table_ref;
mod window;
mod print;

pub use column::{Column, ColumnId, ColumnIds, Occurrence};
pub use expr::{Expr, ExprKind, Parameter, SpecialForm, Subquery, SubqueryKind};
pub use plan::{
    AggregateCall, CallStep, Cte, Generator, GeneratorKind, GroupingSet, JoinKind, Plan, RECURRING,
    SampleMethod, SetOperation, SortKey,
};
pub use table_ref::{ExternalTables, NamedTable, RowIds, TableRef, TableResolver};
pub use volley_plan::{Frame, FrameBound, FrameOffset, FrameUnits};
pub use window::WindowCall;

//! Optimizes logical plans and lowers them to plan nodes.
//!
//! ```text
//! logical::Plan ── unnest ──> without subqueries ── rules ──> cheaper ── lower ──> plan::PlanNode
//!                                                       plan::PlanNode ── distribute ──> exchanges
//! ```
//!
//! Read [`optimize`], [`lower`] and [`rules`] first. Unnesting and lowering always happen; every
//! rule can be switched off by its name. Results are the same with any subset of the rules off.
//! This crate does not know SQL text or execution.

mod context;
mod optimize;
mod volatile;
mod keys;
mod rules;
mod unnest;
mod statistics;
mod lowering;
mod distribute;
mod expr;
mod columns;
mod stack;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use context::OptimizerContext;
pub use distribute::{DistributionContext, distribute};
pub use lowering::{lower, lower_with_estimates};
pub use optimize::{RuleInfo, optimize, rules};

pub(crate) use statistics::Estimator;

//! Shows plans, and what their queries did.
//!
//! ```text
//! PlanNode, estimates ───────────────────────> QueryProfile ──> text, json, dot, svg
//! TaskStatistics, TaskTimeline ── with_run ──────┘        └──> html, chrome_trace
//! ```
//!
//! Read [`QueryProfile`] first. All renderings of plans are in this crate, and all are functions of
//! a profile, which is plain data. The page needs no network and no library: its graph, time lines
//! and tables are made here, and a short script selects, sorts and zooms. This crate does not know
//! sessions, servers or files.

mod query_profile;
mod fragments;
mod verdict;
mod format;
mod text;
mod json;
mod layout;
mod svg;
mod dot;
mod trace;
mod html;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use fragments::FragmentRun;
pub use query_profile::{ProfileNode, QueryProfile, RunProfile};

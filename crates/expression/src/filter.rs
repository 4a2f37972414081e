//! Filters of scans: conjuncts in an order learnt from the data, and the filters that operators
//! make while a query runs.
//!
//! ```text
//! a join's build side ── keys ──> KeyFilterBuilder ──┐
//!                                                    ├─> DynamicFilter ──> Conjuncts of a scan
//! the first rows of an order ── the last of them ────┘
//! ```
//!
//! Read [`Conjuncts`] first. This module does not know tables.

mod conjuncts;
mod dynamic_filter;
mod key_filter;
mod packed_filter;

pub use conjuncts::{Conjuncts, ConjunctsSpec, DroppedRows, FilterCounts, Selected};
pub use dynamic_filter::{Bound, BoundOrder, ColumnFilter, DynamicFilter};
pub use key_filter::{KeyFilter, KeyFilterBuilder, KeyFilterMemo};

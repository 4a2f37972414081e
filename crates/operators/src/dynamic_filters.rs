//! Finds the scans that joins and TopN nodes filter while they run.

mod column_origin;
mod join_filter;
mod join_filters;
mod top_n_filters;

pub(crate) use join_filter::{JoinFilter, JoinFilterSetter};
pub(crate) use join_filters::JoinFilters;
pub(crate) use top_n_filters::TopNFilters;

use volley_exec::{Lowering, PlanWalk};

/// Leaves the filters of a plan where the lowering functions of scans, joins and TopN nodes find
/// them.
pub(crate) fn find(plan: &PlanWalk<'_>, cx: &mut Lowering) {
    if cx.task().dynamic_filters {
        *cx.state() = JoinFilters::of_plan(plan);
        *cx.state() = TopNFilters::of_plan(plan);
    }
}

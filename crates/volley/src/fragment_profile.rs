//! Profiles of plans that run as several tasks.

use std::sync::Arc;
use volley_exec::{TaskStatistics, TaskTimeline};
use volley_plan::{DistributedPlan, Fragment};
use volley_profile::{FragmentRun, QueryProfile};
use volley_schedule::DistributedQuery;

/// The profile of fragments that did not run.
pub(crate) fn profile_of_plan(plan: &DistributedPlan) -> QueryProfile {
    profile(plan, Vec::new())
}

/// What all tasks of a query did so far.
pub(crate) fn profile_of_query(query: &DistributedQuery) -> QueryProfile {
    profile(query.plan(), query.task_runs())
}

fn profile(plan: &DistributedPlan, runs: Vec<Vec<(TaskStatistics, TaskTimeline)>>) -> QueryProfile {
    let mut runs = runs.into_iter();
    let run = |fragment: &Fragment| FragmentRun {
        title: fragment.to_string(),
        plan: Arc::clone(&fragment.plan),
        tasks: runs.next().unwrap_or_default(),
    };
    let mut profile = QueryProfile::of_fragments(plan.fragments.iter().map(run).collect());
    profile.version = env!("CARGO_PKG_VERSION").to_owned();
    profile
}

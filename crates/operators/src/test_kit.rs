//! The test kit with the operators of this crate.

pub(crate) use volley_exec_testkit::*;

use std::sync::{Arc, LazyLock};
use volley_error::Result;
use volley_exec::TaskConfig;
use volley_plan::{PlanBuilder, PlanNode};
use volley_testkit::RowValues;

/// Runs plans with the operators of this crate.
pub(crate) fn runner() -> &'static Runner {
    static RUNNER: LazyLock<Runner> =
        LazyLock::new(|| Runner { lowerings: Arc::new(crate::registry()) });
    &RUNNER
}

/// As [`Runner::config`].
pub(crate) fn config(plan: Arc<PlanNode>, tables: &TestTables, setup: Setup) -> TaskConfig {
    runner().config(plan, tables, setup)
}

/// As [`Runner::run`].
pub(crate) fn run(plan: PlanBuilder, tables: &TestTables, setup: Setup) -> Result<RowValues> {
    runner().run(plan, tables, setup)
}

/// As [`Runner::run_limited`].
pub(crate) fn run_limited(
    plan: &Arc<PlanNode>,
    tables: &TestTables,
    setup: Setup,
    limit: Option<usize>,
    disk: Option<u64>,
) -> LimitedRun {
    runner().run_limited(plan, tables, setup, limit, disk)
}

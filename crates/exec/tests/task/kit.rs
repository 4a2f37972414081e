//! The test kit with the operators of the engine.

use std::sync::{Arc, LazyLock};
use volley_error::Result;
use volley_exec::TaskConfig;
use volley_exec_testkit::{Runner, Setup, TestTables};
use volley_plan::{PlanBuilder, PlanNode};
use volley_testkit::RowValues;

fn runner() -> &'static Runner {
    static RUNNER: LazyLock<Runner> =
        LazyLock::new(|| Runner { lowerings: Arc::new(volley_operators::registry()) });
    &RUNNER
}

pub fn config(plan: Arc<PlanNode>, tables: &TestTables, setup: Setup) -> TaskConfig {
    runner().config(plan, tables, setup)
}

pub fn run(plan: PlanBuilder, tables: &TestTables, setup: Setup) -> Result<RowValues> {
    runner().run(plan, tables, setup)
}

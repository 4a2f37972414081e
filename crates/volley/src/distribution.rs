//! Runs a plan as several tasks (`SET tasks`).

use crate::{Settings, planning::PlannedTables, settings::ExchangePages};
use std::sync::Arc;
use volley_connector::TableProvider;
use volley_error::Result;
use volley_exec::TaskConfig;
use volley_operators::PageEncoding;
use volley_optimizer::DistributionContext;
use volley_plan::{DistributedPlan, PlanNode, TableHandle};
use volley_schedule::DistributedConfig;
use volley_wire::{ArrowFormat, NativeFormat};

/// The fragments of a plan under these settings; a single one if it is not distributed.
pub(crate) fn fragments(
    plan: &Arc<PlanNode>,
    tables: &PlannedTables,
    settings: &Settings,
) -> Result<DistributedPlan> {
    let table_rows = |handle: &TableHandle| {
        // Statistics that cannot be read are unknown here; the scan reports why.
        tables.table(handle).ok()?.statistics().ok()?.rows
    };
    let context = DistributionContext {
        tasks: settings.tasks,
        table_rows: &table_rows,
        disabled_rules: &settings.disabled_rules,
    };
    match settings.tasks {
        0 | 1 => DistributedPlan::cut(plan),
        _ => DistributedPlan::cut(&volley_optimizer::distribute(plan, &context)?),
    }
}

/// What the fragments run with: `task` is what their tasks have in common.
pub(crate) fn config(
    plan: DistributedPlan,
    task: TaskConfig,
    settings: &Settings,
) -> DistributedConfig {
    // All tasks of a fragment together have as many drivers as one task has.
    let drivers = task.drivers.div_ceil(settings.tasks.max(1));
    DistributedConfig {
        plan: Arc::new(plan),
        task: TaskConfig { drivers, ..task },
        tasks: settings.tasks,
        encoding: match settings.exchange_pages {
            ExchangePages::Batches => PageEncoding::Batches,
            ExchangePages::Bytes => PageEncoding::Bytes(Arc::new(NativeFormat::Plain)),
            ExchangePages::Arrow => PageEncoding::Bytes(Arc::new(ArrowFormat)),
        },
        page_bytes: settings.exchange_page_bytes,
    }
}

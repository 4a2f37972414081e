//! Runs a plan as several tasks (`SET tasks`).

use crate::{Settings, planning::PlannedTables, settings::ExchangePages};
use std::{fmt::Write, sync::Arc};
use volley_connector::TableProvider;
use volley_error::Result;
use volley_exec::{TaskConfig, TaskTimeline};
use volley_memory::format_bytes;
use volley_operators::PageEncoding;
use volley_optimizer::DistributionContext;
use volley_plan::{DistributedPlan, FragmentId, PlanNode, TableHandle};
use volley_profile::QueryProfile;
use volley_schedule::{DistributedConfig, EdgeStatistics, QueryStatistics};
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

/// The fragments with the counters of every node and of every exchange.
pub(crate) fn statistics_text(statistics: QueryStatistics, plan: &DistributedPlan) -> String {
    let QueryStatistics { fragments, edges } = statistics;
    let mut by_fragment: Vec<_> = fragments.into_iter().map(Some).collect();
    let mut text = String::new();
    for (id, fragment) in plan.fragments.iter().enumerate().rev() {
        let _ = writeln!(text, "{} {fragment}", FragmentId(id as u32));
        for edge in edges.get(id).into_iter().flatten() {
            push_edge(&mut text, edge);
        }
        let Some(operators) = by_fragment.get_mut(id).and_then(Option::take) else { continue };
        let profile = QueryProfile::of_plan(&fragment.plan, &[]);
        let profile = profile.with_run(operators, TaskTimeline::default(), None);
        for line in profile.text().lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn push_edge(text: &mut String, edge: &EdgeStatistics) {
    let size = |bytes: u64| format_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
    let total = &edge.total;
    let _ = write!(text, "    exchange: {} rows, {} pages", total.rows, total.pages);
    let _ = write!(text, "; decoded {}; sent {}", size(total.bytes), size(total.sent_bytes));
    if edge.lanes > 1 {
        let _ = write!(text, "; skew {:.2}", edge.skew());
    }
    if total.overflow_bytes > 0 {
        let _ = write!(text, "; overflow {}", size(total.overflow_bytes));
    }
    text.push('\n');
}

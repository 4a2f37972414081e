//! Runs a plan as several tasks (`SET tasks`).

use crate::{Session, Settings, planning::PlannedTables, settings::ExchangePages};
use std::{collections::BTreeMap, fmt::Write, sync::Arc};
use volley_connector::TableProvider;
use volley_error::{Error, ErrorKind, Result};
use volley_exec::{TaskConfig, TaskTimeline};
use volley_memory::format_bytes;
use volley_operators::PageEncoding;
use volley_optimizer::DistributionContext;
use volley_plan::{
    DistributedPlan, FragmentId, PlanNode, TableHandle, TaskCount, expand::Expander,
};
use volley_profile::QueryProfile;
use volley_schedule::{DistributedConfig, EdgeStatistics, QuerySpec, QueryStatistics};
use volley_wire::{ArrowFormat, NativeFormat, PageFormat};

/// The fragments of a plan in this session; a single one if it is not distributed.
pub(crate) fn fragments(
    session: &Session,
    plan: &Arc<PlanNode>,
    tables: &PlannedTables,
) -> Result<DistributedPlan> {
    let settings = session.settings();
    let is_everywhere = |handle: &TableHandle| {
        session.platform.is_none() || tables.table(handle).is_ok_and(|it| it.definition().is_some())
    };
    let table_rows = |handle: &TableHandle| {
        // Statistics that cannot be read are unknown here; the scan reports why.
        tables.table(handle).ok()?.statistics().ok()?.rows
    };
    let context = DistributionContext {
        tasks: session.tasks(),
        table_rows: &table_rows,
        is_everywhere: &is_everywhere,
        disabled_rules: &settings.disabled_rules,
    };
    if session.tasks() <= 1 {
        return DistributedPlan::cut(plan);
    }
    let mut plan = DistributedPlan::cut(&volley_optimizer::distribute(plan, &context)?)?;
    for fragment in &mut plan.fragments {
        fragment.plan = expanded(&fragment.plan, &settings)?;
    }
    Ok(plan)
}

/// The bits of the partitions of expansions: 256 partitions.
const PARTITION_BITS: u8 = 8;

/// The plan of a fragment with the nodes expanded that the settings say.
///
/// # Errors
///
/// As [`Expander::expand`].
pub(crate) fn expanded(plan: &Arc<PlanNode>, settings: &Settings) -> Result<Arc<PlanNode>> {
    if settings.expansions.is_empty() {
        return Ok(Arc::clone(plan));
    }
    Expander::new(settings.expansions.iter().cloned().collect(), PARTITION_BITS).expand(plan)
}

/// Formats of pages between tasks that were added, by name.
pub(crate) type PageFormats = BTreeMap<&'static str, Arc<dyn PageFormat>>;

/// Changes the setting `exchange_pages` to a format that was added; `None` if it is another setting
/// or format.
pub(crate) fn set_added_pages(session: &Session, name: &str, value: &str) -> Option<Result<()>> {
    let (added, _) = session.page_formats.get_key_value(&*value.trim().to_lowercase())?;
    let pages = ExchangePages::Added(added);
    name.eq_ignore_ascii_case("exchange_pages").then(|| {
        session.change_settings(|it| {
            it.exchange_pages = pages;
            Ok(())
        })
    })
}

/// What the fragments run with: `task` is what their tasks have in common.
pub(crate) fn config(
    plan: Arc<DistributedPlan>,
    task: TaskConfig,
    settings: &Settings,
    added: &PageFormats,
) -> Result<DistributedConfig> {
    // All tasks of a fragment together have as many drivers as one task has.
    let drivers = task.drivers.div_ceil(settings.tasks.max(1));
    Ok(DistributedConfig {
        plan,
        task: TaskConfig { drivers, ..task },
        tasks: settings.tasks,
        encoding: match settings.exchange_pages {
            ExchangePages::Batches => PageEncoding::Batches,
            ExchangePages::Bytes => PageEncoding::Bytes(Arc::new(NativeFormat::Plain)),
            ExchangePages::Packed => PageEncoding::Bytes(Arc::new(NativeFormat::Packed)),
            ExchangePages::Arrow => PageEncoding::Bytes(Arc::new(ArrowFormat)),
            ExchangePages::Added(name) => {
                let format = added.get(name).cloned();
                PageEncoding::Bytes(format.ok_or_else(|| {
                    Error::invalid_value(format!("there is no format of pages called {name}"))
                })?)
            }
        },
        page_bytes: settings.exchange_page_bytes,
    })
}

/// What the other processes of the platform need to run a query; `None` if they cannot, since a
/// node, or a type, has no bytes: then this process runs it alone.
///
/// # Errors
///
/// As [`QuerySpec::to_bytes`].
pub(crate) fn spec(
    plan: &Arc<DistributedPlan>,
    tables: &PlannedTables,
    config: &DistributedConfig,
) -> Result<Option<(QuerySpec, Vec<u8>)>> {
    let mut definitions = BTreeMap::new();
    for fragment in &plan.fragments {
        let types: Vec<_> = fragment.plan.schema().types().cloned().collect();
        let has_bytes = fragment.outputs.is_empty() || NativeFormat::Plain.writer(&types).is_ok();
        if !has_bytes {
            return Ok(None);
        }
        if fragment.tasks == TaskCount::One {
            continue;
        }
        for visit in fragment.plan.walk() {
            let PlanNode::TableScan(scan) = visit.node else { continue };
            let Some(definition) = tables.table(&scan.table)?.definition() else {
                return Ok(None);
            };
            let key = (scan.table.connector.clone(), scan.table.table.clone());
            definitions.insert(key, definition);
        }
    }
    let task = &config.task;
    let spec = QuerySpec {
        plan: Arc::clone(plan),
        tables: definitions
            .into_iter()
            .map(|((connector, table), it)| (TableHandle { connector, table }, it))
            .collect(),
        tasks: config.tasks,
        page_bytes: config.page_bytes,
        batch_rows: task.batch_rows,
        dynamic_filters: task.dynamic_filters,
        spill_always: task.spill_always,
        now_micros: task.query.now_micros,
        time_zone: task.query.time_zone.clone(),
    };
    match spec.to_bytes() {
        Ok(bytes) => Ok(Some((spec, bytes))),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

/// The fragments with the counters of every node and of every exchange.
pub(crate) fn statistics_text(statistics: QueryStatistics, plan: &DistributedPlan) -> String {
    let QueryStatistics { fragments, edges, filters } = statistics;
    let mut by_fragment: Vec<_> = fragments.into_iter().map(Some).collect();
    let mut text = String::new();
    for (id, fragment) in plan.fragments.iter().enumerate().rev() {
        let _ = writeln!(text, "{} {fragment}", FragmentId(id as u32));
        for edge in edges.get(id).into_iter().flatten() {
            push_edge(&mut text, edge);
        }
        for filter in filters.iter().filter(|it| it.applied_by.0 as usize == id) {
            let _ = write!(text, "    dynamic filter of {}: ", filter.made_by);
            let _ = match filter.bytes {
                Some(bytes) => writeln!(text, "{}", format_bytes(bytes)),
                None => writeln!(text, "all values"),
            };
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

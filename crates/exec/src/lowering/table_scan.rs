//! TableScan: as many drivers as there are splits, at most.

use crate::{
    Lowering, PipelineBuilder,
    table_scan::{SplitQueue, TableScan},
};
use std::sync::Arc;
use volley_connector::{ColumnFilter, ScanRequest};
use volley_error::Result;
use volley_plan::TableScanNode;

pub(super) fn lower(node: &TableScanNode, cx: &mut Lowering) -> Result<PipelineBuilder> {
    let task = Arc::clone(cx.task());
    let pool = cx.pool("table scan");
    let table = task.tables.table(&node.table)?;
    let filters = cx.filters.take_scan(cx.node);
    let joins = filters.iter().map(|(column, it)| (*column, Arc::clone(&it.filter)));
    let dynamic_filters = joins
        .chain(cx.top_n_filters.take_scan(cx.node))
        .map(|(column, filter)| ColumnFilter { column, filter });
    let scan = table.scan(ScanRequest {
        columns: node.columns.clone(),
        filters: node.filters.clone(),
        dynamic_filters: dynamic_filters.collect(),
        batch_rows: task.batch_rows,
        registry: Arc::clone(&task.registry),
        query: Arc::clone(&task.query),
        pool: pool.clone(),
    })?;
    let filters = filters.into_iter().map(|(_, it)| it).collect();
    let splits = SplitQueue::new(scan, filters);
    let drivers = task.drivers.min(splits.total()).max(1);
    Ok(cx.source_in_pool("table scan", drivers, pool, move |cx| {
        Ok(Box::new(TableScan::new(&splits, cx)))
    }))
}

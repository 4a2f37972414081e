//! TableScan: as many drivers as there are splits, at most.

use crate::{
    Lowering, PipelineBuilder,
    table_scan::{SplitQueue, TableScan},
};
use std::sync::Arc;
use volley_connector::ScanRequest;
use volley_error::{Error, Result};
use volley_expression::filter::ColumnFilter;
use volley_plan::TableScanNode;
use volley_types::{Schema, Type};

pub(super) fn lower(node: &TableScanNode, cx: &mut Lowering) -> Result<PipelineBuilder> {
    let task = Arc::clone(cx.task());
    let pool = cx.pool("table scan");
    let table = task.tables.table(&node.table)?;
    check(node, table.schema())?;
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

/// Checks that the table has the columns that the node reads.
fn check(node: &TableScanNode, table: &Schema) -> Result<()> {
    let types: Vec<Type> = table.types().cloned().collect();
    for (column, field) in node.columns.iter().zip(&node.schema.fields) {
        if types.get(*column) != Some(&field.data_type) {
            let message =
                format!("{} has no column #{column} of type {}", node.table.table, field.data_type);
            return Err(Error::invalid_query(message));
        }
    }
    node.filters.iter().try_for_each(|it| it.check_columns(&types))
}

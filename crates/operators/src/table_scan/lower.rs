//! TableScan: as many drivers as there are splits, at most, when all splits are known.

use crate::{
    dynamic_filters::DynamicFilters,
    registration::wrong_node,
    row_order::RowOrders,
    table_scan::{SplitOrigin, SplitQueue, TableScan},
};
use std::sync::Arc;
use volley_connector::{ScanRequest, Table};
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, PipelineBuilder, SourceOrder, SplitReceiver};
use volley_expression::filter::ColumnFilter;
use volley_plan::{PlanNode, TableScanNode};
use volley_types::Type;

pub(crate) fn lower(
    node: &PlanNode,
    _inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::TableScan(node) = node else { return Err(wrong_node()) };
    let task = Arc::clone(cx.task());
    let pool = cx.pool("table scan");
    let table = task.tables.table(&node.table)?;
    check(node, &*table)?;
    let made = cx.state::<DynamicFilters>();
    let (filters, bounds) = (made.of_joins(node), made.bounds(node));
    let joins = filters.iter().map(|(column, it)| (*column, Arc::clone(&it.filter)));
    let dynamic_filters =
        joins.chain(bounds).map(|(column, filter)| ColumnFilter { column, filter });
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
    let origin = if cx.takes_splits() { SplitOrigin::Added } else { SplitOrigin::Listed };
    let splits = SplitQueue::new(node.node_id, scan, filters, origin)?;
    if origin == SplitOrigin::Added {
        cx.open_splits(Arc::clone(&splits) as Arc<dyn SplitReceiver>);
    }
    let drivers = splits.drivers(task.drivers);
    let is_ordered = drivers > 1 && RowOrders::is_needed(cx);
    let order = is_ordered.then(|| SourceOrder::new(drivers));
    let of_pipeline = order.clone();
    let mut pipeline = cx.source_in_pool("table scan", drivers, pool, move |cx| {
        Ok(Box::new(TableScan::new(&splits, order.as_ref(), cx)))
    });
    pipeline.order = of_pipeline;
    Ok(pipeline)
}

/// Checks that the table has the columns and fields that the node reads.
fn check(node: &TableScanNode, table: &dyn Table) -> Result<()> {
    let fields = table.fields().iter().map(|it| &it.field.data_type);
    let types: Vec<Type> = table.schema().types().chain(fields).cloned().collect();
    for (column, field) in node.columns.iter().zip(&node.schema.fields) {
        if types.get(*column) != Some(&field.data_type) {
            let message =
                format!("{} has no column #{column} of type {}", node.table.table, field.data_type);
            return Err(Error::invalid_query(message));
        }
    }
    node.filters.iter().try_for_each(|it| it.check_columns(&types))
}

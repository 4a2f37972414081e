//! Windows: keys, arguments and bounds are computed first, then rows of a partition are brought
//! together.

use super::expr::Computed;
use super::sort::lower_sort_keys;
use super::{Lowered, Lowering, not_this_node};
use crate::expr::{ColumnSet, as_constant, collect_used};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_logical::{Plan, WindowCall as LogicalCall};
use volley_plan::{ExchangeKind, LocalExchangeNode, PlanNode, WindowCall, WindowLimit, WindowNode};
use volley_types::{Field, Type};

impl Lowering<'_> {
    pub(super) fn window(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::Window { input, partition_by, order_by, calls, limit } = plan else {
            return Err(not_this_node());
        };
        let is_needed = |it: &volley_logical::ColumnId| {
            required.contains(it) || limit.is_some_and(|limit| limit.0 == *it)
        };
        let calls: Vec<_> = calls.iter().filter(|it| is_needed(&it.0.id)).collect();
        let mut used = required.clone();
        plan.exprs().into_iter().for_each(|it| collect_used(it, &mut used));
        let input = self.plan(input, &used)?.packed(&used)?;
        let mut computed = Computed::new(input);
        // A constant does not divide partitions.
        let keys = partition_by.iter().filter(|it| as_constant(it).is_none());
        let partition_by = keys.map(|it| computed.position(it)).collect::<Result<Vec<usize>>>()?;
        let order_by = lower_sort_keys(order_by, &mut computed)?;
        let lowered = calls.iter().map(|it| lower_call(&it.1, &mut computed));
        let lowered = lowered.collect::<Result<Vec<_>>>()?;
        let limit = match limit {
            Some((column, rows)) => {
                let call = calls.iter().position(|it| it.0.id == *column);
                let lost = || Error::internal("the call of a limit was dropped");
                Some(WindowLimit { call: call.ok_or_else(lost)?, rows: *rows })
            }
            None => None,
        };
        let Lowered { node, columns } = computed.finish();
        let mut schema = node.schema().clone();
        let width = schema.len();
        schema.fields.extend(
            calls
                .iter()
                .map(|(column, _)| Field::new(column.name.clone(), column.data_type.clone())),
        );
        let made = calls.iter().zip(width..).map(|(it, at)| (it.0.clone(), at));
        let columns = columns.into_iter().chain(made).collect();
        let input = self.exchanged(node, &partition_by);
        let node = WindowNode { input, partition_by, order_by, calls: lowered, limit, schema };
        Ok(Lowered::same_columns(PlanNode::Window(node), columns).narrowed(required))
    }

    /// The rows of each partition with one driver.
    fn exchanged(&self, input: Arc<PlanNode>, keys: &[usize]) -> Arc<PlanNode> {
        if self.ctx.drivers <= 1 || is_partitioned(&input, keys) {
            return input;
        }
        let kind = match keys {
            [] => ExchangeKind::Gather,
            _ => ExchangeKind::Hash(keys.to_vec()),
        };
        Arc::new(PlanNode::LocalExchange(LocalExchangeNode { input, kind }))
    }
}

/// Whether another window has brought these partitions together.
fn is_partitioned(input: &PlanNode, keys: &[usize]) -> bool {
    match input {
        PlanNode::Window(node) => {
            node.partition_by.iter().all(|it| keys.contains(it))
                && (!node.partition_by.is_empty() || keys.is_empty())
        }
        _ => false,
    }
}

fn lower_call(call: &LogicalCall, computed: &mut Computed) -> Result<WindowCall> {
    let args = call.args.iter().map(|it| computed.position(it)).collect::<Result<_>>()?;
    let filter = call.filter.as_ref().map(|it| computed.position(it)).transpose()?;
    Ok(WindowCall {
        function: call.function.clone(),
        args,
        arg_types: call.args.iter().map(|it| it.data_type.clone()).collect::<Vec<Type>>(),
        distinct: call.distinct,
        filter,
        ignore_nulls: call.ignore_nulls,
        order_keys: call.order_keys,
        frame: call.frame.try_map(|it| computed.position(it))?,
    })
}

//! Windows: keys, arguments and bounds are computed first, then rows of a partition are brought
//! together.

use super::expr::Computed;
use super::sort::lower_sort_keys;
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::{ColumnSet, as_constant, collect_used};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_logical::{Column, Plan, WindowCall as LogicalCall};
use volley_plan::{ExchangeKind, LocalExchangeNode, PlanNode, WindowCall, WindowLimit, WindowNode};
use volley_types::Type;

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
        let kept: Vec<_> = columns.into_iter().filter(|it| required.contains(&it.0.id)).collect();
        let output: Vec<usize> = kept.iter().map(|it| it.1).collect();
        let mut columns: Vec<Column> = kept.into_iter().map(|it| it.0).collect();
        columns.extend(calls.iter().map(|it| it.0.clone()));
        let schema = schema_of(&columns);
        let input = self.exchanged(node, &partition_by);
        let node =
            WindowNode { input, partition_by, order_by, calls: lowered, limit, output, schema };
        Ok(Lowered::new(PlanNode::Window(node), columns).narrowed(required))
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
            let put_out = |it: &usize| node.output.iter().position(|other| other == it);
            let here = |it: &usize| put_out(it).is_some_and(|at| keys.contains(&at));
            node.partition_by.iter().all(here) && (!node.partition_by.is_empty() || keys.is_empty())
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

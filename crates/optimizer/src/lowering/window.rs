//! Windows: keys, arguments and bounds are computed first, then rows of a partition are brought
//! together.

use super::expr::Computed;
use super::sort::KEEP_ORDERS;
use super::sort::lower_sort_keys;
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::{ColumnSet, as_constant, collect_used, same_expr};
use crate::rules::shared_sort;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::SourceSpan;
use volley_logical::{Column, Expr, Plan, WindowCall as LogicalCall};
use volley_plan::{
    ExchangeKind, LocalExchangeNode, PlanNode, PlanNodeId, SortKey, WindowCall, WindowLimit,
    WindowNode,
};
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
        let above = self.exchange_keys.take();
        self.exchange_keys = self.keys_for_both(plan, above.as_ref());
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
        let together = match &above {
            Some(keys) => keys.iter().map(|it| computed.position(it)).collect::<Result<_>>()?,
            None => partition_by.clone(),
        };
        let Lowered { node, columns } = computed.finish();
        let kept: Vec<_> = columns.into_iter().filter(|it| required.contains(&it.0.id)).collect();
        let output: Vec<usize> = kept.iter().map(|it| it.1).collect();
        let mut columns: Vec<Column> = kept.into_iter().map(|it| it.0).collect();
        columns.extend(calls.iter().map(|it| it.0.clone()));
        let schema = schema_of(&columns);
        let keeps_orders = self.ctx.is_enabled(KEEP_ORDERS);
        let is_sorted =
            |it: &PlanNode| keeps_orders && is_sorted(&it.order(), &partition_by, &order_by);
        let is_together = together.is_empty() || is_sorted(&node);
        let mut input = match node.is_one_stream() && is_together {
            true => node,
            false => self.exchanged(node, &together),
        };
        let sorted = is_sorted(&input);
        if sorted {
            PlanNode::keep_order(&mut input);
        }
        let node = WindowNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            partition_by,
            order_by,
            calls: lowered,
            limit,
            sorted,
            keeps_order: false,
            output,
            schema,
        };
        Ok(Lowered::new(PlanNode::Window(node), columns).narrowed(required))
    }

    /// The partition keys of a window by which rows are spread over drivers before the window below
    /// it, so that they need not be spread again between them: where both share a sort.
    fn keys_for_both(&self, plan: &Plan, above: Option<&Vec<Expr>>) -> Option<Vec<Expr>> {
        let Plan::Window { input, partition_by, order_by, .. } = plan else { return None };
        let Plan::Window { partition_by: below, order_by: order_below, .. } = &**input else {
            return None;
        };
        let shared = shared_sort((partition_by, order_by), (below, order_below))?;
        let is_shared = self.ctx.is_enabled(KEEP_ORDERS)
            && shared.iter().zip(below).all(|(a, b)| same_expr(a, b));
        is_shared.then(|| above.unwrap_or(partition_by).clone())
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
        Arc::new(PlanNode::LocalExchange(LocalExchangeNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            kind,
        }))
    }
}

/// Whether rows in this order are in that of partitions, and in each in that order.
fn is_sorted(order: &[SortKey], partition_by: &[usize], order_by: &[SortKey]) -> bool {
    let mut columns = partition_by.to_vec();
    columns.sort_unstable();
    columns.dedup();
    if order.len() < columns.len() {
        return false;
    }
    let (partitions, order) = order.split_at(columns.len());
    partitions.iter().all(|it| columns.contains(&it.column)) && order.starts_with(order_by)
}

/// Whether an exchange below windows has brought these partitions together.
fn is_partitioned(input: &PlanNode, keys: &[usize]) -> bool {
    let (mut node, mut keys) = (input, keys.to_vec());
    loop {
        match node {
            PlanNode::Window(window) => {
                let below = keys.iter().filter_map(|it| window.output.get(*it)).copied();
                keys = below.collect();
                node = &window.input;
            }
            PlanNode::LocalExchange(exchange) => {
                return match &exchange.kind {
                    ExchangeKind::Gather => true,
                    ExchangeKind::RoundRobin => false,
                    ExchangeKind::Hash(by) => by.iter().all(|it| keys.contains(it)),
                };
            }
            _ => return false,
        }
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
        order_by: lower_sort_keys(&call.order_by, computed)?,
        ignore_nulls: call.ignore_nulls,
        order_keys: call.order_keys,
        frame: call.frame.try_map(|it| computed.position(it))?,
        place: SourceSpan::of(call.span),
    })
}

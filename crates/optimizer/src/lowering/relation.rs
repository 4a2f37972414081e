//! Scans, values, projections, filters and the small nodes.

use super::expr::{lower_conjuncts, lower_expr};
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::{ColumnSet, as_column, collect_used};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Result, Span};
use volley_expression::SourceSpan;
use volley_logical::{Column, ColumnId, Expr, ExprKind, Plan, SampleMethod};
use volley_plan::{
    EnforceSingleRowNode, FilterNode, PlanNode, PlanNodeId, ProjectNode, SampleNode, SortKey,
    TableScanNode, TopNNode, UnionNode, UniqueIdNode, ValuesNode,
};
use volley_types::{Field, Schema, Type, Value};

impl Lowering<'_> {
    pub(super) fn scan(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::Scan { table, columns, filters, .. } = plan else { return Err(not_this_node()) };
        let in_table: HashMap<ColumnId, usize> =
            columns.iter().map(|(column, at)| (column.id, *at)).collect();
        let read: Vec<_> = columns.iter().filter(|it| required.contains(&it.0.id)).collect();
        let handle = self.ctx.tables.handle(table)?;
        let table = self.ctx.tables.resolve(table)?;
        if let Some(made) = table.as_plan() {
            let mut node = Arc::clone(made.plan());
            if !filters.is_empty() {
                let predicate = lower_conjuncts(filters, &in_table)?;
                node = Arc::new(PlanNode::Filter(FilterNode {
                    node_id: PlanNodeId::UNASSIGNED,
                    input: node,
                    predicate,
                }));
            }
            return Ok(Lowered { node, columns: read.into_iter().cloned().collect() });
        }
        let filters = filters.iter().map(|it| lower_expr(it, &in_table)).collect::<Result<_>>()?;
        let node = PlanNode::TableScan(TableScanNode {
            node_id: PlanNodeId::UNASSIGNED,
            dynamic_filters: Vec::new(),
            table: handle,
            columns: read.iter().map(|it| it.1).collect(),
            filters,
            schema: schema_of(read.iter().map(|it| &it.0)),
        });
        Ok(Lowered::new(node, read.iter().map(|it| it.0.clone())))
    }

    /// Literal rows. Those that are not constant become a projection of one row each.
    pub(super) fn values(&mut self, columns: &[Column], rows: &[Vec<Expr>]) -> Result<Lowered> {
        let mut constant = Vec::new();
        let mut computed = Vec::new();
        for row in rows {
            let values: Option<Vec<Value>> =
                row.iter().map(|it| self.constant(it)).collect::<Result<_>>()?;
            match values {
                Some(values) => constant.push(values),
                None => computed.push(row),
            }
        }
        let schema = schema_of(columns);
        if computed.is_empty() {
            let node = PlanNode::Values(ValuesNode {
                node_id: PlanNodeId::UNASSIGNED,
                rows: constant,
                schema,
            });
            return Ok(Lowered::new(node, columns.iter().cloned()));
        }
        let mut inputs = Vec::new();
        if !constant.is_empty() {
            let node = ValuesNode {
                node_id: PlanNodeId::UNASSIGNED,
                rows: constant,
                schema: schema.clone(),
            };
            inputs.push(Arc::new(PlanNode::Values(node)));
        }
        for row in computed {
            inputs.push(Arc::new(one_row_of(row, &schema)?));
        }
        let node = PlanNode::Union(UnionNode { node_id: PlanNodeId::UNASSIGNED, inputs, schema });
        Ok(Lowered::new(node, columns.iter().cloned()))
    }

    fn constant(&self, expr: &Expr) -> Result<Option<Value>> {
        if let ExprKind::Constant(value) = &expr.kind {
            return Ok(Some(value.clone()));
        }
        Ok(self.ctx.fold(&lower_expr(expr, &HashMap::new())?))
    }

    pub(super) fn project(
        &mut self,
        input: &Plan,
        exprs: &[(Column, Expr)],
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let kept: Vec<_> = exprs.iter().filter(|it| required.contains(&it.0.id)).collect();
        let mut used = ColumnSet::new();
        kept.iter().for_each(|it| collect_used(&it.1, &mut used));
        let input = self.plan(input, &used)?;
        let positions = input.positions();
        if kept.iter().all(|it| as_column(&it.1).is_some()) {
            let mut columns = Vec::with_capacity(kept.len());
            for (column, expr) in kept {
                let id = as_column(expr).ok_or_else(not_this_node)?;
                columns.push((column.clone(), input.position(id)?));
            }
            return Ok(Lowered { node: input.node, columns });
        }
        let node = PlanNode::Project(ProjectNode {
            node_id: PlanNodeId::UNASSIGNED,
            exprs: kept.iter().map(|it| lower_expr(&it.1, &positions)).collect::<Result<_>>()?,
            schema: schema_of(kept.iter().map(|it| &it.0)),
            input: input.node,
        });
        Ok(Lowered::new(node, kept.iter().map(|it| it.0.clone())))
    }

    pub(super) fn filter(
        &mut self,
        input: &Plan,
        conjuncts: &[Expr],
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let mut used = required.clone();
        conjuncts.iter().for_each(|it| collect_used(it, &mut used));
        let input = self.plan(input, &used)?;
        let predicate = lower_conjuncts(conjuncts, &input.positions())?;
        let node = PlanNode::Filter(FilterNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            predicate,
        });
        Ok(Lowered::same_columns(node, input.columns).narrowed(required))
    }

    /// A sample of a number of rows: those with the least of random numbers.
    pub(super) fn sample(
        &mut self,
        input: &Plan,
        method: SampleMethod,
        seed: Option<u64>,
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let input = self.plan(input, required)?.packed(required)?;
        let (position, mut schema) = (input.width(), input.node.schema().clone());
        let (node, columns) = (input.node, input.columns);
        let (method, limit) = match method {
            SampleMethod::Rows(share) => (volley_plan::SampleMethod::Rows(share), None),
            SampleMethod::Batches(share) => (volley_plan::SampleMethod::Batches(share), None),
            SampleMethod::Count(rows) => (volley_plan::SampleMethod::Number, Some(rows)),
        };
        schema.fields.extend(limit.map(|_| Field::new("random", Type::BigInt)));
        let mut node = PlanNode::Sample(SampleNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: node,
            method,
            seed,
            schema,
        });
        if let Some(limit) = limit {
            let keys = vec![SortKey { column: position, descending: false, nulls_first: false }];
            node = PlanNode::TopN(TopNNode {
                node_id: PlanNodeId::UNASSIGNED,
                dynamic_filter: None,
                input: Arc::new(node),
                keys,
                limit,
                offset: 0,
            });
        }
        Ok(Lowered::same_columns(node, columns))
    }

    pub(super) fn single_row(
        &mut self,
        input: &Plan,
        span: Option<Span>,
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let input = self.plan(input, required)?.packed(required)?;
        let node = EnforceSingleRowNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            place: SourceSpan::of(span),
        };
        let node = PlanNode::EnforceSingleRow(node);
        Ok(Lowered::same_columns(node, input.columns))
    }

    pub(super) fn unique_id(
        &mut self,
        input: &Plan,
        column: &Column,
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let input = self.plan(input, required)?;
        if !required.contains(&column.id) {
            return Ok(input);
        }
        let mut schema: Schema = input.node.schema().clone();
        schema.fields.push(Field::new(column.name.clone(), column.data_type.clone()));
        let mut columns = input.columns.clone();
        columns.push((column.clone(), input.width()));
        let node = PlanNode::UniqueId(UniqueIdNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            schema,
        });
        Ok(Lowered::same_columns(node, columns))
    }
}

fn one_row_of(row: &[Expr], schema: &Schema) -> Result<PlanNode> {
    let one = ValuesNode {
        node_id: PlanNodeId::UNASSIGNED,
        rows: vec![Vec::new()],
        schema: Schema::default(),
    };
    let exprs = row.iter().map(|it| lower_expr(it, &HashMap::new())).collect::<Result<_>>()?;
    let input = Arc::new(PlanNode::Values(one));
    Ok(PlanNode::Project(ProjectNode {
        node_id: PlanNodeId::UNASSIGNED,
        input,
        exprs,
        schema: schema.clone(),
    }))
}

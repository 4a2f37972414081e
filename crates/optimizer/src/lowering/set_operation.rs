//! Set operations.
//!
//! UNION is the union and a DISTINCT. The others count, per distinct row, how often each input has
//! it: INTERSECT ALL repeats it `min(left, right)` times, EXCEPT ALL `left - right` times, and
//! without ALL once if both, or only the left input has it.

use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::{
    expr::{ColumnSet, bigint},
    keys::group_by_keys,
};
use volley_error::Result;
use volley_logical::{
    AggregateCall, CallStep, Column, ColumnId, Expr, Plan, SetOperation, SpecialForm,
};
use volley_plan::{PlanNode, PlanNodeId, RepeatNode, UnionNode};
use volley_types::{Type, Value};

impl Lowering<'_> {
    pub(super) fn set_operation(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::SetOperation { operation, all, inputs, columns } = plan else {
            return Err(not_this_node());
        };
        match (operation, all) {
            (SetOperation::Union, true) => self.union_all(inputs, columns, required),
            (SetOperation::Union, false) => {
                let keys = columns.iter().map(crate::columns::pass).collect();
                let all = Plan::SetOperation {
                    operation: SetOperation::Union,
                    all: true,
                    inputs: inputs.clone(),
                    columns: columns.clone(),
                };
                let input = Box::new(all);
                let distinct = Plan::Aggregate { input, keys, aggregates: Vec::new() };
                self.plan(&group_by_keys(distinct, self.ctx.column_ids), required)
            }
            _ => self.counted(*operation, *all, inputs, columns),
        }
    }

    fn union_all(
        &mut self,
        inputs: &[(Plan, Vec<ColumnId>)],
        columns: &[Column],
        required: &ColumnSet,
    ) -> Result<Lowered> {
        let kept: Vec<usize> =
            (0..columns.len()).filter(|it| required.contains(&columns[*it].id)).collect();
        let output_columns: Vec<Column> = kept.iter().map(|it| columns[*it].clone()).collect();
        let mut nodes = Vec::with_capacity(inputs.len());
        for (input, feeds) in inputs {
            let lowered = self.plan(input, &kept.iter().map(|it| feeds[*it]).collect())?;
            // Two output columns may be fed by one column of the input.
            let feed = |at: &usize| {
                let position = lowered.position(feeds[*at])?;
                Ok((columns[*at].clone(), position))
            };
            let columns = kept.iter().map(feed).collect::<Result<_>>()?;
            nodes.push(Lowered { node: lowered.node, columns }.exactly(&output_columns)?);
        }
        let schema = schema_of(&output_columns);
        let node =
            PlanNode::Union(UnionNode { node_id: PlanNodeId::UNASSIGNED, inputs: nodes, schema });
        Ok(Lowered::new(node, output_columns))
    }

    /// INTERSECT and EXCEPT by counting.
    fn counted(
        &mut self,
        operation: SetOperation,
        all: bool,
        inputs: &[(Plan, Vec<ColumnId>)],
        columns: &[Column],
    ) -> Result<Lowered> {
        let [left, right] = inputs else { return Err(not_this_node()) };
        let ids = self.ctx.column_ids;
        let counts = [ids.column("left", Type::BigInt), ids.column("right", Type::BigInt)];
        let grouped = self.count_both([left, right], columns, &counts);
        let [left, right] = counts.map(|it| Expr::column(it.id, Type::BigInt));
        let count = ids.column("count", Type::BigInt);
        let mut exprs: Vec<_> = columns.iter().map(crate::columns::pass).collect();
        exprs.push((count.clone(), repetitions(operation, all, left, right)));
        let mut with_count = columns.to_vec();
        with_count.push(count);
        let project = Plan::Project { input: Box::new(grouped), exprs };
        let required = with_count.iter().map(|it| it.id).collect();
        let input = self.plan(&project, &required)?.exactly(&with_count)?;
        let node = PlanNode::Repeat(RepeatNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            schema: schema_of(columns),
        });
        Ok(Lowered::new(node, columns.iter().cloned()))
    }

    /// The distinct rows of both inputs, with how often each has them.
    fn count_both(
        &self,
        inputs: [&(Plan, Vec<ColumnId>); 2],
        columns: &[Column],
        counts: &[Column; 2],
    ) -> Plan {
        let ids = self.ctx.column_ids;
        let marks = [ids.column("in_left", Type::Boolean), ids.column("in_right", Type::Boolean)];
        let marked = inputs.iter().enumerate().map(|(side, (plan, feeds))| {
            let fresh = || ids.column("mark", Type::Boolean);
            let marks = [(fresh(), mark(side == 0)), (fresh(), mark(side == 1))];
            let types = columns.iter().zip(feeds);
            let mut exprs: Vec<_> = types
                .map(|(column, feed)| {
                    let expr = Expr::column(*feed, column.data_type.clone());
                    (ids.column(column.name.clone(), column.data_type.clone()), expr)
                })
                .collect();
            exprs.extend(marks);
            let feeds = exprs.iter().map(|it| it.0.id).collect();
            (Plan::Project { input: Box::new(plan.clone()), exprs }, feeds)
        });
        let union = Plan::SetOperation {
            operation: SetOperation::Union,
            all: true,
            inputs: marked.collect(),
            columns: columns.iter().chain(&marks).cloned().collect(),
        };
        let aggregates = counts
            .iter()
            .zip(&marks)
            .map(|(count, mark)| (count.clone(), count_of(Expr::column(mark.id, Type::Boolean))));
        let counted = Plan::Aggregate {
            input: Box::new(union),
            keys: columns.iter().map(crate::columns::pass).collect(),
            aggregates: aggregates.collect(),
        };
        group_by_keys(counted, ids)
    }
}

fn mark(is_set: bool) -> Expr {
    let value = if is_set { Value::Boolean(true) } else { Value::Null };
    Expr::constant(value, Type::Boolean)
}

fn count_of(arg: Expr) -> AggregateCall {
    AggregateCall {
        function: "count".to_owned(),
        args: vec![arg],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        step: CallStep::Complete,
        data_type: Type::BigInt,
        span: None,
    }
}

/// How often a row is returned that the inputs have `left` and `right` times.
fn repetitions(operation: SetOperation, all: bool, left: Expr, right: Expr) -> Expr {
    let less = |a: Expr, b: Expr| Expr::call("lt", vec![a, b], Type::Boolean);
    let choose = |condition: Expr, yes: Expr, no: Expr| {
        Expr::special(SpecialForm::Switch, vec![condition, yes, no], Type::BigInt)
    };
    let is_none = |a: Expr| crate::expr::eq(a, bigint(0));
    match (operation, all) {
        (SetOperation::Intersect, true) => choose(less(left.clone(), right.clone()), left, right),
        (SetOperation::Intersect, false) => {
            choose(is_none(left), bigint(0), choose(is_none(right), bigint(0), bigint(1)))
        }
        (_, true) => Expr::call("minus", vec![left, right], Type::BigInt),
        (_, false) => {
            choose(is_none(left), bigint(0), choose(is_none(right), bigint(1), bigint(0)))
        }
    }
}

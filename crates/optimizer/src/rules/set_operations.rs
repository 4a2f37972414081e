//! Makes INTERSECT and EXCEPT semi and anti joins.
//!
//! ```text
//! L INTERSECT R    becomes    DISTINCT L ⋉ R
//! L EXCEPT R       becomes    DISTINCT L ▷ R     on all columns, where null equals null
//! ```
//!
//! Joins hold the smaller side in memory, and need not group the rows of the right one. With ALL,
//! rows are counted: see `lowering/set_operation.rs`.

use crate::OptimizerContext;
use crate::columns::{pass, rewrite_up};
use crate::expr::{has_one_form, same};
use volley_error::Result;
use volley_logical::{Column, ColumnId, Expr, JoinKind, Plan, SetOperation};

/// Rewrites all INTERSECT and EXCEPT without ALL.
pub(super) fn join_set_operations(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| rewrite_up(plan, &mut |node| Ok(rewritten(node, ctx))))
}

fn rewritten(plan: Plan, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::SetOperation { operation, all: false, mut inputs, columns } = plan else {
        return plan;
    };
    let kind = match operation {
        SetOperation::Intersect => JoinKind::LeftSemi,
        SetOperation::Except => JoinKind::LeftAnti,
        SetOperation::Union => {
            return Plan::SetOperation { operation, all: false, inputs, columns };
        }
    };
    let comparable = !columns.is_empty() && columns.iter().all(|it| has_one_form(&it.data_type));
    if !comparable || inputs.len() != 2 {
        return Plan::SetOperation { operation, all: false, inputs, columns };
    }
    let fresh = columns.iter().map(|it| ctx.column_ids.column(&it.name, it.data_type.clone()));
    let partners: Vec<Column> = fresh.collect();
    let right = inputs.pop().map(|it| feeding(it, &partners)).unwrap_or_default();
    let left = inputs.pop().map(|it| feeding(it, &columns)).unwrap_or_default();
    let keys = columns.iter().map(pass).collect();
    let distinct = Plan::Aggregate { input: Box::new(left), keys, aggregates: Vec::new() };
    let pairs = columns.iter().zip(&partners);
    Plan::Join {
        left: Box::new(distinct),
        right: Box::new(right),
        kind,
        conditions: pairs.map(|(a, b)| same(pass(a).1, pass(b).1)).collect(),
        null_aware: false,
        mark: None,
        lateral: false,
    }
}

/// An input with the columns that it feeds.
fn feeding((input, feeds): (Plan, Vec<ColumnId>), columns: &[Column]) -> Plan {
    let fed = columns.iter().zip(feeds);
    let exprs =
        fed.map(|(column, feed)| (column.clone(), Expr::column(feed, column.data_type.clone())));
    Plan::Project { exprs: exprs.collect(), input: Box::new(input) }
}
